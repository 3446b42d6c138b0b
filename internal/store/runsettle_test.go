package store_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// modelSteps is how many changes are made and checked.
func modelSteps() int {
	switch {
	case os.Getenv("LINESHAFT_SOAK") != "":
		return 100_000
	case longTest() && !raced():
		return 10_000
	}
	return 300
}

// change does something at random to the model and to the store.
func (m *model) change(t *testing.T, s *store.Store, r *rand.Rand) {
	t.Helper()
	run := pick(r, m.runs[20:]) // the first are what filters name
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		switch r.IntN(5) {
		case 0:
			return m.add(r).insert(ctx, s, tx)
		case 1:
			kind := pick(r, lineshaft.ArtifactTypes())
			run.artifacts = append(run.artifacts, kind)
			return insertArtifact(ctx, s, tx, run.Head.ID, kind)
		case 2:
			run.Body.Config.Name = pick(r, modelNames)
			return tx.SetSkills(ctx, run.Head.ID, &run.Body)
		case 3:
			if len(m.runs) <= m.size {
				return nil
			}
			m.runs = slices.DeleteFunc(m.runs, func(other *modelRun) bool { return other == run })
			return tx.DeleteRun(ctx, run.Head.ID)
		}
		h, err := tx.LockRun(ctx, run.Head.ID)
		if err != nil {
			return err
		}
		h.State = pick(r, lineshaft.RunStates())
		h.UpdatedAt = m.start.Add(time.Duration(r.IntN(2*m.size)) * time.Microsecond)
		run.Head.State, run.Head.UpdatedAt = h.State, h.UpdatedAt
		return tx.SaveRun(ctx, h)
	})
}

// settlers are the ways in which lists are settled while a test looks at them.
var settlers = []struct {
	name  string
	every int // steps between two looks at the backlog
	step  func(t *testing.T, s *store.Store)
}{
	{name: "stopped"},
	{name: "slow", every: 3, step: func(t *testing.T, s *store.Store) {
		t.Helper()
		must(t, second(s.SettleRuns(t.Context(), 2)))
	}},
	{name: "killed", every: 2, step: func(t *testing.T, s *store.Store) {
		t.Helper()
		err := s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
			return errors.Join(second(tx.SettleSome(ctx, 10)), errUndo)
		})
		if !errors.Is(err, errUndo) {
			t.Fatal(err)
		}
	}},
	{name: "all at once", every: 40, step: settleAll},
}

// Lists are what a naive filter and sort gives after every change, however far settling has
// come: stopped, slow, killed, or on two nodes at once (R-4, D-2).
func TestR4ListsEqualTheModelWhileSettling(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		nodes := openNodes(t, database)
		random := rand.New(rand.NewPCG(5, 5))
		m := newModel(random, 60)
		m.save(t, nodes[0], random)
		scans := rapid.Custom(func(rt *rapid.T) store.RunScan { return drawScan(rt, m) })
		rounds := len(settlers) + 1
		for i := range modelSteps() {
			round := i * 2 * rounds / modelSteps() % rounds // each of them twice
			m.change(t, nodes[i%len(nodes)], random)
			if round < len(settlers) {
				if way := settlers[round]; way.every > 0 && i%way.every == 0 {
					way.step(t, nodes[0])
				}
				m.compare(t, nodes[i%len(nodes)], scans.Example(i))
				continue
			}
			var both sync.WaitGroup
			ctx, stop := context.WithCancel(t.Context())
			for _, node := range nodes {
				both.Go(func() { _ = keepSettling(ctx, node) }) // how it ends is seen by what is listed
			}
			m.compare(t, nodes[0], scans.Example(i))
			stop()
			both.Wait()
		}
		settleAll(t, nodes[0])
		listed := texts(t, nodes[0].DB(), "SELECT id, state, updated_at FROM run_list ORDER BY id")
		there := texts(t, nodes[0].DB(), "SELECT id, state, updated_at FROM runs ORDER BY id")
		if !slices.EqualFunc(listed, there, slices.Equal[[]string]) {
			t.Errorf("%d runs are settled, %d there are", len(listed), len(there))
		}
	})
}

// A run that cannot be settled keeps no other from it, and stays listed as it is.
func TestR4OneRunCannotBeSettled(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var runs []string
		for range 5 {
			runs = append(runs, insertRun(t, s, nil))
		}
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.Exec(ctx, "UPDATE run_bodies SET metadata = '{' WHERE run_id = $1", runs[2]))
		})
		must(t, second(s.SettleRuns(t.Context(), 100)))
		if left := texts(t, s.DB(), "SELECT DISTINCT run_id FROM run_backlog"); len(left) != 1 || left[0][0] != runs[2] {
			t.Errorf("%v are left, want run %s alone", left, runs[2])
		}
		listed := texts(t, s.DB(), "SELECT id FROM run_list")
		if len(listed) != len(runs)-1 {
			t.Errorf("%d runs are settled, want %d", len(listed), len(runs)-1)
		}
	})
}

