package web_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"html"
	"io"
	"maps"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/git"
)

// hostile is what nobody may get into a page as anything but text.
const hostile = `<script>alert(1)</script>"'><img src=x onerror=alert(2)>`

func TestI2FactoryIsMadeChangedPausedAndDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t).signedIn(lineshaft.RoleManager)
	s.shows("/factories", "No factories yet", "lineshaft factory create")
	s.shows("/factories/new", "Create factory")
	status, _, page := s.post("/factories", url.Values{"name": {" "}, "alias": {"keep what I typed"}})
	if status != http.StatusBadRequest || !strings.Contains(page, "needs a name") || !strings.Contains(page, "keep what I typed") {
		t.Errorf("without a name: %d\n%s", status, page)
	}
	_, at, page := s.post("/factories", url.Values{"name": {hostile}, "alias": {"shop"}, "description": {hostile}})
	if !strings.HasPrefix(at, "/factories/") || !strings.Contains(page, "The factory is created") || !strings.Contains(page, "&lt;script&gt;") || strings.Contains(page, "<img src=x") {
		t.Fatalf("made: at %s\n%s", at, page)
	}
	s.shows("/factories", "!edited here", "!<th>Source</th>", ">active<", "shop", "1 agent, 0 automations,")
	s.shows("/factories?search=nothing", "No factory has")
	if _, _, page = s.post("/factories", url.Values{"name": {"other"}, "alias": {"SHOP"}}); !strings.Contains(page, "another factory has the alias") {
		t.Error("an alias was taken twice")
	}
	s.shows(at+"/edit", "Save")
	if _, _, page = s.post(at, url.Values{"name": {"Web shop"}, "alias": {"shop"}, "description": {""}}); !strings.Contains(page, "The factory is changed") {
		t.Error(page)
	}
	if _, _, page = s.post(at+"/pause", url.Values{"paused": {"true"}}); !strings.Contains(page, "is paused") || !strings.Contains(page, "Resume") {
		t.Error("not paused")
	}
	s.shows("/factories", "paused")
	if _, _, page = s.post(at+"/pause", url.Values{"paused": {"false"}}); strings.Contains(page, "This factory is paused") {
		t.Error("still paused")
	}
	s.shows(at+"/delete", "agent foreman", "Delete factory", "runs and the log of its deliveries stay")
	if _, at, _ := s.post(at+"/delete", nil); at != "/factories" {
		t.Errorf("deleted: at %s", at)
	}
	if status, _, _ := s.get(at); status != http.StatusNotFound {
		t.Errorf("a deleted factory: %d", status)
	}
}

// The list says of each factory how many runs are live and how many failed lately, and leads to them.
func TestI2FactoriesShowTheirRuns(t *testing.T) {
	t.Parallel()
	s := newSite(t).signedIn(lineshaft.RoleViewer)
	shop, quiet := s.factory("Shop").UID, s.factory("Quiet").UID
	agent := must(s.control.ListAgents(t.Context(), s.admin, shop, 1, "")).Items[0].UID
	for _, state := range []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Failed, lineshaft.Errored} {
		s.startFor(s.admin, lineshaft.NewRun{AgentUID: agent})
		s.finish(lineshaft.TurnResult{State: state})
	}
	s.working(lineshaft.NewRun{AgentUID: agent})
	for range 2 {
		s.startFor(s.admin, lineshaft.NewRun{AgentUID: agent})
	}
	_, _, page := s.get("/factories")
	links := regexp.MustCompile(`href="(/runs\?factory=`+shop+`[^"]*)"[^>]*>(\d)</a>`).FindAllStringSubmatch(page, -1)
	if len(links) != 2 || links[0][2] != "3" || links[1][2] != "2" || strings.Contains(page, "factory="+quiet) {
		t.Fatalf("%v\n%s", links, content(page))
	}
	for _, link := range links {
		_, _, list := s.get(html.UnescapeString(link[1]))
		if got := strconv.Itoa(strings.Count(list, `<tr id="run-`)); got != link[2] {
			t.Errorf("%s has %s runs", link[1], got)
		}
	}
}

