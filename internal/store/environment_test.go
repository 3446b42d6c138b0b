package store_test

import (
	"context"
	"reflect"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func newEnvironment(s *store.Store, uid string) lineshaft.Environment {
	_, at := s.NewID()
	return lineshaft.Environment{
		UID: uid, Creator: "u1", Editor: "u2", CreatedAt: at, UpdatedAt: at,
		Config: lineshaft.EnvironmentConfig{
			Name: "web <&> ü", Description: "d", DockerImage: "i", Repositories: []lineshaft.Repository{{Owner: "o/p", Name: "r"}},
			SetupCommands: []string{"a\nb"}, Secrets: []string{"S"}, GitCredentials: "G",
		},
	}
}

func putEnvironment(t *testing.T, s *store.Store, e lineshaft.Environment) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutEnvironment(ctx, e) })
}

func TestX9EnvironmentRows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		b, a := newEnvironment(s, "b"), newEnvironment(s, "a")
		putEnvironment(t, s, b)
		putEnvironment(t, s, a)
		if got, err := s.ListEnvironments(t.Context()); err != nil || !reflect.DeepEqual(got, []lineshaft.Environment{a, b}) {
			t.Errorf("listed %+v, %v", got, err)
		}
		a.Config, a.Editor, a.UpdatedAt = lineshaft.EnvironmentConfig{Name: "n"}, "u3", a.UpdatedAt.Add(time.Second)
		changed := a
		changed.Creator, changed.CreatedAt = "nobody", a.CreatedAt.Add(time.Hour) // who made it, and when, stays
		putEnvironment(t, s, changed)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			got, err := tx.LockEnvironment(ctx, "a")
			if err == nil && !reflect.DeepEqual(*got, a) {
				t.Errorf("read %+v, want %+v", *got, a)
			}
			return err
		})
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteEnvironment(ctx, "a") })
		wantCode(t, s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.DeleteEnvironment(ctx, "a") }), lineshaft.CodeNotFound)
		_, err := s.GetEnvironment(t.Context(), "a")
		wantCode(t, err, lineshaft.CodeNotFound)
		_, err = s.DescribeEnvironment(t.Context(), "a")
		wantCode(t, err, lineshaft.CodeNotFound)
	})
}

// An environment shows its newest run, and who made and changed it.
func TestX9EnvironmentDetails(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		putEnvironment(t, s, newEnvironment(s, "a"))
		putEnvironment(t, s, newEnvironment(s, "b"))
		ann := lineshaft.Principal{UID: "u1", Type: lineshaft.User, DisplayName: "Ann", Email: "ann@example.com"}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.PutPrincipal(ctx, ann, time.Unix(1, 0)) })
		in := func(uid, title string) string {
			return insertRun(t, s, func(n *store.NewRun) { n.Body.Config.EnvironmentID, n.Title = uid, title })
		}
		in("a", "older")
		newest := in("a", "newest")
		in("", "elsewhere")
		for range 2 { // whatever has changed since
			got, err := s.DescribeEnvironment(t.Context(), "a")
			must(t, err)
			if got.LastRun == nil || got.LastRun.ID != newest || got.LastRun.Title != "newest" || got.LastRun.State != lineshaft.Queued ||
				got.LastRun.CreatedAt.IsZero() || got.LastRun.UpdatedAt.IsZero() || !got.LastRun.StartedAt.IsZero() || got.SetupFailed() {
				t.Errorf("newest run %+v", got.LastRun)
			}
			if got.CreatedBy != ann || got.EditedBy != (lineshaft.Principal{UID: "u2"}) || got.Config.Name != "web <&> ü" {
				t.Errorf("detail %+v", got)
			}
		}
		all, err := s.DescribeEnvironments(t.Context())
		if err != nil || len(all) != 2 || all[0].LastRun == nil || all[1].LastRun != nil || all[1].UID != "b" {
			t.Errorf("all %+v, %v", all, err)
		}
	})
}

