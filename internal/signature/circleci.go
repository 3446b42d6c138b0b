package signature

// circleci may send other versions beside v1, the only one there is so far.
func circleci() Scheme {
	return Scheme{
		Name:       "circleci",
		Title:      "CircleCI",
		SecretFrom: Chosen,
		Rules: []Rule{{
			Header:   "Circleci-Signature",
			List:     ",",
			Prefix:   "v1=",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{body}",
		}},
		Identity: []Source{{Body: "id"}},
	}
}
