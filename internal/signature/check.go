package signature

import (
	"crypto/rand"
	"encoding/base64"
	"net/textproto"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Check looks at a webhook's settings as the table of schemes knows them.
func Check(w lineshaft.Webhook) error {
	if w.AuthMode == lineshaft.AuthSignature {
		scheme, ok := Find(w.SignatureScheme)
		if !ok {
			return lineshaft.Invalid("signature_scheme", "there is no such scheme; use one of %s", strings.Join(Names(), ", "))
		}
		if scheme.Name == "hmac" {
			if err := HMAC(w.HMAC).Validate(); err != nil {
				return err
			}
		}
	}
	return checkIDHeader(w)
}

// checkIDHeader refuses a delivery id in a header that carries a signature or its time,
// in whatever scheme: senders put no ids there, and what they do put there is different
// each time a delivery is sent.
func checkIDHeader(w lineshaft.Webhook) error {
	name := textproto.CanonicalMIMEHeaderKey(w.DeliveryIDHeader)
	if name == "" {
		return nil
	}
	own := Scheme{Name: "hmac", Headers: []string{w.HMAC.Header, w.HMAC.TimestampHeader}}
	for _, scheme := range append(Schemes(), own) {
		if slices.ContainsFunc(scheme.Headers, func(h string) bool { return textproto.CanonicalMIMEHeaderKey(h) == name }) {
			return lineshaft.Invalid("delivery_id_header", "%s carries the signature of scheme %s or its time and cannot be a delivery id", name, scheme.Name)
		}
	}
	return nil
}

// Names lists the names of all schemes.
func Names() []string {
	names := make([]string, len(table))
	for i, scheme := range table {
		names[i] = scheme.Name
	}
	return names
}

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
