package web_test

import (
	"bufio"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// shown are the titles of the rows of a page.
func shown(text string) []string {
	var titles []string
	for _, match := range regexp.MustCompile(`<td class="main"><a href="/runs/[^"]+"><bdi>([^<]*)</bdi>`).FindAllStringSubmatch(text, -1) {
		titles = append(titles, match[1])
	}
	return titles
}

func (s *site) list(address string) []string {
	s.Helper()
	status, at, text := s.get(address)
	if status != http.StatusOK {
		s.Fatalf("GET %s: %d at %s", address, status, at)
	}
	return shown(text)
}

func TestR4RunListFilters(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	first := s.startFor(s.admin, lineshaft.NewRun{Title: "first", Prompt: "paint it", Metadata: map[string]string{"team": "web"}})
	s.startFor(s.admin, lineshaft.NewRun{Title: "second", Config: lineshaft.AgentConfig{WorkerHost: "mac", ModelID: "big"}})
	s.startFor(s.admin, lineshaft.NewRun{Title: "child", ParentRunID: first})
	if _, err := s.control.Cancel(t.Context(), s.admin, first, false, nil); err != nil {
		t.Fatal(err)
	}
	if _, err := s.control.SettleRuns(t.Context()); err != nil {
		t.Fatal(err)
	}
	for query, want := range map[string]string{
		"":                                       "child second first",
		"sort=updated":                           "first child second",
		"sort=updated-asc":                       "second child first",
		"sort=oldest":                            "first second child",
		"sort=title":                             "child first second",
		"sort=title-desc":                        "second first child",
		"sort=title-desc&state=QUEUED":           "second child",
		"sort=cost":                              "child second first",
		"state=CANCELLED":                        "first",
		"state=QUEUED":                           "child second",
		"state=QUEUED&state=CANCELLED":           "child second first",
		"state=BLOCKED":                          "",
		"source=API":                             "child second first",
		"source=CLI":                             "",
		"host=mac":                               "second",
		"model=big":                              "second",
		"ancestor=" + first:                      "child",
		"meta=team%3Dweb":                        "child first",
		"meta=team%3Dweb&state=QUEUED":           "child",
		"q=paint":                                "first",
		"creator=" + s.admin.Principal.UID:       "child second first",
		"creator=nobody":                         "",
		"factory=none":                           "",
		"environment=none":                       "",
		"schedule=none":                          "",
		"agent=01890000-0000-7000-8000-00000000": "",
		"skill=a%2Fb%3Ac":                        "",
		"after=2020-01-01":                       "child second first",
		"after=2020-01-01T10%3A00&before=2020-01-02T10%3A00%3A00Z": "",
	} {
		if got := strings.Join(s.list("/runs?"+query), " "); got != want {
			t.Errorf("%s shows %q, want %q", query, got, want)
		}
	}
}

// the heads of columns lead to the other order, with the same filters, and say the order of the list.
func TestR4RunListHeads(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.start("hello")
	title, updated := `<a href="/runs?sort=title&amp;state=QUEUED">Run</a>`, `<a href="/runs?sort=updated&amp;state=QUEUED">Updated</a>`
	clearAll := `<a class="clear" href="/runs`
	s.shows("/runs?state=QUEUED", "!aria-sort", title, updated, clearAll+`"`, `<option value="" selected>Newest first`)
	s.shows("/runs?state=QUEUED&sort=title", `aria-sort="ascending" class="sort"><a href="/runs?sort=title-desc&amp;state=QUEUED">Run</a>`, updated,
		clearAll+`?sort=title"`, `<option value="title" selected>`)
	s.shows("/runs?state=QUEUED&sort=title-desc", `aria-sort="descending" class="sort">`+title, updated)
	s.shows("/runs?state=QUEUED&sort=updated", `aria-sort="descending" class="sort"><a href="/runs?sort=updated-asc&amp;state=QUEUED">Updated</a>`, title)
	s.shows("/runs?state=QUEUED&sort=updated-asc", `aria-sort="ascending" class="sort">`+updated, title)
}

// what a filter cannot mean is reported, and an address has no empty parts.
func TestR4RunListAddress(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for _, query := range []string{
		"state=LOST", "source=MOON", "after=soon", "before=31.1.", "meta=team", "meta=%3Dx", "cursor=none", "q=a%00b",
		"q=" + strings.Repeat("x", 1001), "meta=a%3D1&meta=b%3D1&meta=c%3D1&meta=d%3D1&meta=e%3D1&meta=f%3D1",
	} {
		if status, _, _ := s.get("/runs?" + query); status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, status)
		}
	}
	for query, want := range map[string]string{
		"?q=&state=&sort=&source=API&meta=":    "/runs?source=API",
		"?q=&sort=created":                     "/runs",
		"?state=QUEUED&state=QUEUED&q=+a+&x=1": "/runs?q=a&state=QUEUED",
	} {
		if _, at, _ := s.get("/runs" + query); at != want {
			t.Errorf("%s leads to %s, want %s", query, at, want)
		}
	}
	// A part of the page keeps its address in a header instead.
	status, at, text := s.do(http.MethodGet, "/runs?q=&state=QUEUED", nil, map[string]string{"Hx-Request": "true"})
	if status != http.StatusOK || at != "/runs?q=&state=QUEUED" || strings.Contains(text, "<html") || !strings.Contains(text, `id="list"`) {
		t.Errorf("%d at %s\n%s", status, at, text)
	}
}

