package signature

import "strings"

// gitlab has two kinds of secrets. A signing token (whsec_…) signs like Standard
// Webhooks; the older secret token is sent as it is and leaves the body unprotected.
// GitLab may send both: then the signature decides, if we know the signing token.
func gitlab() Scheme {
	return Scheme{
		Name:       "gitlab",
		Title:      "GitLab",
		SecretFrom: Chosen,
		Rules: []Rule{
			standardRule("webhook", SHA256),
			{Header: "X-Gitlab-Token", Digest: Token, Encoding: Plain},
		},
		// X-Gitlab-Event-UUID is no delivery id: all events that follow from one
		// another share it.
		Identity: []Source{{Header: "webhook-id", with: "webhook-signature"}, {Header: "Idempotency-Key"}},
		trial: trialEvent{"X-Gitlab-Event", "Push Hook", `{"object_kind":"push","event_name":"push","ref":"refs/heads/main","after":"%s","user_username":"octocat",` +
			`"project":{"name":"shop","path_with_namespace":"acme/shop","default_branch":"main"},"commits":[{"message":"hello","added":[],"removed":[],"modified":["README.md"]}]}`},
		read: func(secret string) (key, error) {
			if strings.HasPrefix(secret, prefixShared) {
				return readStandard(secret)
			}
			return key{kind: keyText, bytes: []byte(secret)}, nil
		},
	}
}
