package factories

import (
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/lineshaft/lineshaft/client"
)

// H-13: a server of the previous version cannot plan a factory that does not exist; the command
// continues, and its first apply finds the mistakes.
func TestH13PlanOfANewFactoryOnAnOlderServer(t *testing.T) {
	t.Parallel()
	status := http.StatusNotFound
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(status)
		_, _ = io.WriteString(w, `{"type":"x","title":"t","status":404}`)
	}))
	t.Cleanup(server.Close)
	c, err := client.New(server.URL, "ls_key")
	if err != nil {
		t.Fatal(err)
	}
	plan, err := planNew(t.Context(), c, map[string]string{"factory.yaml": "name: x"})
	if err != nil || plan == nil {
		t.Errorf("on an older server: %+v, %v; want an empty plan", plan, err)
	}
	status = http.StatusForbidden
	if _, err := planNew(t.Context(), c, map[string]string{"factory.yaml": "name: x"}); err == nil {
		t.Error("a refusal is not reported")
	}
}
