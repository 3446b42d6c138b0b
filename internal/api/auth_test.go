package api

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// concrete fills the variables of a route's path.
func concrete(path string) string {
	for _, variable := range []string{"{runId}", "{conversationId}", "{sessionUuid}", "{artifactUid}", "{keyId}", "{token}", "{factoryUid}", "{automationUid}", "{webhookUid}", "{name}", "{deliveryId}", "{version}", "{document}", "{agentUid}", "{environmentUid}", "{messageId}", "{taskUid}"} {
		path = strings.ReplaceAll(path, variable, exampleRunID)
	}
	return strings.NewReplacer("{rest...}", "x/y", "{number}", "7").Replace(path)
}

func TestS3EveryRouteNamesItsPermission(t *testing.T) {
	t.Parallel()
	ids := map[string]bool{}
	for _, route := range Routes() {
		if route.Permission == "" {
			t.Errorf("%s %s names no permission", route.Method, route.Path)
		}
		if route.OperationID != "" && (ids[route.OperationID] || docs()[route.OperationID].Summary == "") {
			t.Errorf("operation %s is there twice or has no description", route.OperationID)
		}
		ids[route.OperationID] = true
	}
	for id := range docs() {
		if !ids[id] {
			t.Errorf("operation %s is described but has no route", id)
		}
	}
	if len(ids) < 49 {
		t.Errorf("only %d operations", len(ids))
	}
}

// What operations.json says is known: no key is misspelt, and each tag, code and example exists.
func TestContractOperationsAreReadable(t *testing.T) {
	t.Parallel()
	decoder := json.NewDecoder(bytes.NewReader(operations))
	decoder.DisallowUnknownFields()
	var all map[string]operationDoc
	if err := decoder.Decode(&all); err != nil {
		t.Fatal(err)
	}
	for id, doc := range all {
		if of := doc.OlderNameOf; of != "" {
			if all[of].Summary == "" {
				t.Errorf("%s is an older name of %s, which is not there", id, of)
			}
			continue
		}
		if !slices.Contains(tags(), doc.Tag) {
			t.Errorf("%s has the tag %q", id, doc.Tag)
		}
		for _, code := range doc.Codes {
			if !slices.Contains(lineshaft.Codes(), code) {
				t.Errorf("%s has the code %q", id, code)
			}
		}
		for _, name := range []string{doc.Request, doc.Response} {
			if name != "" && example(name) == nil {
				t.Errorf("%s names the example %q", id, name)
			}
		}
	}
}

func TestS3EveryRouteAsNobodyAndAsEveryRole(t *testing.T) {
	t.Parallel()
	stopping := make(chan struct{})
	close(stopping) // streams end at once
	b := newServer(t, func(d *Deps) { d.Stopping = stopping })
	for _, route := range Routes() {
		methods := []string{route.Method}
		if route.Method == "" {
			methods = slices.DeleteFunc([]string{get, post, put, del}, func(method string) bool {
				return slices.ContainsFunc(Routes(), func(own Route) bool { return own.Method == method && own.Path == route.Path })
			})
		}
		for _, method := range methods {
			// A valid key for some other role must not be needed for public routes.
			sc := scenario{method: method, path: concrete(route.Path)}
			if w := b.do(t, sc); (w.Code == http.StatusUnauthorized) != (route.Permission != lineshaft.PermissionNone) {
				t.Errorf("%s %s as nobody: %d", method, route.Path, w.Code)
			}
			for _, role := range lineshaft.Roles() {
				sc.as = role
				w := b.do(t, sc)
				if route.Permission != lineshaft.PermissionNone && (w.Code == http.StatusForbidden) == role.May(route.Permission) {
					t.Errorf("%s %s as %s: %d", method, route.Path, role, w.Code)
				}
				if w.Code == http.StatusUnauthorized || w.Code >= 500 {
					t.Errorf("%s %s as %s: %d %s", method, route.Path, role, w.Code, w.Body)
				}
			}
		}
	}
}

func TestS3UnlistedPatternsAreClosed(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	guardedMux{b.srv}.HandleFunc("GET /api/v1/backdoor", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusOK) })
	b.check(t, scenario{method: get, path: "/api/v1/backdoor", status: 401, code: "authentication_required"})
	b.check(t, scenario{method: get, path: "/api/v1/backdoor", as: lineshaft.RoleAdmin, status: 403, code: "not_authorized"})
}

