package signature

import "time"

// calendly writes its header like Stripe.
func calendly() Scheme {
	return Scheme{
		Name:       "calendly",
		Title:      "Calendly",
		SecretFrom: Chosen,
		Rules: []Rule{{
			Header:   "Calendly-Webhook-Signature",
			List:     ",",
			Prefix:   "v1=",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{timestamp}.{body}",
			Stamp:    Stamp{Item: "t", Unit: time.Second, Window: window},
		}},
	}
}
