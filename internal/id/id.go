// Package id makes the identifiers of Lineshaft: time-ordered UUIDs (version 7)
// and random secrets. It is not for checking credentials.
//
// A UUID carries the microsecond of its making, and a Source never gives the
// same microsecond twice, so sorting ids of one table by text sorts them by
// creation time exactly. The store relies on it: a list by creation time needs
// no index besides the primary key.
package id

import (
	"crypto/rand"
	"encoding/base64"
	"encoding/binary"
	"encoding/hex"
	"sync/atomic"
	"time"
)

// Source makes ids. The zero value is not usable; call New.
type Source struct {
	now  func() time.Time
	last atomic.Int64 // microsecond of the newest id
}

// New returns a Source that reads the given clock.
func New(now func() time.Time) *Source { return &Source{now: now} }

// Next returns a new id and the time it carries, in whole microseconds.
func (s *Source) Next() (string, time.Time) {
	for {
		last := s.last.Load()
		micros := max(s.now().UnixMicro(), last+1)
		if s.last.CompareAndSwap(last, micros) {
			var tail [8]byte
			_, _ = rand.Read(tail[:]) // crypto/rand never fails; it ends the program instead
			return encode(micros, tail), time.UnixMicro(micros).UTC()
		}
	}
}

// NewString is Next without the time.
func (s *Source) NewString() string {
	text, _ := s.Next()
	return text
}

// Floor is the smallest id that an id made at t or later can have.
func Floor(t time.Time) string { return encode(max(t.UnixMicro(), 0), [8]byte{}) }

// Time reads the microsecond that an id carries.
func Time(text string) (time.Time, bool) {
	raw, ok := decode(text)
	if !ok || raw[6]>>4 != 7 {
		return time.Time{}, false
	}
	var head [8]byte
	copy(head[2:], raw[:6])
	millis := int64(binary.BigEndian.Uint64(head[:]))
	fraction := int64(raw[6]&0x0f)<<8 | int64(raw[7])
	return time.UnixMicro(millis*1000 + (fraction*1000+4095)/4096).UTC(), true
}

// Valid says whether text has the form of a UUID.
func Valid(text string) bool {
	_, ok := decode(text)
	return ok
}

// encode lays out a version 7 UUID: 48 bits of milliseconds, 12 bits of the
// fraction of the millisecond (RFC 9562, method 3), 62 random bits. Twelve bits
// hold a thousand microseconds without loss of order.
func encode(micros int64, tail [8]byte) string {
	var raw [16]byte
	binary.BigEndian.PutUint64(raw[:8], uint64(micros/1000)<<16)
	fraction := micros % 1000 * 4096 / 1000
	raw[6] = 0x70 | byte(fraction>>8)
	raw[7] = byte(fraction)
	copy(raw[8:], tail[:])
	raw[8] = raw[8]&0x3f | 0x80
	var out [36]byte
	hex.Encode(out[0:8], raw[0:4])
	hex.Encode(out[9:13], raw[4:6])
	hex.Encode(out[14:18], raw[6:8])
	hex.Encode(out[19:23], raw[8:10])
	hex.Encode(out[24:], raw[10:])
	out[8], out[13], out[18], out[23] = '-', '-', '-', '-'
	return string(out[:])
}

func decode(text string) ([16]byte, bool) {
	var raw [16]byte
	if len(text) != 36 || text[8] != '-' || text[13] != '-' || text[18] != '-' || text[23] != '-' {
		return raw, false
	}
	packed := text[:8] + text[9:13] + text[14:18] + text[19:23] + text[24:]
	_, err := hex.Decode(raw[:], []byte(packed))
	return raw, err == nil
}

// Secret returns n random bytes in URL-safe text.
func Secret(n int) string {
	raw := make([]byte, n)
	_, _ = rand.Read(raw) // crypto/rand never fails; it ends the program instead
	return base64.RawURLEncoding.EncodeToString(raw)
}

// alphabet are the letters and digits of Alphanumeric.
const alphabet = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"

// Alphanumeric returns n random letters and digits, each as likely as any other.
func Alphanumeric(n int) string {
	const even = 256 / len(alphabet) * len(alphabet) // above it the first letters would come more often
	out := make([]byte, 0, n)
	var raw [32]byte
	for {
		_, _ = rand.Read(raw[:]) // crypto/rand never fails; it ends the program instead
		for _, b := range raw {
			if len(out) == n {
				return string(out)
			}
			if int(b) < even {
				out = append(out, alphabet[int(b)%len(alphabet)])
			}
		}
	}
}
