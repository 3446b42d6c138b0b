package signature

import "net/url"

// dropbox asks for an echo by GET, unsigned, when a URL is entered.
func dropbox() Scheme {
	return Scheme{
		Name:       "dropbox",
		Title:      "Dropbox",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-Dropbox-Signature",
			Digest:   SHA256,
			Encoding: Hex,
			Signed:   "{body}",
		}},
		Handshake: "GET with ?challenge= is answered 200 with the challenge",
	}
}

// Challenge returns the answer to a GET request that asks for an echo, which only
// Dropbox sends, or nil. Nobody has signed it: it must be served as plain text that
// no browser takes for anything else (X-Content-Type-Options: nosniff).
func Challenge(scheme string, query url.Values) *Answer {
	if values := query["challenge"]; scheme == "dropbox" && len(values) == 1 {
		return textAnswer(values[0])
	}
	return nil
}
