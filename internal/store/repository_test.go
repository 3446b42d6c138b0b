package store_test

import (
	"context"
	"errors"
	"reflect"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func followed(t *testing.T, s *store.Store, uid string) lineshaft.GitSource {
	t.Helper()
	source := lineshaft.GitSource{URL: "https://example.com/" + uid, Branch: "main", Path: "f"}
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutRepository(ctx, uid, source) })
	return source
}

// claimed claims a repository that is due; "" when there is none.
func claimed(t *testing.T, s *store.Store, claim string) string {
	t.Helper()
	var uid string
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		status, err := tx.ClaimRepository(ctx, claim, time.Minute)
		if status != nil {
			uid = status.FactoryUID
		}
		return err
	})
	return uid
}

func due(t *testing.T, s *store.Store) bool {
	t.Helper()
	yes, err := s.RepositoryDue(t.Context())
	must(t, err)
	return yes
}

func TestF5RepositoryOfAFactory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		source := followed(t, s, "f1")
		at := time.UnixMicro(1_800_000_000_000_001).UTC()
		want := lineshaft.GitStatus{FactoryUID: "f1", Source: source, Problems: []lineshaft.FileProblem{}}
		check := func() {
			t.Helper()
			found, err := s.Repositories(t.Context(), "f1", "f2")
			must(t, err)
			if !reflect.DeepEqual(found, map[string]lineshaft.GitStatus{"f1": want}) {
				t.Errorf("%+v\nwant %+v", found, want)
			}
		}
		check()
		if uid := claimed(t, s, "c1"); uid != "f1" {
			t.Fatalf("claimed %q", uid)
		}
		want.Seen, want.Applied, want.Fault, want.CheckedAt, want.AppliedAt = "a", "b", "away", at, at.Add(1)
		want.Problems = []lineshaft.FileProblem{{File: "x", Line: 1, Column: 2, Message: "m", Hint: "h"}}
		want.AppliedAt = want.AppliedAt.Truncate(time.Microsecond)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			held, err := tx.NoteRepository(ctx, "c1", want, time.Hour)
			if err == nil && !held {
				err = errors.New("the claim does not hold")
			}
			return err
		})
		check()
		if due(t, s) || claimed(t, s, "c2") != "" {
			t.Error("it is due before its time")
		}
		// Another repository begins again, and at once.
		source.Branch = "dev"
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutRepository(ctx, "f1", source) })
		want = lineshaft.GitStatus{FactoryUID: "f1", Source: source, Problems: []lineshaft.FileProblem{}}
		check()
		if !due(t, s) {
			t.Error("another repository is not due")
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRepository(ctx, "f1") })
		if found, err := s.Repositories(t.Context(), "f1"); err != nil || len(found) != 0 || due(t, s) {
			t.Errorf("after it was taken away: %+v, %v", found, err)
		}
		if none, err := s.Repositories(t.Context()); err != nil || len(none) != 0 {
			t.Errorf("%+v, %v", none, err)
		}
	})
}

// A claim that another has taken, that a push made void or that ran out does nothing.
func TestF5ClaimsOfRepositories(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		followed(t, s, "f1")
		holds := func(claim string, want bool) {
			t.Helper()
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				held, err := tx.HoldRepository(ctx, "f1", claim)
				if held != want {
					t.Errorf("claim %s holds: %v, want %v", claim, held, want)
				}
				extended, extendErr := tx.ExtendRepository(ctx, "f1", claim, time.Minute)
				if extended != want {
					t.Errorf("claim %s is extended: %v, want %v", claim, extended, want)
				}
				return errors.Join(err, extendErr)
			})
		}
		take := func(claim string, lease time.Duration) {
			t.Helper()
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				return second(tx.TakeRepository(ctx, "f1", claim, lease))
			})
		}
		claimed(t, s, "c1")
		holds("c1", true)
		take("c2", time.Minute)
		holds("c1", false)
		holds("c2", true)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			held, err := tx.NoteRepository(ctx, "c1", lineshaft.GitStatus{FactoryUID: "f1", Seen: "old"}, time.Hour)
			if held {
				t.Error("a claim that is over notes something")
			}
			return errors.Join(err, tx.ReleaseRepository(ctx, "f1", "c1"))
		})
		holds("c2", true)
		if due(t, s) {
			t.Error("a claim that is over gave it back")
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DueRepository(ctx, "f1") })
		holds("c2", false)
		if !due(t, s) {
			t.Error("it is not due although something was pushed")
		}
		take("c3", 0) // over at once
		if uid := claimed(t, s, "c4"); uid != "f1" {
			t.Errorf("claimed %q after the lease", uid)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.ReleaseRepository(ctx, "f1", "c4") })
		if !due(t, s) {
			t.Error("it is not due although it was given back")
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			taken, err := tx.TakeRepository(ctx, "nobody", "c5", time.Minute)
			if taken != nil {
				t.Errorf("took %+v", taken)
			}
			return err
		})
	})
}

func TestF5EachRepositoryIsClaimedOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const many = 40
		for i := range many {
			followed(t, s, "f"+strconv.Itoa(i))
		}
		var claims atomic.Int64
		var seen sync.Map
		var wait sync.WaitGroup
		for i := range 6 {
			wait.Go(func() {
				for {
					uid := claimed(t, s, "c"+strconv.Itoa(i))
					if uid == "" {
						return
					}
					claims.Add(1)
					if _, twice := seen.LoadOrStore(uid, true); twice {
						t.Errorf("%s is claimed twice", uid)
					}
				}
			})
		}
		wait.Wait()
		// On PostgreSQL a claimer may find only rows that others are about to take.
		for claimed(t, s, "last") != "" {
			claims.Add(1)
		}
		if claims.Load() != many {
			t.Errorf("%d claims, want %d", claims.Load(), many)
		}
	})
}

func TestF5ModeOfAFactory(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(tx.InsertFactory(ctx, lineshaft.Factory{UID: "f1", Name: "n", Mode: lineshaft.ModeManaged}),
				tx.SetFactoryMode(ctx, "f1", lineshaft.ModeRepository))
		})
		f, err := s.GetFactory(t.Context(), "f1")
		must(t, err)
		if f.Mode != lineshaft.ModeRepository {
			t.Errorf("mode is %s", f.Mode)
		}
	})
}

// Statements on repositories follow an index.
func TestF5StatementsFollowAnIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		n := planSize(s)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.Exec(ctx, hookNumbers+`INSERT INTO factory_repositories (factory_uid, url, branch, path, seen, applied, problems, fault, checked_at, applied_at, claim, next_at)
				SELECT 'f' || i, 'https://example.com/x', 'main', '', '', '', '[]', '', 0, 0, '', 4000000000000000 + i FROM numbers`, n))
		})
		followed(t, s, "due")
		analyze(t, s)
		reads := s.Record()
		for name, read := range map[string]func(ctx context.Context) error{
			"due":          func(ctx context.Context) error { return second(s.RepositoryDue(ctx)) },
			"repositories": func(ctx context.Context) error { return second(s.Repositories(ctx, "f7", "f8")) },
		} {
			t.Log(name)
			must(t, read(t.Context()))
			checkHooks(t, s, reads.Take(), 2)
		}
		status := lineshaft.GitStatus{FactoryUID: "f7"}
		for name, work := range map[string]func(ctx context.Context, tx *store.Tx) error{
			"claim": func(ctx context.Context, tx *store.Tx) error {
				return second(tx.ClaimRepository(ctx, "c", time.Minute))
			},
			"take": func(ctx context.Context, tx *store.Tx) error {
				return second(tx.TakeRepository(ctx, "f7", "c", time.Minute))
			},
			"hold": func(ctx context.Context, tx *store.Tx) error { return second(tx.HoldRepository(ctx, "f7", "c")) },
			"extend": func(ctx context.Context, tx *store.Tx) error {
				return second(tx.ExtendRepository(ctx, "f7", "c", time.Minute))
			},
			"note": func(ctx context.Context, tx *store.Tx) error {
				return second(tx.NoteRepository(ctx, "", status, time.Minute))
			},
			"release": func(ctx context.Context, tx *store.Tx) error { return tx.ReleaseRepository(ctx, "f7", "c") },
			"push":    func(ctx context.Context, tx *store.Tx) error { return tx.DueRepository(ctx, "f7") },
			"delete":  func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRepository(ctx, "f7") },
		} {
			t.Log(name)
			var sent []store.Statement
			err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
				recorder := tx.Record()
				err := work(ctx, tx)
				sent = recorder.Take()
				return errors.Join(err, errUndo)
			})
			if !errors.Is(err, errUndo) {
				must(t, err)
			}
			checkHooks(t, s, sent, 2)
		}
	})
}
