package web_test

import (
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/store/storetest"
	"github.com/lineshaft/lineshaft/internal/web"
)

// followed are pages that end with the server and not before.
func followed() []string { return []string{"GET /runs/live"} }

// TestH14PagesOfHostileRowsAreBounded opens every page that needs no id but a factory's, on a
// server that is filled with long texts.
func TestH14PagesOfHostileRowsAreBounded(t *testing.T) {
	t.Parallel()
	const most = 4 << 20
	s := newSite(t)
	s.signIn(s.key)
	storetest.FillFactory(t, s.store, "f", 60, 32<<10)
	opened := 0
	for _, r := range web.Routes() {
		method, path, _ := strings.Cut(strings.ReplaceAll(r.Pattern, "{factory}", "f"), " ")
		path = strings.TrimSuffix(path, "{$}")
		if method != http.MethodGet || strings.Contains(path, "{") || slices.Contains(followed(), r.Pattern) {
			continue
		}
		if status, _, text := s.get(path); status >= http.StatusInternalServerError || len(text) > most {
			t.Errorf("%s: %d with %d bytes, want at most %d", path, status, len(text), most)
		}
		opened++
	}
	if opened < 30 {
		t.Errorf("only %d pages were opened", opened)
	}
}
