package store_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// pageRows reads a list to its end and says how many rows each page has. It fails when a row
// comes twice, or with more of its texts than lists show.
func pageRows[T, K any](t *testing.T, read func(after K) ([]T, bool, error), look func(*T) (key K, prompt string, cut bool)) (rows []int) {
	t.Helper()
	var after K
	seen := map[string]bool{}
	for more := true; more; {
		page, goesOn, err := read(after)
		must(t, err)
		for i := range page {
			var prompt string
			var cut bool
			if after, prompt, cut = look(&page[i]); !cut || len(prompt) > lineshaft.MaxListedPrompt || seen[fmt.Sprint(after)] {
				t.Errorf("%v has %d bytes, cut %v", after, len(prompt), cut)
			}
			seen[fmt.Sprint(after)] = true
		}
		rows, more = append(rows, len(page)), goesOn
	}
	return rows
}

// A page of what people set up ends where much had to be read for it, and the next
// continues there without a gap or a repeat.
func TestH14SetUpPagesEndAtBytes(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const many, limit = 40, 30
		long := strings.Repeat("x", 1<<20)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			must(t, tx.PutPrincipal(ctx, scheduler, s.Now()))
			for i := range many {
				name := fmt.Sprintf("part %02d", i)
				agent, one := newAgent(s, fmt.Sprint("f", i/10), name), aSchedule(name, "same name")
				agent.Prompt, one.Prompt = long, long
				automation := lineshaft.Automation{UID: agent.UID, FactoryUID: agent.FactoryUID, Name: name, Prompt: long, CreatedAt: s.Now(), UpdatedAt: s.Now()}
				must(t, errors.Join(tx.PutAgent(ctx, agent), tx.PutAutomation(ctx, automation),
					tx.PutTimer(ctx, store.Timer{Owner: store.ScheduleTimer(one.ID), Timing: one.Timing}), tx.PutSchedule(ctx, one)))
			}
			return nil
		})
		ctx := t.Context()
		for name, rows := range map[string][]int{
			"agents": pageRows(t, func(after store.PartKey) ([]lineshaft.Agent, bool, error) {
				return s.PageAgents(ctx, nil, after, limit)
			},
				func(a *lineshaft.Agent) (store.PartKey, string, bool) {
					return store.PartKey{Factory: a.FactoryUID, Name: a.Name}, a.Prompt, a.Truncated
				}),
			"automations": pageRows(t, func(after store.PartKey) ([]lineshaft.Automation, bool, error) {
				return s.PageAutomations(ctx, nil, after, limit)
			},
				func(a *lineshaft.Automation) (store.PartKey, string, bool) {
					return store.PartKey{Factory: a.FactoryUID, Name: a.Name}, a.Prompt, a.Truncated
				}),
			"schedules": pageRows(t, func(after store.ScheduleKey) ([]lineshaft.Schedule, bool, error) {
				return s.PageSchedules(ctx, nil, after, limit)
			},
				func(one *lineshaft.Schedule) (store.ScheduleKey, string, bool) {
					return store.ScheduleKey{Name: one.Name, ID: one.ID}, one.Prompt, one.Truncated
				}),
		} {
			if fmt.Sprint(rows) != "[15 15 10]" {
				t.Errorf("pages of %s have %v rows", name, rows)
			}
		}
		found, more, err := s.PageAgents(ctx, []string{"f1", "f3"}, store.PartKey{Factory: "f1", Name: "part 18"}, 2)
		if err != nil || !more || len(found) != 2 || found[0].Name != "part 19" || found[1].Name != "part 30" {
			t.Errorf("of two factories: %d, %v, %v", len(found), more, err)
		}
	})
}
