package ingress

import (
	"net/http"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

const (
	// maxHeaders is how much of the headers the log keeps, and maxHeader how much of one.
	maxHeaders = 8 << 10
	maxHeader  = 1 << 10
	masked     = "***"
)

// secretHeaders are parts of the names of headers that hold a credential, a cookie or a
// signature. Every scheme of package signature has one of them in the names of its headers.
var secretHeaders = []string{
	"auth", "cookie", "token", "secret", "signature", "hmac", "key",
	"password", "credential", "session", "jwt", "cert",
}

// minSecret is how long a text must be to be looked at as a token.
const minSecret = 16

// headers are those that the log keeps. The token of the webhook is masked wherever it stands:
// a proxy may repeat the address, a sender may have put it into the wrong header.
func (q *request) headers() string {
	return keepHeaders(q.r.Header, func(name, value string) bool {
		return strings.EqualFold(name, q.hook.HMAC.Header) || slices.ContainsFunc(tokensIn(value), func(text string) bool {
			return text == q.token || q.hook.CheckToken(text, q.in.Now())
		})
	})
}

// tokensIn are the parts of a value that could be a token.
func tokensIn(value string) []string {
	words := strings.FieldsFunc(value, func(c rune) bool { return strings.ContainsRune(" ,;:?&\"'<>()", c) })
	for _, word := range words {
		for _, sep := range []string{"/", "="} {
			if strings.Contains(word, sep) {
				words = append(words, strings.Split(word, sep)...)
			}
		}
	}
	return slices.DeleteFunc(words, func(text string) bool { return len(text) < minSecret })
}

// keepHeaders writes headers as the log keeps them: a line each, in the order of their names,
// masked where their names or secret say that they must be.
func keepHeaders(header http.Header, secret func(name, value string) bool) string {
	names := make([]string, 0, len(header))
	for name := range header {
		names = append(names, name)
	}
	slices.Sort(names)
	var out strings.Builder
	for _, name := range names {
		value, lower := strings.Join(header[name], ", "), strings.ToLower(name)
		if slices.ContainsFunc(secretHeaders, func(part string) bool { return strings.Contains(lower, part) }) || secret(name, value) {
			value = masked
		}
		line := strings.ToValidUTF8(name+": "+lineshaft.CutBytes(value, maxHeader), "\uFFFD")
		if out.Len()+len(line)+1 > maxHeaders {
			break
		}
		out.WriteString(line)
		out.WriteByte('\n')
	}
	return out.String()
}
