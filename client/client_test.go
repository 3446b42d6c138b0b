package client

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
)

func TestNewRefuses(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, url, key, want string }{
		{"no scheme", "127.0.0.1:8484", "ls_k", "not an http or https URL"},
		{"other scheme", "ftp://host", "ls_k", "not an http or https URL"},
		{"empty", "", "ls_k", "not an http or https URL"},
		{"no host", "http:///api", "ls_k", "not an http or https URL"},
		{"password", "http://u:secret@host", "ls_k", "user name or password"},
		{"query", "http://host?x=1", "ls_k", "query or a fragment"},
		{"fragment", "http://host#x", "ls_k", "query or a fragment"},
		{"no key", "http://host", "", "lineshaft apikey create"},
		{"key with newline", "http://host", "ls_k\n", "copy it again"},
		{"key with header", "http://host", "ls_k\r\nX: y", "copy it again"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			_, err := New(tc.url, tc.key)
			if err == nil || !strings.Contains(err.Error(), tc.want) {
				t.Fatalf("New(%q) = %v, want an error with %q", tc.url, err, tc.want)
			}
			if strings.Contains(err.Error(), "secret") {
				t.Errorf("the error shows a password: %v", err)
			}
		})
	}
}

func TestEndpoint(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ base, path, want string }{
		{"http://h", "/whoami", "http://h/api/v1/whoami"},
		{"http://h/", "/whoami", "http://h/api/v1/whoami"},
		{"http://h/api/v1", "/whoami", "http://h/api/v1/whoami"},
		{"http://h/api/v1/", "/whoami", "http://h/api/v1/whoami"},
		{"https://h:1/team", "/whoami?x=1", "https://h:1/team/api/v1/whoami?x=1"},
		{"http://h", "/agent/runs/a%2Fb", "http://h/api/v1/agent/runs/a%2Fb"},
	} {
		c, err := New(tc.base, "ls_k")
		if err != nil {
			t.Fatal(err)
		}
		got, err := c.endpoint(place{path: tc.path}, nil)
		if err != nil || got != tc.want {
			t.Errorf("endpoint(%q, %q) = %q, %v; want %q", tc.base, tc.path, got, err, tc.want)
		}
	}
}

func TestEndpointRefusesOtherHosts(t *testing.T) {
	t.Parallel()
	c, err := New("http://h", "ls_k")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []string{"whoami", "", "http://evil/x", "//evil/x", "/%zz"} {
		if err := c.Do(t.Context(), http.MethodGet, path, nil, nil); err == nil || !strings.Contains(err.Error(), "relative to /api/v1") {
			t.Errorf("Do(%q) = %v, want a refusal", path, err)
		}
	}
}

func TestRequestHeaders(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{answer(200, `{}`)}}
	c := clientFor(t, s, s, WithHeader("X-Lineshaft-Client", "cli"), WithHeader("Authorization", "Bearer other"))
	if err := c.Do(t.Context(), http.MethodGet, "/whoami", nil, nil); err != nil {
		t.Fatal(err)
	}
	if err := c.Do(t.Context(), http.MethodPost, "/things", map[string]int{"a": 1}, nil); err != nil {
		t.Fatal(err)
	}
	got := s.requests()
	for name, want := range map[string]string{
		"Authorization": "Bearer ls_test", "Accept": "application/json", "X-Lineshaft-Client": "cli",
		"User-Agent": "lineshaft-go", "Content-Type": "", "Idempotency-Key": "",
	} {
		if value := got[0].header.Get(name); value != want {
			t.Errorf("GET has %s %q, want %q", name, value, want)
		}
	}
	if got[1].header.Get("Content-Type") != "application/json" || got[1].header.Get("Idempotency-Key") == "" || got[1].body != `{"a":1}` {
		t.Errorf("POST came as %+v", got[1])
	}
}

func TestRedirectedPostIsRefused(t *testing.T) {
	t.Parallel()
	s := &script{}
	s.answers = []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "https://other.example/api/v1/agent/runs", http.StatusMovedPermanently)
	}}
	c := clientFor(t, s, s)
	_, err := c.Runs.Create(t.Context(), RunRequest{Prompt: "x"})
	if err == nil || !strings.Contains(err.Error(), "https://other.example: use that as the server address") {
		t.Fatalf("Create = %v, want the new address", err)
	}
	if n := len(s.requests()); n != 1 {
		t.Errorf("%d requests, want 1: a redirect does not go away", n)
	}
}

// The key goes along within scheme, host and port of the server only.
func TestI3RedirectedKey(t *testing.T) {
	t.Parallel()
	for to, keeps := range map[string]bool{
		"http://lineshaft.test/moved":      true,
		"http://lineshaft.test:80/moved":   true,
		"https://lineshaft.test/moved":     false,
		"http://lineshaft.test:81/moved":   false,
		"http://a.lineshaft.test/moved":    false,
		"https://lineshaft.test:443/moved": false,
	} {
		var keys []string
		h := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			keys = append(keys, r.Header.Get("Authorization"))
			w := httptest.NewRecorder()
			if len(keys) == 1 {
				w.Header().Set("Location", to)
				w.WriteHeader(http.StatusTemporaryRedirect)
			}
			_, _ = w.WriteString("{}")
			return w.Result(), nil
		})}
		c, err := New("http://lineshaft.test", "ls_k", WithHTTPClient(h))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Whoami(t.Context()); err != nil || len(keys) != 2 || (keys[1] == "Bearer ls_k") != keeps || !keeps && keys[1] != "" {
			t.Errorf("%s: %v, keys %q, want it kept: %v", to, err, keys, keeps)
		}
	}
}

