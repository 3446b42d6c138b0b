package store

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// liteBatch is a SQLite store whose writer can be made to take several callers as
// one batch.
type liteBatch struct {
	*Store
	t    *testing.T
	g    *groupCommit
	wake []string
}

func openBatch(t *testing.T) *liteBatch {
	t.Helper()
	b := &liteBatch{t: t}
	s, err := Open(t.Context(), Options{
		Database: filepath.Join(t.TempDir(), "test.db"),
		Wake:     func(topics []string) { b.wake = append(b.wake, topics...) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = s.Close() })
	lite, ok := s.w.(liteWriter)
	if !ok {
		t.Fatalf("writer is %T", s.w)
	}
	b.Store, b.g = s, lite.groupCommit
	b.g.batchTime = time.Hour
	return b
}

// together runs the works as one batch, in their order, and returns their errors.
func (b *liteBatch) together(works ...func(context.Context, *Tx) error) []error {
	b.t.Helper()
	units := make([]*unit, len(works))
	for i, work := range works {
		units[i] = &unit{ctx: b.t.Context(), work: work, done: make(chan error, 1)}
	}
	return b.units(units...)
}

// units is together for callers with contexts of their own. The first one's work
// waits until all others are in the queue, so they are taken with it.
func (b *liteBatch) units(units ...*unit) []error {
	b.t.Helper()
	queued := make(chan struct{})
	first := units[0].work
	units[0].work = func(ctx context.Context, tx *Tx) error {
		<-queued
		return first(ctx, tx)
	}
	b.g.queue <- units[0]
	for _, u := range units[1:] {
		b.g.queue <- u
	}
	close(queued)
	errs := make([]error, len(units))
	for i, u := range units {
		errs[i] = <-u.done
	}
	return errs
}

// put is work that leaves a row and a state event under its name.
func put(name string) func(context.Context, *Tx) error {
	return func(ctx context.Context, tx *Tx) error {
		tx.Wake(name)
		if _, err := tx.EnsureSetting(ctx, name, "here"); err != nil {
			return err
		}
		draft := lineshaft.NewDraft(lineshaft.EventState, time.Unix(1, 0), lineshaft.StateData{})
		return tx.insertEvents(ctx, []runEvents{{runID: name, first: 1, drafts: []lineshaft.Draft{draft}}})
	}
}

// names reads which rows of put exist.
func (b *liteBatch) names() []string {
	b.t.Helper()
	names, err := b.texts(b.t.Context(), "SELECT name FROM settings ORDER BY name")
	if err != nil {
		b.t.Fatal(err)
	}
	return names
}

func (b *liteBatch) want(names ...string) {
	b.t.Helper()
	if got := b.names(); !slices.Equal(got, names) {
		b.t.Fatalf("rows %v, want %v", got, names)
	}
}

func TestD1CallersShareOneTransaction(t *testing.T) {
	t.Parallel()
	b := openBatch(t)
	var works []func(context.Context, *Tx) error
	for i := range 50 {
		works = append(works, put(fmt.Sprintf("row%02d", i)))
	}
	if err := errors.Join(b.together(works...)...); err != nil {
		t.Fatal(err)
	}
	ids, err := b.texts(t.Context(), "SELECT DISTINCT CAST(txid AS TEXT) FROM events")
	if err != nil || len(ids) != 1 {
		t.Fatalf("transactions %v, %v; want one", ids, err)
	}
	if n := len(b.names()); n != 50 {
		t.Fatalf("%d rows, want 50", n)
	}
	if len(b.wake) != 50 {
		t.Fatalf("%d wake-ups, want 50", len(b.wake))
	}
	if err := errors.Join(b.together(put("later"))...); err != nil {
		t.Fatal(err)
	}
	ids, err = b.texts(t.Context(), "SELECT DISTINCT CAST(txid AS TEXT) FROM events")
	if err != nil || len(ids) != 2 {
		t.Fatalf("transactions %v, %v; want two", ids, err)
	}
}

// The hook runs between the first caller of a batch and the others.
func TestD1BatchTakesWhoWaits(t *testing.T) {
	t.Parallel()
	b := openBatch(t)
	late := &unit{ctx: t.Context(), work: put("late"), done: make(chan error, 1)}
	var once sync.Once
	b.g.between = func() { once.Do(func() { b.g.queue <- late }) }
	if err := b.Write(t.Context(), put("early")); err != nil {
		t.Fatal(err)
	}
	if err := <-late.done; err != nil {
		t.Fatal(err)
	}
	ids, err := b.texts(t.Context(), "SELECT DISTINCT CAST(txid AS TEXT) FROM events")
	if err != nil || len(ids) != 1 {
		t.Fatalf("transactions %v, %v; want one", ids, err)
	}
}

func TestD1FailingCallerLosesOnlyItsRows(t *testing.T) {
	t.Parallel()
	refused := lineshaft.Conflict("no")
	for name, fail := range map[string]func(context.Context, *Tx) error{
		"error": func(ctx context.Context, tx *Tx) error { return errors.Join(put("bad")(ctx, tx), refused) },
		"panic": func(ctx context.Context, tx *Tx) error {
			if err := put("bad")(ctx, tx); err != nil {
				return err
			}
			panic("boom")
		},
		"panic while reading": func(ctx context.Context, tx *Tx) error {
			if err := put("bad")(ctx, tx); err != nil {
				return err
			}
			return tx.each(ctx, "SELECT name FROM settings", nil, func(func(...any) error) error { panic("boom") })
		},
		"bad statement": func(ctx context.Context, tx *Tx) error {
			if err := put("bad")(ctx, tx); err != nil {
				return err
			}
			_, err := tx.exec(ctx, "INSERT INTO nowhere VALUES (1)")
			return err
		},
		"constraint": func(ctx context.Context, tx *Tx) error {
			if err := put("bad")(ctx, tx); err != nil {
				return err
			}
			_, err := tx.exec(ctx, "INSERT INTO settings (name, value) VALUES ('one', '')")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBatch(t)
			errs := b.together(put("one"), fail, put("two"), fail, put("three"))
			if errs[0] != nil || errs[2] != nil || errs[4] != nil {
				t.Fatalf("others failed: %v", errs)
			}
			if errs[1] == nil || errs[3] == nil {
				t.Fatalf("no error: %v", errs)
			}
			if strings.HasPrefix(name, "panic") && lineshaft.CodeOf(errs[1]) != lineshaft.CodeInternal {
				t.Fatalf("a panic gave %v", errs[1])
			}
			b.want("one", "three", "two")
			if !slices.Equal(b.wake, []string{"one", "two", "three"}) {
				t.Fatalf("woke %v", b.wake)
			}
		})
	}
}

