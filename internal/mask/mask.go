// Package mask takes secret values out of what agents print, before it is
// stored or shown.
//
// A value of at least [MinLength] bytes is found as it is, escaped as JSON does,
// line by line when it has several, and in base64: both alphabets, at every
// position within other data, with or without padding, and wrapped into lines.
// Every stretch of overlapping finds is replaced by ***NAME***, or by *** for a
// secret without a name. What is not a secret is left as it is, byte for byte.
//
// It is a safety net against accidents, not a wall: an agent that wants to show a
// secret can always print it backwards. The package is pure: no I/O, no clock.
package mask

import (
	"maps"
	"slices"
	"strings"
)

// MinLength is the length in bytes from which on a value is masked. Shorter ones
// would be found everywhere.
const MinLength = 8

// Masker masks a fixed set of secrets. A nil Masker masks nothing. It may be
// used by several goroutines at the same time.
type Masker struct {
	plain   *automaton // the bytes themselves
	encoded *automaton // base64, which may be wrapped into lines
	masks   []string   // by secret, in the order of names
}

// New makes a Masker for values by name. Values that are too short, white space
// at their ends not counted, are left out; nil is returned when nothing is left.
func New(secrets map[string]string) *Masker {
	plain, encoded := newBuilder(), newBuilder()
	m := &Masker{}
	for _, name := range slices.Sorted(maps.Keys(secrets)) {
		value := strings.TrimSpace(secrets[name])
		if len(value) < MinLength {
			continue
		}
		secret := len(m.masks)
		for _, p := range plainForms(value) {
			plain.add(p, secret)
		}
		for _, p := range encodedForms(value) {
			encoded.add(p, secret)
		}
		m.masks = append(m.masks, maskOf(name))
	}
	if len(m.masks) == 0 {
		return nil
	}
	m.plain, m.encoded = plain.build(), encoded.build()
	return m
}

func maskOf(name string) string {
	if name == "" {
		return "***"
	}
	return "***" + name + "***"
}

// String masks a text.
func (m *Masker) String(s string) string {
	if m == nil {
		return s
	}
	found := find(m, s)
	if len(found) == 0 {
		return s
	}
	return string(m.replace(nil, []byte(s), found))
}

// Bytes masks a text. It never changes p, but may return it.
func (m *Masker) Bytes(p []byte) []byte {
	if m == nil {
		return p
	}
	found := find(m, p)
	if len(found) == 0 {
		return p
	}
	return m.replace(nil, p, found)
}

// find gives all finds in a complete text, in order.
func find[T text](m *Masker, p T) []match {
	var plain, encoded cursor
	found := scanPlain(m.plain, &plain, p, 0, nil)
	found = scanEncoded(m.encoded, &encoded, p, 0, found)
	slices.SortFunc(found, byStart)
	return found
}

// replace appends p to out with the finds, which must be in order, masked.
func (m *Masker) replace(out, p []byte, found []match) []byte {
	covered := 0
	for _, f := range found {
		if f.start < covered {
			covered = max(covered, f.end)
			continue
		}
		out = append(out, p[covered:f.start]...)
		out = append(out, m.masks[f.secret]...)
		covered = f.end
	}
	return append(out, p[covered:]...)
}

// match is one find: a range and whose it is.
type match struct {
	start, end, secret int
}

// byStart orders so that the first find of an overlapping stretch names it: the
// one that begins first, or else the longest.
func byStart(a, b match) int {
	if a.start != b.start {
		return a.start - b.start
	}
	if a.end != b.end {
		return b.end - a.end
	}
	return a.secret - b.secret
}