// what the page shows already is not one more step of its history.
func TestR4RunListAddressIsPushedOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for current, want := range map[string]string{
		"":                               "/runs?q=a&state=QUEUED",
		s.url + "/runs":                  "/runs?q=a&state=QUEUED",
		s.url + "/runs?q=a":              "/runs?q=a&state=QUEUED",
		"http://[not an address":         "/runs?q=a&state=QUEUED",
		s.url + "/runs?q=a&state=QUEUED": "",
	} {
		req := must(http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/runs?state=QUEUED&sort=&q=a", http.NoBody))
		req.Header.Set("Hx-Request", "true")
		req.Header.Set("Hx-Current-Url", current)
		res := must(s.browser.Do(req))
		_ = res.Body.Close()
		if pushed := res.Header.Get("Hx-Push-Url"); res.StatusCode != http.StatusOK || pushed != want {
			t.Errorf("from %q: %d, pushed %q, want %q", current, res.StatusCode, pushed, want)
		}
	}
}

// pages continue where the one before ended, without gap and without repetition.
func TestR4RunListPages(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	var want []string
	for i := range 120 {
		s.startFor(s.admin, lineshaft.NewRun{Title: fmt.Sprintf("run %d", i)})
		want = append([]string{fmt.Sprintf("run %d", i)}, want...)
	}
	next := regexp.MustCompile(`href="(/runs\?[^"]*cursor=[^"]*)" rel="next"`)
	byTitle := slices.Sorted(slices.Values(want))
	for query, want := range map[string][]string{"?state=QUEUED": want, "?sort=updated": want, "?sort=title&state=QUEUED": byTitle} {
		var got []string
		first := map[bool]string{true: ">First<", false: ">Newest<"}[strings.Contains(query, "title")]
		address := "/runs" + query
		for pages := 1; address != ""; pages++ {
			_, _, text := s.get(address)
			got = append(got, shown(text)...)
			if back := strings.Contains(text, first); back != (pages > 1) {
				t.Errorf("%s: page %d leads to the first: %v", query, pages, back)
			}
			match := next.FindStringSubmatch(text)
			if address = ""; match != nil {
				address = strings.ReplaceAll(match[1], "&amp;", "&")
			}
			if pages > 3 {
				t.Fatal("the pages do not end")
			}
		}
		if strings.Join(got, " ") != strings.Join(want, " ") {
			t.Errorf("%s: %v", query, got)
		}
	}
}

