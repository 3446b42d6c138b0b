package lineshaft

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// storable says whether every database, file system and process can take s as
// text: valid UTF-8 without a NUL character.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// checkText refuses text in field that is not storable.
func checkText(field string, texts ...string) error {
	for _, s := range texts {
		if !storable(s) {
			return Invalid(field, "must be UTF-8 text without NUL characters")
		}
	}
	return nil
}

// CleanTitle makes a title of text from outside: one line of at most MaxTitleRunes
// characters, without those that are not shown or change how others are.
func CleanTitle(text string) string {
	text = strings.Map(func(r rune) rune {
		if unicode.IsControl(r) || unicode.Is(unicode.Bidi_Control, r) || unicode.Is(unicode.Zl, r) || unicode.Is(unicode.Zp, r) {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(text, ""))
	return Clip(strings.Join(strings.Fields(text), " "), MaxTitleRunes)
}

// Clip is a text that people read, of at most so many characters; an ellipsis is the last
// of one that was cut.
func Clip(text string, most int) string {
	if utf8.RuneCountInString(text) <= most {
		return text
	}
	return string([]rune(text)[:most-1]) + "…"
}

// CutBytes is the beginning of a text: at most so many bytes, and whole characters.
func CutBytes(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}

// fieldAt is the path of an element of a list.
func fieldAt(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