// TestS2RedirectedHeaders: what a caller adds may be a secret of the server, or of a proxy
// before it. A server that was redirected to cannot ask for it by sending it back.
func TestS2RedirectedHeaders(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name  string
		to    []string
		keeps bool
	}{
		{"within the server", []string{"http://lineshaft.test/moved"}, true},
		{"another host", []string{"http://files.test/moved"}, false},
		{"another port", []string{"http://lineshaft.test:81/moved"}, false},
		{"another scheme", []string{"https://lineshaft.test/moved"}, false},
		{"away and back", []string{"http://files.test/moved", "http://lineshaft.test/back"}, false},
		{"another port and back", []string{"http://lineshaft.test:81/moved", "http://lineshaft.test/back"}, false},
	} {
		var seen []http.Header
		h := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
			w := httptest.NewRecorder()
			if n := len(seen); n < len(tc.to) {
				w.Header().Set("Location", tc.to[n])
				w.WriteHeader(http.StatusTemporaryRedirect)
			}
			seen = append(seen, r.Header.Clone())
			_, _ = w.WriteString("{}")
			return w.Result(), nil
		})}
		c, err := New("http://lineshaft.test", "ls_k", WithHTTPClient(h), WithHeader("X-Proxy-Secret", "s"), WithHeader("x-request-id", "r"))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.Whoami(t.Context()); err != nil || len(seen) != len(tc.to)+1 {
			t.Fatalf("%s: %d requests, %v", tc.name, len(seen), err)
		}
		for _, got := range seen[1:] {
			if (got.Get("X-Proxy-Secret") == "s") != tc.keeps || (got.Get("X-Request-ID") == "r") != tc.keeps || (got.Get("Authorization") != "") != tc.keeps ||
				got.Get("User-Agent") != "lineshaft-go" || got.Get("Accept") != "application/json" {
				t.Errorf("%s: %v", tc.name, got)
			}
		}
	}
}

func TestRedirectLoopEnds(t *testing.T) {
	t.Parallel()
	s := &script{answers: []http.HandlerFunc{func(w http.ResponseWriter, r *http.Request) {
		http.Redirect(w, r, "/again", http.StatusFound)
	}}}
	c := clientFor(t, s, s, WithMaxRetries(0))
	if err := c.Do(t.Context(), http.MethodGet, "/whoami", nil, nil); err == nil || !strings.Contains(err.Error(), "10 redirects") {
		t.Errorf("Do = %v", err)
	}
}

func TestOwnHTTPClientIsUsed(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(answer(200, `{"role":"viewer"}`))
	t.Cleanup(server.Close)
	used := false
	h := &http.Client{Transport: roundTrip(func(r *http.Request) (*http.Response, error) {
		used = true
		return server.Client().Transport.RoundTrip(r)
	})}
	c, err := New(server.URL, "ls_k", WithHTTPClient(h))
	if err != nil {
		t.Fatal(err)
	}
	if who, err := c.Whoami(t.Context()); err != nil || who.Role != "viewer" || !used {
		t.Errorf("Whoami = %+v, %v; own client used: %v", who, err, used)
	}
	if h.CheckRedirect != nil {
		t.Error("the caller's http.Client was changed")
	}
}

type roundTrip func(*http.Request) (*http.Response, error)

func (f roundTrip) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func TestDoRaw(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, `{"later": [1, 2]}`))
	var out json.RawMessage
	if err := c.Do(t.Context(), http.MethodGet, "/new/thing?deep=1", nil, &out); err != nil {
		t.Fatal(err)
	}
	if string(out) != `{"later": [1, 2]}` || s.requests()[0].query != "deep=1" {
		t.Errorf("out = %s, request %+v", out, s.requests()[0])
	}
}

func TestDoUnencodableBody(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, `{}`))
	err := c.Do(t.Context(), http.MethodPost, "/x", func() {}, nil)
	if err == nil || !strings.Contains(err.Error(), "encode the request") || len(s.requests()) != 0 {
		t.Errorf("Do = %v after %d requests", err, len(s.requests()))
	}
}

func TestBrokenJSONIsNotRetried(t *testing.T) {
	t.Parallel()
	for _, body := range []string{``, `{"run_id":`, `<html>`, `[]`, `{"state":3}`} {
		c, s := scripted(t, answer(200, body))
		_, err := c.Runs.Get(t.Context(), "r1")
		if err == nil || !strings.Contains(err.Error(), "GET /agent/runs/r1: decode the answer") {
			t.Errorf("body %q: %v", body, err)
		}
		if len(s.requests()) != 1 {
			t.Errorf("body %q: %d requests", body, len(s.requests()))
		}
	}
}

func TestAnswerIsBounded(t *testing.T) {
	t.Parallel()
	c, s := scripted(t, answer(200, `{"role":"viewer"}`))
	for limit, ok := range map[int64]bool{16: false, 17: true} {
		c.maxAnswer = limit
		_, err := c.Whoami(t.Context())
		if (err == nil) != ok || err != nil && !strings.Contains(err.Error(), "larger than 16 bytes: ask for less") {
			t.Errorf("limit %d: %v", limit, err)
		}
	}
	if n := len(s.requests()); n != 2 {
		t.Errorf("%d requests, want 2: a large answer is not asked for again", n)
	}
}