// A context that ends in the middle of a batch takes nothing from anyone: the caller's
// own work was begun and is finished.
func TestD1ContextEndsInTheMiddle(t *testing.T) {
	t.Parallel()
	b := openBatch(t)
	ctx, cancel := context.WithCancel(t.Context())
	quits := &unit{ctx: ctx, done: make(chan error, 1), work: func(ctx context.Context, tx *Tx) error {
		cancel()
		if ctx.Err() != nil {
			t.Error("the work's context ended with its caller's")
		}
		return put("quits")(ctx, tx)
	}}
	gone, goneCancel := context.WithCancel(t.Context())
	goneCancel()
	never := &unit{ctx: gone, done: make(chan error, 1), work: func(context.Context, *Tx) error {
		t.Error("work of a caller that had gone was begun")
		return nil
	}}
	errs := b.units(
		&unit{ctx: t.Context(), done: make(chan error, 1), work: put("one")}, quits, never,
		&unit{ctx: t.Context(), done: make(chan error, 1), work: put("two")})
	if errs[0] != nil || errs[1] != nil || errs[3] != nil || !errors.Is(errs[2], context.Canceled) {
		t.Fatalf("errors %v", errs)
	}
	b.want("one", "quits", "two")
}

// Work that has begun is waited for; work that has not is never done once its
// caller has gone.
func TestD1ContextEndsBeforeOrAfterTheBeginning(t *testing.T) {
	t.Parallel()
	b := openBatch(t)
	ctx, cancel := context.WithCancel(t.Context())
	begun, finish := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- b.Write(ctx, func(ctx context.Context, tx *Tx) error {
			close(begun)
			<-finish
			return put("begun")(ctx, tx)
		})
	}()
	<-begun
	cancel()
	err := b.Write(ctx, func(context.Context, *Tx) error {
		t.Error("work of a caller that had gone was done")
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("a caller that had gone got %v", err)
	}
	close(finish)
	if err := <-first; err != nil {
		t.Errorf("the work was done, but its caller got %v", err)
	}
	if err := b.Write(t.Context(), put("next")); err != nil {
		t.Fatal(err)
	}
	b.want("begun", "next")
}

