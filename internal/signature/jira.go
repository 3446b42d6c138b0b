package signature

// jira repeats its id when it tries again.
func jira() Scheme {
	return Scheme{
		Name:       "jira",
		Title:      "Jira",
		SecretFrom: Chosen,
		Rules: []Rule{{
			Header:   "X-Hub-Signature",
			Prefix:   "sha256=",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{body}",
		}},
		Identity: []Source{{Header: "X-Atlassian-Webhook-Identifier"}},
	}
}
