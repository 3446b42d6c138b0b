package signature

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"maps"
	"net/url"
	"slices"
	"strings"
)

// twilio signs the URL and the members of a form, or, for all other bodies, the
// URL with the body's hash in its query.
func twilio() Scheme {
	return Scheme{
		Name: "twilio", Title: "Twilio", SecretFrom: Issued,
		Rules: []Rule{{
			Header:   "X-Twilio-Signature",
			Digest:   SHA1,
			Encoding: Base64,
			Signed:   "{url}{form}",
			guard:    plainForm,
			sends: func(r *Request) bool {
				return strings.HasPrefix(r.Header.Get("Content-Type"), "application/x-www-form-urlencoded")
			},
		}, {Header: "X-Twilio-Signature", Digest: SHA1, Encoding: Base64, Signed: "{hashed_url}"}},
		Identity: []Source{{Header: "I-Twilio-Idempotency-Token"}},
	}
}

const (
	hashMember = "bodySHA256="
	maxMembers = 1000 // of a form, which we sort for somebody we do not know yet
)

// plainForm refuses what could pass a URL with a hash off as a form: then the body
// would not be what the hash is of.
func plainForm(r *Request) error {
	if strings.Contains(r.URL, hashMember) || bytes.Count(r.Body, []byte("&")) >= maxMembers {
		return errBorder
	}
	form, err := url.ParseQuery(string(r.Body))
	if err != nil {
		return errBorder
	}
	for name := range form {
		if name == "" || name[0] == '?' || name[0] == '&' {
			return errBorder
		}
	}
	return nil
}

// appendForm writes names and values in order, without anything between them. A
// value that a name has twice counts once, as in Twilio's own libraries.
func appendForm(dst, body []byte) []byte {
	form, err := url.ParseQuery(string(body))
	if err != nil {
		return dst // plainForm has refused it
	}
	for _, name := range slices.Sorted(maps.Keys(form)) {
		values := form[name]
		slices.Sort(values)
		for _, value := range slices.Compact(values) {
			dst = append(dst, name...)
			dst = append(dst, value...)
		}
	}
	return dst
}

// appendHashedURL writes the URL with the body's hash, which may be in it already.
func appendHashedURL(dst []byte, r *Request) []byte {
	sum := sha256.Sum256(r.Body)
	member := hashMember + hex.EncodeToString(sum[:])
	dst = append(dst, r.URL...)
	switch {
	case strings.Contains(r.URL, member):
		return dst
	case strings.Contains(r.URL, "?"):
		dst = append(dst, '&')
	default:
		dst = append(dst, '?')
	}
	return append(dst, member...)
}
