package cli

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"reflect"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// TestR2RunRequest: what the flags make of the request.
func TestR2RunRequest(t *testing.T) {
	t.Parallel()
	notes, page := file(t, "notes.txt", "hello"), file(t, "page", "<html><body>hi")
	for _, tc := range []struct {
		name  string
		args  []string
		stdin string
		want  string
	}{
		{"prompt", []string{"Fix it"}, "", `{"prompt":"Fix it"}`},
		{"prompt that looks like a flag", []string{"--", "--fix"}, "", `{"prompt":"--fix"}`},
		{"standard input", []string{"-"}, "from\nstdin\n", `{"prompt":"from\nstdin\n"}`},
		{"skill alone", []string{"--skill", "o/r:s"}, "", `{"skill":"o/r:s"}`},
		{
			"settings",
			[]string{"x", "--name", "n", "--model", "m", "--host", "h", "--title", "t", "--harness", "command", "--environment", "7hQ2mXv9LkD4sTfR1bWcYz", "--skill", "o/r:s"},
			"", `{"prompt":"x","title":"t","skill":"o/r:s","config":{"name":"n","model_id":"m","environment_id":"7hQ2mXv9LkD4sTfR1bWcYz","worker_host":"h","harness":{"type":"command"}}}`,
		},
		{"conversation", []string{"x", "--conversation", "c-1"}, "", `{"prompt":"x","conversation_id":"c-1"}`},
		{"agent", []string{"x", "--harness", "claude", "--mode", "command", "--permissions", "allow"}, "", `{"prompt":"x","config":{"harness":{"type":"claude","mode":"command","permissions":"allow"}}}`},
		{"permissions alone", []string{"x", "--permissions", "ask"}, "", `{"prompt":"x","config":{"harness":{"permissions":"ask"}}}`},
		{"metadata", []string{"x", "--metadata", "a=1", "--metadata", "b=x=y", "--metadata", "c="}, "", `{"prompt":"x","metadata":{"a":"1","b":"x=y","c":""}}`},
		{
			"files",
			[]string{"x", "--file", notes, "--file", page},
			"",
			`{"prompt":"x","attachments":[{"file_name":"notes.txt","mime_type":"text/plain; charset=utf-8","data":"aGVsbG8="},` +
				`{"file_name":"page","mime_type":"text/html; charset=utf-8","data":"PGh0bWw+PGJvZHk+aGk="}]}`,
		},
		{
			"tools",
			[]string{"x", "--mcp", "a=https://a.example/mcp?x=1", "--mcp", "b=npx -y 'my server'", "--mcp", `{"c":{"command":"c","env":{"K":"{{S}}"}}}`, "--mcp", `{"mcpServers":{"d":{"url":"http://d"}}}`},
			"", `{"prompt":"x","config":{"mcp_servers":{"a":{"url":"https://a.example/mcp?x=1"},"b":{"command":"npx","args":["-y","my server"]},"c":{"command":"c","env":{"K":"{{S}}"}},"d":{"url":"http://d"}}}}`,
		},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			s := newStage(t).library()
			s.deps.Stdin = strings.NewReader(tc.stdin)
			if r := s.run(t.Context(), append([]string{"run"}, tc.args...)...); r.code != 0 || r.out != "run-1\n" {
				t.Fatalf("%+v", r)
			}
			var got, want any
			if err := errors.Join(json.Unmarshal([]byte(s.requests()[0].body), &got), json.Unmarshal([]byte(tc.want), &want)); err != nil {
				t.Fatal(err)
			}
			if !reflect.DeepEqual(got, want) {
				t.Errorf("sent %s\nwant %s", s.requests()[0].body, tc.want)
			}
			if s.requests()[0].header.Get("Idempotency-Key") == "" {
				t.Error("no Idempotency-Key")
			}
		})
	}
}

func TestR2StandardInputIsBounded(t *testing.T) {
	t.Parallel()
	s := newStage(t).library()
	s.deps.Stdin = io.LimitReader(neverEnding('x'), shell.MaxStdin+1)
	if r := s.run(t.Context(), "run", "-"); r.code != shell.ExitUsage || !strings.Contains(r.err, "--file") || len(s.requests()) != 0 {
		t.Errorf("%+v", r)
	}
	s.deps.Stdin = iotest.ErrReader(errors.New("broken pipe"))
	if r := s.run(t.Context(), "run", "-"); r.code != shell.ExitFailed || !strings.Contains(r.err, "read standard input: broken pipe") {
		t.Errorf("%+v", r)
	}
}

type neverEnding byte

func (n neverEnding) Read(p []byte) (int, error) {
	for i := range p {
		p[i] = byte(n)
	}
	return len(p), nil
}

