package client

import (
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"
	"time"
)

func TestSSEFrames(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		want       []string
		cut        bool
	}{
		{"empty", "", nil, false},
		{"one", "id: 1\nevent: x\ndata: a\n\n", []string{"a"}, false},
		{"carriage returns", "data: a\r\n\r\ndata: b\r\n\r\n", []string{"a", "b"}, false},
		{"no space", "data:a\n\n", []string{"a"}, false},
		{"two spaces keep one", "data:  a\n\n", []string{" a"}, false},
		{"several lines", "data: a\ndata\ndata: b\n\n", []string{"a\n\nb"}, false},
		{"comments", ": hi\n\n:\n\ndata: a\n: between\ndata: b\n\n", []string{"a\nb"}, false},
		{"byte order mark", "\ufeffdata: a\n\n", []string{"a"}, false},
		{"unknown field", "later: x\ndata: a\n\n", []string{"a"}, false},
		{"without data", "id: 5\nevent: ping\n\ndata: a\n\n", []string{"a"}, false},
		{"cut before the blank line", "data: a\n\ndata: b\n", []string{"a"}, true},
		{"cut in a line", "data: a\n\ndata: b", []string{"a"}, true},
		{"cut after the id", "data: a\n\nid: 2\n", []string{"a"}, true},
		{"ends in a comment", "data: a\n\n: beat\n", []string{"a"}, false},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			for _, reader := range []io.Reader{strings.NewReader(tc.text), iotest.OneByteReader(strings.NewReader(tc.text))} {
				frames := newFrameReader(reader)
				var got []string
				var err error
				for {
					var next frame
					if next, err = frames.next(); err != nil {
						break
					}
					got = append(got, string(next))
				}
				if strings.Join(got, "|") != strings.Join(tc.want, "|") || errors.Is(err, errStreamEnd) == tc.cut {
					t.Errorf("got %q, %v; want %q, cut %v", got, err, tc.want, tc.cut)
				}
			}
		})
	}
}

func TestSSERetryField(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"20": 20 * time.Millisecond, "x": 0, "-1": 0, "99999999": longestRetryAfter,
	} {
		frames := newFrameReader(strings.NewReader("retry: " + text + "\ndata: a\n\n"))
		if _, err := frames.next(); err != nil || frames.retry != want {
			t.Errorf("retry %q: %v, %v; want %v", text, frames.retry, err, want)
		}
	}
}

func TestSSEFrameIsBounded(t *testing.T) {
	t.Parallel()
	const limit = 200_000 // more than one buffer
	for name, text := range map[string]string{
		"one line without end": "data: " + strings.Repeat("x", 3*limit),
		"one line":             "data: " + strings.Repeat("x", limit+1) + "\n\n",
		"many lines":           strings.Repeat("data: "+strings.Repeat("x", 99)+"\n", limit/100+1) + "\n",
	} {
		frames := newFrameReader(strings.NewReader(text))
		frames.limit = limit
		if _, err := frames.next(); !errors.Is(err, errFrameTooLarge) || retryable(err, true) {
			t.Errorf("%s: %v, want a final refusal", name, err)
		}
	}
	frames := newFrameReader(strings.NewReader("data: " + strings.Repeat("x", limit-10) + "\n\n"))
	frames.limit = limit
	if data, err := frames.next(); err != nil || len(data) != limit-10 {
		t.Errorf("a frame within the limit: %d bytes, %v", len(data), err)
	}
}

func FuzzSSE(f *testing.F) {
	f.Add("id: 1\nevent: x\ndata: {}\n\n")
	f.Add(":\n\ndata: a\r\ndata\n\nretry: 1\n")
	f.Fuzz(func(t *testing.T, text string) {
		whole, split := newFrameReader(strings.NewReader(text)), newFrameReader(iotest.OneByteReader(strings.NewReader(text)))
		for {
			a, errA := whole.next()
			b, errB := split.next()
			if string(a) != string(b) || (errA == nil) != (errB == nil) {
				t.Fatalf("the frames depend on how the bytes arrive: %q %v, %q %v", a, errA, b, errB)
			}
			if errA != nil {
				return
			}
			if len(a) > len(text) {
				t.Fatalf("frame %q is longer than the stream", a)
			}
		}
	})
}
