package signature

// intercom signs with SHA-1, in the header that others use for SHA-256.
func intercom() Scheme {
	return Scheme{
		Name:       "intercom",
		Title:      "Intercom",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-Hub-Signature",
			Prefix:   "sha1=",
			Digest:   SHA1,
			Encoding: Hex,
			Signed:   "{body}",
		}},
		Identity: []Source{{Body: "id"}},
	}
}
