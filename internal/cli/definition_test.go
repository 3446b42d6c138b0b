package cli

import (
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// exampleFolder writes the example of a factory and returns its folder.
func exampleFolder(t *testing.T, name string) string {
	t.Helper()
	dir := filepath.Join(t.TempDir(), name)
	if r := newStage(t).run(t.Context(), "factory", "init", dir); r.code != 0 || !strings.Contains(r.err, "lineshaft factory plan "+dir) {
		t.Fatalf("%+v", r)
	}
	return dir
}

// definitions adds what a factory called shop answers about its folder.
func (s *stage) definitions() *stage {
	s.factories()
	base := "/api/v1/factory/" + factoryOne + "/definition"
	s.answer("POST "+base+"/plan", 200, `{"revision":4,"changes":[
		{"action":"add","kind":"agent","name":"reviewer","file":"agents/reviewer/agent.md"},
		{"action":"change","kind":"automation","name":"triage","file":"automations/triage/automation.md","fields":[{"field":"enabled","before":"true","after":"false"}]},
		{"action":"remove","kind":"webhook","name":"old","file":"webhooks/old.yaml","note":"its address stops working"}],
		"backtests":[{"automation":"triage","action":"change","deliveries":120,"starts":3,"stops":40,"truncated":true}],"unused":["README.md"]}`)
	s.answer("POST /api/v1/factory-files/plan", 200, `{"revision":0,"changes":[
		{"action":"add","kind":"agent","name":"foreman","file":"agents/foreman/agent.md"}],"backtests":[],"unused":[],"notices":[{"file":"factory.yaml","line":3,"column":1,"message":"has no effect here"}]}`)
	s.answer("POST "+base+"/apply", 200, `{"revision":5,"changed":true,"changes":[{"action":"add","kind":"agent","name":"reviewer","file":"agents/reviewer/agent.md"}],"unused":[],
		"notices":[{"file":"factory.yaml","line":3,"column":1,"message":"has no effect here"}]}`)
	s.answer("GET "+base, 200, `{"revision":5,"files":{"factory.yaml":"schemaVersion: v1alpha1\nname: shop\n","agents/foreman/agent.md":"---\nagentType: FOREMAN\n---\n"}}`)
	s.answer("GET "+base+"/revisions", 200, `{"revisions":[{"number":5,"source":"repository","actor":{"type":"service_account","uid":"r","display_name":"Repository"},"commit":"0123456789abcdef0123","comment":"quieter","file_count":2,"created_at":"2026-01-02T03:00:00.000000Z"}],"page_info":{"has_next_page":false}}`)
	s.answer("GET "+base+"/revisions/3", 200, `{"number":3,"source":"apply","actor":{},"file_count":1,"created_at":"2026-01-02T03:00:00.000000Z","files":{"factory.yaml":"name: then\n"}}`)
	s.answer("POST "+base+"/revisions/3/rollback", 200, `{"revision":6,"changed":true,"changes":[],"unused":[]}`)
	return s
}

func TestF3ValidateWorksOffline(t *testing.T) {
	t.Parallel()
	dir := exampleFolder(t, "shop")
	s := newStage(t) // answers nothing
	if r := s.run(t.Context(), "factory", "validate", dir); r.code != 0 || !strings.Contains(r.err, "is valid") || !strings.Contains(r.err, "not used: README.md") {
		t.Errorf("%+v", r)
	}
	broken := "schemaVersion: v1alpha1\nname: shop\nalais: x\nagentDefaults:\n  timeoutMinutes: soon\n"
	if err := os.WriteFile(filepath.Join(dir, "factory.yaml"), []byte(broken), 0o600); err != nil {
		t.Fatal(err)
	}
	r := s.run(t.Context(), "factory", "validate", dir)
	if r.code != shell.ExitFailed || !strings.Contains(r.err, "2 mistakes in ") || !strings.Contains(r.out, "factory.yaml:3:1: ") || !strings.Contains(r.out, "alias") ||
		!strings.Contains(r.out, "factory.yaml:5:19: ") {
		t.Errorf("%+v", r)
	}
	r = s.run(t.Context(), "factory", "validate", dir, "-o", "json")
	var found client.DefinitionValidation
	if err := json.Unmarshal([]byte(r.out), &found); err != nil || r.code != shell.ExitFailed || found.Valid || len(found.Problems) != 2 || found.Problems[0].Line != 3 {
		t.Errorf("%v: %+v", err, r)
	}
	if len(s.requests()) != 0 {
		t.Errorf("asked the server: %+v", s.requests())
	}
	for _, command := range []string{"plan", "apply", "drift"} { // only an existing factory could add to the mistakes
		if r := s.run(t.Context(), "factory", command, dir); r.code != shell.ExitFailed || !strings.Contains(r.err, "factory.yaml:3:1: ") {
			t.Errorf("%s: %+v", command, r)
		}
	}
}

func TestF4PlanAndApply(t *testing.T) {
	t.Parallel()
	dir := exampleFolder(t, "shop")
	s := newStage(t).definitions()
	r := s.run(t.Context(), "factory", "plan", dir, "--factory", "shop")
	want := `+ agent reviewer
~ automation triage
    enabled: true → false
- webhook old
    its address stops working
  automation triage: of 120 deliveries, the newest stored, 3 would newly start a run, 40 no longer would
`
	if r.code != 0 || r.out != want {
		t.Errorf("%+v", r)
	}
	r = s.run(t.Context(), "factory", "apply", dir, "--factory", "shop", "--comment", "quieter", "--if-revision", "4")
	if r.code != 0 || !strings.Contains(r.err, "-- factory.yaml:3:1: has no effect here\n-- applied as revision 5") {
		t.Errorf("%+v", r)
	}
	var sent client.DefinitionRequest
	if err := json.Unmarshal([]byte(s.last(t).body), &sent); err != nil || sent.Comment != "quieter" || sent.IfRevision != 4 || !strings.Contains(sent.Files["factory.yaml"], "name: shop") {
		t.Errorf("%v: sent %+v", err, sent)
	}
	if r := s.run(t.Context(), "factory", "drift", dir, "--factory", "shop"); r.code != shell.ExitFailed || !strings.Contains(r.err, "differs from "+dir+" in 3 parts") {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "factory", "rollback", "shop", "3"); r.code != 0 || !strings.Contains(r.err, "revision 6") {
		t.Errorf("%+v", r)
	}
	r = s.run(t.Context(), "factory", "revisions", "shop")
	if r.code != 0 || !strings.Contains(r.out, "5       repository  Repository") || !strings.Contains(r.out, "0123456789a") || !strings.Contains(r.out, "quieter") {
		t.Errorf("%+v", r)
	}
	// Without --factory it is by name: the factory whose alias is that name is another one.
	if r := s.run(t.Context(), "factory", "plan", dir); r.code != 0 || !strings.Contains(r.err, `no factory "shop" yet`) {
		t.Errorf("planned for the factory with the alias: %+v", r)
	}
}

// A factory that is not there is made; when its folder is refused, it goes again.
func TestF4ApplyMakesTheFactory(t *testing.T) {
	t.Parallel()
	dir := exampleFolder(t, "fresh")
	s := newStage(t).definitions()
	if r := s.run(t.Context(), "factory", "plan", dir); r.code != 0 || !strings.Contains(r.out, "+ agent foreman") || !strings.Contains(r.err, `no factory "fresh" yet`) {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "factory", "drift", dir); r.code != shell.ExitNotFound {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "factory", "apply", dir); r.code != 0 || r.out != "+ agent foreman\n" || !strings.Contains(r.err, factoryOne) {
		t.Errorf("%+v", r)
	}
	refusing := newStage(t)
	refusing.answer("POST /api/v1/factory-files/plan", 200, `{"revision":0,"changes":[],"backtests":[],"unused":[],"notices":[]}`)
	refusing.answer("GET /api/v1/factory", 200, `{"factories":[],"page_info":{"has_next_page":false}}`)
	refusing.answer("POST /api/v1/factory", 201, shopFactory)
	refusing.mux.HandleFunc("POST /api/v1/factory/"+factoryOne+"/definition/apply", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusBadRequest)
		_, _ = w.Write([]byte(`{"status":400,"code":"invalid_request","title":"x","detail":"1 mistake","problems":[{"file":"webhooks/a.yaml","line":2,"column":13,"message":"there is no secret A","hint":"create it"}]}`))
	})
	refusing.answer("DELETE /api/v1/factory/"+factoryOne, 204, ``)
	r := refusing.run(t.Context(), "factory", "apply", dir)
	if r.code != shell.ExitFailed || !strings.Contains(r.err, "webhooks/a.yaml:2:13: there is no secret A (create it)") || refusing.last(t).method != http.MethodDelete {
		t.Errorf("%+v, last %+v", r, refusing.last(t))
	}
}

