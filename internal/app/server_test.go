package app_test

import (
	"encoding/json"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"
)

// answered is the answer to a request that follows no redirect.
func answered(t *testing.T, method, url string) *http.Response {
	t.Helper()
	req, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader("{}"))
	if err != nil {
		t.Fatal(err)
	}
	client := &http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	res, err := client.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	_ = res.Body.Close()
	return res
}

// Every page and every action of pages is reached at its address: nothing else that the
// server serves gets in its way.
func TestI2EveryPageIsReached(t *testing.T) {
	t.Parallel()
	a := start(t, settings(t), options(t, nil))
	text, err := os.ReadFile("../../e2e/browser/routes.json")
	if err != nil {
		t.Fatal(err)
	}
	var patterns []string
	if err := json.Unmarshal(text, &patterns); err != nil || len(patterns) == 0 {
		t.Fatalf("%d routes: %v", len(patterns), err)
	}
	place := regexp.MustCompile(`\{[^}]+\}`)
	for _, pattern := range patterns {
		method, path, _ := strings.Cut(pattern, " ")
		path = place.ReplaceAllString(strings.TrimSuffix(path, "{$}"), "01890000-0000-7000-8000-000000000000")
		res := answered(t, method, a.URL()+path)
		if kind := res.Header.Get("Content-Type"); res.Header.Get("Content-Security-Policy") == "" || strings.Contains(kind, "json") {
			t.Errorf("%s is not answered by the pages: %d %s", pattern, res.StatusCode, kind)
		}
	}
}

// W-6: what looks like a delivery gets the answer of the ingress, at a wrong address too.
func TestW6DeliveriesAreNotPages(t *testing.T) {
	t.Parallel()
	a := start(t, settings(t), options(t, nil))
	for request, want := range map[string]int{
		"POST /webhooks/w/nobody":   http.StatusNotFound,
		"GET /webhooks/w/nobody":    http.StatusMethodNotAllowed,
		"GET /webhooks/w":           http.StatusMethodNotAllowed,
		"POST /webhooks/w":          http.StatusNotFound,
		"POST /webhooks/nobody":     http.StatusNotFound,
		"POST /webhooks//w/nobody":  http.StatusNotFound,
		"PUT /webhooks/nobody/here": http.StatusMethodNotAllowed,
	} {
		method, path, _ := strings.Cut(request, " ")
		res := answered(t, method, a.URL()+path)
		if kind := res.Header.Get("Content-Type"); res.StatusCode != want || kind != "application/problem+json" {
			t.Errorf("%s: %d %s, want %d", request, res.StatusCode, kind, want)
		}
	}
}
