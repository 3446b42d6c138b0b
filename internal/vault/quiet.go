package vault

import (
	"bytes"
	"regexp"
	"strings"
	"unicode"
)

const (
	// maxSaid is how much of a command's standard error an error carries.
	maxSaid = 512
	// minKnown is the length from which words of standard output are masked.
	minKnown = 4

	maskText = "[masked]"
)

// Whatever looks like a key or token goes, since a traced script ("set -x")
// prints its key on standard error. Long names go with it, which costs less.
var (
	// A key in base64 or hexadecimal, but also any very long path.
	longRun = regexp.MustCompile(`[A-Za-z0-9+/_=-]{32,}`)
	// A token or a part of a key; without "/" and only with a digit, so that
	// paths and words such as AccessDeniedException stay.
	shortRun = regexp.MustCompile(`[A-Za-z0-9+_=-]{12,}`)
	// A hexadecimal dump.
	hexDump = regexp.MustCompile(`(?:\b[0-9A-Fa-f]{2,8}\b[ :,-]*){6,}`)
)

// quiet turns the standard error of a command into one short line without
// secrets: neither words of its standard output nor what looks like a key. cut
// says that the text was longer; a word cut in two is left out, because half a
// token may not look like one.
func quiet(stderr []byte, cut bool, stdout []byte) string {
	if cut {
		stderr = stderr[:bytes.LastIndexFunc(stderr, unicode.IsSpace)+1]
	}
	text := strings.Map(func(r rune) rune {
		if !unicode.IsPrint(r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(string(stderr), " "))
	text = strings.Join(strings.Fields(text), " ")
	for _, word := range strings.Fields(string(stdout)) {
		if len(word) >= minKnown {
			text = strings.ReplaceAll(text, word, maskText)
		}
	}
	text = longRun.ReplaceAllString(text, maskText)
	text = hexDump.ReplaceAllString(text, maskText)
	text = shortRun.ReplaceAllStringFunc(text, func(run string) string {
		if strings.ContainsAny(run, "0123456789") {
			return maskText
		}
		return run
	})
	if len(text) > maxSaid { // after masking, so that no token is cut
		text = strings.ToValidUTF8(text[:maxSaid], "") + "..."
	}
	return text
}
