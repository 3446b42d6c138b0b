package gateway

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"strings"
	"testing"
)

// server is a plain one that says what it was asked.
func server(t *testing.T) *httptest.Server {
	t.Helper()
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(map[string]any{"path": r.URL.RequestURI(), "header": r.Header, "body": string(body)})
	}))
	t.Cleanup(s.Close)
	return s
}

func local(c *Config, _ *SessionConfig) { c.AllowLocal = true }

func TestX12APIOnlyWithTheOwnToken(t *testing.T) {
	t.Parallel()
	api := server(t)
	r := newRig(t, say("", ""), func(c *Config, _ *SessionConfig) { c.APIURL = api.URL })
	own := map[string]string{"Authorization": "Bearer run-token", "Content-Type": "application/json"}
	resp, body := r.do(t.Context(), http.MethodPost, "/api/v1/agent/runs/1/report?a=b", `{"x":1}`, own)
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"path":"/api/v1/agent/runs/1/report?a=b"`) || !strings.Contains(body, "Bearer run-token") || !strings.Contains(body, `{\"x\":1}`) {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	for _, token := range []string{"", "Bearer ", "Bearer other-run-token", "Bearer " + r.key, "Bearer run-token2"} {
		if resp, body := r.do(t.Context(), http.MethodGet, "/api/v1/agent/runs", "", map[string]string{"Authorization": token}); resp.StatusCode != http.StatusUnauthorized || !strings.Contains(body, "LINESHAFT_RUN_TOKEN") {
			t.Errorf("%q: %d %s", token, resp.StatusCode, body)
		}
	}
	for _, path := range []string{"/api/v2/x", "/api", "/api/v1/../../metrics", "/api/v11/x"} {
		if resp, _ := r.do(t.Context(), http.MethodGet, path, "", own); resp.StatusCode != http.StatusNotFound {
			t.Errorf("%s: %d", path, resp.StatusCode)
		}
	}
	none := newRig(t, say("", ""))
	if resp, _ := none.do(t.Context(), http.MethodGet, "/api/v1/x", "", own); resp.StatusCode != http.StatusNotFound {
		t.Errorf("without a server: %d", resp.StatusCode)
	}
	api.Close()
	if resp, _ := r.do(t.Context(), http.MethodGet, "/api/v1/x", "", own); resp.StatusCode != http.StatusBadGateway {
		t.Errorf("a server that is away: %d", resp.StatusCode)
	}
}

// TestX12ToolHeadersStayOutside: they are added on the way, and hidden on the way back.
func TestX12ToolHeadersStayOutside(t *testing.T) {
	t.Parallel()
	tools := server(t)
	r := newRig(t, say("", ""), local)
	target, _ := url.Parse(tools.URL + "/mcp?team=1")
	address := r.Tool("my tools", target, http.Header{"Authorization": {"Bearer tool-secret-0123456789"}, "X-Team": {"another-secret-value"}})
	path := strings.TrimPrefix(address, r.URL())
	resp, body := r.do(t.Context(), http.MethodPost, path, `{"jsonrpc":"2.0"}`, map[string]string{"Authorization": "Bearer stolen", "Mcp-Session-Id": "s1", "Cookie": "c=1"})
	if resp.StatusCode != http.StatusOK || !strings.Contains(body, `"path":"/mcp?team=1"`) || !strings.Contains(body, `"Mcp-Session-Id":["s1"]`) || !strings.Contains(body, "jsonrpc") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	for _, secret := range []string{"tool-secret", "another-secret", "stolen", "Cookie", r.key} {
		if strings.Contains(body, secret) {
			t.Errorf("%s came through: %s", secret, body)
		}
	}
	if !strings.Contains(body, "X-Team") {
		t.Errorf("the header was not added: %s", body)
	}
	for path, want := range map[string]int{
		"/mcp/my%20tools": 401, "/mcp/my%20tools/wrong": 401, "/mcp/other/" + r.key: 404, "/mcp/my%20tools/" + r.key + "/x": 401, "/mcp": 401,
	} {
		if resp, _ := r.do(t.Context(), http.MethodPost, path, "{}", nil); resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", path, resp.StatusCode, want)
		}
	}
	if resp, _ := r.do(t.Context(), http.MethodPost, "/mcp/my%20tools", "{}", map[string]string{"X-Api-Key": r.key}); resp.StatusCode != http.StatusOK {
		t.Errorf("with the key in a header: %d", resp.StatusCode)
	}
}

func TestS7ToolsInPrivateNetworks(t *testing.T) {
	t.Parallel()
	tools := server(t)
	r := newRig(t, say("", ""))
	target, _ := url.Parse(tools.URL)
	path := strings.TrimPrefix(r.Tool("t", target, nil), r.URL())
	if resp, body := r.do(t.Context(), http.MethodPost, path, "{}", nil); resp.StatusCode != http.StatusForbidden || !strings.Contains(body, "--allow-local-mcp") {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
	gone := newRig(t, say("", ""), local)
	tools.Close()
	path = strings.TrimPrefix(gone.Tool("t", target, nil), gone.URL())
	if resp, body := gone.do(t.Context(), http.MethodPost, path, "{}", nil); resp.StatusCode != http.StatusBadGateway {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestS2ToolSecretsInHeaders: what a tool server quotes in its headers is hidden as
// well, before, in and behind its answer.
func TestS2ToolSecretsInHeaders(t *testing.T) {
	t.Parallel()
	const secret = "tool-secret-0123456789"
	tools := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		got := r.Header.Get("Authorization")
		w.Header().Set("Link", "<"+got+">; rel=preload")
		w.Header().Set("X-Early", got)
		w.WriteHeader(http.StatusEarlyHints)
		w.Header().Del("Link")
		w.Header().Set("Trailer", "X-Late")
		w.Header().Set("X-Echo", got)
		w.Header().Add("X-Part", "fine")
		w.Header().Add("X-Part", "token="+secret)
		w.Header().Set("WWW-Authenticate", got)
		w.Header().Set("Set-Cookie", "a="+secret)
		w.Header().Set("Location", "https://elsewhere.example/")
		w.Header().Set("Mcp-Session-Id", "s1")
		w.WriteHeader(http.StatusOK)
		_, _ = io.WriteString(w, "body")
		w.Header().Set("X-Late", got)
		w.Header().Set(http.TrailerPrefix+"X-Later", got)
	}))
	t.Cleanup(tools.Close)
	r := newRig(t, say("", ""), local)
	target, _ := url.Parse(tools.URL)
	address := r.Tool("t", target, http.Header{"Authorization": {"Bearer " + secret}})
	var all strings.Builder
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(_ int, h textproto.MIMEHeader) error { return http.Header(h).Write(&all) }})
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("{}"))
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	_, _ = io.Copy(&all, resp.Body)
	_ = resp.Body.Close()
	_ = resp.Header.Write(&all)
	_ = resp.Trailer.Write(&all)
	for _, word := range []string{secret, "elsewhere", "fine"} {
		if strings.Contains(all.String(), word) {
			t.Errorf("%s came through:\n%s", word, all.String())
		}
	}
	if resp.Header.Get("Mcp-Session-Id") != "s1" || !strings.Contains(all.String(), "body") {
		t.Errorf("what may pass did not:\n%s", all.String())
	}
}
