package cli

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/goccy/go-yaml"

	"github.com/lineshaft/lineshaft/internal/terminal"
)

// escapeJSON writes what acts on a terminal as \uXXXX, which is the same text for programs.
// JSON has such characters inside of strings only; those below a space are escaped already.
func escapeJSON(text []byte) []byte {
	acts := func(r rune) bool { return r > ' ' && terminal.Acts(r) }
	if !bytes.ContainsFunc(text, acts) {
		return text
	}
	var out bytes.Buffer
	for _, r := range string(text) {
		if acts(r) {
			fmt.Fprintf(&out, `\u%04x`, r)
		} else {
			out.WriteRune(r)
		}
	}
	return out.Bytes()
}

// safeYAML writes JSON as YAML in which texts of others neither act on a terminal nor break
// the document. The library writes every character as it is; YAML allows some of them
// only in double quotes and escaped. So it gets words that stand for such texts, and
// these are put into their places. Nobody can guess the words.
func safeYAML(text []byte) ([]byte, error) {
	word := "text-" + strings.ToLower(rand.Text()) + "-"
	var plain bytes.Buffer
	var places []string
	for len(text) > 0 {
		start := bytes.IndexByte(text, '"')
		if start < 0 {
			start = len(text)
		}
		plain.Write(text[:start])
		if text = text[start:]; len(text) == 0 {
			break
		}
		literal := text[:stringEnd(text)]
		text = text[len(literal):]
		var value string
		if err := json.Unmarshal(literal, &value); err != nil {
			return nil, err
		}
		// Texts of several lines stay readable, but a key, or a tab in a single line, is misread.
		lines := strings.Contains(value, "\n")
		if strings.ContainsFunc(value, needsEscape) || lines && isKey(text) || !lines && strings.Contains(value, "\t") {
			literal = fmt.Appendf(nil, `"%s%d."`, word, len(places)/2)
			places = append(places, strings.Trim(string(literal), `"`), strconv.Quote(value))
		}
		plain.Write(literal)
	}
	out, err := yaml.JSONToYAML(plain.Bytes())
	if err != nil || len(places) == 0 {
		return out, err
	}
	return []byte(strings.NewReplacer(places...).Replace(string(out))), nil
}

// stringEnd is the length of the JSON string that text begins with.
func stringEnd(text []byte) int {
	for i := 1; i < len(text); i++ {
		switch text[i] {
		case '\\':
			i++
		case '"':
			return i + 1
		}
	}
	return len(text)
}

// isKey says that what stands before text is the key of an object.
func isKey(text []byte) bool { return bytes.HasPrefix(bytes.TrimLeft(text, " \n"), []byte(":")) }

// needsEscape tells what acts on a terminal, and what is no printable character of YAML
// or ends a line in it.
func needsEscape(r rune) bool {
	switch r {
	case '\n', '\t':
		return false
	case '\u2028', '\u2029', '\ufeff', '\ufffe', '\uffff':
		return true
	}
	return terminal.Acts(r)
}
