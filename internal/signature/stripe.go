package signature

import "time"

// stripe keys its HMAC with the whole text of the secret, whsec_ included, unlike
// Standard Webhooks. There is one v1 for each secret that is live; v0 is a decoy.
func stripe() Scheme {
	return Scheme{
		Name:       "stripe",
		Title:      "Stripe",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "Stripe-Signature",
			List:     ",",
			Prefix:   "v1=",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{timestamp}.{body}",
			Stamp:    Stamp{Item: "t", Unit: time.Second, Window: window},
		}},
		Identity: []Source{{Body: "id"}},
	}
}
