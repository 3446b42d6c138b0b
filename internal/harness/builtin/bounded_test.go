package builtin

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
)

// endless says the same for ever, and counts how much of it was read.
type endless struct {
	text string
	read int
}

func (e *endless) Read(p []byte) (int, error) {
	n := copy(p, strings.Repeat(e.text, len(p)/len(e.text)+1))
	e.read += n
	return n, nil
}

func (*endless) Close() error { return nil }

type answers struct{ body io.ReadCloser }

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{}, Body: a.body}, nil
}

// TestX12EndlessToolServersOfTheBuiltinAgent: it runs in the worker, whose memory a tool
// server must not fill.
func TestX12EndlessToolServersOfTheBuiltinAgent(t *testing.T) {
	t.Parallel()
	const chunk = 64 << 10
	for _, text := range []string{"x", "x\n", "data: x\n\n"} {
		body := &endless{text: text}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://tool.example/", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		resp, err := headers{next: answers{body}, said: &atomic.Pointer[string]{}}.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		_, err = io.Copy(io.Discard, resp.Body)
		_ = resp.Body.Close()
		if !errors.Is(err, errLongAnswer) || body.read > maxServerAnswer+chunk {
			t.Errorf("%q by address: %d bytes, %v", text, body.read, err)
		}
	}
	line := &endless{text: "x"}
	if _, err := io.Copy(io.Discard, &bounded{ReadCloser: line, lines: true}); !errors.Is(err, errLongAnswer) || line.read > maxServerAnswer+chunk {
		t.Errorf("one line of a program: %d bytes, %v", line.read, err)
	}
	short := &bounded{ReadCloser: &endless{text: "x\n"}, lines: true}
	if n, err := io.CopyN(io.Discard, short, 2*maxServerAnswer); err != nil {
		t.Errorf("many lines of a program: %d bytes, %v", n, err)
	}
}