func TestF5Export(t *testing.T) {
	t.Parallel()
	s := newStage(t).definitions()
	dir := filepath.Join(t.TempDir(), "out")
	if r := s.run(t.Context(), "factory", "export", dir, "--factory", "shop"); r.code != 0 || !strings.Contains(r.err, "revision 5 written to "+dir+": 2 files") {
		t.Errorf("%+v", r)
	}
	text, err := os.ReadFile(filepath.Join(dir, "agents", "foreman", "agent.md"))
	if err != nil || string(text) != "---\nagentType: FOREMAN\n---\n" {
		t.Errorf("%q, %v", text, err)
	}
	if r := s.run(t.Context(), "factory", "export", dir, "--factory", "shop"); r.code != shell.ExitUsage {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "factory", "export", dir, "--factory", "shop", "--overwrite", "--revision", "3"); r.code != 0 {
		t.Errorf("%+v", r)
	}
	if text, _ := os.ReadFile(filepath.Join(dir, "factory.yaml")); string(text) != "name: then\n" {
		t.Errorf("%q", text)
	}
}

// A server cannot write outside of the folder, nor through an existing link.
func TestS7ExportStaysInItsFolder(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"../out.txt", "/etc/out.txt", "link/out.txt"} {
		s := newStage(t)
		s.factories()
		body, err := json.Marshal(map[string]any{"revision": 1, "files": map[string]string{path: "x"}})
		if err != nil {
			t.Fatal(err)
		}
		s.answer("GET /api/v1/factory/"+factoryOne+"/definition", 200, string(body))
		outside, dir := t.TempDir(), t.TempDir()
		if err := os.Symlink(outside, filepath.Join(dir, "link")); err != nil {
			t.Fatal(err)
		}
		r := s.run(t.Context(), "factory", "export", dir, "--factory", "shop", "--overwrite")
		if _, err := os.Stat(filepath.Join(outside, "out.txt")); r.code == 0 || err == nil {
			t.Errorf("%s: %+v", path, r)
		}
	}
}

