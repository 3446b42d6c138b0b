package gateway

import (
	"bufio"
	"cmp"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/model"
)

func TestX12WrongKey(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`))
	for _, header := range []map[string]string{
		nil, {"X-Api-Key": "wrong"}, {"Authorization": "Bearer " + realKey}, {"Authorization": "Basic " + r.key}, {"X-Api-Key": r.key + "x"}, {"X-Goog-Api-Key": "run-token"},
	} {
		for _, path := range []string{"/anthropic/v1/messages", "/openai/v1/responses", "/gemini/v1beta/models/m1:generateContent"} {
			resp, body := r.do(t.Context(), http.MethodPost, path, `{"model":"m1"}`, header)
			if resp.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "not that of this execution") {
				t.Errorf("%s with %v: %d %s", path, header, resp.StatusCode, body)
			}
		}
	}
	other := newRig(t, say("application/json", `{}`))
	if resp, _ := r.do(t.Context(), http.MethodPost, "/openai/v1/responses", `{}`, map[string]string{"Authorization": "Bearer " + other.key}); resp.StatusCode != http.StatusUnauthorized {
		t.Errorf("the key of another execution: %d", resp.StatusCode)
	}
	if r.sent() != 0 {
		t.Error("something was passed on")
	}
	for _, path := range []string{"/gemini/v1beta/models/m1:generateContent?key=" + r.key, "/gemini/v1beta/models?key=" + r.key} {
		method := http.MethodPost
		if !strings.Contains(path, ":") {
			method = http.MethodGet
		}
		if resp, body := r.do(t.Context(), method, path, `{}`, nil); resp.StatusCode != http.StatusOK {
			t.Errorf("the key in the query: %d %s", resp.StatusCode, body)
		}
	}
	if req, _ := r.request(0); strings.Contains(req.RequestURI, "key=") {
		t.Errorf("the key was passed on in %s", req.RequestURI)
	}
}

func TestX12OnlyListedPathsPass(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`))
	header := map[string]string{"Authorization": "Bearer " + r.key}
	for _, good := range []string{
		"POST /anthropic/v1/messages /up/v1/messages", "POST /anthropic/v1/messages/count_tokens /up/v1/messages/count_tokens", "GET /anthropic/v1/models /up/v1/models", "GET /anthropic/v1/models/m1 /up/v1/models/m1",
		"POST /openai/v1/chat/completions /up/chat/completions", "POST /openai/v1/responses /up/responses", "GET /openai/v1/models /up/models", "GET /openai/v1/models/m1 /up/models/m1",
		"POST /gemini/v1beta/models/m1:generateContent /up/v1beta/models/m1:generateContent", "POST /gemini/v1/models/m1:countTokens /up/v1/models/m1:countTokens", "GET /gemini/v1beta/models/m1 /up/v1beta/models/m1",
	} {
		part := strings.Fields(good)
		resp, body := r.do(t.Context(), part[0], part[1], `{"model":"m1"}`, header)
		if resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", good, resp.StatusCode, body)
			continue
		}
		if req, _ := r.request(r.sent() - 1); req.URL.Path != part[2] {
			t.Errorf("%s went to %s", good, req.URL.Path)
		}
	}
	before := r.sent()
	for _, bad := range []string{
		"GET /anthropic/v1/messages", "POST /anthropic/v1/files", "POST /anthropic/v1/messages/batches", "POST /anthropic/v1/organizations/x", "GET /anthropic/v1/models/a/b", "DELETE /anthropic/v1/models/m1",
		"POST /openai/chat/completions", "POST /openai/v1/files", "POST /openai/v1/fine_tuning/jobs", "GET /openai/v1/responses/resp_1", "POST /openai/v1/models",
		"POST /gemini/v1beta/models/m1:embedContent", "POST /gemini/v1beta/models/:generateContent", "POST /gemini/v1beta/models/a/b:generateContent", "POST /gemini/v1beta/tunedModels/m1:generateContent", "POST /gemini/v2/models/m1:generateContent", "POST /gemini/v1beta/cachedContents",
		"POST /anthropic/v1/../v1/messages", "POST /anthropic//v1/messages", "POST /anthropic/%2e%2e/openai/v1/responses", "GET /", "GET /metrics", "POST /anthropic",
	} {
		part := strings.Fields(bad)
		if resp, body := r.do(t.Context(), part[0], part[1], `{"model":"m1"}`, header); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d %s", bad, resp.StatusCode, body)
		}
	}
	if r.sent() != before {
		t.Error("something was passed on")
	}
}

