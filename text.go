package lineshaft

import (
	"strconv"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"
)

// storable says whether every database, file system and process can take s as
// text: valid UTF-8 without a NUL character.
func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

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

// Convert makes a list of one kind of words a list of another; none stays nil.
func Convert[To, From ~string](list []From) []To {
	var out []To
	for _, word := range list {
		out = append(out, To(word))
	}
	return out
}

// FoldCase is s without regard to case: two names that differ in nothing else are one name.
// It is Unicode's full folding: ΣΑΣ, σας and σασ are the same, and so are STRASSE and
// straße. Stored keys are folded with it, so it is the same on every engine.
func FoldCase(s string) string {
	if isLowerASCII(s) {
		return s
	}
	return strings.Map(foldRune, longFoldings().Replace(s))
}

// SameFolded says whether two names differ by case at most.
func SameFolded(a, b string) bool { return a == b || FoldCase(a) == FoldCase(b) }

func isLowerASCII(s string) bool {
	for _, c := range []byte(s) {
		if c >= unicode.MaxASCII || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}

// foldRune is the same for all characters that differ by case only.
func foldRune(r rune) rune {
	least := r
	for other := unicode.SimpleFold(r); other != r; other = unicode.SimpleFold(other) {
		least = min(least, other)
	}
	return unicode.ToLower(least)
}

// longFoldings are those that become several characters: status F of Unicode's CaseFolding.txt.
var longFoldings = sync.OnceValue(func() *strings.Replacer {
	return strings.NewReplacer(
		"ß", "ss", "İ", "i\u0307", "ŉ", "ʼn", "ǰ", "j\u030c", "ΐ", "ι\u0308\u0301", "ΰ", "υ\u0308\u0301", "և", "եւ",
		"ẖ", "h\u0331", "ẗ", "t\u0308", "ẘ", "w\u030a", "ẙ", "y\u030a", "ẚ", "aʾ", "ẞ", "ss", "ὐ", "υ\u0313",
		"ὒ", "υ\u0313\u0300", "ὔ", "υ\u0313\u0301", "ὖ", "υ\u0313\u0342", "ᾀ", "ἀι", "ᾁ", "ἁι", "ᾂ", "ἂι", "ᾃ", "ἃι", "ᾄ", "ἄι",
		"ᾅ", "ἅι", "ᾆ", "ἆι", "ᾇ", "ἇι", "ᾈ", "ἀι", "ᾉ", "ἁι", "ᾊ", "ἂι", "ᾋ", "ἃι", "ᾌ", "ἄι", "ᾍ", "ἅι", "ᾎ", "ἆι", "ᾏ", "ἇι",
		"ᾐ", "ἠι", "ᾑ", "ἡι", "ᾒ", "ἢι", "ᾓ", "ἣι", "ᾔ", "ἤι", "ᾕ", "ἥι", "ᾖ", "ἦι", "ᾗ", "ἧι", "ᾘ", "ἠι", "ᾙ", "ἡι", "ᾚ", "ἢι",
		"ᾛ", "ἣι", "ᾜ", "ἤι", "ᾝ", "ἥι", "ᾞ", "ἦι", "ᾟ", "ἧι", "ᾠ", "ὠι", "ᾡ", "ὡι", "ᾢ", "ὢι", "ᾣ", "ὣι", "ᾤ", "ὤι", "ᾥ", "ὥι",
		"ᾦ", "ὦι", "ᾧ", "ὧι", "ᾨ", "ὠι", "ᾩ", "ὡι", "ᾪ", "ὢι", "ᾫ", "ὣι", "ᾬ", "ὤι", "ᾭ", "ὥι", "ᾮ", "ὦι", "ᾯ", "ὧι", "ᾲ", "ὰι",
		"ᾳ", "αι", "ᾴ", "άι", "ᾶ", "α\u0342", "ᾷ", "α\u0342ι", "ᾼ", "αι", "ῂ", "ὴι", "ῃ", "ηι", "ῄ", "ήι", "ῆ", "η\u0342",
		"ῇ", "η\u0342ι", "ῌ", "ηι", "ῒ", "ι\u0308\u0300", "ΐ", "ι\u0308\u0301", "ῖ", "ι\u0342", "ῗ", "ι\u0308\u0342",
		"ῢ", "υ\u0308\u0300", "ΰ", "υ\u0308\u0301", "ῤ", "ρ\u0313", "ῦ", "υ\u0342", "ῧ", "υ\u0308\u0342", "ῲ", "ὼι", "ῳ", "ωι",
		"ῴ", "ώι", "ῶ", "ω\u0342", "ῷ", "ω\u0342ι", "ῼ", "ωι", "ﬀ", "ff", "ﬁ", "fi", "ﬂ", "fl", "ﬃ", "ffi", "ﬄ", "ffl", "ﬅ", "st",
		"ﬆ", "st", "ﬓ", "մն", "ﬔ", "մե", "ﬕ", "մի", "ﬖ", "վն", "ﬗ", "մխ",
	)
})
