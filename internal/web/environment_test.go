package web_test

import (
	"net/http"
	"net/url"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

func TestI2EnvironmentIsMadeChangedAndDeleted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.platform()
	form := url.Values{
		"name": {hostileName}, "description": {"it's <i>"}, "image": {"debian:13"}, "repository": {"acme/shop", "", "acme/tools"},
		"command": {"cd shop\r\nnpm ci", " "}, "secret": {"TOKEN"}, "git_credentials": {""}, "refresh": {"npm install"},
	}
	_, at, text := s.post("/environments", form)
	uid := strings.TrimPrefix(at, "/environments/")
	found, err := s.control.GetEnvironment(t.Context(), s.admin, uid)
	if err != nil {
		t.Fatalf("%v at %s\n%s", err, at, text)
	}
	want := lineshaft.EnvironmentConfig{
		Name: strings.TrimSpace(hostileName), Description: "it's <i>", DockerImage: "debian:13", SetupCommands: []string{"cd shop\nnpm ci"}, Secrets: []string{"TOKEN"},
		Repositories:    []lineshaft.Repository{{Owner: "acme", Name: "shop"}, {Owner: "acme", Name: "tools"}},
		RefreshCommands: []string{"npm install"},
	}
	if !reflect.DeepEqual(found.Config, want) {
		t.Errorf("%+v, want %+v", found.Config, want)
	}
	started := must(s.control.StartRun(t.Context(), s.admin, lineshaft.NewRun{Prompt: "x", Title: "in it", Source: lineshaft.SourceAPI, Config: lineshaft.AgentConfig{EnvironmentID: uid}}, nil))
	s.shows(at, "Refresh commands", "npm install", "acme/tools", "npm ci", "debian:13", "in it", started.RunID, "!<script>alert", "!<i>")
	s.shows("/environments", "and 1 more", started.RunID, "!<script>alert", `<th aria-sort="ascending" class="sort"><a href="/environments">Name`)
	s.shows(at+"/edit", `value="acme/tools"`, "npm ci</textarea>", `value="TOKEN"`, "!<script>alert")
	s.sends(at, url.Values{"name": {"shop 2"}}, http.StatusOK, at, "shop 2")
	if found = must(s.control.GetEnvironment(t.Context(), s.admin, uid)); !reflect.DeepEqual(found.Config, lineshaft.EnvironmentConfig{Name: "shop 2"}) {
		t.Errorf("changed to %+v", found.Config)
	}
	s.shows(at+"/delete", started.RunID, "<bdi>in it</bdi>", "!Delete environment</button>")
	s.sends(at+"/delete", nil, http.StatusConflict, "", "in use by run")
	must(s.control.Cancel(t.Context(), s.admin, started.RunID, false, nil))
	s.shows(at+"/delete", "Delete environment</button>")
	s.sends(at+"/delete", nil, http.StatusOK, "/environments", "is deleted")
}

// Rows come and go without a script, and nothing is saved meanwhile.
func TestI2EnvironmentRows(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	form := url.Values{"name": {"typed"}, "repository": {"a/b", "c/d"}, "command": {"one", "two"}, "secret": {""}}
	with := func(name, value string) url.Values {
		changed := url.Values{name: {value}}
		for field, values := range form {
			changed[field] = values
		}
		return changed
	}
	page := s.sends("/environments", with("more", "repository"), http.StatusOK, "/environments", `value="typed"`, `id="repository-3"`, "autofocus")
	if strings.Contains(page, `id="command-3"`) || strings.Contains(page, `role="alert"`) && strings.Contains(page, "callout bad") {
		t.Error("more has changed than one row")
	}
	page = s.sends("/environments", with("less", "repository:0"), http.StatusOK, "/environments", `value="c/d"`)
	if strings.Contains(page, "a/b") || strings.Contains(page, `id="repository-2"`) {
		t.Errorf("the row is still there\n%s", page)
	}
	for _, odd := range []string{"repository:9", "repository:-1", "repository", "x:0", ":", "command:99999999999999999999"} {
		s.sends("/environments", with("less", odd), http.StatusOK, "/environments", `value="a/b"`, `value="c/d"`, ">\none</textarea>")
	}
	if list := must(s.control.ListEnvironments(t.Context(), s.admin, "")); len(list) != 0 {
		t.Errorf("%d environments", len(list))
	}
}