func TestD2StopWhileCallersWait(t *testing.T) {
	t.Parallel()
	b := openBatch(t)
	begun, finish := make(chan struct{}), make(chan struct{})
	first := make(chan error, 1)
	go func() {
		first <- b.Write(t.Context(), func(ctx context.Context, tx *Tx) error {
			close(begun)
			<-finish
			return put("first")(ctx, tx)
		})
	}()
	<-begun
	waiting := &unit{ctx: t.Context(), work: put("waiting"), done: make(chan error, 1)}
	b.g.queue <- waiting
	closed := make(chan error, 1)
	go func() { closed <- b.Close() }()
	<-b.g.quit
	late := make(chan error, 1)
	go func() { late <- b.Write(t.Context(), put("late")) }()
	close(finish)
	if err := errors.Join(<-first, <-waiting.done, <-closed); err != nil {
		t.Fatal(err)
	}
	if err := <-late; err != nil && lineshaft.CodeOf(err) != lineshaft.CodeUnavailable {
		t.Fatalf("late caller got %v", err)
	}
	if err := b.Write(t.Context(), put("too late")); lineshaft.CodeOf(err) != lineshaft.CodeUnavailable {
		t.Fatalf("a closed store answered %v", err)
	}
}

// full lets the database grow by some pages only, or without bound again.
func (b *liteBatch) full(pages int) {
	b.t.Helper()
	if err := b.Write(b.t.Context(), func(ctx context.Context, tx *Tx) error {
		var count int
		if err := tx.one(ctx, "PRAGMA page_count", nil, &count); err != nil {
			return err
		}
		_, err := tx.exec(ctx, fmt.Sprintf("PRAGMA max_page_count = %d", count+pages))
		return err
	}); err != nil {
		b.t.Fatal(err)
	}
}

// big is work that needs some hundred pages.
func big(name string) func(context.Context, *Tx) error {
	return func(ctx context.Context, tx *Tx) error {
		if err := put(name)(ctx, tx); err != nil {
			return err
		}
		for number := range 4 {
			if _, err := tx.exec(ctx, "INSERT INTO blob_chunks (blob_id, number, data) VALUES ($1, $2, $3)", name, number, make([]byte, chunkBytes)); err != nil {
				return err
			}
		}
		return nil
	}
}

// A disk that fills in the middle of a batch: work that got nil is there, work that got
// an error is not and can be tried again; with space the store continues.
func TestD2DiskFills(t *testing.T) {
	t.Parallel()
	b := openBatch(t)
	b.full(20)
	names := []string{"a", "big1", "b", "c", "big2", "d"}
	errs := b.together(put("a"), big("big1"), put("b"), put("c"), big("big2"), put("d"))
	there := b.names()
	for i, name := range names {
		if slices.Contains(there, name) != (errs[i] == nil) {
			t.Errorf("%s: error %v, but rows are %v", name, errs[i], there)
		}
		if errs[i] != nil && lineshaft.CodeOf(errs[i]) != lineshaft.CodeUnavailable {
			t.Errorf("%s: error %v, want unavailable", name, errs[i])
		}
	}
	if errs[1] == nil || errs[4] == nil {
		t.Fatalf("the disk did not fill: %v", errs)
	}
	if errs[0] != nil || errs[2] != nil || errs[3] != nil || errs[5] != nil {
		t.Errorf("small writes failed with the big ones: %v", errs)
	}
	if slices.ContainsFunc(b.wake, func(topic string) bool { return strings.HasPrefix(topic, "big") }) {
		t.Errorf("woke %v", b.wake)
	}
	b.full(1 << 20)
	if err := errors.Join(b.together(big("big1"), put("e"))...); err != nil {
		t.Fatalf("with space again: %v", err)
	}
	b.want("a", "b", "big1", "c", "d", "e")
}

