package api

import (
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/lineshaft/lineshaft"
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

// Lists of what people set up have the beginning of prompts, end at 8 MiB, and go on there
// without a gap or a repeat.
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