// S-4: titles, names and messages are text.
func TestS4RunListShowsTextAsText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	evil := `"><script>alert(1)</script>`
	runID := s.startFor(s.admin, lineshaft.NewRun{Title: evil, Config: lineshaft.AgentConfig{Name: evil}})
	query := url.Values{"q": {evil}, "host": {evil}, "meta": {"k=" + evil}}.Encode()
	noKey := url.Values{"meta": {evil + "=" + evil}}.Encode()
	for address, want := range map[string]int{
		"/runs": http.StatusOK, "/runs?" + query: http.StatusOK, "/runs?" + noKey: http.StatusBadRequest,
		"/runs/rows?id=" + runID: http.StatusOK, "/runs/cancel?id=" + runID: http.StatusOK,
		"/runs/cancel?match=1&" + query: http.StatusOK, "/runs/cancel?match=1&" + noKey: http.StatusBadRequest,
		"/search?" + query: http.StatusOK, "/runs/new?from=" + runID: http.StatusOK,
	} {
		if status, _, text := s.get(address); status != want || strings.Contains(text, "<script>alert") {
			t.Errorf("%s: %d, want %d\n%s", address, status, want, text)
		}
	}
}

// S-3: boxes are for runs that the reader may end, and keys see their factories only.
func TestS3RunListBoxes(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	foreign := s.start("foreign")
	box := func(runID string) string { return `name="id" value="` + runID + `"` }
	me := s.as(lineshaft.RoleMember)
	own, ended := s.startFor(me, lineshaft.NewRun{}), s.startFor(me, lineshaft.NewRun{})
	if _, err := s.control.Cancel(t.Context(), me, ended, false, nil); err != nil {
		t.Fatal(err)
	}
	_, _, text := s.get("/runs")
	if !strings.Contains(text, box(own)) || strings.Contains(text, box(ended)) || strings.Contains(text, box(foreign)) || strings.Contains(text, "Cancel all") || !strings.Contains(text, "/runs/new") {
		t.Errorf("for a member:\n%s", text)
	}
	s.as(lineshaft.RoleManager)
	if _, _, text := s.get("/runs"); !strings.Contains(text, box(own)) || !strings.Contains(text, box(foreign)) || !strings.Contains(text, "Cancel all") {
		t.Errorf("for a manager:\n%s", text)
	}
	s.shows("/runs?state=CANCELLED", "!Cancel all", "!Cancel selected")
	s.shows("/runs?state=CANCELLED&state=QUEUED", "Cancel all", "Cancel selected")
	s.as(lineshaft.RoleViewer)
	if _, _, text := s.get("/runs"); strings.Contains(text, "checkbox\" name=\"id\"") || strings.Contains(text, "Cancel") && strings.Contains(text, "Cancel selected") || strings.Contains(text, `href="/runs/new"`) {
		t.Errorf("for a viewer:\n%s", text)
	}
	s.as(lineshaft.RoleManager, s.factory("another").UID)
	if got := s.list("/runs"); len(got) != 0 {
		t.Errorf("a key of another factory sees %v", got)
	}
	if _, _, text := s.get("/runs/rows?id=" + own); strings.Contains(text, own) {
		t.Error("a key of another factory reads rows")
	}
}

