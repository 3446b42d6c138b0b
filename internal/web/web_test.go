package web_test

import (
	"bufio"
	"context"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
)

func TestS4PagesNeedASession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	runID := s.start("hello")
	for _, path := range []string{"/", "/runs/" + runID, "/runs/" + runID + "/events"} {
		status, at, text := s.get(path)
		if status != http.StatusOK || !strings.HasPrefix(at, "/login") || strings.Contains(text, runID) && !strings.Contains(at, runID) {
			t.Errorf("GET %s as nobody: %d at %s", path, status, at)
		}
	}
	if status, _, text := s.post("/runs/"+runID+"/cancel", nil); status != http.StatusOK || !strings.Contains(text, "Sign in") {
		t.Errorf("cancel as nobody: %d", status)
	}
	if run, err := s.control.GetRun(t.Context(), s.admin, runID); err != nil || run.State != lineshaft.Queued {
		t.Errorf("the run is %v (%v)", run, err)
	}
}

func TestS4SignInAndOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	runID := s.start("hello")
	for _, key := range []string{"", "wrong", "ls_wrong_wrong_wrong_wrong"} {
		if status, _, text := s.post("/login", url.Values{"key": {key}}); status != http.StatusUnauthorized || !strings.Contains(text, "Invalid API key") {
			t.Errorf("key %q: %d", key, status)
		}
	}
	// Signing in leads back to the page before, but never to another host.
	if _, at, _ := s.post("/login", url.Values{"key": {s.key}, "next": {"/runs/" + runID}}); at != "/runs/"+runID {
		t.Errorf("after sign-in at %s", at)
	}
	for _, next := range []string{"https://evil.example/", "//evil.example", "/\\evil.example", "/\t/evil.example", "javascript:alert(1)"} {
		if _, at, _ := s.post("/login", url.Values{"key": {s.key}, "next": {next}}); at != "/" {
			t.Errorf("next=%s led to %s", next, at)
		}
	}
	if status, at, text := s.get("/"); status != http.StatusOK || at != "/" || !strings.Contains(text, "Administrator") || strings.Contains(text, s.key) {
		t.Errorf("signed in: %d at %s", status, at)
	}
	s.post("/logout", nil)
	if _, at, _ := s.get("/"); !strings.HasPrefix(at, "/login") {
		t.Errorf("after sign-out at %s", at)
	}
}

func TestS4CookieAndHeaders(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.browser.CheckRedirect = func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }
	res, err := s.browser.PostForm(s.url+"/login", url.Values{"key": {s.key}})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	cookies := res.Cookies()
	if len(cookies) != 1 || !cookies[0].HttpOnly || cookies[0].SameSite != http.SameSiteLaxMode || strings.Contains(cookies[0].Value, s.key) {
		t.Errorf("cookie %+v", cookies)
	}
	policy := res.Header.Get("Content-Security-Policy")
	for _, want := range []string{"default-src 'none'", "script-src 'self'", "frame-ancestors 'none'", "form-action 'self'"} {
		if !strings.Contains(policy, want) {
			t.Errorf("policy lacks %s: %s", want, policy)
		}
	}
	if strings.Contains(policy, "unsafe") || res.Header.Get("X-Content-Type-Options") != "nosniff" || res.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("headers %v", res.Header)
	}
}

func TestS4CrossOriginChangesAreRefused(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID := s.start("hello")
	for name, headers := range map[string]map[string]string{
		"another site": {"Sec-Fetch-Site": "cross-site"},
		"other origin": {"Origin": "https://evil.example"},
		"same domain":  {"Sec-Fetch-Site": "same-site"},
	} {
		if status, _, _ := s.do(http.MethodPost, "/runs/"+runID+"/cancel", nil, headers); status != http.StatusForbidden {
			t.Errorf("%s: %d, want 403", name, status)
		}
	}
	if run, err := s.control.GetRun(t.Context(), s.admin, runID); err != nil || run.State != lineshaft.Queued {
		t.Errorf("the run is %v (%v)", run, err)
	}
}

