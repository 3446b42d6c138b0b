package store_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// longLog gives a run so many notices, of which every tenth is about its environment.
const longLog = `WITH RECURSIVE n (i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < $2)
	INSERT INTO events (run_id, sequence, id, execution_id, type, time, data, txid)
	SELECT $1, i, 'n' || CAST(i AS TEXT), '', 'notice', 1, CASE WHEN i % 20 = 0 THEN '{"text":"x","environment":{"step":"warm"}}'
		WHEN i % 20 = 10 THEN '{"text":"x","environment":{"step":"clone"}}' ELSE '{"text":"\"environment\":{\"step\":\"warm\""}' END, 0 FROM n`

// H-14, X-14: the steps of an environment are looked for in a stretch of a log, however long the log is.
func TestH14StepsOfALongLog(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		fillRuns(t, s, 0, planSize(s))
		fillRest(t, s)
		run := bulkID(1)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.Exec(ctx, longLog, run, 20_000); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "UPDATE runs SET last_sequence = 20000 WHERE id = $1", run)
			return err
		})
		analyze(t, s)
		reads := s.Record()
		look := store.Look{Events: 25_000, Bytes: 8 << 20, Limit: 1000, Size: 1 << 20}
		find := func(after, until int64) ([]lineshaft.Event, error) {
			m := store.EventMatch{Types: []lineshaft.EventType{lineshaft.EventNotice}, Words: []string{"warm", "clone"}, Until: until}
			found, err := s.FindEvents(t.Context(), run, after, m, look)
			return found.Events, err
		}
		for name, tc := range map[string]struct {
			read         func() ([]lineshaft.Event, error)
			after, until int64
			found, most  int
		}{
			"starts": {func() ([]lineshaft.Event, error) {
				return s.ListEnvironmentSteps(t.Context(), []string{run}, "warm", "kept")
			}, 0, 1000, 50, 1000},
			"a set-up":  {func() ([]lineshaft.Event, error) { return find(5000, 5100) }, 5000, 5100, 100, 100},
			"the end":   {func() ([]lineshaft.Event, error) { return find(19_990, 90_000) }, 19_990, 20_000, 10, 10},
			"beginning": {func() ([]lineshaft.Event, error) { return find(0, 5) }, 0, 5, 4, 5},
		} {
			events, err := tc.read()
			must(t, err)
			if len(events) != tc.found || events[0].Sequence <= tc.after || events[len(events)-1].Sequence > tc.until {
				t.Errorf("%s: %d events, %+v to %+v", name, len(events), events[0], events[len(events)-1])
			}
			for _, st := range reads.Take() {
				checkReads(t, s, st, tc.most, false)
				if s.Engine() != "sqlite" || !strings.Contains(st.Text, "type") {
					continue // there the rows were counted
				}
				plan := fmt.Sprint(explainSQLite(t, s.DB(), st))
				if !strings.Contains(plan, "(run_id=? AND sequence<?)") && !strings.Contains(plan, "(run_id=? AND sequence>? AND sequence<?)") {
					t.Errorf("%s\n%s", st.Text, plan)
				}
			}
		}
	})
}
