package definition

import (
	"math/big"
	"regexp"
	"strings"
	"unicode/utf8"
)

var (
	integerForm = regexp.MustCompile(`^[-+]?[0-9]+$`)
	octalForm   = regexp.MustCompile(`^0o[0-7]+$`)
	hexForm     = regexp.MustCompile(`^0x[0-9a-fA-F]+$`)
	floatForm   = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// resolvePlain says what an unquoted scalar is (YAML 1.2, core schema), numbers in
// the form of JSON. Infinities and NaN, which JSON has not, are text.
func resolvePlain(text string) (nodeKind, string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nullNode, ""
	case "true", "True", "TRUE":
		return flagNode, "true"
	case "false", "False", "FALSE":
		return flagNode, "false"
	}
	switch {
	case octalForm.MatchString(text), hexForm.MatchString(text):
		// Reading takes the square of the length.
		if len(text) <= 300 {
			if n, ok := new(big.Int).SetString(text, 0); ok {
				return numberNode, n.String()
			}
		}
		return textNode, text
	case integerForm.MatchString(text), floatForm.MatchString(text):
		return numberNode, jsonNumber(text)
	}
	return textNode, text
}

// jsonNumber rewrites 010, +1, .5 and 5. as JSON wants them and leaves others alone.
func jsonNumber(text string) string {
	sign := ""
	text = strings.TrimPrefix(text, "+")
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		sign, text = "-", rest
	}
	end := strings.IndexAny(text, "eE")
	exponent := ""
	if end >= 0 {
		text, exponent = text[:end], text[end:]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction + exponent
}

func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }
