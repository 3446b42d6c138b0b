package signature

import (
	"crypto/rand"
	"encoding/base64"
)

// secretBytes is the size of generated secrets.
const secretBytes = 32

// Generate makes a secret for a scheme; an empty name is for the token modes. It
// is 43 characters that may stand in a URL, but a whsec_ key for Standard Webhooks.
func Generate(scheme string) string {
	raw := make([]byte, secretBytes)
	_, _ = rand.Read(raw) // it never fails: it ends the program instead
	if scheme == "standard_webhooks" {
		return prefixShared + base64.StdEncoding.EncodeToString(raw)
	}
	return base64.RawURLEncoding.EncodeToString(raw)
}
