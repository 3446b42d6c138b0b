package mask

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"strings"
	"unicode/utf8"
)

// plainForms are the byte strings that show a value.
func plainForms(value string) []string {
	var forms []string
	add := func(s string) {
		if len(s) < MinLength {
			return
		}
		forms = append(forms, s)
		if utf8.ValidString(s) {
			forms = append(forms, escape(s, true), escape(s, false))
		}
	}
	add(value)
	// Lines are often printed one by one, indented or numbered.
	if strings.ContainsRune(value, '\n') {
		for line := range strings.Lines(value) {
			if line = strings.TrimSpace(line); !isArmor(line) {
				add(line)
			}
		}
	}
	return forms
}

// isArmor reports whether a line is the head or foot of a PEM block, which is no secret.
func isArmor(line string) bool {
	return strings.HasPrefix(line, "-----") && strings.HasSuffix(line, "-----")
}

func escape(s string, html bool) string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(html)
	if e.Encode(s) != nil {
		return s
	}
	return strings.TrimSuffix(strings.TrimPrefix(strings.TrimSuffix(b.String(), "\n"), `"`), `"`)
}

// encodedForms are those characters of a value in base64 that depend on nothing
// but the value, for each of the three positions it can have in a group of three
// bytes. One character before and one after can hold a few bits of it: they stay.
func encodedForms(value string) []string {
	var forms []string
	for _, encoding := range []*base64.Encoding{base64.RawStdEncoding, base64.RawURLEncoding} {
		for before := range 3 {
			text := encoding.EncodeToString(append(make([]byte, before), value...))
			first := (before*8 + 5) / 6           // after the last character that holds bits from before
			last := (before + len(value)) * 8 / 6 // before the first that holds bits from after
			forms = append(forms, text[first:last])
		}
	}
	return forms
}
