package web_test

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/controltest"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
	"github.com/lineshaft/lineshaft/internal/vault"
	"github.com/lineshaft/lineshaft/internal/web"
)

// site is the pages on a fresh control plane, with a browser.
type site struct {
	*testing.T
	url     string
	control *control.Service
	admin   lineshaft.Caller
	key     string
	browser *http.Client
	store   *store.Store
}

func newSite(t *testing.T, settings ...func(*base.Config)) *site {
	t.Helper()
	sealing, err := vault.NewKey([]byte("0123456789abcdef0123456789abcdef"))
	if err != nil {
		t.Fatal(err)
	}
	config := base.Config{Vault: vault.New(sealing)}
	for _, set := range settings {
		set(&config)
	}
	plane := controltest.Open(t, storetest.SQLite(t), controltest.Options{Config: config})
	c, st, key, admin := plane.Service, plane.Store, plane.AdminKey, plane.Admin
	stopping := make(chan struct{})
	handler, err := web.New(web.Deps{Control: c, Logger: slog.New(slog.DiscardHandler), Warning: "agents are not isolated", Stopping: stopping, WebhookBaseURL: "https://hooks.example"})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(handler)
	t.Cleanup(func() { close(stopping); server.Close() })
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return &site{T: t, url: server.URL, control: c, admin: admin, key: key, browser: &http.Client{Jar: jar}, store: st}
}

// get returns the status, the address it ended at, and the text of a page.
func (s *site) get(path string) (int, string, string) {
	s.Helper()
	return s.do(http.MethodGet, path, nil, nil)
}

func (s *site) post(path string, form url.Values) (int, string, string) {
	s.Helper()
	return s.do(http.MethodPost, path, form, nil)
}

func (s *site) do(method, path string, form url.Values, headers map[string]string) (int, string, string) {
	s.Helper()
	req, err := http.NewRequestWithContext(s.Context(), method, s.url+path, strings.NewReader(form.Encode()))
	if err != nil {
		s.Fatal(err)
	}
	if method == http.MethodPost {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	}
	for name, value := range headers {
		req.Header.Set(name, value)
	}
	res, err := s.browser.Do(req)
	if err != nil {
		s.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		s.Fatal(err)
	}
	return res.StatusCode, res.Request.URL.RequestURI(), string(text)
}

func (s *site) signIn(key string) {
	s.Helper()
	if status, at, text := s.post("/login", url.Values{"key": {key}, "next": {"/"}}); status != http.StatusOK || at != "/" {
		s.Fatalf("sign-in: %d at %s\n%s", status, at, text)
	}
}

// withDeps serves the pages of the same control plane again, with other
// dependencies and an empty browser.
func (s *site) withDeps(change func(*web.Deps)) *site {
	s.Helper()
	stopping := make(chan struct{})
	deps := web.Deps{Control: s.control, Logger: slog.New(slog.DiscardHandler), Stopping: stopping, Version: "v1.2.3", BaseURL: "https://a.example", WebhookBaseURL: "https://b.example"}
	change(&deps)
	handler, err := web.New(deps)
	if err != nil {
		s.Fatal(err)
	}
	server := httptest.NewServer(handler)
	s.Cleanup(func() { close(stopping); server.Close() })
	other := *s
	other.url = server.URL
	return other.stranger()
}

// stranger is another browser.
func (s *site) stranger() *site {
	s.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		s.Fatal(err)
	}
	other := *s
	other.browser = &http.Client{Jar: jar}
	return &other
}

func (s *site) newKey(role lineshaft.Role, factories ...string) string {
	s.Helper()
	_, key, err := s.control.CreateAPIKey(s.Context(), s.admin, access.NewAPIKey{Name: "key of a " + string(role), Role: role, FactoryUIDs: factories})
	if err != nil {
		s.Fatal(err)
	}
	return key
}

// as signs in with a new key of a role, limited to some factories if any are given.
func (s *site) as(role lineshaft.Role, factories ...string) lineshaft.Caller {
	s.Helper()
	key := s.newKey(role, factories...)
	s.signIn(key)
	c, err := s.control.Authenticate(s.Context(), key)
	if err != nil {
		s.Fatal(err)
	}
	return c
}

func (s *site) signedIn(role lineshaft.Role) *site {
	s.Helper()
	s.as(role)
	return s
}

