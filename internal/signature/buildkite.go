package signature

import "time"

// buildkite signs, or sends the token as it is, which leaves the body unprotected:
// that is chosen on its side. A signature that was sent decides.
func buildkite() Scheme {
	return Scheme{
		Name:       "buildkite",
		Title:      "Buildkite",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-Buildkite-Signature",
			List:     ",",
			Prefix:   "signature=",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{timestamp}.{body}",
			Stamp:    Stamp{Item: "timestamp", Unit: time.Second, Window: window},
		}, {
			Header:   "X-Buildkite-Token",
			Digest:   Token,
			Encoding: Plain,
		}},
	}
}
