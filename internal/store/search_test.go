package store_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestSearchWords(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("ä", 40) // 80 bytes
	for text, want := range map[string]string{
		"":                        "",
		"--- !":                   "",
		"Fix the bug, fix it":     "fix the bug it",
		"o/r:my-skill_2":          "o r my skill 2",
		"Über STRASSE ẞ":          "über strasse ß",
		"修复 错误 ٣":                 "修复 错误 ٣",
		"𞤀𞤣𞤤𞤢𞤥 x":                 "𞤢𞤣𞤤𞤢𞤥 x",
		"it's \"quoted\" a:* b&c": "it s quoted a b c",
		long:                      long[:64],
	} {
		if got := strings.Join(store.SearchWords(text), " "); got != want {
			t.Errorf("words of %q are %q, want %q", text, got, want)
		}
	}
}

// found lists what a search finds, by title, oldest first.
func found(t *testing.T, s *store.Store, query string) []string {
	t.Helper()
	runs, _, more, err := s.ScanRuns(t.Context(), store.RunScan{
		Filter: lineshaft.RunFilter{Query: query}, Sort: lineshaft.SortCreated, Ascending: true, Limit: 100,
	})
	must(t, err)
	if more {
		t.Fatalf("the search for %q has more than a page", query)
	}
	titles := make([]string, len(runs))
	for i, run := range runs {
		titles[i] = run.Title
	}
	return titles
}

// The words of title, name, skill and the prompt's start are found by their
// beginnings, in every script, on both engines and both ways of searching.
func TestR4Search(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		add := func(title, name, skill, prompt string) string {
			return insertRun(t, s, func(n *store.NewRun) {
				n.Title, n.Body.Config.Name, n.Body.Prompt = title, name, prompt
				if skill != "" {
					n.Body.Config.Skills = []string{skill}
				}
			})
		}
		one := add("one", "nightly-build", "acme/tools:lint", "Fix the PARSER")
		add("two", "", "", "Übersetze die Seite, 修复错误")
		add("three", "", "", strings.Repeat("x ", 1024)+"beyond")
		four := add("four", "", "", "about run "+one)
		add("five", "", "", "𞤀𞤣𞤤𞤢𞤥 and o'brien \"quoted\" v100%")
		if got := found(t, s, "fix"); !slices.Equal(got, []string{"one"}) {
			t.Errorf("found %v before it was settled", got)
		}
		settleAll(t, s)
		cases := map[string][]string{
			"fix": {"one"}, "FIX par": {"one"}, "nightly": {"one"}, "build lint": {"one"}, "tools": {"one"}, "ix": nil, "fix seite": nil,
			"übers": {"two"}, "ÜBERSETZE": {"two"}, "ubers": nil, "修复": {"two"}, "修": {"two"}, "错误": nil,
			"x": {"three"}, "beyond": nil, "o": {"one", "five"}, "brien": {"five"}, `"quoted"`: {"five"}, "v100": {"five"}, "𞤢𞤣": {"five"},
			one: {"one", "four"}, strings.ToUpper(four): {"four"}, " " + four + " ": {"four"}, "id": nil, "id0": nil, "words": nil, "run_id": nil,
			"*": nil, "AND": {"five"}, "NOT": nil, "t' | 'l": {"one"},
		}
		for _, budget := range []int{store.ScanBudget, 10} { // few matches, and so many that the list is walked
			s.SetBudget(budget)
			for query, want := range cases {
				if got := found(t, s, query); !slices.Equal(got, want) && len(got)+len(want) > 0 {
					t.Errorf("budget %d: %q finds %v, want %v", budget, query, got, want)
				}
			}
		}
	})
}

// A search uses the index also while many runs wait to be settled: a rare word of long ago is on
// the first page.
func TestR4SearchWhileManyRunsChange(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		s.SetBudget(40)
		insertRun(t, s, func(n *store.NewRun) { n.Title = "needle" })
		for range 60 {
			insertRun(t, s, nil)
		}
		settleAll(t, s)
		for range 20 {
			insertRun(t, s, nil)
		}
		if got := found(t, s, "needle"); !slices.Equal(got, []string{"needle"}) {
			t.Errorf("found %v", got)
		}
	})
}

