package signature

// square signs the URL that it was given together with the body.
func square() Scheme {
	return Scheme{
		Name:       "square",
		Title:      "Square",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-Square-Hmacsha256-Signature",
			Digest:   SHA256,
			Encoding: Base64,
			Signed:   "{url}{body}",
		}},
		Identity: []Source{{Body: "event_id"}},
	}
}
