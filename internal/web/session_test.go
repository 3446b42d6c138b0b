package web_test

import (
	"bufio"
	"context"
	"io"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
)

const firefox = "Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0"

// signInAs signs a browser of that name in.
func (s *site) signInAs(key, agent string) {
	s.Helper()
	if _, at, _ := s.do(http.MethodPost, "/login", url.Values{"key": {key}, "next": {"/"}}, map[string]string{"User-Agent": agent}); at != "/" {
		s.Fatalf("sign-in ended at %s", at)
	}
}

// ends are the ways of a page to sign browsers out.
func ends(text string) []string {
	var found []string
	for _, match := range regexp.MustCompile(`href="(/sessions/[^"]+/end)"`).FindAllStringSubmatch(text, -1) {
		found = append(found, match[1])
	}
	return found
}

func TestS4SessionsPageShowsOwnBrowsers(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	viewer := s.newKey(lineshaft.RoleViewer)
	desk, phone := s.stranger(), s.stranger()
	s.signInAs(s.key, "curl/8")
	desk.signInAs(viewer, firefox)
	phone.signInAs(viewer, `<script>alert(1)</script> (iPhone) Safari/600`)
	status, _, text := desk.get("/sessions")
	for _, want := range []string{"Firefox on Linux", "This browser", "Safari on iPhone", "Key key of a viewer", "127.0.0.1", "&lt;script&gt;", "Sign out all others"} {
		if !strings.Contains(text, want) {
			t.Errorf("%d: the page lacks %q", status, want)
		}
	}
	if strings.Contains(text, "curl") || strings.Contains(text, "Everybody") || strings.Contains(text, "<script>alert") || len(ends(text)) != 1 {
		t.Errorf("a viewer sees %s", text)
	}
	if status, _, _ := desk.get("/sessions?of=everybody"); status != http.StatusForbidden {
		t.Errorf("everybody's sessions for a viewer: %d", status)
	}
	_, _, text = s.get("/sessions?of=everybody")
	if !strings.Contains(text, "Firefox on Linux") || !strings.Contains(text, "curl") || len(ends(text)) != 2 {
		t.Errorf("an admin sees %s", text)
	}
}

func TestS4EndASession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	viewer := s.newKey(lineshaft.RoleViewer)
	desk, phone, other := s.stranger(), s.stranger(), s.stranger()
	desk.signInAs(viewer, firefox)
	phone.signInAs(viewer, "iPhone Safari/600")
	other.signInAs(s.newKey(lineshaft.RoleManager), "curl/8")
	_, _, text := desk.get("/sessions")
	way := ends(text)[0]
	if status, _, text := desk.get(way); status != http.StatusOK || !strings.Contains(text, "Sign out Safari on iPhone?") || !strings.Contains(text, "ask an admin to revoke it") {
		t.Errorf("the question: %d", status)
	}
	if _, at, _ := phone.get("/runs"); at != "/runs" {
		t.Error("asking ended the session")
	}
	// It is nobody else's to end, whatever the role; they do not learn that it exists.
	for _, method := range []string{http.MethodGet, http.MethodPost} {
		if status, _, _ := other.do(method, way, nil, nil); status != http.StatusNotFound {
			t.Errorf("%s by somebody else: %d", method, status)
		}
	}
	if _, at, text := desk.post(way, nil); at != "/sessions" || !strings.Contains(text, "Safari on iPhone is signed out.") {
		t.Errorf("at %s", at)
	}
	if _, at, _ := phone.get("/runs"); !strings.HasPrefix(at, "/login") {
		t.Errorf("the phone is at %s", at)
	}
	if status, _, _ := desk.post(way, nil); status != http.StatusNotFound {
		t.Errorf("a second time: %d", status)
	}
	// An admin ends anybody's, and the audit log has it.
	s.signIn(s.key)
	_, _, text = s.get("/sessions?of=everybody")
	for _, way := range ends(text) {
		if _, at, _ := s.post(way, nil); at != "/sessions?of=everybody" {
			t.Errorf("%s ended at %s", way, at)
		}
	}
	for _, browser := range []*site{desk, other} {
		if _, at, _ := browser.get("/runs"); !strings.HasPrefix(at, "/login") {
			t.Errorf("still signed in at %s", at)
		}
	}
	audit, err := s.control.ListAudit(t.Context(), s.admin, access.AuditQuery{Limit: 50})
	if err != nil || len(audit.Entries) < 3 || audit.Entries[0].Action != "session.revoke" || audit.Entries[0].RemoteAddr != "127.0.0.1" {
		t.Errorf("%+v, %v", audit.Entries, err)
	}
}

