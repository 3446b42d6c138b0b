package sse_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft/internal/sse"
)

// all reads a stream to its end.
func all(r io.Reader) ([]string, error) {
	var out []string
	for stream := sse.NewReader(r, 16<<20); ; {
		data, err := stream.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out = append(out, string(data))
	}
}

func TestX6Events(t *testing.T) {
	t.Parallel()
	tests := map[string][]string{
		"data: a\n\ndata: b\n\n":                  {"a", "b"},
		"data:a\r\n\r\n":                          {"a"},
		": comment\nevent: x\nid: 1\ndata: a\n\n": {"a"},
		"data: a\ndata: b\n\n":                    {"a\nb"},
		"data: \n\n":                              {""},
		"\n\n\ndata: a\n\n\n\n":                   {"a"},
		"event: x\n\ndata: a\n\n":                 {"a"},
		"data: a\n\ndata: cut":                    {"a"},
		"data: a\n\ndata: cut\n":                  {"a"},
		"data:  a \n\n":                           {" a "},
		"":                                        nil,
	}
	for text, want := range tests {
		got, err := all(strings.NewReader(text))
		if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
			t.Errorf("%q: %q, %v, want %q", text, got, err, want)
		}
	}
}

func TestX6EventsHaveALimit(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"data: " + strings.Repeat("x", 100<<10), strings.Repeat("data: "+strings.Repeat("x", 1000)+"\n", 100)} {
		stream := sse.NewReader(strings.NewReader(text), 64<<10)
		if _, err := stream.Next(); !errors.Is(err, sse.ErrTooLong) {
			t.Errorf("%v", err)
		}
	}
	if _, err := all(iotest.ErrReader(io.ErrClosedPipe)); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("a broken stream: %v", err)
	}
}

// However a stream is cut into pieces, and however lines end, the events are the same.
func TestX6EventsInPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		want := rapid.SliceOfN(rapid.StringMatching(`[a-z€ ]{0,40}`), 0, 10).Draw(t, "events")
		end := rapid.SampledFrom([]string{"\n", "\r\n"}).Draw(t, "end")
		var text strings.Builder
		for _, event := range want {
			text.WriteString("event: e" + end + "data: " + event + end + end)
		}
		text.WriteString("data: never ends")
		got, err := all(&pieces{rest: []byte(text.String()), size: func() int { return rapid.IntRange(1, 30).Draw(t, "piece") }})
		if err != nil || fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) && len(want)+len(got) > 0 {
			t.Fatalf("%q, %v, want %q", got, err, want)
		}
	})
}

type pieces struct {
	rest []byte
	size func() int
}

func (p *pieces) Read(to []byte) (int, error) {
	if len(p.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(to, p.rest[:min(p.size(), len(p.rest))])
	p.rest = p.rest[n:]
	return n, nil
}

func FuzzEvents(f *testing.F) {
	f.Add([]byte("data: a\r\n\ndata: b\n\n"))
	f.Add([]byte("event: x\ndata:\ndata:y\n\n:"))
	f.Fuzz(func(t *testing.T, text []byte) {
		whole, err1 := all(bytes.NewReader(text))
		single, err2 := all(iotest.OneByteReader(bytes.NewReader(text)))
		if fmt.Sprintf("%q %v", whole, err1) != fmt.Sprintf("%q %v", single, err2) {
			t.Errorf("whole %q %v, byte by byte %q %v", whole, err1, single, err2)
		}
	})
}

func TestR9AppendCannotBeForged(t *testing.T) {
	t.Parallel()
	for want, got := range map[string][]byte{
		"data: {}\n\n":                           sse.Append(nil, "", "", []byte("{}")),
		"id: 7\nevent: x\ndata: {}\n\n":          sse.Append(nil, "7", "x", []byte("{}")),
		"id: 1data: x\nevent: ab\ndata: c d\n\n": sse.Append(nil, "1\ndata: x\r\n", "a\n\nb\x00", []byte("c\n d")),
	} {
		if string(got) != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}
