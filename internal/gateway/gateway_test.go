package gateway

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/model"
)

// TestMain allows a server's connection its half a second after a refused body.
func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m, goleak.IgnoreAnyFunction("net/http.(*conn).closeWriteAndWait"))
}

// realKey is what must never pass to the agent's side.
const realKey = "sk-real-key-0123456789abcdef"

// rig is a session in front of a scripted endpoint.
type rig struct {
	*Session
	t *testing.T

	mu       sync.Mutex
	asked    []*http.Request
	bodies   []string
	usage    []lineshaft.UsageData
	exceeded []string
	all      strings.Builder // everything that came to the agent
}

// setting changes how a rig is made.
type setting func(*Config, *SessionConfig)

func newRig(t *testing.T, answer http.HandlerFunc, settings ...setting) *rig {
	t.Helper()
	r := &rig{t: t}
	upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		body, _ := io.ReadAll(req.Body)
		r.mu.Lock()
		r.asked, r.bodies = append(r.asked, req), append(r.bodies, string(body))
		r.mu.Unlock()
		answer(w, req)
	}))
	t.Cleanup(upstream.Close)
	config := Config{Models: endpoints(upstream.URL)}
	session := SessionConfig{
		RunToken: "run-token",
		Usage:    func(u lineshaft.UsageData) { r.mu.Lock(); defer r.mu.Unlock(); r.usage = append(r.usage, u) },
		Exceeded: func(m string) { r.mu.Lock(); defer r.mu.Unlock(); r.exceeded = append(r.exceeded, m) },
	}
	for _, set := range settings {
		set(&config, &session)
	}
	g := New(config)
	t.Cleanup(g.Close)
	s, err := g.Open(t.Context(), session)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	r.Session = s
	return r
}

// endpoints has one of each protocol at the same address.
func endpoints(address string) model.Set {
	price := map[string]model.Price{"m1": {Input: 2_000_000, Output: 10_000_000, CachedInput: 500_000}}
	var set model.Set
	for _, p := range model.Protocols() {
		set.Endpoints = append(set.Endpoints, model.Endpoint{Name: string(p), Protocol: p, URL: address + "/up", Key: realKey, Models: []string{"m1", "m2"}, Prices: price})
	}
	return set
}

func budget(b lineshaft.Budget, used lineshaft.Usage) setting {
	return func(_ *Config, s *SessionConfig) { s.Budget, s.Used = &b, used }
}

// post sends a request with the session's key, over the real address.
func (r *rig) post(path, body string) (*http.Response, string) {
	r.t.Helper()
	return r.do(r.t.Context(), http.MethodPost, path, body, map[string]string{"Authorization": "Bearer " + r.key})
}

func (r *rig) do(ctx context.Context, method, path, body string, header map[string]string) (*http.Response, string) {
	r.t.Helper()
	req, err := http.NewRequestWithContext(ctx, method, r.URL()+path, strings.NewReader(body))
	if err != nil {
		r.t.Fatal(err)
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	transport := &http.Transport{DisableKeepAlives: true}
	resp, err := transport.RoundTrip(req)
	if err != nil {
		r.t.Fatal(err)
	}
	defer func() { _ = resp.Body.Close() }()
	got, err := io.ReadAll(resp.Body)
	if err != nil && ctx.Err() == nil {
		got = append(got, "…cut: "+err.Error()...)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	_ = resp.Header.Write(&r.all)
	r.all.Write(got)
	if strings.Contains(r.all.String(), realKey) {
		r.t.Error("the real key has passed to the agent")
	}
	return resp, string(got)
}

// counted waits until no request runs, and gives what was counted.
func (r *rig) counted() []lineshaft.UsageData {
	r.await(nil, func() bool { return r.handlers == 0 })
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.usage)
}

// told is what was said about the budget.
func (r *rig) told() []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.exceeded)
}

// sent is how many requests the endpoint got.
func (r *rig) sent() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return len(r.asked)
}

func (r *rig) request(i int) (*http.Request, string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.asked[i], r.bodies[i]
}

func say(contentType, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		_, _ = io.WriteString(w, body)
	}
}

const eventStream = "text/event-stream; charset=utf-8"

func TestX12KeyIsSwapped(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		path, header, want string
	}{
		{"/anthropic/v1/messages?beta=true", "X-Api-Key", realKey},
		{"/openai/v1/chat/completions", "Authorization", "Bearer " + realKey},
		{"/openai/v1/responses", "Authorization", "Bearer " + realKey},
		{"/gemini/v1beta/models/m1:generateContent", "X-Goog-Api-Key", realKey},
	} {
		r := newRig(t, say("application/json", `{"echo":"`+realKey+`"}`))
		resp, body := r.post(test.path, `{"model":"m1"}`)
		if resp.StatusCode != http.StatusOK || !strings.Contains(body, "echo") {
			t.Errorf("%s: %d %s", test.path, resp.StatusCode, body)
			continue
		}
		req, sent := r.request(0)
		if req.Header.Get(test.header) != test.want {
			t.Errorf("%s: %s is %q", test.path, test.header, req.Header.Get(test.header))
		}
		if strings.Contains(sent+req.RequestURI, r.key) || len(req.Header.Values("Authorization"))+len(req.Header.Values("X-Api-Key"))+len(req.Header.Values("X-Goog-Api-Key")) != 1 {
			t.Errorf("%s: the throw-away key was passed on: %v", test.path, req.Header)
		}
	}
}
