package cli

import (
	"bytes"
	"context"
	"io"
	"strings"
	"testing"
)

// TestI1InitAsks a person on a real terminal; wrong answers are asked for again.
func TestI1InitAsks(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	person, terminal := pty(t)
	s.deps.Stdin = terminal
	s.terminal(100)
	answers := []string{"Web shop", "builds", "tokn", "token", "{oops", `{"status": ["failed"]}`, "", `{"status": "failed"}`}
	if _, err := io.WriteString(person, strings.Join(answers, "\n")+"\n"); err != nil { // it waits in the terminal
		t.Fatal(err)
	}
	r := s.run(t.Context(), "init")
	if r.code != exitOK {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{
		"Factory [", "first", "Name of the webhook [", "Did you mean token?", "--filter is not JSON", "Prompt [", "A delivery that the filter lets through",
		"-- factory Web shop: made", "-- webhook builds: made", "-- automation builds: made", "curl -X POST http://server/webhooks/w/", "Authorization: Bearer ",
	} {
		if !strings.Contains(r.err, want) {
			t.Errorf("%q is missing in\n%s", want, r.err)
		}
	}
	if !strings.Contains(r.out, "SUCCEEDED") {
		t.Errorf("%+v", r)
	}
}

// TestI1InitIsLeft with Ctrl-D or Ctrl-C before anything is made.
func TestI1InitIsLeft(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	person, terminal := pty(t)
	if _, err := io.WriteString(person, "shop\n\x04"); err != nil {
		t.Fatal(err)
	}
	s.deps.Stdin = terminal
	if r := s.run(t.Context(), "init"); r.code != exitFailed || !strings.Contains(r.err, "Nothing was made.") {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var asked syncBuffer
	asked.at, asked.do = "Factory [", cancel // as Ctrl-C does, at the first question
	deps := s.deps
	deps.Stdout, deps.Stderr = io.Discard, &asked
	if code := execute(ctx, []string{"init"}, deps); code != exitFailed || !strings.Contains(asked.String(), "Nothing was made.") {
		t.Errorf("exit %d\n%s", code, asked.String())
	}
	if _, err := io.WriteString(person, "\n"); err != nil { // lets the reader end
		t.Fatal(err)
	}
	if list := s.must(t, "factory", "list", "-o", "ndjson"); list != "" {
		t.Errorf("made %s", list)
	}
}

// syncBuffer does something when a text has been written.
type syncBuffer struct {
	bytes.Buffer
	at string
	do func()
}

func (b *syncBuffer) Write(p []byte) (int, error) {
	n, err := b.Buffer.Write(p)
	if b.do != nil && strings.Contains(b.String(), b.at) {
		b.do()
		b.do = nil
	}
	return n, err
}
