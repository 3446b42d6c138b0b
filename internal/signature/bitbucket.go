package signature

// bitbucket is the cloud and the server product; the two headers with an id are
// theirs in this order.
func bitbucket() Scheme {
	return Scheme{
		Name:       "bitbucket",
		Title:      "Bitbucket",
		SecretFrom: Chosen,
		Rules: []Rule{{
			Header:   "X-Hub-Signature",
			Prefix:   "sha256=",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{body}",
		}},
		Identity: []Source{{Header: "X-Request-UUID"}, {Header: "X-Request-Id"}},
	}
}