func TestF5Link(t *testing.T) {
	t.Parallel()
	followed := strings.Replace(shopFactory, `"mode":"managed"`, `"mode":"repository","repository":{"url":"https://git.test/a.git","branch":"main","path":"shop","seen_commit":"b2","applied_commit":"a1","checked_at":"2026-01-02T03:00:00.000000Z","problems":[{"file":"factory.yaml","line":2,"column":1,"message":"no name"}]}`, 1)
	s := newStage(t)
	s.answer("GET /api/v1/factory", 200, `{"factories":[`+shopFactory+`],"page_info":{"has_next_page":false}}`)
	s.answer("PATCH /api/v1/factory/"+factoryOne, 200, followed)
	s.answer("POST /api/v1/factory/"+factoryOne+"/repository/sync", 200, followed)
	r := s.run(t.Context(), "factory", "link", "shop", "https://git.test/a.git", "--path", "shop", "--branch", "main")
	if r.code != shell.ExitFailed || !strings.Contains(r.out, "https://git.test/a.git") || !strings.Contains(r.err, "factory.yaml:2:1: no name") {
		t.Errorf("%+v", r)
	}
	if sent := s.requests()[1]; sent.method != http.MethodPatch || sent.body != `{"repository":{"url":"https://git.test/a.git","branch":"main","path":"shop"}}` {
		t.Errorf("sent %+v", sent)
	}
	if r := s.run(t.Context(), "factory", "sync", "shop"); r.code != shell.ExitFailed || !strings.Contains(r.out, "a1") || !strings.Contains(r.out, "b2") {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "factory", "unlink", "shop"); r.code != 0 || s.last(t).body != `{"repository":null}` {
		t.Errorf("%+v %+v", r, s.last(t))
	}
}

func TestI1DefinitionMistakes(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "x"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"factory", "init"}, "a folder that is empty"},
		{[]string{"factory", "init", full}, "is not empty"},
		{[]string{"factory", "init", filepath.Join(full, "new"), "--name", " "}, "cannot be the name"},
		{[]string{"factory", "validate", filepath.Join(full, "nowhere")}, "is not a folder"},
		{[]string{"factory", "plan", filepath.Join(full, "x")}, "is not a folder"},
		{[]string{"factory", "rollback", "shop", "last"}, `"last" is not a revision number`},
		{[]string{"factory", "rollback", "shop"}, "the number of a revision"},
		{[]string{"factory", "revisions", "--limit", "0"}, "--limit 0"},
		{[]string{"factory", "link", "shop"}, "URL"},
	} {
		if r := newStage(t).run(t.Context(), c.args...); r.code != shell.ExitUsage || !strings.Contains(r.err, c.want) {
			t.Errorf("%v: %+v", c.args, r)
		}
	}
}

// All thirty mistakes of a folder are shown at once, as text and as JSON.
func TestF3ThirtyMistakesAreShown(t *testing.T) {
	t.Parallel()
	dir := filepath.Join("..", "definition", "testdata", "mistakes")
	r := newStage(t).run(t.Context(), "factory", "validate", dir, "-o", "json")
	var found client.DefinitionValidation
	if err := json.Unmarshal([]byte(r.out), &found); err != nil || r.code != shell.ExitFailed || len(found.Problems) != 30 {
		t.Fatalf("%v: exit %d with %d problems", err, r.code, len(found.Problems))
	}
	r = newStage(t).run(t.Context(), "factory", "validate", dir)
	for _, p := range found.Problems {
		place, _, _ := strings.Cut(p.String(), ": ")
		if !strings.Contains(r.out, place+": ") {
			t.Errorf("%s is not in the text", place)
		}
	}
}
