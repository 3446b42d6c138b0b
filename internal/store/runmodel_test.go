package store_test

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
)

// modelRun is a run as the naive lists of the tests know it.
type modelRun struct {
	store.NewRun
	artifacts []lineshaft.ArtifactType
}

func (m *modelRun) skill() string {
	if len(m.Body.Config.Skills) == 0 {
		return ""
	}
	return m.Body.Config.Skills[0]
}

func (m *modelRun) words() []string {
	return store.SearchWords(strings.Join([]string{m.Title, m.Body.Config.Name, m.skill(), m.Body.Prompt}, " "))
}

// model is a naive store of runs: it filters and sorts a slice.
type model struct {
	runs         []*modelRun
	start, clock time.Time
	ids          *id.Source
	size         int
}

// The values that runs of the model have. Few of each, so that filters hit and
// places in the order are shared.
var (
	modelTitles  = []string{"alpha one", "alpha two", "Bêta", "bêta", "zulu", ""}
	modelSkills  = []string{"", "", "o/r:lint", "o/r:Lint", "o/r:test"}
	modelNames   = []string{"", "nightly", "weekly"}
	modelEnvs    = []string{"", "", "env1", "env2"}
	modelFacts   = []string{"", "", "fac1", "fac2"}
	modelHosts   = []string{lineshaft.HostedWorker, lineshaft.HostedWorker, "mac", "pc"}
	modelPeople  = []string{"u1", "u2"}
	modelPrompts = []string{"fix the bug", "write a test for the parser", "Übersetze die Seite", "修复 错误", ""}
	modelTeams   = []string{"", "red", "blue"}
	modelCodes   = []lineshaft.Code{"", lineshaft.CodeRunTimeout, lineshaft.CodeInternal}
)

func pick[T any](r *rand.Rand, items []T) T { return items[r.IntN(len(items))] }

// newModel makes runs at random: n of them within a few milliseconds.
func newModel(r *rand.Rand, n int) *model {
	m := &model{start: time.UnixMicro(1_700_000_000_000_000), size: n}
	m.clock = m.start
	m.ids = id.New(func() time.Time { return m.clock })
	for range n {
		m.add(r)
	}
	return m
}

// add makes one more run at random.
func (m *model) add(r *rand.Rand) *modelRun {
	m.clock = m.clock.Add(time.Duration(r.IntN(20)) * time.Microsecond)
	runID, at := m.ids.Next()
	run := &modelRun{NewRun: store.NewRun{
		Title: pick(r, modelTitles), Source: pick(r, lineshaft.Sources()[:3]), CreatedAt: at, RootRunID: runID,
		ConversationID: "c", SessionID: "s", ScheduleID: pick(r, []string{"", "", "", "sched"}),
		Head: store.RunHead{RunLife: lineshaft.RunLife{
			ID: runID, State: pick(r, lineshaft.RunStates()), WorkerHost: pick(r, modelHosts), CreatorUID: pick(r, modelPeople),
			FactoryUID: pick(r, modelFacts), Status: lineshaft.StatusMessage{ErrorCode: pick(r, modelCodes)},
			UpdatedAt: m.start.Add(time.Duration(r.IntN(2*m.size)) * time.Microsecond),
		}},
		Body: store.RunBody{Prompt: pick(r, modelPrompts), Metadata: map[string]string{}},
	}}
	if skill := pick(r, modelSkills); skill != "" {
		run.Body.Config.Skills = []string{skill, "o/r:second"}
	}
	run.Body.Config.Name, run.Body.Config.EnvironmentID, run.Body.Config.ModelID = pick(r, modelNames), pick(r, modelEnvs), pick(r, modelNames)
	for _, key := range []string{"team", "tier"} {
		if value := pick(r, modelTeams); value != "" {
			run.Body.Metadata[key] = value
		}
	}
	if i := len(m.runs); i > 0 && r.IntN(3) == 0 {
		parent := m.runs[r.IntN(min(i, 20))]
		run.Head.ParentRunID, run.Ancestors = parent.Head.ID, append([]string{parent.Head.ID}, parent.Ancestors...)
	}
	if r.IntN(4) == 0 {
		run.artifacts = append(run.artifacts, pick(r, lineshaft.ArtifactTypes()), pick(r, lineshaft.ArtifactTypes()))
	}
	m.runs = append(m.runs, run)
	return run
}

// save writes the model's runs to a store, then changes some of them.
func (m *model) save(t *testing.T, s *store.Store, r *rand.Rand) {
	t.Helper()
	write(t, s, func(ctx context.Context, tx *store.Tx) error {
		for _, run := range m.runs {
			if err := run.insert(ctx, s, tx); err != nil {
				return err
			}
		}
		return nil
	})
	for range len(m.runs) / 5 {
		run := pick(r, m.runs)
		write(t, s, func(ctx context.Context, tx *store.Tx) error {
			h, err := tx.LockRun(ctx, run.Head.ID)
			if err != nil {
				return err
			}
			h.Touch(h.UpdatedAt.Add(time.Duration(r.IntN(50)) * time.Microsecond))
			run.Head.UpdatedAt = h.UpdatedAt
			return tx.SaveRun(ctx, h)
		})
	}
}