// Mistakes are shown next to their row.
func TestI2EnvironmentMistakes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for name, tc := range map[string]struct {
		form url.Values
		told []string
	}{
		"no name":         {url.Values{"repository": {"a/b"}}, []string{"<b>Name</b>", "needs a name", `value="a/b"`}},
		"no repository":   {url.Values{"name": {"n"}, "repository": {"a/b", "", "shop"}}, []string{"<b>Repository 2</b>", "write owner/name", `value="shop"`}},
		"twice":           {url.Values{"name": {"n"}, "repository": {"a/b", "c/b", "A/B"}}, []string{"<b>Repository 3</b>", "A/B is named twice"}},
		"hostile":         {url.Values{"name": {"n"}, "repository": {"<img src=x>/b"}}, []string{"<b>Repository 1</b>", "&lt;img src=x&gt;"}},
		"unknown secret":  {url.Values{"name": {"n"}, "secret": {"NOWHERE"}}, []string{"<b>Secret", "NOWHERE"}},
		"credentials":     {url.Values{"name": {"n"}, "git_credentials": {"lower"}}, []string{"<b>Credentials</b>", "not the name of a secret"}},
		"image":           {url.Values{"name": {"n"}, "image": {"-v"}}, []string{"<b>Image</b>", "begins with"}},
		"long":            {url.Values{"name": {"n"}, "description": {strings.Repeat("x", 300)}}, []string{"<b>Description</b>", "longer than"}},
		"a long refresh":  {url.Values{"name": {"n"}, "refresh": {"a", strings.Repeat("x", 5000)}}, []string{"<b>Refresh command 2</b>"}},
		"too many":        {url.Values{"name": {"n"}, "command": strings.Split(strings.Repeat("x,", 101), ",")}, []string{"<b>Command</b>", "too many"}},
		"a long command":  {url.Values{"name": {"n"}, "command": {"a", strings.Repeat("x", 5000)}}, []string{"<b>Command 2</b>"}},
		"secret, no name": {url.Values{"name": {"n"}, "secret": {"lower"}}, []string{"Secret"}},
	} {
		if status, _, page := s.post("/environments", tc.form); status != http.StatusBadRequest {
			t.Errorf("%s: %d", name, status)
		} else {
			for _, text := range tc.told {
				if !strings.Contains(page, text) {
					t.Errorf("%s: no %q in\n%s", name, text, page)
				}
			}
		}
	}
}

// A key that is limited to factories sees no runs of others and changes no environment.
func TestS3EnvironmentsOfALimitedKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	p := s.platform()
	must(s.control.StartRun(t.Context(), s.admin, lineshaft.NewRun{Prompt: "x", Title: "not for you", Source: lineshaft.SourceAPI, Config: lineshaft.AgentConfig{EnvironmentID: p.environment}}, nil))
	s.as(lineshaft.RoleManager, s.factory("f").UID)
	s.shows("/environments", "shop", "never used")
	s.shows("/environments/"+p.environment, "!not for you")
	s.sends("/environments", url.Values{"name": {"n"}}, http.StatusForbidden, "")
	s.sends("/environments/"+p.environment, url.Values{"name": {"n"}}, http.StatusForbidden, "")
	s.sends("/environments/"+p.environment+"/delete", nil, http.StatusForbidden, "")
}

