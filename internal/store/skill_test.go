package store_test

import (
	"context"
	"errors"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func TestF2SkillsOfADefinitionAreReplaced(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		first := []lineshaft.Skill{{Name: "a", Description: "d", Body: "b"}, {Agent: "x", Name: "a", Description: "own", Body: "b"}}
		for _, skills := range [][]lineshaft.Skill{first, {{Name: "z", Description: "d", Body: "b"}}, nil} {
			write(t, s, func(ctx context.Context, tx *store.Tx) error {
				return errors.Join(tx.ReplaceSkills(ctx, "f1", skills), tx.ReplaceSkills(ctx, "f2", first))
			})
			got, err := s.ListSkills(t.Context(), "f1")
			if err != nil || !slices.Equal(got, skills) {
				t.Errorf("%+v, %v; want %+v", got, err, skills)
			}
		}
		if other, err := s.ListSkills(t.Context(), "f2"); err != nil || len(other) != 2 {
			t.Errorf("another factory has %+v, %v", other, err)
		}
	})
}

func TestX8RunsThatWaitForSkillsAreListedInOrder(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		var want []string
		for i, hold := range []lineshaft.Hold{lineshaft.HoldSkill, 0, lineshaft.HoldConcurrency | lineshaft.HoldExecution, lineshaft.HoldSkill | lineshaft.HoldConcurrency} {
			runID := insertRun(t, s, func(n *store.NewRun) { n.Head.Hold, n.Head.QueuedAt = hold, time.UnixMicro(int64(2000-i)) })
			if hold.Has(lineshaft.HoldSkill) {
				want = append([]string{runID}, want...) // the later, the older
			}
		}
		var got []string
		for last := (store.WaitingRun{}); ; {
			page, err := s.ListSkillWaiting(t.Context(), last, 1)
			if err != nil {
				t.Fatal(err)
			}
			if len(page) == 0 {
				break
			}
			last, got = page[0], append(got, page[0].ID)
		}
		if !slices.Equal(got, want) {
			t.Errorf("listed %v, want %v", got, want)
		}
	})
}

func TestX8SkillsThatComeLaterAreWritten(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		runID := insertRun(t, s, func(n *store.NewRun) { n.Body.Config = lineshaft.AgentConfig{Skills: []string{"r:s"}} })
		body := store.RunBody{}
		body.Config = lineshaft.AgentConfig{Name: "found", Skills: []string{"o/r:s"}}
		body.Origins = map[string]string{"name": "skill"}
		body.Skills = []lineshaft.Skill{{Name: "found", Spec: "o/r:s", Path: "p", Commit: "c"}}
		for range 2 { // also twice
			write(t, s, func(ctx context.Context, tx *store.Tx) error { return tx.SetSkills(ctx, runID, &body) })
			if _, err := s.SettleRuns(t.Context(), 10); err != nil {
				t.Fatal(err)
			}
		}
		run, err := s.GetRun(t.Context(), runID)
		if err != nil || !reflect.DeepEqual(run.Skills, body.Skills) || run.Config.Name != "found" {
			t.Errorf("%+v, %v", run, err)
		}
		for _, filter := range []lineshaft.RunFilter{{Name: "found"}, {SkillSpec: "o/r:s"}, {Query: "found"}} {
			runs, _, _, err := s.ScanRuns(t.Context(), store.RunScan{Filter: filter, Sort: lineshaft.SortCreated, Limit: 10})
			if err != nil || len(runs) != 1 {
				t.Errorf("%+v finds %d runs, %v", filter, len(runs), err)
			}
		}
	})
}

func TestX8AgentOfARunIsNamed(t *testing.T) {
	t.Parallel()
	storetest.Each(t, func(t *testing.T, s *store.Store) {
		with := insertRun(t, s, func(n *store.NewRun) { n.AgentUID = "u1" })
		without := insertRun(t, s, func(n *store.NewRun) { n.AgentUID = "gone" })
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			return tx.PutAgent(ctx, lineshaft.Agent{UID: "u1", FactoryUID: "f1", Name: "fixer", Type: lineshaft.AgentCustom})
		})
		for runID, want := range map[string]string{with: "fixer", without: "", "nothing": ""} {
			if got, err := s.AgentName(t.Context(), runID); err != nil || got != want {
				t.Errorf("%q, %v; want %q", got, err, want)
			}
		}
	})
}
