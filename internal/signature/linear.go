package signature

import "time"

// linear puts the time in the signed body; the header with a time is not signed and
// is not looked at.
func linear() Scheme {
	return Scheme{
		Name:       "linear",
		Title:      "Linear",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "Linear-Signature",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{body}",
			Stamp:    Stamp{Body: "webhookTimestamp", Unit: time.Millisecond, Window: time.Minute},
		}},
		Identity: []Source{{Header: "Linear-Delivery"}},
	}
}