func TestH2UnusableKeysGetByteEqualAnswers(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	revoked, expired := b.newKey(t), "ls_expired_expired_expired_expired"
	if err := b.store.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		owner := b.admin().Principal
		return tx.InsertAPIKey(ctx, lineshaft.APIKey{
			ID: "k-expired", Name: "old", Role: lineshaft.RoleAdmin, Owner: owner, CreatedAt: time.Unix(1, 0), ExpiresAt: time.Now().Add(-time.Second),
		}, expired)
	}); err != nil {
		t.Fatal(err)
	}
	list, err := b.control.ListAPIKeys(t.Context(), b.admin(), base.MaxPage, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, k := range list.Items {
		if k.Name == "throw-away" {
			if err := b.control.RevokeAPIKey(t.Context(), b.admin(), k.ID); err != nil {
				t.Fatal(err)
			}
		}
	}
	var first string
	for name, header := range map[string][]string{
		"missing": nil, "empty": {""}, "scheme alone": {"Bearer"}, "no key": {"Bearer "}, "basic": {"Basic eDp5"}, "no scheme": {b.key("admin")},
		"unknown": {"Bearer ls_" + strings.Repeat("A", 40)}, "short": {"Bearer ls_"}, "long": {"Bearer ls_" + strings.Repeat("A", 5000)},
		"other prefix": {"Bearer wk-123"}, "run token": {"Bearer ls_run_unknown"}, "NUL": {"Bearer ls_\x00"}, "not UTF-8": {"Bearer ls_\xff"},
		"twice": {"Bearer " + b.key("admin"), "Bearer " + b.key("admin")}, "revoked": {"Bearer " + revoked}, "expired": {"Bearer " + expired},
		"two in one": {"Bearer " + b.key("admin") + ", Bearer " + b.key("admin")},
	} {
		r := httptest.NewRequestWithContext(t.Context(), get, Prefix+"/agent/runs", http.NoBody)
		if header != nil {
			r.Header["Authorization"] = header
		}
		w := httptest.NewRecorder()
		b.srv.ServeHTTP(w, r)
		if first == "" {
			first = w.Body.String()
		}
		if w.Code != http.StatusUnauthorized || w.Body.String() != first || w.Header().Get("WWW-Authenticate") == "" {
			t.Errorf("%s: %d %s", name, w.Code, w.Body)
		}
		if strings.Contains(w.Body.String(), w.Header().Get("X-Request-ID")) || strings.Contains(w.Body.String(), "/api/v1/agent") {
			t.Errorf("%s: the body names the request: %s", name, w.Body)
		}
	}
}

func (b *bench) newKey(t *testing.T) string {
	t.Helper()
	_, key, err := b.control.CreateAPIKey(t.Context(), b.admin(), access.NewAPIKey{Name: "throw-away", Role: lineshaft.RoleViewer})
	if err != nil {
		t.Fatal(err)
	}
	return key
}

func TestH2AuthenticationComesBeforeTheBody(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	body := &failingReader{t: t}
	r := httptest.NewRequestWithContext(t.Context(), post, Prefix+"/agent/runs", body)
	w := httptest.NewRecorder()
	b.srv.ServeHTTP(w, r)
	if w.Code != http.StatusUnauthorized {
		t.Errorf("%d", w.Code)
	}
}

// failingReader is a body that must not be read.
type failingReader struct{ t *testing.T }

// Read implements io.Reader.
func (f *failingReader) Read([]byte) (int, error) {
	f.t.Error("the body was read")
	return 0, fmt.Errorf("read")
}

func TestH2AStoreThatIsAwayIsNotABadKey(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	key := b.key(lineshaft.RoleViewer)
	if err := b.store.Close(); err != nil {
		t.Fatal(err)
	}
	r := httptest.NewRequestWithContext(t.Context(), get, Prefix+"/whoami", http.NoBody)
	r.Header.Set("Authorization", "Bearer "+key)
	w := httptest.NewRecorder()
	b.srv.ServeHTTP(w, r)
	if w.Code < 500 {
		t.Errorf("%d %s", w.Code, w.Body)
	}
}

func TestPublishedButNotOffered(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	var list []scenario
	for _, route := range []string{
		"POST /agent/runs/x/scores", "GET /agent/runs/x/harness-usage", "POST /agent/messages", "GET /agent/messages/x",
		"POST /agent/messages/x/read", "GET /factory/runs/x/scores",
	} {
		method, path, _ := strings.Cut(route, " ")
		list = append(list,
			scenario{name: route, method: method, path: path, as: lineshaft.RoleViewer, status: 422, code: "operation_not_supported", has: []string{"does not offer it"}},
			scenario{name: route + " without a key", method: method, path: path, status: 401, code: "authentication_required"})
	}
	list = append(list,
		scenario{method: post, path: "/factory/x/tasks", as: lineshaft.RoleAdmin, status: 422, code: "operation_not_supported"},
		scenario{method: post, path: "/factory/x/metrics/runs", as: lineshaft.RoleAdmin, status: 404, code: "resource_not_found"},
		scenario{method: post, path: "/factory/runs/x/scores", as: lineshaft.RoleAdmin, status: 405, code: "method_not_allowed"},
		scenario{method: get, path: "/factory/runs/webhooks/scores", as: lineshaft.RoleAdmin, status: 404, code: "resource_not_found"},
		scenario{method: post, path: "/factory/x", as: lineshaft.RoleAdmin, status: 405, code: "method_not_allowed"})
	b.play(t, list)
}
