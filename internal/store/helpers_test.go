package store_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// must ends the test with the error and what caused it, which the error itself
// keeps to itself.
func must(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	cause := err
	for next := errors.Unwrap(cause); next != nil; next = errors.Unwrap(cause) {
		cause = next
	}
	t.Fatalf("%v (%v)", err, cause)
}

// write runs work as a transaction that must succeed.
func write(t *testing.T, s *store.Store, work func(ctx context.Context, tx *store.Tx) error) {
	t.Helper()
	must(t, s.Write(t.Context(), work))
}

// wantCode checks the code of an error.
func wantCode(t *testing.T, err error, code lineshaft.Code) {
	t.Helper()
	if err == nil || lineshaft.CodeOf(err) != code {
		t.Fatalf("error is %v, want code %s", err, code)
	}
}

// newRun is a queued run for the server's own worker, with an id and times of now.
func newRun(s *store.Store) *store.NewRun {
	id, now := s.NewID()
	return &store.NewRun{
		Head: store.RunHead{RunLife: lineshaft.RunLife{
			ID: id, State: lineshaft.Queued, WorkerHost: lineshaft.HostedWorker, CreatorUID: "u1",
			UpdatedAt: now, QueuedAt: now, QueueDeadline: now.Add(time.Hour), MaxAttempts: 1,
		}},
		Body:  store.RunBody{Prompt: "do it", Submitted: "do it"},
		Title: "a run", Source: lineshaft.SourceAPI, ConversationID: "c-" + id, SessionID: "s-" + id, RootRunID: id, CreatedAt: now,
	}
}

// stateEvent is the draft of a move.
func stateEvent(to lineshaft.RunState) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventState, time.Unix(1_700_000_000, 0), lineshaft.StateData{To: to})
}

// insertRun stores a run after change was applied to it.
func insertRun(t *testing.T, s *store.Store, change func(*store.NewRun)) string {
	t.Helper()
	n := newRun(s)
	if change != nil {
		change(n)
	}
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		return tx.InsertRun(ctx, n, []lineshaft.Draft{stateEvent(n.Head.State)})
	})
	return n.Head.ID
}

// inParallel calls fn n times at once and returns what went wrong.
func inParallel(n int, fn func(i int) error) error {
	errs := make(chan error, n)
	for i := range n {
		go func() { errs <- fn(i) }()
	}
	var all error
	for range n {
		all = errors.Join(all, <-errs)
	}
	return all
}

// eventually waits for something that other users of the PostgreSQL server can
// hold up, such as the end of all transactions that had begun before.
func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	deadline := time.NewTimer(time.Minute)
	defer deadline.Stop()
	again := time.NewTicker(5 * time.Millisecond)
	defer again.Stop()
	for !done() {
		select {
		case <-deadline.C:
			t.Fatalf("%s did not happen in time", what)
		case <-again.C:
		}
	}
}