func TestF4RevisionsAreShownAndRolledBack(t *testing.T) {
	t.Parallel()
	s := newSite(t).signedIn(lineshaft.RoleManager)
	at := "/factories/" + s.factory("Shop").UID
	s.post(at, url.Values{"name": {"Shop"}, "description": {"first words"}})
	s.post(at, url.Values{"name": {"Shop"}, "description": {"other words"}})
	s.shows(at+"/revisions", "Revision 3", "changed factory.yaml", "edited here")
	s.shows(at+"/revisions/3", "in force", "-</td>", "description: first words", "description: other words", "Edited by")
	s.shows(at+"/revisions/1", "added", "Roll back to this")
	s.shows(at+"/revisions/2/rollback", ">changed<", "first words", "Roll back")
	_, _, page := s.post(at+"/revisions/2/rollback", nil)
	if !strings.Contains(page, "back at revision 2.") || !strings.Contains(page, "first words") {
		t.Errorf("rolled back:\n%s", page)
	}
	s.shows(at+"/revisions", "back to revision 2", "rolled back")
	for _, path := range []string{"/revisions/77", "/revisions/x", "/revisions/2/rollbac"} {
		if status, _, _ := s.get(at + path); status != http.StatusNotFound {
			t.Errorf("%s: %d", path, status)
		}
	}
}

func TestF4FactoryIsDownloadedAsAFolder(t *testing.T) {
	t.Parallel()
	s := newSite(t).signedIn(lineshaft.RoleManager)
	f := s.factory("Shop")
	_, _, body := s.get("/factories/" + f.UID + "/export")
	zip, err := gzip.NewReader(strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for in := tar.NewReader(zip); ; {
		header, err := in.Next()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		var text bytes.Buffer
		if _, err := text.ReadFrom(in); err != nil || text.Len() == 0 {
			t.Errorf("%s: %v", header.Name, err)
		}
		names = append(names, header.Name)
	}
	if want := []string{"agents/foreman/agent.md", "factory.yaml"}; !slices.Equal(names, want) {
		t.Errorf("%v", names)
	}
}

// origin is a local Git repository to follow.
type origin struct {
	*testing.T
	bare, work string
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{t, filepath.Join(t.TempDir(), "origin.git"), filepath.Join(t.TempDir(), "work")}
	o.git("", "init", "--quiet", "--bare", "--initial-branch=main", o.bare)
	o.git("", "init", "--quiet", "--initial-branch=main", o.work)
	o.git(o.work, "remote", "add", "origin", o.bare)
	return o
}

func (o *origin) git(dir string, args ...string) {
	o.Helper()
	cmd := exec.CommandContext(o.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + o.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		o.Fatalf("git %v: %v\n%s", args, err, out)
	}
}

func (o *origin) push(files map[string]string) {
	o.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(o.work, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o750), os.WriteFile(path, []byte(files[name]), 0o600)); err != nil {
			o.Fatal(err)
		}
	}
	o.git(o.work, "add", "--all")
	o.git(o.work, "commit", "--quiet", "-m", "change")
	o.git(o.work, "push", "--quiet", "origin", "HEAD:refs/heads/main")
}

func localGit(t *testing.T) func(*base.Config) {
	t.Helper()
	client, err := git.New(git.Config{Cache: t.TempDir(), AllowFile: true})
	if err != nil {
		t.Fatal(err)
	}
	return func(cfg *base.Config) { cfg.Git, cfg.RepositoryPoll = client, time.Hour }
}

func shopFolder() map[string]string {
	return map[string]string{
		"factory.yaml":                      "schemaVersion: v1alpha1\nname: Kept in Git\n",
		"agents/foreman/agent.md":           "---\nagentType: FOREMAN\n---\nLead.\n",
		"automations/nightly/automation.md": "---\ntriggers:\n  - provider: schedule\n    event: cron_fired\n    schedule: \"@daily\"\n---\nLook.\n",
	}
}

