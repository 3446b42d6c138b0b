package api

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

const page = "https://app.example.com"

func (b *bench) fromPage(method, path, origin string, header map[string]string) http.Header {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), method, path, http.NoBody)
	r.Header.Set("Origin", origin)
	for name, value := range header {
		r.Header.Set(name, value)
	}
	w := httptest.NewRecorder()
	b.srv.ServeHTTP(w, r)
	answer := w.Result().Header
	answer.Set("Status", w.Result().Status)
	return answer
}

func TestS4PagesOfAllowedOriginsMayCallWithAKey(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	b.srv.CORSOrigins = []string{page}
	asked := map[string]string{"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "authorization,idempotency-key"}
	preflight := b.fromPage(http.MethodOptions, "/api/v1/agent/runs", page, asked)
	if preflight.Get("Status") != "204 No Content" || preflight.Get("Access-Control-Allow-Origin") != page ||
		!strings.Contains(preflight.Get("Access-Control-Allow-Headers"), "Idempotency-Key") ||
		!strings.Contains(preflight.Get("Access-Control-Allow-Methods"), "POST") || preflight.Get("Vary") != "Origin" {
		t.Errorf("preflight: %v", preflight)
	}
	answer := b.fromPage(get, "/api/v1/whoami", page, map[string]string{"Authorization": "Bearer " + b.key(lineshaft.RoleViewer)})
	if answer.Get("Status") != "200 OK" || answer.Get("Access-Control-Allow-Origin") != page ||
		!strings.Contains(answer.Get("Access-Control-Expose-Headers"), "X-Request-ID") {
		t.Errorf("answer: %v", answer)
	}
	refused := b.fromPage(get, "/api/v1/whoami", page, nil)
	if refused.Get("Status") != "401 Unauthorized" || refused.Get("Access-Control-Allow-Origin") != page {
		t.Errorf("a page cannot read why it is refused: %v", refused)
	}
	for name, header := range map[string]http.Header{"preflight": preflight, "answer": answer} {
		if header.Get("Access-Control-Allow-Credentials") != "" {
			t.Errorf("%s allows cookies", name)
		}
	}
}

func TestS4OtherOriginsMayNot(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	asked := map[string]string{"Access-Control-Request-Method": "GET"}
	for _, allowed := range [][]string{nil, {page}} {
		b.srv.CORSOrigins = allowed
		for _, origin := range []string{"https://evil.example", page + ".evil.example", "http://app.example.com", "null", ""} {
			for _, method := range []string{get, http.MethodOptions} {
				if header := b.fromPage(method, "/api/v1/whoami", origin, asked); header.Get("Access-Control-Allow-Origin") != "" {
					t.Errorf("%s from %q with %q: %v", method, origin, allowed, header)
				}
			}
		}
		if header := b.fromPage(get, "/metrics", page, nil); header.Get("Access-Control-Allow-Origin") != "" {
			t.Errorf("/metrics: %v", header)
		}
	}
}
