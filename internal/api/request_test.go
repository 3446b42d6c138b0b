package api

import (
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

func TestH10RequestIDIsTakenWhenSane(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	for id, taken := range map[string]bool{
		"req-1": true, "A.b_c-9": true, strings.Repeat("x", 128): true, strings.Repeat("x", 129): false,
		"": false, "a b": false, "a\"b": false, "<script>": false, "é": false, "a/b": false, "a\tb": false,
	} {
		for _, path := range []string{"/healthz", "/nowhere", "/agent/runs", "//"} {
			w := b.do(t, scenario{method: get, path: path, header: map[string]string{"X-Request-Id": id}})
			got := w.Header().Get("X-Request-ID")
			if (got == id) != taken || got == "" || len(got) > 128 {
				t.Errorf("%s: %q answered with %q", path, id, got)
			}
		}
	}
	first, second := b.do(t, scenario{method: get, path: "/healthz"}), b.do(t, scenario{method: get, path: "/healthz"})
	if first.Header().Get("X-Request-ID") == second.Header().Get("X-Request-ID") {
		t.Error("two requests have one id")
	}
}

func TestH10Traceparent(t *testing.T) {
	t.Parallel()
	const trace = "4bf92f3577b34da6a3ce929d0e0e4736"
	b := newServer(t)
	w := b.check(t, scenario{
		method: get, path: "/nowhere", header: map[string]string{"Traceparent": "00-" + trace + "-00f067aa0ba902b7-01"}, status: 404,
		has: []string{`"trace_id":"` + trace + `"`},
	})
	if got := tracing.TraceIDOf(w.Header().Get("Traceparent")); got != trace || strings.Contains(w.Header().Get("Traceparent"), "00f067aa0ba902b7") {
		t.Errorf("answered %q", w.Header().Get("Traceparent"))
	}
	if w := b.do(t, scenario{method: get, path: "/healthz"}); w.Header().Get("Traceparent") != "" {
		t.Errorf("nobody traces, but: %q", w.Header().Get("Traceparent"))
	}
}

func TestH12ForwardedForCountsFromTrustedProxiesOnly(t *testing.T) {
	t.Parallel()
	s := &server{Deps: Deps{TrustedProxies: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("fd00::/8")}}}
	for _, tc := range []struct {
		peer      string
		forwarded []string
		want      string
	}{
		{"203.0.113.9:1234", nil, "203.0.113.9"},
		{"203.0.113.9:1234", []string{"1.2.3.4"}, "203.0.113.9"},
		{"10.0.0.1:1234", nil, "10.0.0.1"},
		{"10.0.0.1:1234", []string{"1.2.3.4"}, "1.2.3.4"},
		{"10.0.0.1:1234", []string{"6.6.6.6, 1.2.3.4"}, "1.2.3.4"},
		{"10.0.0.1:1234", []string{"6.6.6.6, 1.2.3.4, 10.0.0.2"}, "1.2.3.4"},
		{"10.0.0.1:1234", []string{"6.6.6.6", "1.2.3.4"}, "1.2.3.4"},
		{"10.0.0.1:1234", []string{"garbage"}, "10.0.0.1"},
		{"10.0.0.1:1234", []string{"1.2.3.4, garbage"}, "10.0.0.1"},
		{"10.0.0.1:1234", []string{"10.0.0.3"}, "10.0.0.3"},
		{"[::ffff:10.0.0.1]:1234", []string{"2001:db8::1"}, "2001:db8::1"},
		{"[fd00::1]:1234", []string{"1.2.3.4"}, "1.2.3.4"},
		{"pipe", []string{"1.2.3.4"}, "pipe"},
	} {
		r := httptest.NewRequestWithContext(t.Context(), get, "/", http.NoBody)
		r.RemoteAddr = tc.peer
		r.Header["X-Forwarded-For"] = tc.forwarded
		if got := s.remoteAddr(r); got != tc.want {
			t.Errorf("%s via %v: %s, want %s", tc.peer, tc.forwarded, got, tc.want)
		}
	}
}

func TestS5CallersCarryWhereTheyCameFrom(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.check(t, scenario{method: post, path: "/agent/runs", as: lineshaft.RoleMember, header: map[string]string{"X-Request-Id": "req-77"}, body: `{"prompt":"x"}`, status: 200})
	b.check(t, scenario{
		method: get, path: "/audit?limit=1", as: lineshaft.RoleAdmin, status: 200,
		has: []string{`"request_id":"req-77"`, `"remote_addr":"192.0.2.1"`, `"action":"run.create"`, `"has_next_page":true`},
	})
}

func TestBearer(t *testing.T) {
	t.Parallel()
	for value, want := range map[string]string{
		"Bearer k": "k", "bearer k": "k", "BEARER  k ": "k", "Bearer": "", "Bearer ": "", "Basic k": "", "k": "", "": "", "Bearerk": "",
	} {
		header := http.Header{"Authorization": {value}}
		if got, ok := bearer(header); ok != (want != "") || ok && got != want {
			t.Errorf("%q: %q %v", value, got, ok)
		}
	}
}
