package store

import (
	"bytes"
	"strings"
	"testing"
)

// W-18: a body is read byte for byte as it came, packed or not.
func TestW18PackedBodiesAreReadAsTheyCame(t *testing.T) {
	t.Parallel()
	for name, body := range map[string][]byte{
		"none": {}, "short": []byte(`{}`), "marked": {packedMark}, "marked and long": append([]byte{packedMark}, bytes.Repeat([]byte("x"), 1000)...),
		"long": []byte(`{"text":"` + strings.Repeat("The press stops again. ", 100) + `"}`), "dense": dense(1000),
	} {
		for _, d := range []*dialect{sqliteDialect(), postgresDialect()} {
			stored := d.pack(body)
			got, err := unpack(stored)
			if err != nil || !bytes.Equal(got, body) {
				t.Errorf("%s on %s: got %q, %v, want %q", name, d.name, got, err, body)
			}
			if small := len(stored) < len(body)/2; small != (d.packs && name == "long") && !strings.HasPrefix(name, "marked") {
				t.Errorf("%s on %s: got %d of %d bytes", name, d.name, len(stored), len(body))
			}
		}
	}
	for _, damaged := range [][]byte{{packedMark, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff}, {packedMark, 0xff, 0xff, 0xff, 0xff, 0x0f, 0}, {packedMark, 9, 0}} {
		if _, err := unpack(damaged); err == nil {
			t.Errorf("a damaged body was read: %x", damaged)
		}
	}
}

// dense is something that cannot be packed and does not begin with the mark.
func dense(n int) []byte {
	body, x := make([]byte, n), uint32(1)
	for i := range body {
		x = x*1664525 + 1013904223
		body[i] = byte(x>>24) | 1
	}
	return body
}
