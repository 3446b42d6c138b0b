package web_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/web"
)

func TestI2OverviewOfANewServer(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	steps := []string{"Three steps to a first run", "export LINESHAFT_URL=", "lineshaft run --follow", "lineshaft webhook create ci", `href="/runs/new"`}
	s.signIn(s.key)
	s.shows("/", append(steps, `href="/factories">factories`, "!Needs attention", "!Success rate")...)
	s.as(lineshaft.RoleMember)
	s.shows("/", append(steps, "!Or go to")...)
	s.as(lineshaft.RoleViewer)
	s.shows("/", "Nothing has run yet", "ask an admin", `!href="/runs/new"`, "!lineshaft run")
}

func TestH12OverviewSaysWhenCertificatesEnd(t *testing.T) {
	t.Parallel()
	end := time.Date(2031, 2, 3, 4, 5, 6, 0, time.UTC)
	s := newSite(t).withDeps(func(d *web.Deps) {
		d.Certificates = func() []web.Certificate {
			return []web.Certificate{{Name: "well.test", Until: end}, {Name: "late.test", Until: end, Problem: "the CA cannot be reached"}, {Name: "none.test", Problem: "the CA was asked"}}
		}
	})
	ends := []string{"<bdi>well.test</bdi> ends 2031-02-03 04:05 UTC.", "<bdi>late.test</bdi> ends", "!<bdi>none.test</bdi> ends"}
	s.signIn(s.key)
	s.shows("/", append(ends, "It ends 2031-02-03 04:05 UTC: the CA cannot be reached.", "There is none yet: the CA was asked.", `href="/settings/doctor"`)...)
	s.as(lineshaft.RoleViewer)
	s.shows("/", append(ends, "!There is none yet")...)
}

func TestI2OverviewShowsWhatHappened(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.start("one")
	s.finish(lineshaft.TurnResult{State: lineshaft.Succeeded})
	bad := s.start("<script>alert(1)</script> \u202egnp")
	s.finish(lineshaft.TurnResult{State: lineshaft.Failed, Message: "</p><img src=x onerror=alert(2)>", Code: lineshaft.CodeAgentProcessFailed})
	asking := s.start("a question")
	s.finish(lineshaft.TurnResult{State: lineshaft.Blocked, Ask: "1"})
	s.start("the next")
	s.signIn(s.key)
	for _, path := range []string{"/", "/?range=1h", "/?range=24h", "/?range=7d"} {
		text := s.shows(path,
			`href="/runs/`+bad+`"`, `href="/runs/`+asking+`"`, "Waiting for your answer", "&lt;script&gt;alert(1)", "&lt;/p&gt;&lt;img src=x",
			"50%", "1 failed", "1 needs an answer", "oldest waiting", "2 runs ended: 1 succeeded, 1 failed, 0 ended in an error, 0 were cancelled.",
			`<rect class="succeeded"`, `<rect class="failed"`, `<path class="p50" d="M`, "The agent&#39;s program failed", "Show as a table", `aria-current="true"`,
			"1 succeeded, 1 failed", "!<img", "!NaN", "!Three steps", "!<style", "!style=", "!onclick")
		if n := strings.Count(text, `aria-current="true"`); n != 1 {
			t.Errorf("%s: %d ranges are marked", path, n)
		}
	}
	if status, _, text := s.get("/?range=2h"); status != http.StatusBadRequest || !strings.Contains(text, "1h, 24h or 7d") {
		t.Errorf("unknown range: %d", status)
	}
	status, _, text := s.do(http.MethodGet, "/?range=1h", nil, map[string]string{"Hx-Request": "true"})
	if status != http.StatusOK || strings.Contains(text, "<html") || strings.Contains(text, "New run") || !strings.Contains(text, "Needs attention") {
		t.Errorf("the part that changes: %d\n%s", status, text)
	}
}

func TestS3OverviewKeepsToTheKeysFactories(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	mine, err := s.control.CreateFactory(t.Context(), s.admin, factories.NewFactory{Name: "Mine"})
	if err != nil {
		t.Fatal(err)
	}
	s.start("not yours to see")
	s.finish(lineshaft.TurnResult{State: lineshaft.Failed})
	s.as(lineshaft.RoleViewer, mine.UID)
	s.shows("/", "Nothing has run yet", "!not yours", "!Success rate")
	s.as(lineshaft.RoleViewer)
	s.shows("/", "not yours to see", "0%", `!href="/runs/new"`)
}

func TestS4OverviewOfSomebodyWhoWasSignedOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	status, _, _ := s.do(http.MethodGet, "/?range=1h", nil, map[string]string{"Hx-Request": "true"})
	if status != http.StatusUnauthorized {
		t.Errorf("%d, want 401 with a redirect of the whole page", status)
	}
}

// The overview of one factory has its numbers only, and its links lead to its runs.
func TestI2OverviewOfAFactory(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{})
	other := h.site.factory("Elsewhere")
	h.automate("Triage", "")
	h.deliver("one", `{}`)
	h.start("outside of factories")
	h.shows("/", `<option value="`+h.factory+`">`, `<option value="`+other.UID+`">`, `hx-get="/?range=24h"`, `href="/runs?state=QUEUED"`)
	here := "factory=" + h.factory
	h.shows("/?range=1h&"+here, `<option value="`+h.factory+`" selected>`, `hx-get="/?`+here+`&amp;range=1h"`, `href="/?`+here+`&amp;range=7d"`,
		`href="/runs?`+here+`&amp;state=QUEUED"`, `href="/costs?days=1&amp;`+here+`"`, "!Three steps")
	h.shows("/?factory="+other.UID, "none waiting", "!Three steps", "!Nothing has run yet")
	if status, _, _ := h.get("/?factory=nobody"); status != http.StatusNotFound {
		t.Errorf("an unknown factory is %d", status)
	}
}
