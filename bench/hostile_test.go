package main

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"
)

// Every request of B17 can be made, and those of tools are calls in JSON.
func TestHostileRequestsAreWellFormed(t *testing.T) {
	t.Parallel()
	tools := 0
	for _, path := range (hostileFill{loud: "l", busy: "b", long: "o", factory: "f", webhook: "w"}).paths() {
		r, err := hostileRequest(t.Context(), "http://127.0.0.1:1", path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.ContainsAny(fileName(path), "/?#{ ") {
			t.Errorf("%q names a file", fileName(path))
		}
		if r.Method != http.MethodPost {
			continue
		}
		tools++
		body, err := io.ReadAll(r.Body)
		if err != nil || !json.Valid(body) || r.URL.Path != "/api/v1/mcp" {
			t.Errorf("%s: %v, %s %s", path, err, r.URL, body)
		}
	}
	if tools < 12 {
		t.Errorf("%d calls of tools", tools)
	}
}
