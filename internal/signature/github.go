package signature

// github is also spoken by Gitea and Forgejo. The older header with SHA-1 is
// sent beside this one; it is not looked at.
func github() Scheme {
	return Scheme{
		Name:       "github",
		Title:      "GitHub",
		SecretFrom: Chosen,
		Rules: []Rule{{
			Header:   "X-Hub-Signature-256",
			Prefix:   "sha256=",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{body}",
		}},
		Identity: []Source{{Header: "X-GitHub-Delivery"}}, // the same when somebody redelivers by hand
		trial: trialEvent{"X-GitHub-Event", "push", `{"ref":"refs/heads/main","after":"%s","repository":{"name":"shop","full_name":"acme/shop","default_branch":"main"},` +
			`"pusher":{"name":"octocat"},"sender":{"login":"octocat"},"commits":[{"message":"hello","added":[],"removed":[],"modified":["README.md"]}]}`},
		Handshake: "the event ping is answered 202",
		answer: func(_ key, r *Request) *Answer {
			if r.Header.Get("X-Github-Event") != "ping" {
				return nil
			}
			return &Answer{Status: 202}
		},
	}
}