// A run that has not ended keeps an environment.
func TestX9LiveRuns(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		runID := insertRun(t, s, func(n *store.NewRun) { n.Body.Config.EnvironmentID = "a" })
		live := func(want string) {
			t.Helper()
			if got, err := s.LiveRun(t.Context(), "a"); err != nil || got != want {
				t.Errorf("live run %q, %v; want %q", got, err, want)
			}
		}
		move := func(to lineshaft.RunState, code lineshaft.Code) {
			t.Helper()
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				h, err := tx.LockRun(ctx, runID)
				if err != nil {
					return err
				}
				if _, err := h.Move(to, lineshaft.StatusMessage{ErrorCode: code}, "", s.Now()); err != nil {
					return err
				}
				return tx.SaveRun(ctx, h, stateEvent(to))
			})
		}
		live(runID)
		for _, to := range []lineshaft.RunState{lineshaft.Pending, lineshaft.Claimed, lineshaft.InProgress, lineshaft.Blocked, lineshaft.InProgress} {
			move(to, "")
			live(runID)
		}
		putEnvironment(t, s, newEnvironment(s, "a"))
		move(lineshaft.Failed, lineshaft.CodeEnvironmentSetupFailed)
		live("")
		if got, err := s.DescribeEnvironment(t.Context(), "a"); err != nil || !got.SetupFailed() {
			t.Errorf("detail %+v, %v", got, err)
		}
		move(lineshaft.Queued, "")
		live(runID)
	})
}

// Among many runs of an environment the newest and the live ones are found at once.
func TestX9StatementsFollowAnIndex(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		fillRuns(t, s, 0, planSize(s))
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			if _, err := tx.Exec(ctx, "UPDATE runs SET finished_at = 1 WHERE state <> 'QUEUED'"); err != nil {
				return err
			}
			for _, query := range []string{
				"INSERT INTO environments (uid, config, creator_uid, editor_uid, created_at, updated_at) VALUES ('env', '{}', 'common', 'rare', 1, 1)",
				hookNumbers + "INSERT INTO environments (uid, config, creator_uid, editor_uid, created_at, updated_at) SELECT 'e' || n, '{}', 'c' || i, 'r' || i, 1, 1 FROM numbers",
				hookNumbers + "INSERT INTO principals (uid, type, display_name, email, created_at) SELECT 'c' || i, 'user', '', '', 1 FROM numbers",
				hookNumbers + "INSERT INTO runners (uid, factory_uid, name, config, created_at, updated_at) SELECT 'r' || i, 'f' || (i / 5), 'r' || n, '{}', 1, 1 FROM numbers",
			} {
				args := []any{5000}
				if query[0] == 'I' {
					args = nil
				}
				if _, err := tx.Exec(ctx, query, args...); err != nil {
					return err
				}
			}
			return nil
		})
		analyze(t, s)
		reads := s.Record()
		for name, look := range map[string]lookup{
			"live":     {1, func(ctx context.Context) error { return second(s.LiveRun(ctx, "env")) }, nil},
			"none":     {0, func(ctx context.Context) error { return second(s.LiveRun(ctx, "nobody")) }, nil},
			"get":      {1, func(ctx context.Context) error { return second(s.GetEnvironment(ctx, "env")) }, nil},
			"describe": {1, func(ctx context.Context) error { return second(s.DescribeEnvironment(ctx, "env")) }, nil},
			"runner":   {1, func(ctx context.Context) error { return second(s.GetRunner(ctx, "r7")) }, nil},
			"runners":  {5, func(ctx context.Context) error { return second(s.ListRunners(ctx, "f7")) }, nil},
		} {
			t.Log(name)
			must(t, look.read(t.Context()))
			checkHooks(t, s, reads.Take(), look.most)
		}
	})
}

func TestF2RunnerRows(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		_, at := s.NewID()
		made := func(uid, factory, name string) lineshaft.Runner {
			return lineshaft.Runner{UID: uid, FactoryUID: factory, Name: name, CreatedAt: at, UpdatedAt: at, Config: lineshaft.RunnerConfig{
				Description: "d", Platform: "linux/amd64", Image: "i", SetupCommands: []string{"x"}, Shape: lineshaft.InstanceShape{VCPUs: 2, MemoryGB: 4},
			}}
		}
		put := func(n lineshaft.Runner) error {
			return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.PutRunner(ctx, n) })
		}
		b, a, other := made("1", "f", "b"), made("2", "f", "a"), made("3", "g", "a")
		for _, n := range []lineshaft.Runner{b, a, other} {
			must(t, put(n))
		}
		wantCode(t, put(made("4", "f", "a")), lineshaft.CodeConflict)
		b.Config = lineshaft.RunnerConfig{}
		must(t, put(b))
		if got, err := s.ListRunners(t.Context(), "f"); err != nil || !reflect.DeepEqual(got, []lineshaft.Runner{a, b}) {
			t.Errorf("listed %+v, %v", got, err)
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRunner(ctx, "2") })
		_, err := s.GetRunner(t.Context(), "2")
		wantCode(t, err, lineshaft.CodeNotFound)
		if got, err := s.GetRunner(t.Context(), "3"); err != nil || !reflect.DeepEqual(*got, other) {
			t.Errorf("read %+v, %v", got, err)
		}
	})
}
