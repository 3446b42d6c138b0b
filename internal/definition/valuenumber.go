package definition

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
)

func (r *reader) readWhole(path string, n *node, least, most int64) (int64, bool) {
	if n.kind != numberNode {
		r.wrongKind(n, path, "a whole number", fmt.Sprintf("write one from %d to %d, without quotes", least, most))
		return 0, false
	}
	v, err := strconv.ParseInt(n.text, 10, 64)
	if err != nil || v < least || v > most {
		r.wrong(n, path, fmt.Sprintf("%s is not a whole number from %d to %d", lineshaft.Clip(n.text, 40), least, most), "write one of these")
		return 0, false
	}
	return v, true
}

func wholeSchema(least, most int64) schema {
	return schema{"type": "integer", "minimum": least, "maximum": most}
}

// whole is a number that need not be said when it is the usual one.
func whole[T ~int | ~int64](to *T, least, most, usual int64) value {
	return value{
		read: func(r *reader, path string, n *node) {
			if v, ok := r.readWhole(path, n, least, most); ok {
				*to = T(v)
			}
		},
		write: func() *node {
			if int64(*to) == usual {
				return nil
			}
			return numberOf(strconv.FormatInt(int64(*to), 10))
		},
		schema: func() schema { return wholeSchema(least, most) },
		usual:  strconv.FormatInt(usual, 10),
	}
}

// wholeOption is a number that may be left open.
func wholeOption(to **int, least, most int64) value {
	return optional(to, func(v *int) value { return whole(v, least, most, least-1) })
}

// optional is a value that may be left open, of one that is always said.
func optional[T any](to **T, of func(*T) value) value {
	return value{
		read: func(r *reader, path string, n *node) {
			v, before := new(T), len(r.problems)
			if of(v).read(r, path, n); len(r.problems) == before {
				*to = v
			}
		},
		write: func() *node {
			if *to == nil {
				return nil
			}
			return of(*to).write()
		},
		schema: func() schema { return of(new(T)).schema() },
	}
}

// decimal is a number between two bounds, with at most some digits after the point; 0 is
// any number of them.
func decimal(to **float64, least, most float64, digits int) value {
	return value{
		read: func(r *reader, path string, n *node) {
			if n.kind != numberNode {
				r.wrongKind(n, path, "a number", fmt.Sprintf("write one from %v to %v, without quotes", least, most))
				return
			}
			_, fraction, _ := strings.Cut(n.text, ".")
			v, err := strconv.ParseFloat(n.text, 64)
			if err != nil || v < least || v > most || digits > 0 && (len(fraction) > digits || strings.ContainsAny(n.text, "eE")) {
				r.wrong(n, path, fmt.Sprintf("%s is not a number from %v to %v", lineshaft.Clip(n.text, 40), least, most)+atMostDigits(digits), "write one of these")
				return
			}
			*to = &v
		},
		write:  func() *node { return nil },
		schema: func() schema { return schema{"type": "number", "minimum": least, "maximum": most} },
	}
}

func atMostDigits(digits int) string {
	if digits == 0 {
		return ""
	}
	return fmt.Sprintf(" with at most %d digits behind the point", digits)
}

func (r *reader) readFlag(path string, n *node) (value, ok bool) {
	if n.kind != flagNode {
		r.wrongKind(n, path, "true or false", "write true or false, without quotes")
		return false, false
	}
	return n.text == "true", true
}

// toggle is true or false, and not said when it is the usual one.
func toggle(to *bool, usual bool) value {
	return value{
		read: func(r *reader, path string, n *node) {
			if v, ok := r.readFlag(path, n); ok {
				*to = v
			}
		},
		write: func() *node {
			if *to == usual {
				return nil
			}
			return flagOf(*to)
		},
		schema: func() schema { return schema{"type": "boolean"} },
		usual:  strconv.FormatBool(usual),
	}
}

// toggleOption may be left open.
func toggleOption(to **bool) value {
	return optional(to, func(v *bool) value {
		said := toggle(v, true)
		said.write = func() *node { return flagOf(*v) }
		return said
	})
}
