package main

import (
	"bufio"
	"bytes"
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/signature"
)

// request reads request number n of a magazine as a server would.
func request(t *testing.T, m *magazine, n int64) (*http.Request, []byte) {
	t.Helper()
	r, err := http.ReadRequest(bufio.NewReader(bytes.NewReader(m.append(nil, n))))
	must(t, err)
	body, err := io.ReadAll(r.Body)
	must(t, err)
	return r, body
}

func TestHitRequestsWithTokens(t *testing.T) {
	t.Parallel()
	m, err := newMagazine(hitOrder{
		Address: "127.0.0.1:1", Targets: []hitTarget{bearerTarget("/a", "one"), bearerTarget("/b", "two")}, Body: []byte(`{"x":1}`), Seed: 7,
	})
	must(t, err)
	seen := map[string]bool{}
	for n := range int64(1000) {
		r, body := request(t, m, n)
		seen[r.Header.Get("X-Service-Delivery-Id")] = true
		equal(t, "body", string(body), `{"x":1}`)
		if n == 1 {
			equal(t, "path", r.URL.Path, "/b")
			equal(t, "token", r.Header.Get("Authorization"), "Bearer two")
		}
	}
	equal(t, "ids", len(seen), 1000)
}

func TestHitRequestsAreSigned(t *testing.T) {
	t.Parallel()
	secret := signature.Generate("standard_webhooks")
	for _, scheme := range signatureModes() {
		if scheme == bearerMode {
			continue
		}
		t.Run(scheme, func(t *testing.T) {
			t.Parallel()
			verifier, err := signature.New(scheme, signature.HMAC{}, secret)
			must(t, err)
			m, err := newMagazine(hitOrder{Address: "127.0.0.1:1", Targets: []hitTarget{{Path: "/a", Scheme: scheme, Secret: secret}}, Body: pullBody(), Limit: 5, Seed: 3})
			must(t, err)
			seen := map[string]bool{}
			for n := range int64(5) {
				r, body := request(t, m, n)
				signed := signature.Request{Method: r.Method, Header: r.Header, Body: body, Now: time.Now()}
				must(t, verifier.Verify(signed))
				id, _ := verifier.Identity(signed)
				seen[id] = true
			}
			equal(t, "identities", len(seen), 5)
		})
	}
}

func TestHitOrdersThatCannotBe(t *testing.T) {
	t.Parallel()
	for name, order := range map[string]hitOrder{
		"no targets":        {},
		"signed, unlimited": {Targets: []hitTarget{{Scheme: "github", Secret: "0123456789012345678901234"}}},
		"no such scheme":    {Targets: []hitTarget{{Scheme: "carrier pigeon"}}, Limit: 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if _, err := newMagazine(order); err == nil {
				t.Error("it was made")
			}
		})
	}
}

func TestHitReadsAnswers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, text string
		status     int
	}{
		{"with a body", "HTTP/1.1 202 Accepted\r\ncontent-LENGTH:  5\r\nX: y\r\n\r\nhello", 202},
		{"without", "HTTP/1.1 204 No Content\r\nContent-Length: 0\r\n\r\n", 204},
		{"no length", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 0},
		{"bad length", "HTTP/1.1 200 OK\r\nContent-Length: many\r\n\r\n", 0},
		{"no answer", "hello, is this a server or what?\r\n", 0},
		{"no status", "HTTP/1.1 abc Accepted\r\n", 0},
		{"cut in the body", "HTTP/1.1 202 Accepted\r\nContent-Length: 50\r\n\r\nhello", 0},
		{"cut in the head", "HTTP/1.1 202 Accepted\r\nContent-Le", 0},
		{"empty", "", 0},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			status, err := readAnswer(bufio.NewReader(strings.NewReader(tc.text)))
			if tc.status == 0 && err == nil {
				t.Errorf("got %d", status)
			}
			if tc.status != 0 {
				must(t, err)
				equal(t, "status", status, tc.status)
			}
		})
	}
}

// TestHitCounts has a server that refuses every fourth request.
func TestHitCounts(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	ids := map[string]bool{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		ids[r.Header.Get("X-Service-Delivery-Id")] = true
		if len(ids)%4 == 0 {
			w.WriteHeader(http.StatusTooManyRequests)
			return
		}
		w.WriteHeader(http.StatusAccepted)
	}))
	defer server.Close()
	order := hitOrder{
		Address: server.Listener.Addr().String(), Connections: 4, Duration: time.Minute, Limit: 200, Targets: []hitTarget{bearerTarget("/", "t")}, Body: []byte("{}"),
	}
	found, err := fire(t.Context(), order)
	must(t, err)
	equal(t, "ids", len(ids), 200)
	equal(t, "accepted", found.Accepted, 150)
	equal(t, "refused", found.Other[http.StatusTooManyRequests], 50)
	if err := found.check(); err == nil || !strings.Contains(err.Error(), "429:50") {
		t.Errorf("got %v", err)
	}
	if found.Rate <= 0 || found.P50 <= 0 || found.P99 < found.P50 || found.Max < found.P99 {
		t.Errorf("found %+v", found)
	}
	if err := (hitFound{}).check(); err == nil {
		t.Error("nothing at all is fine")
	}
}

func TestHitEndsWithItsTime(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusAccepted) }))
	defer server.Close()
	order := hitOrder{
		Address: server.Listener.Addr().String(), Connections: 2, Duration: 500 * time.Millisecond, Targets: []hitTarget{bearerTarget("/", "t")}, Body: []byte("{}"),
	}
	found, err := fire(t.Context(), order)
	must(t, err)
	must(t, found.check())
	// All of it is warm-up: nothing counts, but all of it was sent.
	order.Warm = time.Hour
	found, err = fire(t.Context(), order)
	must(t, err)
	must(t, found.check())
	equal(t, "rate", found.Rate, 0.0)
}

func TestHitServerThatIsGone(t *testing.T) {
	t.Parallel()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		panic(http.ErrAbortHandler)
	}))
	order := hitOrder{Address: server.Listener.Addr().String(), Connections: 1, Duration: time.Minute, Targets: []hitTarget{bearerTarget("/", "t")}, Body: []byte("{}")}
	if _, err := fire(t.Context(), order); err == nil {
		t.Error("a connection that was cut was taken for an answer")
	}
	server.Close()
	if _, err := fire(t.Context(), order); err == nil {
		t.Error("a server that is gone was reached")
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := fire(ctx, order); err == nil {
		t.Error("it went on although it was told to stop")
	}
}
