package mask

import (
	"bytes"
	"strings"
	"testing"
)

// A stretch of overlapping finds may be endless; what is held may not.
func TestS2HeldBytesAreBounded(t *testing.T) {
	t.Parallel()
	m := New(map[string]string{"Z": "00000000", "S": "secret-value"})
	for name, test := range map[string]struct{ piece, want string }{
		"overlapping finds":         {strings.Repeat("0", 1000), "***Z***"},
		"a beginning, then a gap":   {"c2VjcmV0LXZ" + strings.Repeat("\n", 1000), ""},
		"beginnings of many things": {"secretsecret-secret-valu000000", ""},
	} {
		s := m.Stream()
		var out []byte
		for range 100 {
			out = append(out, s.Write([]byte(test.piece))...)
			if len(s.held) > 100 || cap(s.held) > 2200 || len(s.found) > 1010 {
				t.Fatalf("%s: holds %d bytes in %d, %d finds", name, len(s.held), cap(s.held), len(s.found))
			}
		}
		out = append(out, s.Flush()...)
		if want := bytes.Repeat([]byte(test.piece), 100); test.want == "" && !bytes.Equal(out, want) || test.want != "" && string(out) != test.want {
			t.Errorf("%s: got %.200q", name, out)
		}
	}
}

// A long value costs memory in proportion, not a table for each of its bytes.
func TestS2LongValuesAreCheap(t *testing.T) {
	t.Parallel()
	value := strings.Repeat("0123456789abcdef", 4<<10)
	m := New(map[string]string{"LONG": value})
	if nodes := len(m.plain.nodes) + len(m.encoded.nodes); nodes > 10*len(value) {
		t.Errorf("%d nodes for %d bytes", nodes, len(value))
	}
	if got := m.String("<" + value + ">"); got != "<***LONG***>" {
		t.Errorf("got %.100q", got)
	}
}
