package filter

import (
	"strconv"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// A filter's exponents end at exponentLimit; a body's stop growing at exponentCap.
// The digits of a text shift an exponent by less than 2^31, so that a number that
// reached the cap cannot come to equal one of a filter.
const (
	exponentLimit int64 = 1_000_000_000_000_000
	exponentCap   int64 = 1 << 62
)

// appendNumber appends the canonical form of a checked JSON number: the sign, the
// digits without zeros at either end, and the power of ten that the last of them
// counts. Equal values have equal forms, whatever their size; zero is "0".
func appendNumber(dst, text []byte) (form []byte, exponent int64) {
	start := len(dst)
	if len(text) > 0 && text[0] == '-' {
		dst = append(dst, '-')
		text = text[1:]
	}
	digits := len(dst)
	var written, step int64
	for i, c := range text {
		if c == '.' {
			step = 1
			continue
		}
		if c|0x20 == 'e' {
			written = parseExponent(text[i+1:])
			break
		}
		exponent -= step
		if c != '0' || len(dst) > digits {
			dst = append(dst, c)
		}
	}
	for len(dst) > digits && dst[len(dst)-1] == '0' {
		dst = dst[:len(dst)-1]
		exponent++
	}
	if len(dst) == digits {
		return append(dst[:start], '0'), 0 // of either sign
	}
	exponent += written
	return strconv.AppendInt(append(dst, 'e'), exponent, 10), exponent
}

// parseExponent reads an exponent with its sign, whatever its length.
func parseExponent(text []byte) (exponent int64) {
	for _, c := range text {
		if c < '0' || c > '9' {
			continue // the sign
		}
		if exponent = exponent*10 + int64(c-'0'); exponent > exponentCap/16 {
			exponent = exponentCap
			break
		}
	}
	if len(text) > 0 && text[0] == '-' {
		return -exponent
	}
	return exponent
}

// Doc is a body as filters see it.
type Doc = jsontext.Doc

// Value is a place in a body, for those who read more of it than filters do.
type Value = jsontext.Value

// Parse reads one JSON value. The document refers to body, which must not change
// while it is in use. The error quotes nothing of the body.
func Parse(body []byte) (*Doc, error) { return jsontext.Parse(body) }

const none = jsontext.None