// Work that continues after a statement failed leaves nothing: its transaction may be
// gone, and each further statement would be one of its own.
func TestD2NothingAfterAFailedStatement(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]error{"fails": errors.New("given up"), "hides it": nil} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := openBatch(t)
			b.full(20)
			errs := b.together(put("a"), func(ctx context.Context, tx *Tx) error {
				if err := big("big")(ctx, tx); err == nil {
					t.Error("the disk did not fill")
				}
				if err := put("after")(ctx, tx); err == nil {
					t.Error("a statement after the failed one was taken")
				}
				if _, err := tx.texts(ctx, "SELECT name FROM settings"); err == nil {
					t.Error("a look-up after the failed one was taken")
				}
				return result
			}, put("b"))
			if errs[0] != nil || errs[1] == nil || errs[2] != nil {
				t.Errorf("errors %v", errs)
			}
			b.want("a", "b")
		})
	}
}

// A transaction that SQLite gives up in the middle is redone for all but the one
// at whose statement it happened.
func TestD2LostTransactionIsRedone(t *testing.T) {
	t.Parallel()
	b := openBatch(t)
	runs := map[string]int{}
	counted := func(name string) func(context.Context, *Tx) error {
		return func(ctx context.Context, tx *Tx) error {
			runs[name]++
			return put(name)(ctx, tx)
		}
	}
	breaks := func(ctx context.Context, tx *Tx) error {
		if err := counted("breaks")(ctx, tx); err != nil {
			return err
		}
		_, err := tx.exec(ctx, "ROLLBACK") // as SQLite itself does after an I/O error
		return err
	}
	refused := lineshaft.Conflict("no")
	errs := b.together(counted("a"), func(ctx context.Context, tx *Tx) error { return refused }, breaks, counted("b"), breaks, counted("c"))
	if errs[0] != nil || errs[3] != nil || errs[5] != nil {
		t.Errorf("others failed: %v", errs)
	}
	if !errors.Is(errs[1], refused) {
		t.Errorf("a refusal became %v", errs[1])
	}
	for _, i := range []int{2, 4} {
		if lineshaft.CodeOf(errs[i]) != lineshaft.CodeUnavailable || errs[i] == nil {
			t.Errorf("the one that broke it got %v", errs[i])
		}
	}
	b.want("a", "b", "c")
	if runs["breaks"] != 2 {
		t.Errorf("the broken work ran %d times", runs["breaks"])
	}
}

// A commit that fails gives everyone an error and leaves nothing.
func TestD2CommitFails(t *testing.T) {
	t.Parallel()
	b := openBatch(t)
	var once sync.Once
	b.g.between = func() {
		once.Do(func() {
			for _, text := range []string{
				"PRAGMA foreign_keys = ON", "CREATE TABLE above (id INTEGER PRIMARY KEY)",
				"CREATE TABLE below (id INTEGER REFERENCES above DEFERRABLE INITIALLY DEFERRED)",
			} {
				if err := b.g.control(context.Background(), text); err != nil {
					t.Error(err)
				}
			}
		})
	}
	orphan := func(ctx context.Context, tx *Tx) error {
		_, err := tx.exec(ctx, "INSERT INTO below (id) VALUES (7)") // found out at the commit
		return err
	}
	for i, err := range b.together(put("one"), orphan, put("two")) {
		if err == nil {
			t.Errorf("caller %d got nil", i)
		}
	}
	b.want()
	if len(b.wake) != 0 {
		t.Errorf("woke %v", b.wake)
	}
	if err := errors.Join(b.together(put("three"))...); err != nil {
		t.Fatal(err)
	}
	b.want("three")
}
