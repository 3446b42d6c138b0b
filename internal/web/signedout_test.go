package web_test

import (
	"net/http"
	"strings"
	"testing"
)

// S-4: a live page whose stream was refused finds out that its session is over, and why
// it would otherwise wait for ever.
func TestS4LivePagesLearnThatTheyAreSignedOut(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	part := map[string]string{"HX-Request": "true"}
	if status, _, _ := s.do(http.MethodGet, "/sessions", nil, part); status != http.StatusUnauthorized {
		t.Errorf("signed out: %d", status)
	}
	s.signIn(s.key)
	if status, _, _ := s.do(http.MethodGet, "/sessions", nil, part); status != http.StatusOK {
		t.Errorf("signed in: %d", status)
	}
	s.shows("/", `<button type="button" data-copy hidden>`, `placeholder="Search runs, deliveries, names"`)
	s.shows("/secrets/new", `title="Capital letters, digits and underscores, beginning with a letter"`)
	if _, _, text := s.get("/login"); strings.Contains(text, "data-copy>") {
		t.Error("a copy button that needs the script is shown without it")
	}
}
