package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// onRun runs work on a run's locked head and saves it.
func onRun(t *testing.T, s *store.Store, runID string, work func(ctx context.Context, tx *store.Tx, h *store.RunHead) error) {
	t.Helper()
	must(t, onRunErr(t.Context(), s, runID, work))
}

func onRunErr(ctx context.Context, s *store.Store, runID string, work func(ctx context.Context, tx *store.Tx, h *store.RunHead) error) error {
	return s.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		h, err := tx.LockRun(ctx, runID)
		if err != nil {
			return err
		}
		if err := work(ctx, tx, h); err != nil {
			return err
		}
		return tx.SaveRun(ctx, h)
	})
}

func follow(t *testing.T, s *store.Store, runID, message string) string {
	t.Helper()
	f := store.Followup{RunID: runID, Message: message}
	f.ID, _ = s.NewID()
	onRun(t, s, runID, func(ctx context.Context, tx *store.Tx, h *store.RunHead) error {
		return tx.InsertFollowup(ctx, h, f, "u1", time.Now())
	})
	return f.ID
}

// take hands out the next message; "" if none waits.
func take(t *testing.T, s *store.Store, runID string) string {
	t.Helper()
	var message string
	onRun(t, s, runID, func(ctx context.Context, tx *store.Tx, h *store.RunHead) error {
		message = ""
		f, err := tx.TakeFollowup(ctx, h)
		if f != nil {
			message = f.Message
			if current, err := tx.TakenFollowup(ctx, runID); err != nil || current == nil || current.ID != f.ID || current.Message != f.Message {
				t.Errorf("taken is %v, %v", current, err)
			}
		}
		return err
	})
	return message
}

func wantUnread(t *testing.T, s *store.Store, runID string, unread int, taken bool) {
	t.Helper()
	if h := head(t, s, runID); h.Unread != unread || h.Taken != taken {
		t.Errorf("unread %d, taken %v; want %d, %v", h.Unread, h.Taken, unread, taken)
	}
	states := map[string]int{}
	for _, row := range texts(t, s.DB(), "SELECT state FROM followups WHERE run_id = '"+runID+"'") {
		states[row[0]]++
	}
	if states["pending"] != unread || (states["taken"] > 0) != taken {
		t.Errorf("the head says %d unread, taken %v; the rows are %v", unread, taken, states)
	}
}

// Follow-ups are handed out in order, and those of a lost execution again.
func TestR6FollowupsInOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run, other := insertRun(t, s, nil), insertRun(t, s, nil)
		if got := take(t, s, run); got != "" {
			t.Fatalf("took %q from nothing", got)
		}
		for _, message := range []string{"one", "two", "three"} {
			follow(t, s, run, message)
		}
		follow(t, s, other, "other")
		wantUnread(t, s, run, 3, false)
		if got := take(t, s, run); got != "one" {
			t.Errorf("took %q", got)
		}
		wantUnread(t, s, run, 2, true)
		onRun(t, s, run, func(ctx context.Context, tx *store.Tx, h *store.RunHead) error { return tx.ReturnFollowups(ctx, h) })
		wantUnread(t, s, run, 3, false)
		if got := take(t, s, run); got != "one" {
			t.Errorf("after a lost execution took %q", got)
		}
		onRun(t, s, run, func(ctx context.Context, tx *store.Tx, h *store.RunHead) error { return tx.FinishFollowups(ctx, h) })
		wantUnread(t, s, run, 2, false)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if f, err := tx.TakenFollowup(ctx, run); f != nil || err != nil {
				t.Errorf("taken is %v, %v", f, err)
			}
			return nil
		})
		if got := take(t, s, run); got != "two" {
			t.Errorf("took %q", got)
		}
		onRun(t, s, run, func(ctx context.Context, tx *store.Tx, h *store.RunHead) error { return tx.DropFollowups(ctx, h) })
		wantUnread(t, s, run, 0, false)
		wantUnread(t, s, other, 1, false)
	})
}

// Writers and takers at once lose nothing and give nothing out twice.
func TestR6FollowupsAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := insertRun(t, s, nil)
		const writers, each = 4, 5
		taken := make(chan string, writers*each)
		must(t, inParallel(writers+2, func(i int) error {
			for n := 0; i < writers && n < each; n++ {
				f := store.Followup{Message: fmt.Sprintf("%d/%d", i, n)}
				f.ID, _ = s.NewID()
				if err := onRunErr(t.Context(), s, run, func(ctx context.Context, tx *store.Tx, h *store.RunHead) error {
					return tx.InsertFollowup(ctx, h, f, "u1", time.Now())
				}); err != nil {
					return err
				}
			}
			for i >= writers && len(taken) < writers*each {
				var message string
				if err := onRunErr(t.Context(), s, run, func(ctx context.Context, tx *store.Tx, h *store.RunHead) error {
					message = ""
					f, err := tx.TakeFollowup(ctx, h)
					if err != nil || f == nil {
						return err
					}
					message = f.Message
					return tx.FinishFollowups(ctx, h)
				}); err != nil {
					return err
				}
				if message != "" {
					taken <- message
				}
			}
			return nil
		}))
		close(taken)
		seen := map[string]bool{}
		for message := range taken {
			if seen[message] {
				t.Errorf("%s was given out twice", message)
			}
			seen[message] = true
		}
		if len(seen) != writers*each {
			t.Errorf("%d of %d messages", len(seen), writers*each)
		}
		wantUnread(t, s, run, 0, false)
	})
}

func TestAttachments(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		run := insertRun(t, s, nil)
		put := func(name string) lineshaft.Attachment {
			blob, size, err := s.PutBlob(t.Context(), strings.NewReader("data of "+name), 1000)
			must(t, err)
			a := lineshaft.Attachment{FileName: name, MimeType: "text/plain", Size: size, BlobID: blob}
			a.ID, _ = s.NewID()
			return a
		}
		one, two, three := put("one"), put("two"), put("three")
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if err := tx.InsertAttachments(ctx, run, "", []lineshaft.Attachment{one, two}); err != nil {
				return err
			}
			return tx.InsertAttachments(ctx, run, "f1", []lineshaft.Attachment{three})
		})
		for followup, want := range map[string][]lineshaft.Attachment{"": {one, two}, "f1": {three}, "f2": nil} {
			if got, err := s.ListAttachments(t.Context(), run, followup); err != nil || !slices.Equal(got, want) {
				t.Errorf("attachments of %q: %v, %v", followup, got, err)
			}
		}
		if all, err := s.ListRunAttachments(t.Context(), run); err != nil || !slices.Equal(all, []lineshaft.Attachment{one, two, three}) {
			t.Errorf("all attachments: %v, %v", all, err)
		}
		if owner, _, err := s.BlobRun(t.Context(), one.BlobID); err != nil || owner != run {
			t.Errorf("the blob belongs to %q, %v", owner, err)
		}
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return tx.InsertAttachments(ctx, run, "", []lineshaft.Attachment{{ID: "x", BlobID: "missing"}})
		})
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}
