package cli

import (
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// agentStage is the surroundings of an agent inside a run.
func agentStage(t *testing.T) *stage {
	t.Helper()
	s := newStage(t)
	s.deps.Environ = []string{"LINESHAFT_API_URL=" + s.url, "LINESHAFT_RUN_TOKEN=ls_run_x", "LINESHAFT_RUN_ID=run-1"}
	s.answer("POST /api/v1/agent/runs/run-1/reports", 200, `{"run_id":"run-1"}`)
	s.answer("POST /api/v1/agent/runs/run-1/artifacts", 200, `{"run_id":"run-1","artifact_uid":"art-1"}`)
	return s
}

// what an agent reports, and with which token.
func TestX7Report(t *testing.T) {
	t.Parallel()
	page := file(t, "page.html", "<p>")
	for _, tc := range []struct {
		args              []string
		path, query, body string
	}{
		{[]string{"message", "half way"}, "reports", "", `{"type":"message","text":"half way"}`},
		{[]string{"notice", "careful", "--level", "warning"}, "reports", "", `{"type":"notice","text":"careful","level":"warning"}`},
		{[]string{"pull-request", "https://f.test/1"}, "reports", "", `{"type":"pull_request","url":"https://f.test/1"}`},
		{[]string{"reference", "https://f.test/2"}, "reports", "", `{"type":"reference","url":"https://f.test/2"}`},
		{[]string{"plan", "[x] one", "two"}, "reports", "", `{"type":"plan","steps":[{"text":"one","state":"completed"},{"text":"two","state":"pending"}]}`},
		{[]string{"artifact", page}, "artifacts", "filename=page.html", "<p>"},
		{[]string{"artifact", page, "--name", "n.png", "--type", "screenshot", "--title", "t"}, "artifacts", "filename=n.png&title=t&type=SCREENSHOT", "<p>"},
	} {
		s := agentStage(t)
		if r := s.run(t.Context(), append([]string{"report"}, tc.args...)...); r.code != 0 || !strings.Contains(r.err, "reported ") {
			t.Errorf("%v: %+v", tc.args, r)
			continue
		}
		got := s.requests()[0]
		if got.path != "/api/v1/agent/runs/run-1/"+tc.path || got.query != tc.query || got.body != tc.body || got.header.Get("Authorization") != "Bearer ls_run_x" {
			t.Errorf("%v sent %+v", tc.args, got)
		}
	}
	s := agentStage(t)
	s.deps.Stdin = strings.NewReader("- [x] a\n- [~] b\n\n")
	if r := s.run(t.Context(), "report", "plan", "-", "-o", "json"); r.code != 0 || !strings.Contains(r.out, `"run_id"`) {
		t.Errorf("%+v", r)
	}
	if got := s.requests()[0].body; got != `{"type":"plan","steps":[{"text":"a","state":"completed"},{"text":"b","state":"in_progress"}]}` {
		t.Errorf("sent %s", got)
	}
}

func TestX7ReportMistakes(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		args []string
		says string
	}{
		{[]string{"artifact", "not-there"}, "cannot be read"},
		{[]string{"artifact", t.TempDir()}, "is a folder"},
		{[]string{"artifact", "a", "b", "--name", "x"}, "--name is for one file"},
		{[]string{"artefact"}, "Did you mean `lineshaft report artifact`?"},
	} {
		if r := agentStage(t).run(t.Context(), append([]string{"report"}, tc.args...)...); r.code != shell.ExitUsage || !strings.Contains(r.err, tc.says) {
			t.Errorf("%v: %+v", tc.args, r)
		}
	}
	if r := newStage(t).run(t.Context(), "report", "message", "x"); r.code != shell.ExitUsage || !strings.Contains(r.err, "not inside a run") {
		t.Errorf("%+v", r)
	}
}

// other commands of an agent use its run's token too, but never for another server.
func TestX7RunTokenIsForItsServer(t *testing.T) {
	t.Parallel()
	s := agentStage(t)
	s.answer("POST /api/v1/agent/runs", 200, `{"run_id":"run-2","state":"QUEUED"}`)
	if r := s.run(t.Context(), "run", "a part of it"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if got := s.requests()[0].header.Get("Authorization"); got != "Bearer ls_run_x" {
		t.Errorf("key %q", got)
	}
	other := newStage(t)
	other.mux.HandleFunc("GET /api/v1/agent/runs", func(http.ResponseWriter, *http.Request) { t.Error("the token went to another server") })
	s.deps.Environ = append(s.deps.Environ, "LINESHAFT_DATA_DIR="+t.TempDir())
	if r := s.run(t.Context(), "runs", "list", "--url", other.url); r.code != shell.ExitDenied {
		t.Errorf("%+v", r)
	}
	s.setenv("LINESHAFT_URL="+other.url, "LINESHAFT_API_KEY=ls_own")
	if got := (&shell.Shell{Env: map[string]string{"LINESHAFT_API_URL": "http://a", "LINESHAFT_RUN_TOKEN": "t", "LINESHAFT_API_KEY": "k"}}).Address(); got != shell.DefaultURL {
		t.Errorf("address %s", got)
	}
}
