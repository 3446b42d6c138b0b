package signature

// vercel signs with SHA-1.
func vercel() Scheme {
	return Scheme{
		Name:       "vercel",
		Title:      "Vercel",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-Vercel-Signature",
			Digest:   SHA1,
			Encoding: Hex,
			Signed:   "{body}",
		}},
		Identity: []Source{{Body: "id"}},
	}
}
