package signature

import (
	"encoding/json"
	"time"
)

// hubspot has three versions. The third is an HMAC with a time; if it is sent it
// decides. The first two are plain hashes with the secret in front. Their header
// does not tell them apart reliably, so both are tried.
func hubspot() Scheme {
	return Scheme{
		Name:       "hubspot",
		Title:      "HubSpot",
		SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-HubSpot-Signature-v3",
			Digest:   SHA256,
			Encoding: Base64,
			Signed:   "{method}{url}{body}{timestamp}",
			Stamp:    Stamp{Header: "X-HubSpot-Request-Timestamp", Unit: time.Millisecond, Window: window},
		}, {
			Header:   "X-HubSpot-Signature",
			Digest:   Salted,
			Encoding: Hex,
			Signed:   "{method}{url}{body}",
			guard:    wholeJSON,
		}, {
			Header:   "X-HubSpot-Signature",
			Digest:   Salted,
			Encoding: Hex,
			Signed:   "{body}",
			guard:    wholeJSON,
		}},
		// The body is an array of events, whose ids are not unique.
	}
}

// wholeJSON makes up for the weakness of a plain hash: without the secret one can
// sign what was signed before with more bytes behind it, though not such that it
// is JSON. It also keeps a body of version one from being a method, a URL and a
// body of version two.
func wholeJSON(r *Request) error {
	if !json.Valid(r.Body) {
		return errBorder
	}
	return nil
}
