package terminal

import (
	"strings"
	"unicode/utf8"
)

// maxEdit bounds what a person, or something that is pasted, can type.
const maxEdit = 8 << 10

// Edit is a line that a person types.
type Edit struct{ text string }

// Key takes a key and says whether it changed the line.
func (e *Edit) Key(k Key) bool {
	was := e.text
	switch {
	case k.Name == "" && len(e.text)+utf8.RuneLen(k.Rune) <= maxEdit:
		e.text += string(k.Rune)
	case k.Name == KeyBackspace:
		_, size := utf8.DecodeLastRuneInString(e.text)
		e.text = e.text[:len(e.text)-size]
	case k.Name == KeyClear:
		e.text = ""
	case k.Name == KeyWord:
		kept := strings.TrimRight(e.text, " ")
		e.text = kept[:strings.LastIndexByte(kept, ' ')+1]
	}
	return e.text != was
}

// Text is what was typed.
func (e *Edit) Text() string { return e.text }

// Show is the end of the line as far as it fits.
func (e *Edit) Show(columns int) string {
	from := len(e.text)
	for used := 0; from > 0; {
		r, size := utf8.DecodeLastRuneInString(e.text[:from])
		if used += RuneWidth(r); used > columns {
			break
		}
		from -= size
	}
	return e.text[from:]
}
