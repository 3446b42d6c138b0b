package ingress

import (
	"net/http"
	"net/url"
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
	"auth", "cookie", "token", "secret", "signature", "sig", "hmac", "key", "pass", "pwd",
	"credential", "session", "jwt", "oidc", "assertion", "cert",
}

// minSecret is how long a text must be to be checked as a token.
const minSecret = 16

// headers are those that the log keeps. The token of the webhook is masked wherever it
// appears: a proxy may repeat the address, a sender may have put it into the wrong header.
func (q *request) headers() string {
	now, presented := q.in.Now(), q.token
	if token, ok := bearer(q.r.Header); ok {
		presented = token
	}
	return keepHeaders(q.r.Header, func(name, value string) bool {
		return strings.EqualFold(name, q.hook.HMAC.Header) || presented != "" && strings.Contains(value, presented) ||
			slices.ContainsFunc(tokensIn(value), func(text string) bool { return q.hook.CheckToken(text, now) })
	})
}

// tokensIn are the parts of a value that could be a token.
func tokensIn(value string) []string {
	if len(value) < minSecret {
		return nil
	}
	words := strings.FieldsFunc(value, separates)
	if strings.ContainsAny(value, "/=") { // a token may have them in it, or end at them
		words = append(words, strings.FieldsFunc(value, func(c rune) bool { return c == '/' || c == '=' || separates(c) })...)
	}
	return slices.DeleteFunc(words, func(text string) bool { return len(text) < minSecret })
}

func separates(c rune) bool {
	switch c {
	case ' ', ',', ';', ':', '?', '&', '#', '|', '"', '\'', '<', '>', '(', ')', '[', ']', '{', '}':
		return true
	}
	return false
}

// authorises says that a value is a credential by its form, whatever its header is called.
func authorises(value string) bool {
	for _, part := range []string{"bearer ", "basic ", "digest ", "eyj"} {
		if len(value) >= len(part) && strings.EqualFold(value[:len(part)], part) {
			return true
		}
	}
	_, rest, isURL := strings.Cut(value, "://")
	host, query, _ := strings.Cut(rest, "?")
	host, _, _ = strings.Cut(host, "/")
	return isURL && (strings.Contains(host, "@") || namesSecret(query))
}

func namesSecret(text string) bool {
	lower := strings.ToLower(text)
	return slices.ContainsFunc(secretHeaders, func(part string) bool { return strings.Contains(lower, part) })
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
		value := strings.Join(header[name], ", ")
		if namesSecret(name) || authorises(value) || secret(name, value) {
			value = masked
		} else if plain, err := url.PathUnescape(value); err == nil && plain != value && (authorises(plain) || secret(name, plain)) {
			value = masked // a proxy may write the address like that
		}
		line := strings.ToValidUTF8(name+": "+lineshaft.CutBytes(value, maxHeader), "\uFFFD")
		line = strings.Map(printable, line)
		if out.Len()+len(line)+1 > maxHeaders {
			break
		}
		out.WriteString(line)
		out.WriteByte('\n')
	}
	return out.String()
}

// printable replaces what would begin another line of the log; no sender can send it, but
// test events are typed.
func printable(c rune) rune {
	if c < ' ' || c == 0x7f {
		return ' '
	}
	return c
}
