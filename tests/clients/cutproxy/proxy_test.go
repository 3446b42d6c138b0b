package cutproxy

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
)

// before starts a proxy before a server that streams, answers and counts.
func before(t *testing.T) (*Proxy, *atomic.Int64) {
	t.Helper()
	var posts atomic.Int64
	mux := http.NewServeMux()
	mux.HandleFunc("GET /stream", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		_, _ = io.WriteString(w, "retry: 1000\n\n"+strings.Repeat("x", 500))
	})
	mux.HandleFunc("POST /things", func(w http.ResponseWriter, r *http.Request) {
		body, _ := io.ReadAll(r.Body)
		posts.Add(1)
		_, _ = io.WriteString(w, r.Header.Get("X-A")+string(body)+r.URL.RawQuery)
	})
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	proxy, err := New(server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(proxy.Close)
	return proxy, &posts
}

func ask(t *testing.T, method, address, body string) (string, error) {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("X-A", "a")
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	resp, err := client.Do(req)
	if err != nil {
		return "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return string(text), err
}

func TestI3ProxyPassesOnWhatItDoesNotDamage(t *testing.T) {
	t.Parallel()
	proxy, _ := before(t)
	session := proxy.Begin(Damage{})
	if text, err := ask(t, http.MethodPost, session.BaseURL+"/things?q=1", "b"); text != "abq=1" || err != nil {
		t.Errorf("%q, %v", text, err)
	}
	if text, err := ask(t, http.MethodGet, session.BaseURL+"/stream", ""); text != "retry: 1\n\n"+strings.Repeat("x", 500) || err != nil {
		t.Errorf("%q, %v", text, err)
	}
}

func TestI3ProxyCutsAsOftenAsAskedAndTheSameAgain(t *testing.T) {
	t.Parallel()
	proxy, _ := before(t)
	var lengths [2][]int
	for round := range lengths {
		session := proxy.Begin(Damage{Cuts: 20, MaxBytes: 400, Seed: 3})
		for range 20 {
			text, err := ask(t, http.MethodGet, session.BaseURL+"/stream", "")
			if err == nil {
				t.Error("a stream came whole")
			}
			lengths[round] = append(lengths[round], len(text))
		}
		if _, err := ask(t, http.MethodGet, session.BaseURL+"/stream", ""); err != nil {
			t.Errorf("after the cuts: %v", err)
		}
		if state, ok := proxy.State(session.ID); !ok || state.Cut != 20 || state.Requests != 21 {
			t.Errorf("state %+v", state)
		}
	}
	first, _ := json.Marshal(lengths[0])
	second, _ := json.Marshal(lengths[1])
	if string(first) != string(second) {
		t.Errorf("the same seed cuts after %s and %s bytes", first, second)
	}
}

func TestI3ProxyLosesAnswersAfterTheServerActed(t *testing.T) {
	t.Parallel()
	proxy, posts := before(t)
	session := proxy.Begin(Damage{LosePosts: 1})
	if _, err := ask(t, http.MethodPost, session.BaseURL+"/things", ""); err == nil || posts.Load() != 1 {
		t.Errorf("%v after %d posts", err, posts.Load())
	}
	if _, err := ask(t, http.MethodPost, session.BaseURL+"/things", ""); err != nil || posts.Load() != 2 {
		t.Errorf("%v after %d posts", err, posts.Load())
	}
}

func TestI3ProxyOverHTTP(t *testing.T) {
	t.Parallel()
	proxy, _ := before(t)
	text, err := ask(t, http.MethodPost, proxy.URL()+"/_/start", `{"lose_posts":1}`)
	var started Started
	if err != nil || json.Unmarshal([]byte(text), &started) != nil {
		t.Fatalf("%q, %v", text, err)
	}
	_, _ = ask(t, http.MethodPost, started.BaseURL+"/things", "")
	text, err = ask(t, http.MethodGet, proxy.URL()+"/_/state?id="+started.ID, "")
	var state State
	if err != nil || json.Unmarshal([]byte(text), &state) != nil || state.PostsLost != 1 {
		t.Errorf("%q, %v", text, err)
	}
	if _, err := New("no address"); err == nil {
		t.Error("a proxy before nothing")
	}
}