// I-2: above the list are those that people come for, and the one that is shown is marked.
func TestI2RunListPresets(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	s.shows("/runs", "!Common lists")
	active, ended := s.startFor(s.admin, lineshaft.NewRun{Title: "active"}), s.startFor(s.admin, lineshaft.NewRun{Title: "ended"})
	if _, err := s.control.Cancel(t.Context(), s.admin, ended, false, nil); err != nil {
		t.Fatal(err)
	}
	_, _, text := s.get("/runs")
	links := regexp.MustCompile(`<li><a href="([^"]+)" title="[^"]+">([^<]+)</a>`).FindAllStringSubmatch(text, -1)
	want := map[string]string{"Active": "active", "Needs an answer": "", "Failed today": "", "Started by me": "ended active"}
	for _, link := range links {
		address := html.UnescapeString(link[1])
		if got := strings.Join(s.list(address), " "); got != want[link[2]] {
			t.Errorf("%s at %s: %q, want %q (active is %s)", link[2], address, got, want[link[2]], active)
		}
		s.shows(address, `aria-current="page">`+link[2])
		s.shows(address+"&sort=oldest", `aria-current="page">`+link[2])
		if link[2] == "Failed today" && !strings.Contains(address, "sort=updated") {
			t.Errorf("%s walks back through all runs that ever failed", address)
		}
		delete(want, link[2])
	}
	if len(want) > 0 {
		t.Errorf("no links to %v in\n%s", want, text)
	}
}

// I-2: the stream names what changed, each run once, and continues after its id.
func TestI2RunListStream(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	_, _, text := s.get("/runs?state=QUEUED")
	cursor := regexp.MustCompile(`data-cursor="([^"]+)"`).FindStringSubmatch(text)[1]
	// This happens between the page and its stream.
	runID := s.start("hello")
	read := func(headers map[string]string) (id, data string) {
		t.Helper()
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+"/runs/live?state=QUEUED&cursor="+cursor, nil)
		if err != nil {
			t.Fatal(err)
		}
		for name, value := range headers {
			req.Header.Set(name, value)
		}
		res, err := s.browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		defer func() { _ = res.Body.Close() }()
		for lines := bufio.NewScanner(res.Body); lines.Scan(); {
			id = strings.TrimPrefix(lines.Text(), "id: ")
			if strings.HasPrefix(lines.Text(), "id: ") && lines.Scan() {
				return id, strings.TrimPrefix(lines.Text(), "data: ")
			}
		}
		t.Fatal("the stream ended")
		return "", ""
	}
	id, data := read(nil)
	if want := fmt.Sprintf(`{"runs":[{"id":%q,"fits":true,"born":true}]}`, runID); data != want {
		t.Errorf("got %s, want %s", data, want)
	}
	if _, err := s.control.Cancel(t.Context(), s.admin, runID, false, nil); err != nil {
		t.Fatal(err)
	}
	if _, data := read(map[string]string{"Last-Event-ID": id}); data != fmt.Sprintf(`{"runs":[{"id":%q,"fits":false,"born":false}]}`, runID) {
		t.Errorf("then %s", data)
	}
	for range 201 {
		s.start("many")
	}
	if _, data := read(map[string]string{"Last-Event-ID": id}); data != `{"many":true}` {
		t.Errorf("of many: %s", data)
	}
	for _, query := range []string{"?cursor=none", "?state=LOST"} {
		if status, _, _ := s.get("/runs/live" + query); status != http.StatusBadRequest {
			t.Errorf("%s: %d", query, status)
		}
	}
}

// An address with very many values is refused before anything is asked for them.
func TestH8FilterHasFewValues(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for _, name := range []string{"factory", "state", "source", "meta"} {
		given := url.Values{}
		for i := range 400 {
			given.Add(name, strconv.Itoa(i))
		}
		for _, path := range []string{"/runs?", "/runs/cancel?match=1&"} {
			if status, _, text := s.get(path + given.Encode()); status != http.StatusBadRequest || !strings.Contains(text, "choose at most 20") || len(text) > 50_000 {
				t.Errorf("%s of %s: %d, %d bytes", name, path, status, len(text))
			}
		}
	}
}