// insert writes a run with its artifacts.
func (m *modelRun) insert(ctx context.Context, s *store.Store, tx *store.Tx) error {
	n := m.NewRun
	if err := tx.InsertRun(ctx, &n, nil); err != nil {
		return err
	}
	for _, kind := range m.artifacts {
		if err := insertArtifact(ctx, s, tx, n.Head.ID, kind); err != nil {
			return err
		}
	}
	return nil
}

func insertArtifact(ctx context.Context, s *store.Store, tx *store.Tx, runID string, kind lineshaft.ArtifactType) error {
	h, err := tx.LockRun(ctx, runID)
	if err != nil {
		return err
	}
	uid, _ := s.NewID()
	return tx.InsertArtifact(ctx, h, lineshaft.Artifact{UID: uid, Type: kind})
}

// settleAll settles lists until no change is left.
func settleAll(t *testing.T, s *store.Store) {
	t.Helper()
	for left := 1; left > 0; { // none is settled here while another node is at it
		must(t, second(s.SettleRuns(t.Context(), 100)))
		must(t, s.DB().QueryRowContext(t.Context(), "SELECT COUNT(*) FROM run_backlog").Scan(&left))
	}
}

// list is the whole list of a filter in order, the naive way.
func (m *model) list(q store.RunScan) []string {
	var found []*modelRun
	for _, run := range m.runs {
		if run.matches(q.Filter) {
			found = append(found, run)
		}
	}
	slices.SortFunc(found, func(a, b *modelRun) int {
		order := cmp.Compare(a.Head.ID, b.Head.ID)
		switch q.Sort {
		case lineshaft.SortUpdated:
			order = cmp.Or(a.Head.UpdatedAt.Compare(b.Head.UpdatedAt), order)
		case lineshaft.SortTitle:
			order = cmp.Or(cmp.Compare(a.Title, b.Title), order)
		case lineshaft.SortAgent:
			if none := a.skill() == ""; none != (b.skill() == "") { // without a skill last, in either direction
				if none {
					return 1
				}
				return -1
			}
			order = cmp.Or(cmp.Compare(a.skill(), b.skill()), order)
		case lineshaft.SortCreated:
		}
		if !q.Ascending {
			order = -order
		}
		return order
	})
	ids := make([]string, len(found))
	for i, run := range found {
		ids[i] = run.Head.ID
	}
	return ids
}

func (m *modelRun) matches(f lineshaft.RunFilter) bool {
	is := func(want, have string) bool { return want == "" || want == have }
	config := m.Body.Config
	if !is(f.Name, config.Name) || !is(f.ModelID, config.ModelID) || !is(f.EnvironmentID, config.EnvironmentID) || !is(f.SkillSpec, m.skill()) ||
		!is(f.Creator, m.Head.CreatorUID) || !is(f.Executor, m.Head.CreatorUID) || !is(f.ScheduleID, m.ScheduleID) ||
		!is(f.ParentRunID, m.Head.ParentRunID) || !is(f.WorkerHost, m.Head.WorkerHost) || !is(string(f.ErrorCode), string(m.Head.Status.ErrorCode)) {
		return false
	}
	if f.States != nil && !slices.Contains(f.States, m.Head.State) || len(f.Sources) > 0 && !slices.Contains(f.Sources, m.Source) ||
		len(f.FactoryUIDs) > 0 && !slices.Contains(f.FactoryUIDs, m.Head.FactoryUID) {
		return false
	}
	if f.NoEnvironment && config.EnvironmentID != "" || f.FactoryOnly && m.Head.FactoryUID == "" || f.Local ||
		f.AncestorRunID != "" && !slices.Contains(m.Ancestors, f.AncestorRunID) || f.ArtifactType != "" && !slices.Contains(m.artifacts, f.ArtifactType) {
		return false
	}
	for key, value := range f.Metadata {
		if have, ok := m.Body.Metadata[key]; !ok || have != value {
			return false
		}
	}
	return within(m.CreatedAt, f.CreatedAfter, f.CreatedBefore) && within(m.Head.UpdatedAt, f.UpdatedAfter, f.UpdatedBefore) && m.found(f.Query)
}

func within(at, from, until time.Time) bool {
	return (from.IsZero() || !at.Before(from)) && (until.IsZero() || at.Before(until))
}

// found says whether a search for the query finds the run.
func (m *modelRun) found(query string) bool {
	if strings.TrimSpace(query) == "" || strings.EqualFold(strings.TrimSpace(query), m.Head.ID) {
		return true
	}
	wanted := store.SearchWords(query)
	for _, want := range wanted {
		if !slices.ContainsFunc(m.words(), func(have string) bool { return strings.HasPrefix(have, want) }) {
			return false
		}
	}
	return len(wanted) > 0
}