// the page of an environment shows what is prepared of it, what that saved, and why starts were cold.
func TestX14EnvironmentShowsItsStarts(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	p := s.platform()
	at := "/environments/" + p.environment
	s.shows(at, "Recent runs", "!Prepared</h2>")
	in := lineshaft.AgentConfig{EnvironmentID: p.environment}
	run, job := s.working(lineshaft.NewRun{Prompt: "x", Source: lineshaft.SourceAPI, Config: in})
	var drafts []lineshaft.Draft
	for _, step := range []lineshaft.EnvironmentStep{
		{Step: "cold", Reason: "the disk <i>is</i> new", Worker: "build-1"},
		{Step: "warm", Layer: "4f0c9a1b7d2e", Worker: "build-1", Files: 31240, Bytes: 700 << 20, SavedSeconds: 90},
	} {
		data := lineshaft.NoticeData{Level: "info", Text: "x", Environment: &step}
		drafts = append(drafts, lineshaft.NewDraft(lineshaft.EventNotice, time.Now(), data))
	}
	s.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: job.LastEvent + 1, Events: drafts})
	s.shows(at, "Prepared</h2>", "1 warm start,", "1 cold", "4f0c9a1b7d2e", "build-1", "700", "files", "1 min 30 s", "> hit<", "!> hits<",
		"/runs/"+run, "is&lt;/i&gt; new", "!<i>is")
}

// X-14, I-2: the page of a run shows whether it started warm or cold and why, and its time has each step of the set-up; notices that
// come once the agent works are not looked at.
func TestX14RunShowsItsSetUp(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	run := s.startFor(s.admin, lineshaft.NewRun{Prompt: "x", Source: lineshaft.SourceAPI})
	jobs, err := s.control.Claim(s.Context(), lineshaft.ClaimRequest{WorkerHost: lineshaft.HostedWorker, WorkerID: "w", Limit: 1, Capacity: 1})
	if err != nil || len(jobs) != 1 {
		t.Fatalf("%d jobs: %v", len(jobs), err)
	}
	first, said := int64(1), time.Now()
	say := func(steps ...lineshaft.EnvironmentStep) {
		report := lineshaft.Report{ExecutionRef: jobs[0].ExecutionRef, First: first}
		for _, step := range steps {
			said = said.Add(2 * time.Second)
			data := lineshaft.NoticeData{Level: "info", Text: "x", Environment: &step}
			report.Events = append(report.Events, lineshaft.NewDraft(lineshaft.EventNotice, said, data))
			first++
		}
		s.report(report)
	}
	say(lineshaft.EnvironmentStep{Step: "cold", Reason: "the disk <i>is</i> new"}, lineshaft.EnvironmentStep{Step: "clone", Name: "acme/shop", TookSeconds: 1})
	s.shows("/runs/"+run, "cold: the disk &lt;i&gt;is", "!<i>is")
	s.shows("/runs/"+run+"/time", "Clone of acme/shop", "1.0 s") // while it lasts
	say(lineshaft.EnvironmentStep{Step: "command", Name: "npm ci <b>", TookSeconds: 1.5})
	s.report(lineshaft.Report{ExecutionRef: jobs[0].ExecutionRef, First: first, Started: true})
	say(lineshaft.EnvironmentStep{Step: "refresh", Name: "too late", TookSeconds: 1})
	s.shows("/runs/"+run+"/time", "Clone of acme/shop", "Set-up command: npm ci &lt;b&gt;", "1.5 s", "!too late", "!ci <b>")
}

// I-2: environments are listed by name, or those that were changed last first.
func TestI2EnvironmentsAreSorted(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for _, name := range []string{"anvil", "zinc", "mill"} {
		s.post("/environments", url.Values{"name": {name}})
	}
	for address, want := range map[string][]string{"/environments": {"anvil", "mill", "zinc"}, "/environments?sort=changed": {"mill", "zinc", "anvil"}} {
		var got []string
		for _, match := range regexp.MustCompile(`<td class="main"><a [^>]+><bdi>([^<]*)`).FindAllStringSubmatch(s.shows(address), -1) {
			got = append(got, match[1])
		}
		if !slices.Equal(got, want) {
			t.Errorf("%s lists %v", address, got)
		}
	}
	s.shows("/environments?sort=changed", `<th aria-sort="descending" class="sort"><a href="/environments?sort=changed">Changed`, `<th class="sort"><a href="/environments">Name`)
}
