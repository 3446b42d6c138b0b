package web_test

import (
	"bufio"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/rate"
	"github.com/lineshaft/lineshaft/internal/web"
)

// limitedSite lets everyone have so many requests in a minute of a stopped clock.
func limitedSite(t *testing.T, limit int) (*site, *time.Time, *rate.Limiter) {
	t.Helper()
	clock, requests := time.Unix(1_000_000, 0), rate.New(limit)
	s := newSite(t).withDeps(func(d *web.Deps) { d.Rate, d.Now = requests, func() time.Time { return clock } })
	return s, &clock, requests
}

// retryAfter asks for a page and says how long to wait.
func (s *site) retryAfter(path string) (status int, after string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	res, err := s.browser.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	_ = res.Body.Close()
	return res.StatusCode, res.Header.Get("Retry-After")
}

func (s *site) wantStatus(path string, want int) string {
	s.Helper()
	status, at, text := s.get(path)
	if status != want || at != path {
		s.Errorf("GET %s: %d at %s, want %d\n%s", path, status, at, want, content(text))
	}
	return text
}

func TestH11SessionsHaveALimitWithAPageThatSaysSo(t *testing.T) {
	t.Parallel()
	s, clock, _ := limitedSite(t, 3)
	s.signIn(s.key) // ends at the overview, the first request
	s.wantStatus("/runs", http.StatusOK)
	s.wantStatus("/no/such/page", http.StatusNotFound)
	*clock = clock.Add(18 * time.Second)
	if status, after := s.retryAfter("/runs"); status != http.StatusTooManyRequests || after != "42" {
		t.Errorf("%d, Retry-After %q", status, after)
	}
	text := s.wantStatus("/runs", http.StatusTooManyRequests)
	if !strings.Contains(text, "Wait 42 s, then load this page again.") || !strings.Contains(text, "the 3 requests a minute") {
		t.Errorf("the page says\n%s", content(text))
	}
	s.sends("/sessions/others", nil, http.StatusTooManyRequests, "", "nothing was changed")
	s.wantStatus("/no/such/page", http.StatusTooManyRequests)
	*clock = clock.Add(42 * time.Second)
	s.wantStatus("/runs", http.StatusOK)
}

func TestH11TheLimitIsOfTheKeyAndOfThePerson(t *testing.T) {
	t.Parallel()
	s, _, requests := limitedSite(t, 2)
	s.signIn(s.key)
	phone := s.stranger()
	phone.signIn(s.key)
	s.wantStatus("/runs", http.StatusTooManyRequests) // both browsers have the same key
	if verdict, _ := requests.Take(s.admin.KeyID, time.Unix(1_000_000, 0)); verdict.Wait == 0 {
		t.Error("programs with the key have a limit of their own")
	}
	other := s.stranger()
	other.signIn(s.newKey(lineshaft.RoleViewer))
	other.wantStatus("/runs", http.StatusOK)

	ada := lineshaft.Identity{Issuer: "https://id.example", Subject: "ada", Role: lineshaft.RoleViewer}
	first, second := s.stranger(), s.stranger()
	first.enterAs(ada)
	second.enterAs(ada)
	first.wantStatus("/runs", http.StatusOK)
	second.wantStatus("/runs", http.StatusOK)
	first.wantStatus("/runs", http.StatusTooManyRequests)
	bea := s.stranger()
	bea.enterAs(lineshaft.Identity{Issuer: "https://id.example", Subject: "bea", Role: lineshaft.RoleViewer})
	bea.wantStatus("/runs", http.StatusOK)
}

// enterAs gives the browser a session of an identity provider.
func (s *site) enterAs(who lineshaft.Identity) {
	s.Helper()
	s.keep("lineshaft_session", must(s.control.CreateIdentitySession(s.Context(), who, access.Visitor{})))
}

// keep plants a cookie; an empty value takes it away.
func (s *site) keep(name, value string) {
	s.Helper()
	age := 0
	if value == "" {
		age = -1
	}
	s.browser.Jar.SetCookies(must(url.Parse(s.url)), []*http.Cookie{{Name: name, Value: value, Path: "/", MaxAge: age}})
}

var assetPattern = regexp.MustCompile(`/static/[^"]+`)

func TestH11OpenPagesAndAssetsDoNotUseUpTheLimit(t *testing.T) {
	t.Parallel()
	s, _, _ := limitedSite(t, 3)
	s.signIn(s.key)
	run := s.start("wait")
	page := s.wantStatus("/runs/"+run, http.StatusOK)
	for range 4 {
		for _, asset := range assetPattern.FindAllString(page, -1) {
			s.wantStatus(asset, http.StatusOK)
		}
		s.follows("/runs/" + run + "/events")
		s.follows("/runs/live")
		s.wantStatus("/runs/rows?id="+run, http.StatusOK)
		s.wantStatus("/workers/now", http.StatusOK)
		for _, path := range []string{"/", "/runs", "/sessions"} {
			if status, _, _ := s.do(http.MethodGet, path, nil, map[string]string{"HX-Request": "true"}); status != http.StatusOK {
				t.Errorf("%s asked again: %d", path, status)
			}
		}
	}
	s.wantStatus("/runs", http.StatusOK)
	s.wantStatus("/runs", http.StatusTooManyRequests)
	s.wantStatus("/workers/now", http.StatusOK)
	if status, at, _ := s.post("/logout", nil); status != http.StatusOK || at != "/login" {
		t.Errorf("signing out: %d at %s", status, at)
	}
}

// follows opens a stream and leaves again after its first line.
func (s *site) follows(path string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), http.MethodGet, s.url+path, http.NoBody)
	if err != nil {
		s.Fatal(err)
	}
	res, err := s.browser.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if _, err := bufio.NewReader(res.Body).ReadString('\n'); res.StatusCode != http.StatusOK || err != nil {
		s.Errorf("stream %s: %d, %v", path, res.StatusCode, err)
	}
}

// What pages ask by themselves is bounded, too: a script could ask the same.
func TestH11OpenPagesHaveALimitOfTheirOwn(t *testing.T) {
	t.Parallel()
	s, _, _ := limitedSite(t, 700)
	s.signIn(s.key)
	var statuses []int
	for range 701 {
		status, _, _ := s.get("/workers/now")
		statuses = append(statuses, status)
	}
	if statuses[699] != http.StatusOK || statuses[700] != http.StatusTooManyRequests {
		t.Errorf("%v", statuses[698:])
	}
	s.wantStatus("/runs", http.StatusOK)
}

func TestH11RoutesThatPagesReadByThemselvesExist(t *testing.T) {
	t.Parallel()
	known := map[string]bool{}
	for _, r := range web.Routes() {
		known[r.Pattern] = true
	}
	for _, pattern := range web.LiveRoutes() {
		if !known[pattern] {
			t.Errorf("%s is not a route", pattern)
		}
	}
}
