package lineshaft

import (
	"strconv"
	"strings"
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

// fieldAt is the path of an element of a list.
func fieldAt(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