// runs are found by what started them and by why they failed; the form offers both by name, and a chip takes each away.
func TestR4RunListByAutomationWebhookAndErrorCode(t *testing.T) {
	t.Parallel()
	h := newHooked(t, factories.NewWebhook{Name: "issues"})
	a := h.automate("triage", "")
	h.deliver("1", `{}`)
	h.finish(lineshaft.TurnResult{State: lineshaft.Failed, Code: lineshaft.CodeEnvironmentSetupFailed})
	started := h.lastRun()
	h.start("by hand")
	h.finish(lineshaft.TurnResult{State: lineshaft.Failed, Code: lineshaft.CodeRunTimeout})
	h.start("waits")
	of := "automation=" + a.UID
	for range 2 { // as it is, and settled
		for query, want := range map[string]string{
			of: started.Title, "webhook=" + h.hook.UID: started.Title, "automation=none": "", "webhook=" + a.UID: "",
			"error=environment_setup_failed": started.Title, "error=run_timeout": "by hand", "error=conflict": "",
			"error=run_timeout&state=QUEUED": "", "error=run_timeout&state=FAILED": "by hand", of + "&error=run_timeout": "",
			of + "&error=environment_setup_failed&webhook=" + h.hook.UID: started.Title, of + "&meta=automation_id%3Dother": "",
			"meta=a%3D1&meta=a%3D2": "",
		} {
			if got := strings.Join(h.list("/runs?"+query), " "); got != want {
				t.Errorf("%s shows %q, want %q", query, got, want)
			}
		}
		must(h.control.SettleRuns(t.Context()))
	}
	chip := func(label, text string) string {
		return `<span class="muted">` + label + `</span> <bdi>` + text + `</bdi>`
	}
	h.shows("/runs?"+of, chip("Automation", "works / triage"), `<details class="more" open>`, `value="`+a.UID+`" selected`)
	h.shows("/runs?webhook="+h.hook.UID, chip("Webhook", "works / issues"), `<details class="more" open>`, `value="`+h.hook.UID+`" selected`)
	h.shows("/runs?error=run_timeout", chip("Error code", "run_timeout"), `<details class="more" open>`, `value="run_timeout" selected`)
	h.shows("/runs/cancel?match=1&error=run_timeout", "with the error code run_timeout")
	if status, _, _ := h.get("/runs?error=bad_luck"); status != http.StatusBadRequest {
		t.Errorf("an unknown code: %d", status)
	}
	// What another key may not see is neither offered nor found.
	h.as(lineshaft.RoleViewer, h.site.factory("another").UID)
	h.shows("/runs?"+of, "!triage", "!issues", "No run matches")
}

// the chips of states that are not final have the numbers of the overview, while nothing but states is filtered.
func TestR4RunListCountsLiveStates(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	for range 3 {
		s.start("hello")
	}
	s.finish(lineshaft.TurnResult{State: lineshaft.Succeeded})
	s.begin()
	chip := func(state, n string) string { return `<span id="n-` + state + `" class="n">` + n + `</span>` }
	s.shows("/runs?state=FAILED", chip("QUEUED", "1"), chip("INPROGRESS", "1"), chip("BLOCKED", ""), chip("SUCCEEDED", ""), `data-counts="1"`)
	s.shows("/runs?q=hello&state=QUEUED", chip("QUEUED", ""), chip("INPROGRESS", ""), "!data-counts")
	again := func(path string) string {
		t.Helper()
		_, _, text := s.do(http.MethodGet, path, nil, map[string]string{"Hx-Request": "true"})
		return text
	}
	for path, want := range map[string]string{"/runs": "1", "/runs?host=hosted": "", "/runs/rows?counts=1": "1", "/runs/rows?id=none": ""} {
		if text := again(path); !strings.Contains(text, `<span id="n-QUEUED" class="n" hx-swap-oob="true">`+want+`</span>`) {
			t.Errorf("%s:\n%s", path, text)
		}
	}
	for range 100 {
		s.start("hello")
	}
	s.shows("/runs", chip("QUEUED", "100&#43;"))
	s.as(lineshaft.RoleViewer, s.factory("another").UID)
	s.shows("/runs", chip("QUEUED", ""))
}
