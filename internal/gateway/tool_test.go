package gateway

import (
	"bufio"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
)

// sink counts what reaches it.
func sink(t *testing.T) (address string, hits *atomic.Int32) {
	t.Helper()
	hits = &atomic.Int32{}
	s := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	t.Cleanup(s.Close)
	return s.URL, hits
}

// TestX12OnlyTheRunsOwnToolServers: whatever an agent writes into its request, it goes
// to the address of the configuration, or nowhere.
func TestX12OnlyTheRunsOwnToolServers(t *testing.T) {
	t.Parallel()
	other, hits := sink(t)
	var asked atomic.Pointer[string]
	tools := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		text := r.Host + r.RequestURI
		asked.Store(&text)
	}))
	t.Cleanup(tools.Close)
	r := newRig(t, say("", ""), local)
	target, _ := url.Parse(tools.URL + "/base/mcp?fixed=1")
	path := strings.TrimPrefix(r.Tool("t", target, nil), r.URL())
	host := strings.TrimPrefix(other, "http://")
	for name, line := range map[string]string{
		"as given":         path,
		"query":            path + "?fixed=2&x=" + other,
		"own absolute":     r.URL() + path,
		"dots":             path + "/../../x",
		"encoded dots":     path + "/%2e%2e/x",
		"encoded slash":    path + "%2f..%2fx",
		"more path":        path + "/admin",
		"dots before":      "/mcp/../mcp/t/" + r.key,
		"other name":       "/mcp/other/" + r.key,
		"address as name":  "/mcp/" + url.PathEscape(other) + "/" + r.key,
		"absolute":         other + path,
		"user in absolute": "http://" + r.base.Host + "@" + host + path,
		"two slashes":      "//" + host + path,
	} {
		asked.Store(nil)
		conn := r.dial()
		_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nX-Forwarded-Host: %s\r\nX-Original-Url: /x\r\nContent-Length: 2\r\nConnection: close\r\n\r\n{}", line, host, host)
		answer, _ := io.ReadAll(bufio.NewReader(conn))
		status := strings.Fields(string(answer) + " none none")[1]
		got := asked.Load()
		switch passed := status == "200"; {
		case passed != (got != nil) || passed != (name == "as given" || name == "query" || name == "own absolute"):
			t.Errorf("%s: status %s, asked %v", name, status, got)
		case passed && *got != target.Host+target.RequestURI():
			t.Errorf("%s went to %s", name, *got)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d requests left for another host", hits.Load())
	}
}

// TestX12RedirectsOfToolServersAreRefused: neither does the gateway follow them, nor is
// the agent sent along.
func TestX12RedirectsOfToolServersAreRefused(t *testing.T) {
	t.Parallel()
	other, hits := sink(t)
	for _, status := range []int{301, 302, 303, 307, 308, 300, 305} {
		tools := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Location", other)
			w.Header().Set("Refresh", "0; url="+other)
			w.WriteHeader(status)
		}))
		t.Cleanup(tools.Close)
		r := newRig(t, say("", ""), local)
		target, _ := url.Parse(tools.URL)
		path := strings.TrimPrefix(r.Tool("t", target, nil), r.URL())
		resp, body := r.do(t.Context(), http.MethodPost, path, "{}", nil)
		if resp.StatusCode != http.StatusBadGateway || !strings.Contains(body, "redirects") || resp.Header.Get("Location") != "" || strings.Contains(body, other) {
			t.Errorf("%d: %d %s %v", status, resp.StatusCode, body, resp.Header)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d redirects were followed", hits.Load())
	}
}

// TestX12EndlessAnswersOfToolServers: headers are bounded, bodies pass as they come.
func TestX12EndlessAnswersOfToolServers(t *testing.T) {
	t.Parallel()
	tools := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		conn, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		defer func() { _ = conn.Close() }() // the other side has gone
		line := "X-Endless: " + strings.Repeat("x", 1000) + "\r\n"
		_, _ = io.WriteString(conn, "HTTP/1.1 200 OK\r\n")
		if r.Header.Get("X-Form") == "body" {
			line = strings.Repeat("x", 1000) + "\n"
			_, _ = io.WriteString(conn, "\r\n")
		}
		for err == nil {
			_, err = io.WriteString(conn, line)
		}
	}))
	t.Cleanup(tools.Close)
	r := newRig(t, say("", ""), local)
	target, _ := url.Parse(tools.URL)
	path := strings.TrimPrefix(r.Tool("t", target, nil), r.URL())
	if resp, body := r.do(t.Context(), http.MethodPost, path, "{}", nil); resp.StatusCode != http.StatusBadGateway {
		t.Errorf("endless headers: %d %.100s", resp.StatusCode, body)
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, r.URL()+path, strings.NewReader("{}"))
	req.Header.Set("X-Form", "body")
	resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req)
	if err != nil {
		t.Fatal(err)
	}
	if n, err := io.CopyN(io.Discard, resp.Body, 1<<20); n != 1<<20 {
		t.Errorf("an endless body: %d bytes, %v", n, err)
	}
	_ = resp.Body.Close() // the agent has had enough, and the tool server notices:
	r.await(nil, func() bool { return r.handlers == 0 })
}
