package signature

import (
	"time"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// discord signs with the private key of the application; the secret is its public
// key in hex. To see whether we look, Discord also sends wrong signatures.
func discord() Scheme {
	return Scheme{
		Name:       "discord",
		Title:      "Discord",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-Signature-Ed25519",
			Digest:   Ed25519,
			Encoding: Hex,
			Signed:   "{timestamp}{body}",
			Stamp:    Stamp{Header: "X-Signature-Timestamp", Unit: time.Second, Window: window},
			key:      keyPublic,
		}},
		Handshake: "a PING is answered 204",
		read:      readHexPublic,
		answer: func(_ key, r *Request) *Answer {
			if len(r.Body) > maxHandshake {
				return nil
			}
			if kind, found := jsontext.Member(r.Body, "type"); !found || string(kind) != "0" {
				return nil
			}
			return &Answer{Status: 204}
		},
	}
}