// TestR4ListQuery: what the flags of `runs list` make of the query.
func TestR4ListQuery(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ line, want string }{
		{"", "limit=20"},
		{"--state failed --state IN_PROGRESS", "limit=20&state=FAILED&state=INPROGRESS"},
		{"--name n --model m --host h --environment e --skill s --creator c --parent p", "creator=c&environment_id=e&limit=20&model_id=m&name=n&parent_run_id=p&skill=s&worker_host=h"},
		{"--source api --source CLI --factory shop --factory " + factoryTwo + " --factory idle", "factory_uid=" + factoryOne + "&factory_uid=" + factoryTwo + "&factory_uid=" + factoryTwo + "&limit=20&source=API&source=CLI"},
		{"--query words --sort title --reverse --limit 3 --cursor c", "cursor=c&limit=3&q=words&sort_by=title&sort_order=asc"},
		{"--since 2h", "created_after=2026-01-02T02%3A00%3A00Z&limit=20"},
		{"--since 2025-12-31", "created_after=2025-12-31T00%3A00%3A00Z&limit=20"},
		{"--metadata a=1", "limit=20&metadata%5Ba%5D=1"},
	} {
		s := newStage(t).library()
		if r := s.run(t.Context(), append([]string{"runs", "list"}, strings.Fields(tc.line)...)...); r.code != 0 {
			t.Fatalf("%s: %+v", tc.line, r)
		}
		if got := s.last(t).query; got != tc.want {
			t.Errorf("%s: query %s, want %s", tc.line, got, tc.want)
		}
	}
}

// TestR4ListOfNoFactory: a wrong name is reported, not mistaken for a factory without runs.
func TestR4ListOfNoFactory(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{"runs", "list", "--factory", "tpyo"}, {"apikey", "create", "ci", "--factory", "tpyo"}} {
		s := newStage(t).library()
		if r := s.run(t.Context(), args...); r.code != shell.ExitNotFound || !strings.Contains(r.err, `no factory has the name or alias "tpyo"`) {
			t.Errorf("%v: %+v", args, r)
		}
		if r := s.run(t.Context(), append(args[:len(args)-1], "")...); r.code != shell.ExitUsage {
			t.Errorf("%v: %+v", args, r)
		}
	}
}

func TestH8ListAll(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.answer("GET /api/v1/agent/runs", 200, `{"runs":[`+runOne+`],"page_info":{"has_next_page":false}}`)
	r := s.run(t.Context(), "runs", "list", "--all", "-o", "ndjson")
	if r.code != 0 || strings.Count(r.out, "\n") != 1 || !strings.Contains(r.out, "field_of_a_newer_server") || s.requests()[0].query != "limit=500" {
		t.Errorf("%+v, query %s", r, s.requests()[0].query)
	}
	s = newStage(t)
	if r := s.run(t.Context(), "runs", "list", "--all"); r.code != shell.ExitNotFound {
		t.Errorf("%+v", r)
	}
	s.answer("GET /api/v1/agent/runs", 200, `{"runs":[],"page_info":{"has_next_page":false}}`)
	if r := s.run(t.Context(), "runs", "list"); r.code != 0 || r.out != "" || !strings.Contains(r.err, "no runs; start one") {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "runs", "list", "-o", "json"); r.code != 0 || !strings.Contains(r.out, `"runs": []`) {
		t.Errorf("%+v", r)
	}
}

func TestAPIKeyRequest(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ line, want string }{
		{"ci", `{"name":"ci","role":"member"}`},
		{"ci --role viewer --expires 30d --factory shop --factory " + factoryTwo, `{"name":"ci","role":"viewer","expires_at":"2026-02-01T04:00:00Z","factory_uids":["` + factoryOne + `","` + factoryTwo + `"]}`},
		{"w --role worker --worker a --worker b", `{"name":"w","role":"worker","worker_ids":["a","b"]}`},
	} {
		s := newStage(t).library()
		if r := s.run(t.Context(), append([]string{"apikey", "create"}, strings.Fields(tc.line)...)...); r.code != 0 || r.out != "ls_madeup\n" {
			t.Errorf("%+v", r)
		}
		if got := s.last(t).body; got != tc.want {
			t.Errorf("%s: sent %s, want %s", tc.line, got, tc.want)
		}
	}
}

func TestCancelCascade(t *testing.T) {
	t.Parallel()
	s := newStage(t).library()
	if r := s.run(t.Context(), "runs", "cancel", "run-1", "--cascade"); r.code != 0 || s.requests()[0].query != "cascade=1" {
		t.Errorf("%+v, query %q", r, s.requests()[0].query)
	}
}

// TestOpen: the browser is started for a person only, and for web pages only.
func TestOpen(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, link string
		width      int
		opened     string
		code       int
	}{
		{"terminal", "https://s.example/r", 80, "https://s.example/r", 0},
		{"pipe", "https://s.example/r", 0, "", 0},
		{"none", "", 80, "", shell.ExitFailed},
		{"program", "file:///etc/passwd", 80, "", shell.ExitFailed},
		{"flag", "--version", 80, "", shell.ExitFailed},
		{"space", "https://s.example/ -x", 80, "", shell.ExitFailed},
	} {
		s := newStage(t)
		s.terminal(tc.width)
		s.answer("GET /api/v1/agent/runs/r", 200, `{"run_id":"r","state":"QUEUED","session_link":"`+tc.link+`"}`)
		opened := ""
		s.deps.OpenURL = func(_ context.Context, url string) error { opened = url; return nil }
		if r := s.run(t.Context(), "runs", "open", "r"); r.code != tc.code || opened != tc.opened {
			t.Errorf("%s: %+v, opened %q", tc.name, r, opened)
		}
		s.deps.OpenURL = func(context.Context, string) error { return errors.New("no browser") }
		if r := s.run(t.Context(), "runs", "open", "r"); tc.opened != "" && (r.code != shell.ExitFailed || !strings.Contains(r.err, "Open the address above yourself")) {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
}