func TestS4EndAllOtherSessions(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	phone, tablet, viewer := s.stranger(), s.stranger(), s.stranger()
	s.signIn(s.key)
	if _, _, text := s.get("/sessions/others"); !strings.Contains(text, "You are signed in here only") || strings.Contains(text, "danger") {
		t.Error("nothing to end, and no word of it")
	}
	phone.signInAs(s.key, "iPhone Safari/600")
	tablet.signInAs(s.key, "Android Firefox/1")
	viewer.signIn(s.newKey(lineshaft.RoleViewer))
	if _, _, text := s.get("/sessions/others"); !strings.Contains(text, "Safari on iPhone") || !strings.Contains(text, "Firefox on Android") {
		t.Error("the question does not name them")
	}
	if _, at, text := s.post("/sessions/others", nil); at != "/sessions" || !strings.Contains(text, "2 other browsers are signed out.") {
		t.Errorf("at %s", at)
	}
	for browser, want := range map[*site]string{phone: "/login?next=%2Fruns", tablet: "/login?next=%2Fruns", viewer: "/runs", s: "/runs"} {
		if _, at, _ := browser.get("/runs"); at != want {
			t.Errorf("at %s, want %s", at, want)
		}
	}
	if _, _, text := s.post("/sessions/others", nil); !strings.Contains(text, "No other browser was signed in.") {
		t.Error("a second time says something else")
	}
}

func TestS4SignInReplacesTheSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 3 {
		s.signIn(s.key)
	}
	list, err := s.control.ListSessions(t.Context(), s.admin, true, 10, "")
	if err != nil || len(list.Sessions) != 1 {
		t.Errorf("%d sessions of one browser, %v", len(list.Sessions), err)
	}
}

func TestH8SessionsPageThroughMany(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	for range 60 {
		if _, err := s.control.CreateSession(t.Context(), s.key, access.Visitor{}); err != nil {
			t.Fatal(err)
		}
	}
	s.signIn(s.key)
	_, _, text := s.get("/sessions")
	next := regexp.MustCompile(`href="(/sessions\?cursor=[^"]+)"`).FindStringSubmatch(text)
	if next == nil {
		t.Fatal("no way to older ones")
	}
	_, _, older := s.get(next[1])
	if len(ends(text)) != 49 || len(ends(older)) != 11 || !strings.Contains(older, "Newest") {
		t.Errorf("%d and %d sessions", len(ends(text)), len(ends(older)))
	}
	if status, _, text := s.get("/sessions?cursor=0"); status != http.StatusOK || !strings.Contains(text, "No more sessions") {
		t.Errorf("past the end: %d", status)
	}
}

// A live page of a session that was ended stops on its own, even when its run is quiet.
func TestS4StreamsEndWithTheSession(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID := s.start("hello")
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, s.url+"/runs/"+runID+"/events", http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Accept", "text/event-stream")
	res, err := s.browser.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	stream := bufio.NewReader(res.Body)
	if _, err := stream.ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	list, err := s.control.ListSessions(t.Context(), s.admin, true, 10, "")
	if err != nil || len(list.Sessions) != 1 {
		t.Fatalf("%+v, %v", list, err)
	}
	begin := time.Now()
	if err := s.control.RevokeSession(t.Context(), s.admin, list.Sessions[0].ID); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, stream); err != nil {
		t.Errorf("the stream broke: %v", err)
	}
	if took := time.Since(begin); took > 10*time.Second {
		t.Errorf("the stream went on for %s", took)
	}
}
