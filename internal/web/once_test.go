package web_test

import (
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
)

// onceIn is the token of a form on a page, found by the text before it.
func (s *site) onceIn(path, before string) string {
	s.Helper()
	_, _, text := s.get(path)
	found := regexp.MustCompile(regexp.QuoteMeta(before) + `[^>]*>\s*<input type="hidden" name="once"[^>]* value="([^"]+)"`).FindStringSubmatch(text)
	if found == nil {
		s.Fatalf("%s has no such form after %s", path, before)
	}
	return found[1]
}

// What is sent twice is done once; what is sent again is done again.
func TestH9FormsSentTwiceAreDoneOnce(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	runID := s.start("hello")
	at := "/runs/" + runID

	form := url.Values{"message": {"and this"}, "once": {s.onceIn(at, `action="`+at+`/followups"`)}}
	send := func() int {
		_, _, text := s.post(at+"/followups", form)
		return strings.Count(text, "and this")
	}
	one, same := send(), send()
	form.Set("once", s.onceIn(at, `action="`+at+`/followups"`))
	if two := send(); one == 0 || same != one || two <= one {
		t.Errorf("the message is shown %d times, after a second sending %d times, after that of another form %d times", one, same, two)
	}

	if _, err := s.control.Cancel(t.Context(), s.admin, runID, false, nil); err != nil {
		t.Fatal(err)
	}
	again := url.Values{"once": {s.onceIn(at, `action="`+at+`/rerun"`)}}
	if page := s.shows(at, `<button class="small" form="rerun">`, `id="rerun"`); strings.Count(page, at+"/rerun") != 1 {
		t.Errorf("the page has several forms that run it again:\n%s", page)
	}
	_, first, _ := s.post(at+"/rerun", again)
	_, second, _ := s.post(at+"/rerun", again)
	_, third, _ := s.post(at+"/rerun", url.Values{"once": {s.onceIn(at, `action="`+at+`/rerun"`)}})
	if first != second || first == third || first == at {
		t.Errorf("reruns: %s, %s and %s", first, second, third)
	}
}

func TestH9KeyFormSentTwiceMakesOneKey(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	form := url.Values{"name": {"ci"}, "role": {"member"}, "expires": {"90"}, "once": {s.onceIn("/keys/new", `action="/keys"`)}}
	if status, _, text := s.post("/keys", form); status != http.StatusOK || !strings.Contains(text, access.KeyPrefix) {
		t.Errorf("the first: %d", status)
	}
	if status, _, text := s.post("/keys", form); status != http.StatusConflict || !strings.Contains(text, "was already created") {
		t.Errorf("the second: %d\n%s", status, text)
	}
	keys, err := s.control.ListAPIKeys(t.Context(), s.admin, base.MaxPage, "")
	if n := len(slices.DeleteFunc(keys.Items, func(k lineshaft.APIKey) bool { return k.Name != "ci" })); err != nil || n != 1 {
		t.Errorf("%d keys (%v)", n, err)
	}
}

// A form that cannot be read is not an empty one, and says what is wrong with it.
func TestS4UnreadableForms(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	large := url.Values{"value": {strings.Repeat("x", 3<<20)}, "key": {"x"}}
	for _, path := range []string{"/login", "/secrets/TOKEN/value", "/runs"} {
		if path != "/login" {
			s.signIn(s.key)
		}
		if status, _, text := s.post(path, large); status != http.StatusRequestEntityTooLarge || !strings.Contains(text, "larger than 2 MiB") {
			t.Errorf("3 MB to %s: %d", path, status)
		}
		req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+path, strings.NewReader("value=%zz"))
		if err != nil {
			t.Fatal(err)
		}
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		res, err := s.browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.StatusCode != http.StatusBadRequest {
			t.Errorf("nonsense to %s: %d", path, res.StatusCode)
		}
	}
}

// H-10, S-5: an answer names its request, and so does what it wrote into the audit log.
func TestH10PagesNameTheirRequest(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	s.signIn(s.key)
	given := map[string]string{"X-Request-Id": "req-of-a-page"}
	s.do(http.MethodPost, "/environments", url.Values{"name": {"shop"}}, given)
	s.do(http.MethodPost, "/login", url.Values{"key": {s.key}}, given)
	page, err := s.control.ListAudit(t.Context(), s.admin, access.AuditQuery{Limit: 10})
	if err != nil {
		t.Fatal(err)
	}
	told := map[string]string{}
	for _, e := range page.Entries {
		if _, newer := told[e.Action]; !newer {
			told[e.Action] = e.RequestID
		}
	}
	if told["environment.create"] != "req-of-a-page" || told["session.create"] != "req-of-a-page" {
		t.Errorf("request ids: %v", told)
	}
	for _, path := range []string{"/", "/nothing", "/login", "/runs"} {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.url+path, nil)
		if err != nil {
			t.Fatal(err)
		}
		res, err := s.browser.Do(req)
		if err != nil {
			t.Fatal(err)
		}
		_ = res.Body.Close()
		if res.Header.Get("X-Request-ID") == "" {
			t.Errorf("%s has no id", path)
		}
	}
}
