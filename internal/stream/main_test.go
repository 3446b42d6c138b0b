package stream

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// No test leaves a goroutine behind: followers, hubs and listeners end with their owner.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// bench is one node: a store whose wake-ups go to a hub, and its streams.
type bench struct {
	*testing.T
	store   *store.Store
	hub     *Hub
	streams *Streams
	// encoded counts the events that were encoded: each read of an event does it once.
	encoded atomic.Int64
}

func each(t *testing.T, fn func(b *bench)) {
	t.Helper()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		hub := NewHub()
		fn(open(t, database, hub, hub.Wake))
	})
}

func open(t *testing.T, database string, hub *Hub, wake func([]string)) *bench {
	t.Helper()
	s, err := store.Open(t.Context(), store.Options{Database: database, Wake: wake, MaxConns: 8})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	b := &bench{T: t, store: s, hub: hub}
	b.streams = New(s, hub, func(e lineshaft.Event) []byte {
		b.encoded.Add(1)
		return fmt.Appendf(nil, "frame %d", e.Sequence)
	})
	return b
}

func (b *bench) must(err error) {
	b.Helper()
	if err != nil {
		b.Fatalf("%v (%v)", err, errors.Unwrap(err))
	}
}

func state(to lineshaft.RunState) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventState, time.Unix(1, 0), lineshaft.StateData{To: to})
}

func output(text string) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventOutput, time.Unix(1, 0), lineshaft.OutputData{Text: text})
}

// run inserts a run that is in progress; its log has one event.
func (b *bench) run() string {
	b.Helper()
	id, now := b.store.NewID()
	n := &store.NewRun{
		Head: store.RunHead{RunLife: lineshaft.RunLife{ID: id, State: lineshaft.InProgress, WorkerHost: lineshaft.HostedWorker, UpdatedAt: now}},
		Body: store.RunBody{Prompt: "x"}, Title: "x", Source: lineshaft.SourceAPI, RootRunID: id, CreatedAt: now,
	}
	b.must(b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
		tx.Wake(StatesTopic)
		return tx.InsertRun(ctx, n, []lineshaft.Draft{state(lineshaft.InProgress)})
	}))
	return id
}

// append adds events to a run's log.
func (b *bench) append(runID string, drafts ...lineshaft.Draft) error {
	return b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.LockRun(ctx, runID)
		if err != nil {
			return err
		}
		tx.Wake(RunTopic(runID))
		return tx.SaveRun(ctx, h, drafts...)
	})
}

// move brings a run into another state, with the event of it.
func (b *bench) move(runID string, to lineshaft.RunState) error {
	return b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.LockRun(ctx, runID)
		if err != nil {
			return err
		}
		if _, err := h.Move(to, lineshaft.StatusMessage{}, "", b.store.Now()); err != nil {
			return err
		}
		tx.Wake(RunTopic(runID))
		tx.Wake(StatesTopic)
		return tx.SaveRun(ctx, h, state(to))
	})
}

func (b *bench) follow(runID string, after int64) *Follower {
	b.Helper()
	f, err := b.streams.Follow(b.Context(), runID, after)
	b.must(err)
	b.Cleanup(f.Close)
	return f
}

// read follows until count events came, or to the end of the log when count is
// negative, and checks that they come in order after a sequence.
func (b *bench) read(f *Follower, after int64, count int) (int64, error) {
	for got := 0; count < 0 || got < count; {
		items, err := f.Next(b.Context())
		if errors.Is(err, io.EOF) && count < 0 {
			return after, nil
		}
		if err != nil {
			return after, err
		}
		var joined []byte
		for _, item := range items {
			joined = append(joined, item.Frame...)
		}
		if got := Frames(items); !bytes.Equal(got, joined) {
			return after, fmt.Errorf("joined frames %q, want %q", got, joined)
		}
		for _, item := range items {
			if item.Event.Sequence != after+1 {
				return after, fmt.Errorf("event %d after %d", item.Event.Sequence, after)
			}
			if want := fmt.Sprintf("frame %d", item.Event.Sequence); string(item.Frame) != want {
				return after, fmt.Errorf("frame %q, want %q", item.Frame, want)
			}
			after++
			got++
		}
	}
	return after, nil
}

func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
