package gateway

import (
	"net/http"
	"slices"
	"strings"
	"testing"
)

// TestX12EncodedPathsDoNotEscape: however often a path is encoded, it leads nowhere
// but to the list.
func TestX12EncodedPathsDoNotEscape(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`))
	header := map[string]string{"Authorization": "Bearer " + r.key}
	for _, name := range []string{
		"%252e%252e%252ffiles", "%2e%2e", "..", "x%3Flimit=1", "x%253Flimit=1", "x%23y", "x%5C..%5Cfiles", "x%00", "x%0d%0aHost:y", "a;b", "a%20b", "m%C3%A9", "%25",
	} {
		for _, path := range []string{"GET /openai/v1/models/" + name, "GET /anthropic/v1/models/" + name, "GET /gemini/v1beta/models/" + name, "POST /gemini/v1beta/models/" + name + ":generateContent"} {
			method, path, _ := strings.Cut(path, " ")
			if resp, body := r.do(t.Context(), method, path, `{}`, header); resp.StatusCode != http.StatusNotFound {
				t.Errorf("%s: %d %s", path, resp.StatusCode, body)
			}
		}
	}
	if r.sent() != 0 {
		req, _ := r.request(0)
		t.Errorf("%d were passed on, first %s", r.sent(), req.RequestURI)
	}
	for _, name := range []string{"m1", "ft:gpt-4.1:org::id", "claude-x@20250101", "a.b_c"} {
		if resp, body := r.do(t.Context(), http.MethodGet, "/openai/v1/models/"+name, "", header); resp.StatusCode != http.StatusOK {
			t.Errorf("%s: %d %s", name, resp.StatusCode, body)
		}
		if req, _ := r.request(r.sent() - 1); req.RequestURI != "/up/models/"+name {
			t.Errorf("%s was sent as %s", name, req.RequestURI)
		}
	}
}

// TestX12RunModelIsEscaped: the run's own choice also goes into a path.
func TestX12RunModelIsEscaped(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`), func(c *Config, s *SessionConfig) {
		s.Model = "../../files?x=1#"
		c.Models.Endpoints[2].Models = []string{s.Model}
	})
	r.post("/gemini/v1beta/models/helper:generateContent", `{}`)
	if req, _ := r.request(0); req.RequestURI != "/up/v1beta/models/..%2F..%2Ffiles%3Fx=1%23:generateContent" {
		t.Errorf("sent as %s", req.RequestURI)
	}
}

func TestX12OnlyKnownQueryPasses(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`))
	for path, want := range map[string]string{
		"POST /gemini/v1beta/models/m1:streamGenerateContent?alt=sse&key=x":                          "alt=sse",
		"POST /gemini/v1beta/models/m1:streamGenerateContent?$alt=proto&fields=candidates&$.xgafv=2": "",
		"POST /gemini/v1beta/models/m1:generateContent?alt=media&prettyPrint=false&access_token=x":   "",
		"POST /gemini/v1beta/models/m1:streamGenerateContent?alt=proto":                              "",
		"POST /anthropic/v1/messages?beta=true&x=1":                                                  "beta=true",
		"POST /anthropic/v1/messages?beta=maybe":                                                     "",
		"POST /openai/v1/responses?include=x":                                                        "",
		"GET /anthropic/v1/models?limit=5&after_id=a&x=1":                                            "after_id=a&limit=5",
		"GET /gemini/v1beta/models?pageSize=5&fields=x":                                              "pageSize=5",
	} {
		method, path, _ := strings.Cut(path, " ")
		r.do(t.Context(), method, path, `{"model":"m1"}`, map[string]string{"Authorization": "Bearer " + r.key})
		if req, _ := r.request(r.sent() - 1); req.URL.RawQuery != want {
			t.Errorf("%s was sent with %q", path, req.URL.RawQuery)
		}
	}
}

// TestX12OnlyKnownHeadersPass: those of the agents' programs, and none that changes
// the meaning of a request.
func TestX12OnlyKnownHeadersPass(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`))
	keep := []string{
		"Anthropic-Beta", "Anthropic-Version", "Anthropic-Dangerous-Direct-Browser-Access", "X-App", "X-Claude-Code-Session-Id", "X-Stainless-Os", "X-Stainless-Retry-Count", "User-Agent",
		"Originator", "Session-Id", "Thread-Id", "X-Client-Request-Id", "X-Codex-Turn-Metadata", "X-Codex-Window-Id", "X-Goog-Api-Client", "X-Session-Affinity", "X-Session-Id",
	}
	drop := []string{"X-Http-Method-Override", "X-Method-Override", "X-Goog-Fieldmask", "X-Goog-User-Project", "Openai-Organization", "Openai-Project", "X-Original-Url", "X-Rewrite-Url", "Cookie", "Traceparent"}
	header := map[string]string{"Authorization": "Bearer " + r.key, "Accept": "application/x-protobuf", "Content-Type": "application/x-protobuf"}
	for _, name := range slices.Concat(keep, drop) {
		header[name] = "v"
	}
	r.do(t.Context(), http.MethodPost, "/gemini/v1beta/models/m1:generateContent", `{}`, header)
	req, _ := r.request(0)
	for _, name := range keep {
		if req.Header.Get(name) != "v" {
			t.Errorf("%s is missing", name)
		}
	}
	for _, name := range drop {
		if req.Header.Get(name) != "" {
			t.Errorf("%s was passed on", name)
		}
	}
	if req.Header.Get("Accept") != "application/json" || req.Header.Get("Content-Type") != "application/json" {
		t.Errorf("asked for %q with %q", req.Header.Get("Accept"), req.Header.Get("Content-Type"))
	}
	header["Accept"] = "text/event-stream, application/json;q=0.5"
	r.do(t.Context(), http.MethodPost, "/gemini/v1beta/models/m1:generateContent", `{}`, header)
	if req, _ := r.request(1); req.Header.Get("Accept") != header["Accept"] {
		t.Errorf("asked for %q", req.Header.Get("Accept"))
	}
}

func TestX12PlainAccept(t *testing.T) {
	t.Parallel()
	for list, want := range map[string]bool{
		"": true, "*/*": true, "application/json": true, "text/event-stream": true, "application/json, text/event-stream;q=0.9": true,
		"application/x-protobuf": false, "application/json, application/x-protobuf": false, "application/*": false, "text/csv": false,
	} {
		if plainAccept([]string{list}) != want {
			t.Errorf("%q: want %v", list, want)
		}
	}
	if !plainAccept(nil) || plainAccept([]string{"*/*", "image/png"}) {
		t.Error("several headers")
	}
}

func TestX12ModelNames(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]bool{
		"m1": true, "gpt-4.1": true, "claude-x@2025": true, "ft:a:b::c": true, "a_b": true,
		"": false, ".": false, "..": false, "a/b": false, "a%2fb": false, "a b": false, "a?b": false, "a#b": false, "a\\b": false, "a\nb": false, "é": false,
	} {
		if modelName(name) != want {
			t.Errorf("%q: want %v", name, want)
		}
	}
}
