package stream

import (
	"context"
	"encoding/base64"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// States follows the state changes of all runs, in an order in which nothing that
// commits late is passed over.
type States struct {
	store *store.Store
	sub   *Subscription
	after store.StatePosition
	// old are changes behind after that had happened when following began.
	old map[store.StatePosition]bool
	// Match says which changes the follower may and wants to see.
	match func(ctx context.Context, e lineshaft.Event) (bool, error)
}

// FollowStates starts after a cursor, or with the next change when it is empty. match
// picks the changes; Close must be called.
func (s *Streams) FollowStates(ctx context.Context, cursor string, match func(context.Context, lineshaft.Event) (bool, error)) (*States, error) {
	sub := s.hub.Subscribe(StatesTopic)
	after, err := parsePosition(cursor)
	f := &States{store: s.store, sub: sub, after: after, match: match, old: map[store.StatePosition]bool{}}
	if err == nil && cursor == "" {
		err = f.fromNow(ctx)
	}
	if err != nil {
		sub.Close()
		return nil, err
	}
	return f, nil
}

// fromNow starts after everything that has happened. The place to resume from is where
// all is settled; visible changes beyond it are left out one by one.
func (f *States) fromNow(ctx context.Context) (err error) {
	if f.after, err = f.store.StateEnd(ctx); err != nil {
		return err
	}
	unsettled, err := f.store.ListUnsettled(ctx, f.after)
	for _, p := range unsettled {
		f.old[p] = true
	}
	return err
}

// Cursor is where a later follower continues, so that it misses nothing from now on; it
// may see again what has just happened.
func (f *States) Cursor() string { return formatPosition(f.after) }

// Close stops following.
func (f *States) Close() { f.sub.Close() }

// Next returns the next changes that match, waiting for them. After ctx's error it
// may be called again.
func (f *States) Next(ctx context.Context) ([]StateChange, error) {
	poll := time.NewTicker(slowPoll)
	defer poll.Stop()
	for {
		found, read, err := f.fetch(ctx)
		if err != nil || len(found) > 0 {
			return found, err
		}
		if read == readBatch {
			continue
		}
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-f.sub.C:
		case <-poll.C:
		}
	}
}

func (f *States) fetch(ctx context.Context) (found []StateChange, read int, err error) {
	changes, err := f.store.ListStateChanges(ctx, f.after, readBatch)
	if err != nil {
		return nil, 0, err
	}
	for _, change := range changes {
		if f.old[change.Position] {
			continue
		}
		ok, err := f.match(ctx, change.Event)
		if err != nil {
			return nil, 0, err
		}
		if ok {
			found = append(found, StateChange{Cursor: formatPosition(change.Position), Event: change.Event})
		}
	}
	for _, change := range changes { // only now: a match that failed is tried again
		f.after = change.Position
		delete(f.old, change.Position)
	}
	return found, len(changes), nil
}

func formatPosition(p store.StatePosition) string {
	return base64.RawURLEncoding.EncodeToString(fmt.Appendf(nil, "1:%d:%s:%d", p.Txid, p.RunID, p.Sequence))
}

func parsePosition(cursor string) (p store.StatePosition, err error) {
	if cursor == "" {
		return p, nil
	}
	bad := lineshaft.Invalid("cursor", "this is not a cursor of the state stream; use the id of an event you got from it, or none")
	raw, err := base64.RawURLEncoding.DecodeString(cursor)
	if err != nil {
		return p, bad
	}
	parts := strings.Split(string(raw), ":")
	if len(parts) != 4 || parts[0] != "1" {
		return p, bad
	}
	txid, err1 := strconv.ParseInt(parts[1], 10, 64)
	sequence, err2 := strconv.ParseInt(parts[3], 10, 64)
	if err1 != nil || err2 != nil {
		return p, bad
	}
	return store.StatePosition{Txid: txid, RunID: parts[2], Sequence: sequence}, nil
}