func TestS3ViewerSeesButCannotChange(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	_, key, err := s.control.CreateAPIKey(t.Context(), s.admin, access.NewAPIKey{Name: "eyes", Role: lineshaft.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	runID := s.start("hello")
	s.signIn(key)
	if status, _, text := s.get("/runs/" + runID); status != http.StatusOK || strings.Contains(text, "Cancel run") || strings.Contains(text, "Follow up") {
		t.Errorf("page for a viewer: %d, with buttons %v", status, strings.Contains(text, "Cancel run"))
	}
	for path, form := range map[string]url.Values{"/cancel": nil, "/followups": {"message": {"x"}}} {
		if status, _, _ := s.post("/runs/"+runID+path, form); status != http.StatusForbidden {
			t.Errorf("POST %s as a viewer: %d, want 403", path, status)
		}
	}
}

func TestSessionPageShowsTextAsText(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	evil := "<script>alert(1)</script><img src=x onerror=alert(2)> \x1b[31mred\x1b[0m \u202egnp.exe"
	runID := s.start(evil)
	status, _, text := s.get("/runs/" + runID)
	if status != http.StatusOK || strings.Contains(text, "<script>alert") || strings.Contains(text, "<img src=x") || !strings.Contains(text, "&lt;script&gt;alert(1)") {
		t.Errorf("status %d\n%s", status, text)
	}
	if !strings.Contains(text, "agents are not isolated") {
		t.Error("the page does not show the warning")
	}
}

func TestSessionPageChangesTheRun(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID := s.start("hello")
	if status, at, text := s.post("/runs/"+runID+"/followups", url.Values{"message": {"and then this"}}); status != http.StatusOK || at != "/runs/"+runID || !strings.Contains(text, "and then this") {
		t.Errorf("follow-up: %d at %s", status, at)
	}
	if status, _, _ := s.post("/runs/"+runID+"/followups", url.Values{"message": {""}}); status != http.StatusBadRequest {
		t.Errorf("empty follow-up: %d", status)
	}
	if status, _, text := s.post("/runs/"+runID+"/cancel", nil); status != http.StatusOK || !strings.Contains(text, "cancelled by Administrator") {
		t.Errorf("cancel: %d", status)
	}
	if status, _, _ := s.post("/runs/"+runID+"/cancel", nil); status != http.StatusBadRequest {
		t.Errorf("second cancel: %d", status)
	}
	if status, _, _ := s.get("/runs/01890000-0000-7000-8000-000000000000"); status != http.StatusNotFound {
		t.Errorf("unknown run: %d", status)
	}
	if status, _, _ := s.get("/nothing"); status != http.StatusNotFound {
		t.Errorf("unknown page: %d", status)
	}
}

func TestSessionStreamGoesOnWhereThePageEnded(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID := s.start("hello")
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/runs/"+runID+"/events?after=1", nil)
	if err != nil {
		t.Fatal(err)
	}
	res, err := s.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	next := func(prefix string) string {
		for lines.Scan() {
			if text, ok := strings.CutPrefix(lines.Text(), prefix); ok {
				return text
			}
		}
		t.Fatalf("the stream ended before %q: %v", prefix, lines.Err())
		return ""
	}
	if first := next("id: "); first != "2" {
		t.Errorf("after event 1 the stream goes on with %s", first)
	}
	if _, err := s.control.Cancel(ctx, s.admin, runID, false, nil); err != nil {
		t.Fatal(err)
	}
	if data := next("data: "); !strings.Contains(data, "hello") {
		t.Errorf("event 2 is %s", data)
	}
	if data := next("data: "); !strings.Contains(data, "cancelled by Administrator") {
		t.Errorf("event 3 is %s", data)
	}
	next("event: end")
}

// S-4: a form that is too large, or no form, is refused as such and not taken for an empty one.
func TestS4LargeForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	status, _, text := s.post("/runs", url.Values{"prompt": {strings.Repeat("x", 3<<20)}})
	if status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "larger than 2 MiB") {
		t.Errorf("3 MiB: %d\n%s", status, content(text))
	}
	req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/runs/cancel", strings.NewReader("%zz=1"))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	res, err := s.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if res.StatusCode != http.StatusBadRequest {
		t.Errorf("no form: %d", res.StatusCode)
	}
}