// Indexers of several nodes at once index each run once.
func TestR4IndexersAtOnce(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		const runs = 60
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for i := range runs {
				n := newRun(s)
				n.Title = fmt.Sprintf("run%d common", i)
				if err := tx.InsertRun(ctx, n, nil); err != nil {
					return err
				}
			}
			return nil
		})
		must(t, inParallel(4, func(int) error {
			for {
				if more, err := s.SettleRuns(t.Context(), 7); err != nil || !more {
					return err
				}
			}
		}))
		settleAll(t, s) // what an indexer passed over because another had it
		if got := found(t, s, "common"); len(got) != runs {
			t.Errorf("found %d of %d", len(got), runs)
		}
		if got := found(t, s, "run7"); !slices.Equal(got, []string{"run7 common"}) {
			t.Errorf("found %v", got)
		}
	})
}

// A run that is deleted while it is indexed leaves nothing in the index.
func TestR12DeletedRunsAreNotFound(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		insertRun(t, s, func(n *store.NewRun) { n.Title = "stays" })
		var ids []string
		for range 20 {
			ids = append(ids, insertRun(t, s, nil))
		}
		must(t, inParallel(len(ids)+4, func(i int) error {
			if i >= len(ids) {
				_, err := s.SettleRuns(t.Context(), 3)
				return err
			}
			return s.Write(t.Context(), func(ctx context.Context, tx *store.Tx) error { return tx.DeleteRun(ctx, ids[i]) })
		}))
		settleAll(t, s)
		if got := found(t, s, "do"); !slices.Equal(got, []string{"stays"}) {
			t.Errorf("found %v", got)
		}
		if rows := texts(t, s.DB(), "SELECT words FROM run_search"); len(rows) != 1 {
			t.Errorf("%d entries in the index", len(rows))
		}
	})
}

func TestI2NamedThings(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		one, two := newFactory(s, "one"), newFactory(s, "two")
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			for _, f := range []lineshaft.Factory{one, two} {
				if err := tx.InsertFactory(ctx, f); err != nil {
					return err
				}
				if err := tx.PutAutomation(ctx, lineshaft.Automation{UID: "u" + f.UID, FactoryUID: f.UID, Name: "same"}); err != nil {
					return err
				}
			}
			for uid, deleted := range map[string]int64{"live": 0, "gone": 5} {
				w := store.Webhook{Webhook: lineshaft.Webhook{UID: uid, FactoryUID: one.UID, Name: "same", AuthMode: lineshaft.AuthToken, MaxBodyBytes: 1}, Credential: "x"}
				if deleted > 0 {
					w.DeletedAt = s.Now()
				}
				if err := tx.PutWebhook(ctx, w); err != nil {
					return err
				}
			}
			return nil
		})
		named := func(name string, limit int, factories ...string) []string {
			t.Helper()
			list, err := s.ListNamed(t.Context(), name, factories, limit)
			must(t, err)
			var out []string
			for _, n := range list {
				out = append(out, n.Kind+" "+n.UID)
			}
			slices.Sort(out)
			return out
		}
		all := []string{"automation u" + one.UID, "automation u" + two.UID, "webhook live"}
		slices.Sort(all)
		if got := named("same", 9); !slices.Equal(got, all) {
			t.Errorf("found %v", got)
		}
		if got := named("same", 9, two.UID); !slices.Equal(got, []string{"automation u" + two.UID}) {
			t.Errorf("of one factory: %v", got)
		}
		if got := named("same", 1); len(got) != 2 {
			t.Errorf("one of each kind: %v", got)
		}
		for _, part := range []string{"AM", "sa", "me"} {
			if got := named(part, 9); !slices.Equal(got, all) {
				t.Errorf("%s: found %v", part, got)
			}
		}
		if got := named("sae", 9); len(got) != 0 {
			t.Errorf("found %v", got)
		}
		gone, err := s.FindWebhook(t.Context(), "gone")
		must(t, err)
		if gone.FactoryUID != one.UID {
			t.Errorf("found %+v", gone)
		}
		if _, err := s.FindWebhook(t.Context(), "never"); lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			t.Errorf("error %v", err)
		}
	})
}