// openNodes opens a database as two servers do; of SQLite there is one.
func openNodes(t *testing.T, database string) []*store.Store {
	t.Helper()
	var nodes []*store.Store
	for range 2 {
		s, err := store.Open(t.Context(), store.Options{Database: database})
		must(t, err)
		t.Cleanup(func() { _ = s.Close() })
		nodes = append(nodes, s)
		if s.Engine() == "sqlite" {
			break
		}
	}
	return nodes
}

func (m *model) compare(t *testing.T, s *store.Store, q store.RunScan) {
	t.Helper()
	if got, want := pages(t.Context(), t, s, q, []int{7, 50}), m.list(q); !slices.Equal(got, want) {
		t.Fatalf("%+v:\ngot  %d runs %v\nwant %d runs %v", q, len(got), got, len(want), want)
	}
	newest, err := s.NewestOf(t.Context(), append(modelPeople, "nobody"), 5)
	must(t, err)
	for _, creator := range modelPeople {
		var got []string
		for _, run := range newest[creator] {
			got = append(got, run.ID)
		}
		want := m.list(store.RunScan{Filter: lineshaft.RunFilter{Creator: creator}, Sort: lineshaft.SortCreated})
		if want = want[:min(5, len(want))]; !slices.Equal(got, want) {
			t.Fatalf("newest of %s: got %v, want %v", creator, got, want)
		}
	}
	ended := lineshaft.RunFilter{States: []lineshaft.RunState{lineshaft.Failed, lineshaft.Succeeded}, UpdatedAfter: m.start.Add(time.Duration(m.size/2) * time.Microsecond)}
	counts, err := s.CountRuns(t.Context(), modelFacts[2:], ended, 8)
	must(t, err)
	for _, ended.FactoryUIDs = range [][]string{{"fac1"}, {"fac2"}} {
		if got, want := counts[ended.FactoryUIDs[0]], min(8, len(m.list(store.RunScan{Filter: ended}))); got != want {
			t.Fatalf("%+v: counted %d, want %d", ended, got, want)
		}
	}
}

// A database of the previous version lists its runs correctly from the first moment, while
// they are settled and change, and then is like a new one (D-3).
func TestD3ListsOfTheVersionBefore(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, database string) {
		const before = 14
		old, err := store.OpenAt(t.Context(), store.Options{Database: database}, before)
		must(t, err)
		random := rand.New(rand.NewPCG(9, 9))
		m := newModel(random, 60)
		m.save(t, old, random)
		write(t, old, m.tagAsBefore)
		must(t, old.Close())

		s, err := store.Open(t.Context(), store.Options{Database: database})
		must(t, err)
		t.Cleanup(func() { _ = s.Close() })
		scans := rapid.Custom(func(rt *rapid.T) store.RunScan { return drawScan(rt, m) })
		for i := range 40 {
			m.compare(t, s, scans.Example(i))
		}
		for i, more := 0, true; more; i++ {
			m.change(t, s, random)
			m.compare(t, s, scans.Example(100+i))
			more, err = s.UpgradeLists(t.Context(), 3)
			must(t, err)
			m.compare(t, s, scans.Example(200+i))
			if i%4 == 0 {
				must(t, second(s.SettleRuns(t.Context(), 5)))
			}
		}
		settleAll(t, s)
		for i := range 40 {
			m.compare(t, s, scans.Example(i))
		}
		if got, want := schemaLines(t, s), schemaLines(t, newest(t, s.Engine())); !slices.Equal(got, want) {
			t.Errorf("schema\n%v\nof a new database\n%v", got, want)
		}
		if s.Engine() == "sqlite" {
			if left := texts(t, s.DB(), "SELECT name FROM sqlite_master WHERE name LIKE 'run_search_before%'"); len(left) > 0 {
				t.Errorf("of the index of words before there is left %v", left)
			}
		}
	})
}

