package signature

// typeform writes base64 where others who say sha256= write hex.
func typeform() Scheme {
	return Scheme{
		Name:       "typeform",
		Title:      "Typeform",
		SecretFrom: Chosen,
		Rules: []Rule{{
			Header:   "Typeform-Signature",
			Prefix:   "sha256=",
			Digest:   SHA256,
			Encoding: Base64,
			Signed:   "{body}",
		}},
		Identity: []Source{{Body: "event_id"}},
	}
}
