package api

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/callback"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// read asks for what may be too long to be held against the OpenAPI document.
func (b *bench) read(path string) *httptest.ResponseRecorder {
	b.Helper()
	r := httptest.NewRequestWithContext(b.Context(), get, Prefix+path, http.NoBody)
	r.Header.Set("Authorization", "Bearer "+b.key(lineshaft.RoleAdmin))
	w := httptest.NewRecorder()
	if b.srv.ServeHTTP(w, r); w.Code != http.StatusOK {
		b.Fatalf("%s: status %d: %.300s", path, w.Code, w.Body)
	}
	return w
}

// Lists of what people set up have the beginning of prompts, end at 8 MiB, and continue
// there without a gap or a repeat.
func TestH14SetUpListsEndAtBytes(t *testing.T) {
	t.Parallel()
	b := newServer(t)
	const many, factory = 360, "f"
	storetest.FillFactory(t, b.store, factory, many, 8<<10) // each takes about 50 KB in an answer
	for path, list := range map[string]string{"/agent/identities": "agents", "/agent/schedules": "schedules", "/factory/" + factory + "/automations": "automations"} {
		seen, pages := map[string]bool{}, 0
		for cursor := ""; ; pages++ {
			w := b.read(path + "?limit=500&cursor=" + cursor)
			if w.Body.Len() > eightMiB+eightMiB/50 {
				t.Errorf("page %d of %s has %d bytes", pages, list, w.Body.Len())
			}
			page := decode[map[string]json.RawMessage](t, w)
			var items []struct {
				Name      string `json:"name"`
				Prompt    string `json:"prompt"`
				Truncated bool   `json:"prompt_truncated"`
			}
			var info PageInfo
			if json.Unmarshal(page[list], &items) != nil || page["page_info"] != nil && json.Unmarshal(page["page_info"], &info) != nil {
				t.Fatalf("%.300s", w.Body)
			}
			for _, item := range items {
				if seen[item.Name] || !item.Truncated || len(item.Prompt) != lineshaft.MaxListedPrompt {
					t.Fatalf("%s: seen %v, truncated %v, %d bytes", item.Name, seen[item.Name], item.Truncated, len(item.Prompt))
				}
				seen[item.Name] = true
			}
			if cursor = info.NextCursor; cursor == "" {
				break
			}
		}
		if len(seen) != many || pages == 0 {
			t.Errorf("%d %s on %d more pages", len(seen), list, pages)
		}
	}
}

// Lists that clients may read whole give all of their rows without a limit, and page with an
// opaque cursor when they are asked to.
func TestH14ShortListsPage(t *testing.T) {
	t.Parallel()
	forge := memoryForge{}
	for i := range 5 {
		forge[fmt.Sprintf("skills/s%d/SKILL.md", i)] = fmt.Sprintf("---\nname: Skill %d\ndescription: d\n---\nbody", i)
	}
	b := newServerOn(t, base.Config{Lease: time.Minute, Git: forge, Callbacks: callback.New(callback.Config{})})
	made, err := b.control.CreateFactory(t.Context(), b.admin(), factories.NewFactory{Name: "f"})
	if err != nil {
		t.Fatal(err)
	}
	factory := made.UID
	for i := range 5 {
		b.create("/secrets", fmt.Sprintf(`{"name":"S%d","value":"a long enough value"}`, i))
		b.create("/factory/"+factory+"/webhooks", fmt.Sprintf(`{"name":"w%d","auth_mode":"token"}`, i))
		b.create(notifications, fmt.Sprintf(`{"name":"n%d","url":"https://example.com/%d"}`, i, i))
	}
	for path, list := range map[string]string{
		"/agent?repo=acme/tools": "agents", "/agent?repo=acme/tools&sort_by=last_run": "agents",
		"/secrets?": "secrets", "/factory/" + factory + "/webhooks?": "webhooks", notifications + "?": "notifications",
	} {
		whole, next := b.names(path, list)
		if len(whole) < 5 || next != "" {
			t.Fatalf("%s has %v, and then %q", path, whole, next)
		}
		var seen []string
		for cursor := ""; ; {
			page, next := b.names(path+"&limit=2&cursor="+cursor, list)
			if seen = append(seen, page...); len(page) > 2 || next != "" && len(page) != 2 || slices.Contains(whole, next) {
				t.Fatalf("%s: a page of %v, and then %q", path, page, next)
			}
			if cursor = next; cursor == "" {
				break
			}
		}
		if !slices.Equal(seen, whole) {
			t.Errorf("%s: pages have %v, the list %v", path, seen, whole)
		}
		b.check(t, scenario{method: get, path: path + "&cursor=S1", as: lineshaft.RoleAdmin, status: 400, code: lineshaft.CodeInvalidRequest})
		b.check(t, scenario{method: get, path: path + "&limit=501", as: lineshaft.RoleAdmin, status: 400, code: lineshaft.CodeInvalidRequest})
	}
}

func (b *bench) create(path, body string) {
	b.Helper()
	b.check(b.T, scenario{method: post, path: path, as: lineshaft.RoleAdmin, body: body, status: 201})
}

// names reads a page of a list.
func (b *bench) names(path, list string) (names []string, next string) {
	b.Helper()
	page := decode[map[string]json.RawMessage](b.T, b.check(b.T, scenario{method: get, path: path, as: lineshaft.RoleAdmin, status: 200}))
	var items []struct {
		Name string `json:"name"`
	}
	var info PageInfo
	if json.Unmarshal(page[list], &items) != nil || page["page_info"] != nil && json.Unmarshal(page["page_info"], &info) != nil {
		b.Fatalf("%s: %s", path, page)
	}
	for _, item := range items {
		names = append(names, item.Name)
	}
	return names, info.NextCursor
}

// The list of skills ends at 8 MiB, however long they are, and continues there.
func TestH14SkillsEndAtBytes(t *testing.T) {
	t.Parallel()
	forge, many := memoryForge{}, 10
	for i := range many {
		forge[fmt.Sprintf("skills/s%d/SKILL.md", i)] = fmt.Sprintf("---\nname: Skill %d\ndescription: d\n---\n%s", i, strings.Repeat("\x01", 240<<10))
	}
	b := newServerOn(t, base.Config{Lease: time.Minute, Git: forge})
	seen := 0
	for cursor := ""; ; {
		w := b.read("/agent?repo=acme/tools&cursor=" + cursor)
		page := decode[ListAgentsResponse](t, w)
		if w.Body.Len() > eightMiB || len(page.Agents) == 0 {
			t.Fatalf("%d bytes, %d skills", w.Body.Len(), len(page.Agents))
		}
		if seen += len(page.Agents); page.PageInfo == nil {
			break
		}
		cursor = page.PageInfo.NextCursor
	}
	if seen != many {
		t.Errorf("%d of %d skills", seen, many)
	}
}
