package signature

import (
	"net/http"
	"strings"
	"time"
)

// Limits of what is read from headers before anything is known of the sender.
const (
	maxHeader     = 4096 // bytes of a signature header
	maxSignatures = 16   // signatures in it
	maxID         = 256  // bytes of a delivery id
)

// single returns the value of a header that must be there once. The name must be
// in canonical form.
func single(h http.Header, canonical string) (string, error) {
	values := h[canonical]
	switch {
	case len(values) == 0 || len(values) == 1 && values[0] == "":
		return "", errMissing
	case len(values) > 1:
		return "", errCopies
	case len(values[0]) > maxHeader:
		return "", errLong
	}
	return values[0], nil
}

// items calls visit for each item of a header value until it returns false. An
// empty separator makes the whole value one item.
func items(value, separator string, visit func(item string) bool) {
	if separator == "" {
		visit(value)
		return
	}
	for item := range strings.SplitSeq(value, separator) {
		if !visit(strings.Trim(item, " ")) {
			return
		}
	}
}

// signatures collects the signatures of a header value: the items behind prefix.
// Other items are versions that we do not know; they are passed over.
func signatures(dst []string, value, separator, prefix string) ([]string, error) {
	tooMany := false
	items(value, separator, func(item string) bool {
		signature, found := strings.CutPrefix(item, prefix)
		if found && signature != "" {
			tooMany = len(dst) == maxSignatures
			if !tooMany {
				dst = append(dst, signature)
			}
		}
		return !tooMany
	})
	switch {
	case tooMany:
		return nil, errTooMany
	case len(dst) == 0:
		return nil, errNoSignature
	}
	return dst, nil
}

// stampItem finds the time stamp among the items, such as t of "t=1,v1=…".
func stampItem(value, separator, name string) (string, error) {
	stamp, err := "", errNoStamp
	items(value, separator, func(item string) bool {
		key, text, _ := strings.Cut(item, "=")
		if key != name {
			return true
		}
		if err == nil {
			err = errCopies
			return false
		}
		stamp, err = text, nil
		return true
	})
	return stamp, err
}

// instant reads Unix time in the given unit, or in the one that its length
// suggests if that is zero.
func instant(digits string, unit time.Duration) (milliseconds int64, ok bool) {
	const longest = 14 // digits: milliseconds for the next thousand years
	if digits == "" || len(digits) > longest || digits[0] == '0' && len(digits) > 1 {
		return 0, false
	}
	n := int64(0)
	for i := range len(digits) {
		if !digit(digits[i]) {
			return 0, false
		}
		n = n*10 + int64(digits[i]-'0')
	}
	if unit == time.Millisecond || unit == 0 && len(digits) > 11 {
		return n, true
	}
	return n * 1000, true
}

// near reports whether a time stamp is close enough to now, in whole seconds: a
// sender's stamp has no fractions, so ours do not count either.
func near(milliseconds int64, now time.Time, window time.Duration) bool {
	away := now.UnixMilli() - milliseconds
	if away < 0 {
		away = -away
	}
	return away/1000 <= int64(window/time.Second)
}

func digit(c byte) bool { return c >= '0' && c <= '9' }

func printable(text string) bool {
	for i := range len(text) {
		if text[i] < ' ' || text[i] > '~' {
			return false
		}
	}
	return true
}