func TestX12RequestsThatCannotBePassedOn(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`))
	for body, want := range map[string]int{
		"": 400, "null": 400, "[]": 400, `{"model":`: 400, `{"model":"m1","background":true}`: 400, `{"model":"m1","Background":true}`: 400, `{"x":"` + strings.Repeat("a", maxRequest) + `"}`: 413,
	} {
		if resp, got := r.post("/openai/v1/responses", body); resp.StatusCode != want || !strings.Contains(got, `"invalid_request_error"`) {
			t.Errorf("%.40s: %d %s", body, resp.StatusCode, got)
		}
	}
	if r.sent() != 0 {
		t.Error("something was passed on")
	}
}

// TestX12HelperModelsAreReplaced: but not the one that the run asks for.
func TestX12HelperModelsAreReplaced(t *testing.T) {
	t.Parallel()
	for _, test := range []struct{ own, asked, want string }{
		{"", "m2", "m2"}, {"", "small-helper", "m1"}, {"", "", "m1"}, {"m2", "small-helper", "m2"}, {"m2", "m1", "m1"}, {"gone", "gone", ""}, {"gone", "small-helper", ""}, {"gone", "m1", "m1"},
	} {
		r := newRig(t, say("application/json", `{}`), func(_ *Config, s *SessionConfig) { s.Model = test.own })
		resp, body := r.post("/anthropic/v1/messages", `{"Model":"m3","model":"`+test.asked+`"}`)
		resp2, _ := r.post("/gemini/v1beta/models/"+cmp.Or(test.asked, "unnamed")+":generateContent", `{}`)
		if test.want == "" {
			if resp.StatusCode != http.StatusNotFound || !strings.Contains(body, "not_found_error") || !strings.Contains(body, test.own) || resp2.StatusCode != http.StatusNotFound {
				t.Errorf("%+v: %d %s", test, resp.StatusCode, body)
			}
			continue
		}
		if _, sent := r.request(0); sent != `{"model":"`+test.want+`"}` {
			t.Errorf("%+v: sent %s", test, sent)
		}
		if got := r.counted(); got[0].ModelID != test.want {
			t.Errorf("%+v: counted for %s", test, got[0].ModelID)
		}
	}
}

func TestX12HeadersPass(t *testing.T) {
	t.Parallel()
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Request-Id", "req_1")
		w.Header().Set("X-Echo", "key "+realKey)
		w.Header().Set("Set-Cookie", "a=b")
		w.Header().Set("Content-Type", "application/json")
		_, _ = io.WriteString(w, `{}`)
	})
	resp, _ := r.do(t.Context(), http.MethodPost, "/anthropic/v1/messages?beta=true", `{"model":"m1"}`, map[string]string{
		"X-Api-Key": r.key, "Anthropic-Beta": "b1", "Anthropic-Version": "2024-01-01", "Cookie": "c=d", "Connection": "X-Secret", "X-Secret": "1", "X-Forwarded-For": "10.0.0.1", "Accept-Encoding": "br",
	})
	req, _ := r.request(0)
	for name, want := range map[string]string{"Anthropic-Beta": "b1", "Anthropic-Version": "2024-01-01", "Cookie": "", "X-Secret": "", "X-Forwarded-For": "", "Accept-Encoding": "identity"} {
		if req.Header.Get(name) != want {
			t.Errorf("%s was sent as %q", name, req.Header.Get(name))
		}
	}
	if req.URL.RawQuery != "beta=true" || resp.Header.Get("Request-Id") != "req_1" || resp.Header.Get("Set-Cookie") != "" || resp.Header.Get("X-Echo") != "" {
		t.Errorf("query %s, answer %v", req.URL.RawQuery, resp.Header)
	}
}

// TestX12EventsComeAtOnce: each event is with the agent before the next is made.
func TestX12EventsComeAtOnce(t *testing.T) {
	t.Parallel()
	next := make(chan struct{})
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", eventStream)
		for i := range 3 {
			_, _ = fmt.Fprintf(w, "data: {\"n\":%d}\n\n", i)
			_ = http.NewResponseController(w).Flush()
			<-next
		}
	})
	for name, transport := range map[string]http.RoundTripper{"address": &http.Transport{DisableKeepAlives: true}, "in process": r.Transport()} {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+"/openai/v1/responses", strings.NewReader(`{"model":"m1","stream":true}`))
		req.Header.Set("Authorization", "Bearer "+r.key)
		resp, err := transport.RoundTrip(req)
		if err != nil {
			t.Fatal(err)
		}
		in := bufio.NewScanner(resp.Body)
		for i := range 3 {
			for in.Scan() && in.Text() == "" { // between events
			}
			if in.Text() != fmt.Sprintf(`data: {"n":%d}`, i) {
				t.Errorf("%s: event %d is %q", name, i, in.Text())
			}
			next <- struct{}{}
		}
		_ = resp.Body.Close()
	}
}

func TestX12DeadAndSlowEndpoints(t *testing.T) {
	t.Parallel()
	slow := newRig(t, func(_ http.ResponseWriter, req *http.Request) { <-req.Context().Done() }, func(c *Config, _ *SessionConfig) {
		c.StreamWait, c.AnswerWait = 20*time.Millisecond, 20*time.Millisecond
	})
	dead := newRig(t, say("", ""), func(c *Config, _ *SessionConfig) { c.Models = endpoints("http://127.0.0.1:1") })
	for path, shape := range map[string]string{
		"/anthropic/v1/messages": `"type":"api_error"`, "/openai/v1/responses": `"type":"server_error"`, "/gemini/v1beta/models/m1:generateContent": `"error":{"code":50`,
	} {
		resp, body := slow.post(path, `{"model":"m1"}`)
		if resp.StatusCode != http.StatusGatewayTimeout || !strings.Contains(body, shape) || !strings.Contains(body, "did not begin to answer") {
			t.Errorf("slow %s: %d %s", path, resp.StatusCode, body)
		}
		resp, body = dead.post(path, `{"model":"m1"}`)
		if resp.StatusCode != http.StatusBadGateway || !strings.Contains(body, shape) || !strings.Contains(body, "cannot be reached") {
			t.Errorf("dead %s: %d %s", path, resp.StatusCode, body)
		}
	}
	if len(slow.counted())+len(dead.counted()) != 0 {
		t.Error("what was not answered was counted")
	}
}

func TestX12CompressedAnswerIsCounted(t *testing.T) {
	t.Parallel()
	a := answers()["chat stream"]
	r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", eventStream)
		w.Header().Set("Content-Encoding", "gzip")
		z := gzip.NewWriter(w)
		_, _ = io.WriteString(z, a.answer)
		_ = z.Close()
	})
	if _, body := r.post(a.path, a.body); body != a.answer || len(r.counted()) != 1 || r.counted()[0].CostMicros != costOfOne {
		t.Errorf("answer %q, counted %+v", body, r.counted())
	}
}

func TestX12UnixSocket(t *testing.T) {
	t.Parallel()
	socket := filepath.Join(t.TempDir(), "s")
	r := newRig(t, say("application/json", `{}`), func(_ *Config, s *SessionConfig) { s.Socket, s.Port = socket, 4080 })
	base, key, id, ok := r.Access(model.OpenAI)
	if base != "http://127.0.0.1:4080/openai/v1" || key != r.key || id != "m1" || !ok {
		t.Errorf("access is %s %s %v", base, id, ok)
	}
	transport := &http.Transport{DisableKeepAlives: true, DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "unix", socket)
	}}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, base+"/models", http.NoBody)
	req.Header.Set("Authorization", "Bearer "+key)
	resp, err := transport.RoundTrip(req)
	if err != nil || resp.StatusCode != http.StatusOK {
		t.Fatalf("over the socket: %v %v", resp, err)
	}
	_ = resp.Body.Close()
}