// shows fails unless a page exists and has some texts, and lacks those that begin with "!".
func (s *site) shows(path string, texts ...string) string {
	s.Helper()
	status, _, page := s.get(path)
	if status != http.StatusOK {
		s.Fatalf("GET %s: %d\n%s", path, status, content(page))
	}
	for _, text := range texts {
		absent := strings.HasPrefix(text, "!")
		if strings.Contains(page, strings.TrimPrefix(text, "!")) == absent {
			s.Errorf("GET %s: %q is there: %v\n%s", path, strings.TrimPrefix(text, "!"), absent, content(page))
		}
	}
	if strings.Contains(page, "<script>alert") || strings.Contains(page, "<img src=x") {
		s.Errorf("GET %s has a text as HTML", path)
	}
	return page
}

// sends fails unless a form is answered with a status, at an address, with some texts.
func (s *site) sends(path string, form url.Values, status int, at string, texts ...string) string {
	s.Helper()
	got, where, page := s.post(path, form)
	if got != status || at != "" && where != at {
		s.Fatalf("POST %s: %d at %s, want %d at %s\n%s", path, got, where, status, at, content(page))
	}
	for _, text := range texts {
		if !strings.Contains(page, text) {
			s.Errorf("POST %s: no %q in\n%s", path, text, content(page))
		}
	}
	return page
}

// content is the part of a page that differs, for messages.
func content(page string) string {
	_, main, _ := strings.Cut(page, "<main")
	main, _, _ = strings.Cut(main, "</main")
	return main
}

func (s *site) factory(name string) *lineshaft.Factory {
	s.Helper()
	f, err := s.control.CreateFactory(s.Context(), s.admin, controlfactories.NewFactory{Name: name})
	if err != nil {
		s.Fatal(err)
	}
	return f
}

// must is for calls that a test relies on.
func must[T any](value T, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func (s *site) start(prompt string) string {
	s.Helper()
	return s.startFor(s.admin, lineshaft.NewRun{Prompt: prompt})
}

func (s *site) startFor(c lineshaft.Caller, n lineshaft.NewRun) string {
	s.Helper()
	n.Source = lineshaft.SourceAPI
	if n.Prompt == "" {
		n.Prompt = "do it"
	}
	started, err := s.control.StartRun(s.Context(), c, n, nil)
	if err != nil {
		s.Fatal(err)
	}
	return started.RunID
}

func (s *site) state(runID string) lineshaft.RunState {
	s.Helper()
	run, err := s.control.GetRun(s.Context(), s.admin, runID)
	if err != nil {
		s.Fatal(err)
	}
	return run.State
}

func (s *site) lastRun() *lineshaft.Run {
	s.Helper()
	list, err := s.control.ListRuns(s.Context(), s.admin, lineshaft.RunQuery{Sort: lineshaft.SortCreated, Limit: 1})
	if err != nil || len(list.Runs) != 1 {
		s.Fatalf("%v (%v)", list, err)
	}
	return &list.Runs[0]
}

// working starts a run and begins it as a worker would.
func (s *site) working(req lineshaft.NewRun) (string, lineshaft.Job) {
	s.Helper()
	return s.startFor(s.admin, req), s.begin()
}

// begin lets a worker begin the next run.
func (s *site) begin() lineshaft.Job {
	s.Helper()
	jobs, err := s.control.Claim(s.Context(), lineshaft.ClaimRequest{WorkerHost: lineshaft.HostedWorker, WorkerID: "w", Limit: 1, Capacity: 1})
	if err != nil || len(jobs) != 1 {
		s.Fatalf("%d jobs: %v", len(jobs), err)
	}
	s.report(lineshaft.Report{ExecutionRef: jobs[0].ExecutionRef, First: 1, Started: true})
	return jobs[0]
}

func (s *site) report(r lineshaft.Report) {
	s.Helper()
	refused, err := s.control.Report(s.Context(), []lineshaft.Report{r})
	if err != nil || len(refused) > 0 && refused[0] != nil {
		s.Fatal(err, refused)
	}
}

// tell reports numbered output.
func (s *site) tell(job lineshaft.Job, first int64, texts ...string) {
	s.Helper()
	var drafts []lineshaft.Draft
	for _, text := range texts {
		drafts = append(drafts, lineshaft.NewDraft(lineshaft.EventOutput, time.Now(), lineshaft.OutputData{Stream: "stdout", Text: text}))
	}
	s.report(lineshaft.Report{ExecutionRef: job.ExecutionRef, First: first, Events: drafts})
}

func (s *site) end(job lineshaft.Job, result lineshaft.TurnResult) {
	s.Helper()
	if _, err := s.control.EndTurn(s.Context(), job.ExecutionRef, result); err != nil {
		s.Fatal(err)
	}
}

// finish lets a worker do the next run.
func (s *site) finish(result lineshaft.TurnResult) {
	s.Helper()
	result.Turn = lineshaft.PromptTurn
	s.end(s.begin(), result)
}
