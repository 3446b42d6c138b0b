package cli

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

const secretAnswer = `{"name":"TOKEN","kind":"managed","access":"runs","description":"for tickets","created_at":"2026-01-02T03:00:00Z","updated_at":"2026-01-02T03:00:00Z"}`

func TestS1SecretValueComesFromInputOrFile(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "value")
	if err := os.WriteFile(file, []byte("from a file\n\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ stdin, args, want string }{
		{"typed", "", "typed"},
		{"typed\n", "", "typed"},
		{"typed\r\n", "", "typed"},
		{"two\nlines\n\n", "", "two\nlines\n"},
		{" spaces stay ", "--value-file -", " spaces stay "},
		{"ignored", "--value-file " + file, "from a file\n\n"},
		{strings.Repeat("x", 64<<10) + "\n", "", strings.Repeat("x", 64<<10)},
	} {
		s := newStage(t)
		s.deps.Stdin = strings.NewReader(tc.stdin)
		s.answer("POST /api/v1/secrets", 201, secretAnswer)
		r := s.run(t.Context(), append([]string{"secret", "create", "TOKEN", "--team", "--access", "runs", "--description", "for tickets"}, strings.Fields(tc.args)...)...)
		if r.code != shell.ExitOK || r.out != "TOKEN created\n" || r.err != "" {
			t.Errorf("%q: %+v", tc.args, r)
			continue
		}
		var got map[string]string
		if err := json.Unmarshal([]byte(s.requests()[0].body), &got); err != nil || got["value"] != tc.want || got["access"] != "runs" || got["description"] != "for tickets" {
			t.Errorf("%q sends %.200q, %v", tc.stdin, got, err)
		}
	}
}

func TestS1SecretUsageMistakes(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]string{
		"secret create":                             "needs a name",
		"secret create TOKEN the-value":             "does not know what to do",
		"secret create TOKEN --value the-value":     "unknown flag: --value",
		"secret create TOKEN --access grant":        "Did you mean granted?",
		"secret create TOKEN --value-file /no/file": "--value-file",
		"secret update":                             "needs the name",
		"secret delete":                             "needs the name",
		"secret lst":                                "Did you mean `lineshaft secret list`?",
	} {
		s := newStage(t)
		s.deps.Stdin = strings.NewReader("x")
		if r := s.run(t.Context(), strings.Fields(line)...); r.code != shell.ExitUsage || !strings.Contains(r.err, want) || len(s.requests()) > 0 {
			t.Errorf("%s: %+v", line, r)
		}
	}
	for stdin, want := range map[string]string{"": "empty", "\n": "empty", strings.Repeat("x", 64<<10+1): "64 KiB"} {
		s := newStage(t)
		s.deps.Stdin = strings.NewReader(stdin)
		if r := s.run(t.Context(), "secret", "create", "TOKEN"); r.code != shell.ExitUsage || !strings.Contains(r.err, want) || len(s.requests()) > 0 {
			t.Errorf("%d bytes: %+v", len(stdin), r)
		}
	}
}

// A name that does not exist is answered with the one that was meant.
func TestI1SecretNames(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.deps.Stdin = strings.NewReader("x")
	s.must(t, "secret", "create", "TRACKER_TOKEN")
	for _, line := range []string{"secret delete TRACKER_TOKE", "secret update TRACKER_TOKE --description x"} {
		if r := s.run(t.Context(), strings.Fields(line)...); r.code != shell.ExitNotFound || !strings.Contains(r.err, "Did you mean TRACKER_TOKEN?") {
			t.Errorf("%s: %+v", line, r)
		}
	}
	if r := s.run(t.Context(), "secret", "delete", "NOTHING_LIKE_IT_AT_ALL"); r.code != shell.ExitNotFound || strings.Contains(r.err, "Did you mean") {
		t.Errorf("%+v", r)
	}
}

func TestS1SecretUpdateListDelete(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ line, sends string }{
		{"secret update TOKEN", `{"value":"new"}`},
		{"secret update TOKEN --access granted", `{"access":"granted"}`},
		{"secret update TOKEN --description=", `{"description":""}`},
		{"secret update TOKEN --access runs --value-file -", `{"value":"new","access":"runs"}`},
	} {
		s := newStage(t)
		s.deps.Stdin = strings.NewReader("new\n")
		s.answer("PUT /api/v1/secrets/TOKEN", 200, secretAnswer)
		if r := s.run(t.Context(), strings.Fields(tc.line)...); r.code != shell.ExitOK || r.out != "TOKEN updated\n" || s.requests()[0].body != tc.sends {
			t.Errorf("%s: %+v, sent %q", tc.line, r, s.requests()[0].body)
		}
	}
	s := newStage(t)
	hook := `{"name":"CI_WEBHOOK_SECRET","kind":"webhook","access":"granted","created_at":"2026-01-02T03:00:00Z","updated_at":"2026-01-02T03:00:00Z"}`
	s.answer("GET /api/v1/secrets", 200, `{"secrets":[`+hook+`,`+secretAnswer+`],"page_info":{"has_next_page":false}}`)
	s.answer("DELETE /api/v1/secrets/TOKEN", 204, "")
	s.mux.HandleFunc("DELETE /api/v1/secrets/USED", problem(409, "conflict", "secret USED is in use by webhook ci"))
	r := s.run(t.Context(), "secret", "list")
	if lines := strings.Split(r.out, "\n"); r.code != shell.ExitOK || len(lines) < 3 || !strings.HasPrefix(lines[0], "NAME") || strings.Join(strings.Fields(lines[2])[:3], " ") != "TOKEN managed runs" {
		t.Errorf("list: %+v", r)
	}
	if r := s.run(t.Context(), "secret", "list", "-o", "ndjson"); strings.Count(r.out, "\n") != 2 || !strings.Contains(r.out, `"kind":"webhook"`) {
		t.Errorf("list for programs: %+v", r)
	}
	if r := s.run(t.Context(), "secret", "delete", "TOKEN"); r.code != shell.ExitOK || !strings.Contains(r.out+r.err, "TOKEN") {
		t.Errorf("delete: %+v", r)
	}
	if r := s.run(t.Context(), "secret", "delete", "USED"); r.code == shell.ExitOK || !strings.Contains(r.err, "in use by webhook ci") {
		t.Errorf("delete a used one: %+v", r)
	}
}

func TestR3RunWithSecrets(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"r1","state":"QUEUED"}`)
	if r := s.run(t.Context(), "run", "go", "--secret", "A", "--secret", "B"); r.code != shell.ExitOK || !strings.Contains(s.requests()[0].body, `"secrets":[{"name":"A"},{"name":"B"}]`) {
		t.Errorf("%+v, sent %q", r, s.requests()[0].body)
	}
}
