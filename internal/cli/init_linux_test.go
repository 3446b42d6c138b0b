package cli

import (
	"bytes"
	"context"
	"io"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
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
	if r.code != shell.ExitOK {
		t.Fatalf("%+v", r)
	}
	for _, want := range []string{
		"Factory [", "first", "Name of the webhook [", "Did you mean token?", "the kind \"tokn\" is not known", "the filter is not JSON", "Type JSON such as", "Prompt [", "A delivery that the filter lets through",
		"-- factory Web shop: created", "-- webhook builds: created", "-- automation builds: created", "curl -X POST http://server/webhooks/w/", "Authorization: Bearer ",
	} {
		if !strings.Contains(r.err, want) {
			t.Errorf("%q is missing in\n%s", want, r.err)
		}
	}
	if !strings.Contains(r.out, "SUCCEEDED") || strings.Contains(r.err, "--kind") || strings.Contains(r.err, "Write --filter") {
		t.Errorf("%+v", r)
	}
}

// TestI1InitAsksForWhatItUses: what exists stays as it is, so nobody is asked about it.
func TestI1InitAsksForWhatItUses(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	secret := file(t, "secret", "a-secret-that-the-sender-and-we-have-chosen")
	s.must(t, "init", "--yes", "--webhook", "old", "--secret-file", secret)
	s.must(t, "init", "--yes", "--webhook", "strict", "--secret-file", secret, "--filter", `{"status": ["failed"]}`, "--data", `{"status": "failed"}`)
	s.must(t, "webhook", "create", "lonely", "--secret-file", secret)
	person, terminal := pty(t)
	s.deps.Stdin = terminal
	s.terminal(100)
	for _, tc := range []struct {
		name, typed string
		args        []string
		asked       []string
	}{
		{"all is there", "\nold\n", nil, []string{"Factory", "Name of the webhook"}},
		{"with its secret", "\nold\n", []string{"--secret-file", secret}, []string{"Factory", "Name of the webhook"}},
		{"a filter is there", "\nstrict\n{\"status\": \"failed\"}\n", []string{"--secret-file", secret}, []string{"Factory", "Name of the webhook", "A delivery"}},
		{"only the webhook", "\nlonely\n\n\n", []string{"--secret-file", secret}, []string{"Factory", "Name of the webhook", "Filter", "Prompt"}},
		{"nothing is there", "\nnew\n\n\n\n", nil, []string{"Factory", "Name of the webhook", "Kind", "Filter", "Prompt"}},
	} {
		if _, err := io.WriteString(person, tc.typed); err != nil {
			t.Fatal(err)
		}
		r := s.run(t.Context(), append([]string{"init"}, tc.args...)...)
		var asked []string
		for _, question := range []string{"Factory", "Name of the webhook", "Kind", "Filter", "Prompt", "A delivery"} {
			if regexp.MustCompile(question + `[^\n]*\[[^\n]*\]: `).MatchString(r.err) {
				asked = append(asked, question)
			}
		}
		if r.code != shell.ExitOK {
			t.Errorf("%s: %+v", tc.name, r)
		}
		if strings.Join(asked, ", ") != strings.Join(tc.asked, ", ") {
			t.Errorf("%s: asked %q, want %q", tc.name, asked, tc.asked)
		}
	}
	s.must(t, "webhook", "create", "guarded", "--replay-guard", "--secret-file", secret)
	if r := s.run(t.Context(), "init", "--yes", "--webhook", "guarded", "--secret-file", secret); !strings.Contains(r.err, "this webhook accepts each body once") {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "init", "--yes", "--webhook", "old", "--prompt", "Another", "--filter", `{"a": ["b"]}`); !strings.Contains(r.err, "and stays as it is, without --filter and --prompt: `lineshaft automation update` changes it") {
		t.Errorf("%+v", r)
	}
}

// TestI1InitWantsADeliveryThatPasses: Enter takes what the filter lets through; where
// none is known, it asks until one is typed.
func TestI1InitWantsADeliveryThatPasses(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	person, terminal := pty(t)
	s.deps.Stdin = terminal
	s.terminal(100)
	for _, tc := range []struct {
		typed string
		want  []string
	}{
		{"\none\n\n{\"status\": [\"failed\"]}\n\n\n", []string{`{"status":"failed"}`}},
		{
			"\ntwo\n\n{\"a\": {\"not_in\": [1], \"exists\": true}, \"b\": \"c\"}\n{\"a\": {\"not_in\": [\"test\"], \"exists\": true}}\n\n\n{\"a\": \"test\"}\n{\"a\": \"x\"}\n",
			[]string{"write [", "a delivery is required", "does not let the test delivery through", `-H X-Lineshaft-Delivery-Id:$(date +%s%N) -d '{"a": "x"}'`},
		},
	} {
		if _, err := io.WriteString(person, tc.typed); err != nil {
			t.Fatal(err)
		}
		r := s.run(t.Context(), "init")
		if r.code != shell.ExitOK || !strings.Contains(r.out, "SUCCEEDED") {
			t.Errorf("%+v", r)
		}
		for _, want := range tc.want {
			if !strings.Contains(r.err, want) {
				t.Errorf("%q is missing in\n%s", want, r.err)
			}
		}
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
	if r := s.run(t.Context(), "init"); r.code != shell.ExitFailed || !strings.Contains(r.err, "Nothing was created.") {
		t.Errorf("%+v", r)
	}
	ctx, cancel := context.WithCancel(t.Context())
	var asked syncBuffer
	asked.at, asked.do = "Factory [", cancel // as Ctrl-C does, at the first question
	deps := s.deps
	deps.Stdout, deps.Stderr = io.Discard, &asked
	if code := execute(ctx, []string{"init"}, deps); code != shell.ExitFailed || !strings.Contains(asked.String(), "Nothing was created.") {
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
