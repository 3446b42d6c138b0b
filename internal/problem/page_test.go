package problem_test

import (
	"crypto/sha256"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/problem"
)

func getPage(t *testing.T, path string) *httptest.ResponseRecorder {
	t.Helper()
	pages, err := problem.NewPages()
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	pages.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, http.NoBody))
	return w
}

func TestH4EveryCodeHasARowAndAPage(t *testing.T) {
	t.Parallel()
	if got, want := len(problem.Rows()), len(lineshaft.Codes()); got != want {
		t.Errorf("%d rows for %d codes", got, want)
	}
	for _, code := range lineshaft.Codes() {
		row, ok := problem.Lookup(code)
		if !ok || row.Code != code || row.Title == "" || row.Explanation == "" || row.Fix == "" {
			t.Errorf("%s: incomplete row %+v", code, row)
		}
		w := getPage(t, problem.PagePath+string(code))
		body := w.Body.String()
		if w.Code != http.StatusOK || !strings.Contains(body, "<h1>"+row.Title) || !strings.Contains(body, "What to do") {
			t.Errorf("%s: page %d %.200s", code, w.Code, body)
		}
	}
}

func TestH4IndexLinksEveryPage(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"/docs/errors", "/docs/errors/"} {
		w := getPage(t, path)
		for _, code := range lineshaft.Codes() {
			if !strings.Contains(w.Body.String(), `href="/docs/errors/`+string(code)+`"`) {
				t.Errorf("%s does not link %s", path, code)
			}
		}
	}
	if w := getPage(t, "/docs/errors/<script>"); w.Code != http.StatusNotFound || strings.Contains(w.Body.String(), "<script>") {
		t.Errorf("an unknown code: %d", w.Code)
	}
}

func TestS4PagesNeedNoOtherHostAndNoScript(t *testing.T) {
	t.Parallel()
	w := getPage(t, "/docs/errors/conflict")
	body := w.Body.String()
	if strings.Contains(body, "http://") || strings.Contains(body, "https://") || strings.Contains(body, "<script") {
		t.Errorf("page refers elsewhere: %s", body)
	}
	style := regexp.MustCompile(`(?s)<style>(.*)</style>`).FindStringSubmatch(body)
	if style == nil {
		t.Fatal("no style")
	}
	sum := sha256.Sum256([]byte(style[1]))
	policy := w.Header().Get("Content-Security-Policy")
	if !strings.Contains(policy, "default-src 'none'") || !strings.Contains(policy, base64.StdEncoding.EncodeToString(sum[:])) {
		t.Errorf("the policy %q does not allow the page's own style", policy)
	}
}