// A run of the previous version that cannot be settled keeps no other from it (D-3).
func TestD3OneRunCannotBeSettled(t *testing.T) {
	t.Parallel()
	storetest.EachEmpty(t, func(t *testing.T, database string) {
		old, err := store.OpenAt(t.Context(), store.Options{Database: database}, 14)
		must(t, err)
		var runs []string
		for range 5 {
			runs = append(runs, insertRun(t, old, nil))
		}
		write(t, old, func(ctx context.Context, tx *store.Tx) error {
			return second(tx.Exec(ctx, "UPDATE run_bodies SET metadata = '{' WHERE run_id = $1", runs[2]))
		})
		must(t, old.Close())
		s := openNodes(t, database)[0]
		for more := true; more; {
			more, err = s.UpgradeLists(t.Context(), 2)
			must(t, err)
			must(t, second(s.SettleRuns(t.Context(), 100)))
		}
		if left := texts(t, s.DB(), "SELECT value FROM settings WHERE name = 'lists/below'"); len(left) > 0 {
			t.Errorf("the upgrade has not ended: %v", left)
		}
		listed, noted := texts(t, s.DB(), "SELECT id FROM run_list"), texts(t, s.DB(), "SELECT run_id FROM run_backlog")
		if len(listed) != 4 || len(noted) != 1 || noted[0][0] != runs[2] {
			t.Errorf("%d runs are settled and %v noted, want 4 and %s", len(listed), noted, runs[2])
		}
	})
}

// While another node settles, a node neither spins nor takes the upgrade for done (D-3).
func TestD3OneNodeUpgradesLists(t *testing.T) {
	t.Parallel()
	database := storetest.EmptyPostgres(t)
	old, err := store.OpenAt(t.Context(), store.Options{Database: database}, 14)
	must(t, err)
	insertRun(t, old, nil)
	must(t, old.Close())
	nodes := openNodes(t, database)
	below := "SELECT value FROM settings WHERE name = 'lists/below'"
	err = nodes[0].Write(t.Context(), func(ctx context.Context, tx *store.Tx) error {
		if _, err := tx.SettleSome(ctx, 10); err != nil {
			return err
		}
		more, err := nodes[1].UpgradeLists(ctx, 10)
		if more || len(texts(t, nodes[1].DB(), below)) != 1 {
			t.Errorf("beside another node: more %v, %v", more, texts(t, nodes[1].DB(), below))
		}
		return err
	})
	must(t, err)
	for range 2 { // the run, and then the end
		must(t, second(nodes[1].UpgradeLists(t.Context(), 10)))
	}
	if left := texts(t, nodes[1].DB(), below); len(left) != 0 {
		t.Errorf("after it: %v", left)
	}
}

// tagAsBefore writes what the version before wrote with each run.
func (m *model) tagAsBefore(ctx context.Context, tx *store.Tx) error {
	tag := `INSERT INTO run_tags (tag, run_id, updated_at) SELECT $1, id, updated_at FROM runs WHERE id = $2
		ON CONFLICT (tag, run_id) DO NOTHING`
	for _, run := range m.runs {
		for key, value := range run.Body.Metadata {
			if _, err := tx.Exec(ctx, tag, "m:"+key+"="+value, run.Head.ID); err != nil {
				return err
			}
		}
		for _, kind := range run.artifacts {
			if _, err := tx.Exec(ctx, tag, "t:"+string(kind), run.Head.ID); err != nil {
				return err
			}
		}
	}
	if _, err := tx.Exec(ctx, "UPDATE run_tags SET updated_at = (SELECT updated_at FROM runs WHERE id = run_id)"); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, "INSERT INTO search_queue (run_id) SELECT id FROM runs") // its words had not been indexed
	return err
}

// newest opens a new database.
func newest(t *testing.T, engine string) *store.Store {
	t.Helper()
	database := storetest.SQLite
	if engine == "postgres" {
		database = storetest.Postgres
	}
	s, err := store.Open(t.Context(), store.Options{Database: database(t)})
	must(t, err)
	t.Cleanup(func() { _ = s.Close() })
	return s
}

// Runs with many words and tags share a write with fewer others, so that it stays short (D-3).
func TestD3HeavyRunsAreSettledInSmallBatches(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		sizes := func(change func(*store.NewRun)) []int {
			settleAll(t, s)
			for range 27 {
				insertRun(t, s, change)
			}
			sizes, err := s.SettleSizes(t.Context())
			must(t, err)
			return sizes
		}
		var words strings.Builder
		for i := range 512 {
			fmt.Fprintf(&words, "%03x ", i)
		}
		heavy := func(n *store.NewRun) {
			n.Body.Prompt, n.Body.Metadata = words.String(), map[string]string{}
			for i := range 20 {
				n.Body.Metadata[fmt.Sprint("key", i)] = "value"
			}
		}
		if got := sizes(nil); !slices.Equal(got, []int{27}) {
			t.Errorf("light runs are settled by %v", got)
		}
		if got := sizes(heavy); !slices.Equal(got, []int{9, 9, 9}) { // each weighs 14 of 128
			t.Errorf("heavy runs are settled by %v", got)
		}
		settleAll(t, s)
		if got := found(t, s, "1ff"); len(got) != 27 {
			t.Errorf("%d runs are found by their last word", len(got))
		}
	})
}
