package mcpserver_test

import (
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/mcpserver"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// What bounds the answer of a tool, in bytes of the whole answer (H-14).
const (
	bySmall = 16 << 10 // ids, states and links
	byPage  = 8 << 20  // rows and bytes as a page of the API, with a cursor
	byTexts = 4 << 20  // one thing whose texts, and how many of them, are cut
)

// boundedTool is a tool with the most that it answers and arguments that ask for that.
type boundedTool struct {
	most int
	// least shows that the call met what is hostile.
	least int
	ask   map[string]any
}

func boundsByTool(run, live, webhook, delivery string) map[string]boundedTool {
	hook := func(more map[string]any) map[string]any {
		maps.Copy(more, map[string]any{"factory": "f", "webhook": webhook})
		return more
	}
	conditions := map[string]any{}
	filter := map[string]any{"payload": conditions}
	for range 60 {
		conditions[strings.Repeat("<", 1000+len(conditions))] = []string{strings.Repeat("<", 40_000)}
	}
	return map[string]boundedTool{
		"list_factories":   {byPage, 100, map[string]any{"limit": 100}},
		"list_agents":      {byPage, 1 << 20, map[string]any{}},
		"list_automations": {byPage, 300 << 10, map[string]any{"factory": "f", "limit": 100}},
		"list_webhooks":    {byPage, 100, map[string]any{"factory": "f"}},
		"list_runs":        {byPage, 2 << 20, map[string]any{"limit": 100}},
		"get_run":          {byTexts, 1 << 20, map[string]any{"run_id": run, "messages": 20}},
		"wait_for_run":     {byTexts, 1 << 20, map[string]any{"run_id": run, "messages": 20, "seconds": 1}},
		"get_run_events":   {byPage, 2 << 20, map[string]any{"run_id": run, "limit": 200}},
		"list_deliveries":  {byPage, 2 << 20, hook(map[string]any{"limit": 100})},
		"get_delivery":     {byPage, 2 << 20, hook(map[string]any{"delivery_id": delivery, "explain": true})},
		"test_filter":      {byPage, 900 << 10, map[string]any{"factory": "f", "delivery_id": delivery, "filter": filter}},
		"dispatch":         {bySmall, 100, map[string]any{"prompt": "p", "agent": "BUILDER"}},
		"follow_up":        {bySmall, 100, map[string]any{"run_id": live, "message": "m"}},
		"cancel_run":       {bySmall, 100, map[string]any{"run_id": live}},
	}
}

// fillRuns starts runs whose metadata and status are as long as they may be.
func (s *site) fillRuns(many int) {
	s.Helper()
	metadata := map[string]string{}
	for i := range lineshaft.MaxMetadataKeys {
		metadata[fmt.Sprint("key", i)] = strings.Repeat("<", lineshaft.MaxMetadataValue)
	}
	for range many {
		id := s.start(lineshaft.NewRun{Prompt: "p", Title: strings.Repeat("<", lineshaft.MaxTitleRunes), Metadata: metadata})
		err := s.store.Write(s.Context(), func(ctx context.Context, tx *store.Tx) error {
			h, err := tx.LockRun(ctx, id)
			if err != nil {
				return err
			}
			h.Status.Message = strings.Repeat("<", 64<<10)
			h.Touch(s.store.Now())
			return tx.SaveRun(ctx, h)
		})
		if err != nil {
			s.Fatal(err)
		}
	}
}

// Every tool keeps to its bound, whatever a factory, a run and a webhook are filled with.
func TestH14EveryToolKeepsToItsBound(t *testing.T) {
	t.Parallel()
	s := onSQLite(t)
	storetest.FillFactory(t, s.store, "f", 500, 4<<10)
	webhook, delivery := storetest.FillWebhook(t, s.store, "f", 101)
	prompt := strings.Repeat("<", lineshaft.MaxPromptBytes)
	run := s.start(lineshaft.NewRun{Prompt: prompt})
	ended := lineshaft.TurnResult{State: lineshaft.Failed, Message: "m"}
	if _, err := s.control.EndTurn(t.Context(), s.claim().ExecutionRef, ended); err != nil {
		t.Fatal(err)
	}
	storetest.FillRun(t, s.store, run, 210, 8000)
	live := s.start(lineshaft.NewRun{Prompt: prompt})
	s.fillRuns(100)
	if _, err := s.control.CreateAgent(t.Context(), s.admin, lineshaft.Agent{Name: "Builder"}); err != nil {
		t.Fatal(err)
	}
	bounds := boundsByTool(run, live, webhook, delivery)
	if have := slices.Sorted(maps.Keys(mcpserver.Needs())); !slices.Equal(have, slices.Sorted(maps.Keys(bounds))) {
		t.Fatalf("the tools are %v; say what bounds each", have)
	}
	for tool, b := range bounds {
		params := map[string]any{"name": tool, "arguments": b.ask}
		ask, err := json.Marshal(map[string]any{"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": params})
		if err != nil {
			t.Fatal(err)
		}
		status, answer := s.post(s.adminKey, string(ask), map[string]string{"Content-Type": "application/json"})
		if status != http.StatusOK || strings.Contains(answer, `"isError":true`) || len(answer) > b.most || len(answer) < b.least {
			t.Errorf("%s: status %d with %d bytes, want %d to %d: %.300s", tool, status, len(answer), b.least, b.most, answer)
		}
	}
}
