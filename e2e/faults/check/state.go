package check

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/e2e/faults/history"
)

// State is what the server says at the end, over its API.
type State struct {
	// Standstill is the longest time, by the reader's clock, in which no run ended though
	// some had not: a queue that has grown may be slow, but it moves.
	Standstill time.Duration `json:"standstill"`
	// Looked is when the callbacks were read; what the receiver got later is not among them.
	Looked     time.Time                     `json:"looked"`
	Runs       []Run                         `json:"runs"`
	Deliveries []client.Delivery             `json:"deliveries"`
	Audit      []client.AuditEntry           `json:"audit"`
	Callbacks  []client.NotificationDelivery `json:"callbacks"`
	Revisions  []client.DefinitionRevision   `json:"revisions"`
}

// Run is a run with its whole log.
type Run struct {
	client.Run `json:"run"`
	Events     []client.Event `json:"events"`
}

// Read reads the state of a server, after it has waited until every run has ended and no
// callback waits any more. It waits as long as something ends within the bound; Check reports
// what has not ended by then.
func Read(ctx context.Context, c *client.Client, entries []history.Entry, bound time.Duration) (*State, error) {
	places := placesOf(entries)
	s := &State{}
	if err := s.settle(ctx, c, places, bound); err != nil {
		return nil, err
	}
	var err error
	for i := range s.Runs {
		if s.Runs[i].Events, err = collect(c.Runs.AllEvents(ctx, s.Runs[i].RunID, client.EventQuery{})); err != nil {
			return nil, fmt.Errorf("read events of run %s: %w", s.Runs[i].RunID, err)
		}
	}
	if s.Audit, err = collect(c.AllAudit(ctx, client.AuditQuery{Limit: 500})); err != nil {
		return nil, fmt.Errorf("read audit: %w", err)
	}
	if s.Deliveries, err = collect(c.Webhooks.AllDeliveries(ctx, places["factory"], places["webhook"],
		client.DeliveryQuery{Limit: 500})); err != nil {
		return nil, fmt.Errorf("read deliveries: %w", err)
	}
	if s.Revisions, err = collect(c.Definitions.AllRevisions(ctx, places["definition"], client.RevisionQuery{Limit: 500})); err != nil {
		return nil, fmt.Errorf("read revisions: %w", err)
	}
	return s, nil
}

// settle reads runs and callbacks again until they have ended, or until nothing moves.
func (s *State) settle(ctx context.Context, c *client.Client, places map[string]string, bound time.Duration) error {
	moved, before := time.Now(), -1
	for tick := time.NewTicker(time.Second); ; {
		runs, err := collect(c.Runs.All(ctx, client.RunQuery{SortBy: "created_at", Limit: 500}))
		if err != nil {
			return fmt.Errorf("read runs: %w", err)
		}
		s.Runs = nil
		live := 0
		for _, run := range runs {
			s.Runs = append(s.Runs, Run{Run: run})
			if !run.State.Terminal() {
				live++
			}
		}
		s.Looked = time.Now()
		if live > 0 {
			s.Standstill = max(s.Standstill, s.Looked.Sub(moved))
		}
		if s.Callbacks, err = collect(c.Notifications.AllDeliveries(ctx, places["endpoint"],
			client.NotificationDeliveryQuery{Limit: 500})); err != nil {
			return fmt.Errorf("read callbacks: %w", err)
		}
		for _, d := range s.Callbacks {
			if d.Status == "pending" {
				live++
			}
		}
		if live < before || before < 0 {
			moved = time.Now()
		}
		if before = live; live == 0 || time.Since(moved) > bound {
			tick.Stop()
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(errors.New("wait for the runs to end"), ctx.Err())
		case <-tick.C:
		}
	}
}

func collect[T any](pages func(yield func(T, error) bool)) (all []T, err error) {
	for item, err := range pages {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}

// placesOf is what the workload made before it began, by name.
func placesOf(entries []history.Entry) map[string]string {
	places := map[string]string{}
	for _, e := range entries {
		if e.Kind == history.Call && e.Op == history.Setup && e.OK() {
			places[e.Key] = e.Answer["id"]
		}
	}
	return places
}