func TestF5RepositoryIsFollowedAndRefusesEdits(t *testing.T) {
	t.Parallel()
	s := newSite(t, localGit(t)).signedIn(lineshaft.RoleAdmin)
	o := newOrigin(t)
	o.push(shopFolder())
	f := s.factory("Shop")
	at := "/factories/" + f.UID
	s.shows(at+"/repository", "Follow a repository", "download its folder")
	if status, _, page := s.post(at+"/repository", url.Values{"url": {""}}); status != http.StatusBadRequest || !strings.Contains(page, "needs an address") {
		t.Errorf("without address: %d", status)
	}
	_, _, page := s.post(at+"/repository", url.Values{"url": {"file://" + o.bare}, "branch": {"main"}})
	for _, text := range []string{"its definition is applied", "Kept in Git", "nightly", "Sync now", "edited in", o.bare} {
		if !strings.Contains(page, text) {
			t.Errorf("after the link %q is missing\n%s", text, page)
		}
	}
	automations, err := s.control.ListAutomations(t.Context(), s.admin, f.UID, 5, "")
	if err != nil || len(automations.Items) != 1 {
		t.Fatal(automations, err)
	}
	agents, err := s.control.ListAgents(t.Context(), s.admin, f.UID, base.MaxPage, "")
	if err != nil {
		t.Fatal(err)
	}
	automation, agent := at+"/automations/"+automations.Items[0].UID, "/agents/"+agents.Items[0].UID
	for path, never := range map[string][]string{
		at: {"/edit\"", "New automation", "New agent", "New webhook"}, automation: {"/edit\"", ">Disable<", "Delete automation"}, agent: {"/edit\"", "Delete agent"}, "/automations": {">Disable<"},
	} {
		page := s.shows(path)
		for _, text := range never {
			if strings.Contains(page, text) {
				t.Errorf("%s of a repository has %s", path, text)
			}
		}
	}
	s.shows(automation, "edited in the repository")
	s.shows(agent, "edited in the repository")
	form := url.Values{"name": {"x"}, "prompt": {"x"}, "agent_type": {"FOREMAN"}, "enabled": {"false"}, "trigger": {"0"}, "t0.provider": {"schedule"}, "t0.event": {"cron_fired"}, "t0.cron": {"@daily"}}
	for _, path := range []string{at, automation, automation + "/enable", automation + "/delete", at + "/automations", agent} {
		if status, _, page := s.post(path, form); status != http.StatusConflict || !strings.Contains(page, "change it there and push") {
			t.Errorf("POST %s: %d\n%s", path, status, page)
		}
	}
	if _, _, page := s.post(automation+"/delete", form); !strings.Contains(page, "Delete <bdi>nightly</bdi>?") || !strings.Contains(page, "Keep it") {
		t.Errorf("a refused deletion is not asked about again:\n%s", content(page))
	}
	// A commit with a mistake is shown with its place, and what was in force stays.
	o.push(map[string]string{"automations/nightly/automation.md": "---\ntriggers: []\n---\nLook.\n"})
	_, _, page = s.post(at+"/repository/sync", nil)
	if !strings.Contains(page, "was not applied") || !strings.Contains(page, "automations/nightly/automation.md:2") {
		t.Errorf("with a mistake:\n%s", page)
	}
	s.shows("/factories", "commit has mistakes", "<th>Source</th>")
	s.shows(at+"/repository/unlink", "Stop following")
	if _, _, page = s.post(at+"/repository/unlink", nil); !strings.Contains(page, "edited here") {
		t.Error("still linked")
	}
}

func TestS3ViewersAndMembersChangeNoFactory(t *testing.T) {
	t.Parallel()
	for _, role := range []lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember} {
		s := newSite(t).signedIn(role)
		f := s.factory("Shop")
		at := "/factories/" + f.UID
		for _, path := range []string{"/factories", at, "/agents", "/automations"} {
			page := s.shows(path)
			for _, text := range []string{"New factory", "New agent", "New automation", ">Pause<", "Delete factory", "Roll back", "/edit\"", "/export\"", "/revisions"} {
				if strings.Contains(page, text) {
					t.Errorf("%s shows %s %q", path, role, text)
				}
			}
		}
		for _, path := range []string{"/factories", at, at + "/pause", at + "/delete", at + "/repository", at + "/repository/sync", at + "/repository/unlink", at + "/revisions/1/rollback", "/agents", at + "/automations", at + "/automations/draft"} {
			if status, _, _ := s.post(path, url.Values{"name": {"x"}}); status != http.StatusForbidden {
				t.Errorf("POST %s as %s: %d", path, role, status)
			}
		}
		for _, path := range []string{"/factories/new", at + "/edit", at + "/delete", at + "/revisions/1", at + "/export", "/agents/new", "/automations/new", at + "/automations/new"} {
			if status, _, _ := s.get(path); status != http.StatusForbidden {
				t.Errorf("GET %s as %s: %d", path, role, status)
			}
		}
	}
}
