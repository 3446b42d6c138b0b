package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web"
)

// once is the mark that the form has.
func (s *site) once() string {
	s.Helper()
	_, _, text := s.get("/runs/new")
	found := regexp.MustCompile(`name="once" value="([^"]+)"`).FindStringSubmatch(text)
	if found == nil {
		s.Fatalf("no mark in\n%s", text)
	}
	return found[1]
}

func TestR2StartARunFromThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	agent, err := s.control.CreateAgent(t.Context(), s.admin, lineshaft.Agent{Name: "reviewer", Type: lineshaft.AgentCustom})
	if err != nil {
		t.Fatal(err)
	}
	form := url.Values{
		"once": {s.once()}, "prompt": {"Run this:\r\n```sh\r\necho hi\r\n```"}, "title": {" Greet "}, "agent": {agent.UID},
		"model": {"big"}, "harness": {"shell"}, "host": {"mac"},
	}
	status, at, text := s.post("/runs", form)
	run := s.lastRun()
	if status != http.StatusOK || at != "/runs/"+run.ID || !strings.Contains(text, "The run is queued: the worker mac is not connected.") {
		t.Errorf("%d at %s", status, at)
	}
	if run.Prompt != "Run this:\n```sh\necho hi\n```" || run.Title != "Greet" || run.AgentUID != agent.UID || run.Source != lineshaft.SourceWebApp ||
		run.Config.ModelID != "big" || run.Config.WorkerHost != "mac" || run.Config.Harness == nil || run.Config.Harness.Type != "shell" {
		t.Errorf("started %+v", run)
	}
	// The same form again is the same run; a changed one is another.
	if _, again, _ := s.post("/runs", form); again != at {
		t.Errorf("the second sending is at %s", again)
	}
	form.Set("title", "Greet again")
	if _, other, _ := s.post("/runs", form); other == at || !strings.HasPrefix(other, "/runs/") {
		t.Errorf("the changed form is at %s", other)
	}
	if _, at, _ := s.post("/runs", url.Values{"prompt": {"Only this"}}); at != "/runs/"+s.lastRun().ID || s.lastRun().Title != "Only this" {
		t.Errorf("a prompt alone is at %s", at)
	}
}

// a form that is wrong comes back with what was written and what is wrong.
func TestR2NewRunFormComesBack(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for name, tc := range map[string]struct {
		form url.Values
		want string
	}{
		"no prompt":     {url.Values{"title": {"kept"}}, "a run needs a prompt"},
		"long title":    {url.Values{"prompt": {"kept"}, "title": {strings.Repeat("x", 201)}}, "longer than 200"},
		"harness":       {url.Values{"prompt": {"kept"}, "harness": {"magic"}}, "is not one of"},
		"environment":   {url.Values{"prompt": {"kept"}, "environment": {"none"}}, "environment"},
		"agent":         {url.Values{"prompt": {"kept"}, "agent": {"none"}}, "agent"},
		"wrong skill":   {url.Values{"prompt": {"kept"}, "skills": {"a/b:c d/e:f/../.."}}, "skill"},
		"hostile model": {url.Values{"prompt": {"kept"}, "model": {"<script>" + strings.Repeat("x", 300)}}, "at most 256"},
	} {
		status, _, text := s.post("/runs", tc.form)
		if status < 400 || status >= 500 || !strings.Contains(text, tc.want) {
			t.Errorf("%s: %d, without %q:\n%s", name, status, tc.want, text)
		}
		if status != http.StatusNotFound && !strings.Contains(text, "kept") || strings.Contains(text, "<script>x") {
			t.Errorf("%s: the form is lost:\n%s", name, text)
		}
	}
}

// what was asked of a run can be asked again; what its layers said is left to them.
func TestR2NewRunFromAnother(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID := s.startFor(s.admin, lineshaft.NewRun{
		Prompt: "\nbegins with a line end", Title: "Again & again",
		Config: lineshaft.AgentConfig{ModelID: "big", Harness: &lineshaft.HarnessConfig{Type: "shell"}},
	})
	_, _, text := s.get("/runs/new?from=" + runID)
	for _, want := range []string{"\n\nbegins with a line end</textarea>", `value="Again &amp; again"`, `value="big"`, "<option selected>shell</option>", `name="host" value=""`} {
		if !strings.Contains(text, want) {
			t.Errorf("without %q:\n%s", want, text)
		}
	}
	if status, _, _ := s.get("/runs/new?from=none"); status != http.StatusNotFound {
		t.Errorf("from an unknown run: %d", status)
	}
	plain := s.start("only a prompt")
	if _, _, text := s.get("/runs/new?from=" + plain); strings.Contains(text, "<details open") {
		t.Errorf("nothing was chosen, and the rest is open:\n%s", text)
	}
	s.as(lineshaft.RoleManager, s.factory("another").UID)
	if status, _, _ := s.get("/runs/new?from=" + runID); status != http.StatusNotFound {
		t.Errorf("from a run that the key does not see: %d", status)
	}
}

func TestS3WhoStartsRunsFromThePage(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager, lineshaft.RoleAdmin} {
		want := http.StatusOK
		if role == lineshaft.RoleViewer {
			want = http.StatusForbidden
		}
		s.as(role)
		if status, _, _ := s.get("/runs/new"); status != want {
			t.Errorf("%s opens the form: %d", role, status)
		}
		if status, _, _ := s.post("/runs", url.Values{"prompt": {"x"}}); status != want {
			t.Errorf("%s starts a run: %d", role, status)
		}
	}
	s.as(lineshaft.RoleManager, s.factory("another").UID)
	if status, _, _ := s.post("/runs", url.Values{"prompt": {"x"}}); status != http.StatusForbidden {
		t.Errorf("a key of a factory starts a run outside of it: %d", status)
	}
}

// I-2: a form says which agents are not set up here.
func TestI2HarnessesThatAreNotSetUp(t *testing.T) {
	t.Parallel()
	s := newSite(t).withDeps(func(d *web.Deps) { d.Absent = func() []string { return []string{"codex"} } })
	s.signIn(s.key)
	for _, path := range []string{"/runs/new", "/agents/new?factory=" + s.factory("Shop").UID} {
		s.shows(path, `<option value="codex">codex (not set up on this server)</option>`, "<option>claude</option>")
	}
}
