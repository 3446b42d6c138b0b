package store

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// ReplaceSkills writes the skills of a factory's definition; others of it go.
func (tx *Tx) ReplaceSkills(ctx context.Context, factoryUID string, skills []lineshaft.Skill) error {
	if _, err := tx.exec(ctx, "DELETE FROM skills WHERE factory_uid = $1", factoryUID); err != nil {
		return fmt.Errorf("delete skills: %w", err)
	}
	if len(skills) == 0 {
		return nil
	}
	rows := inserts{into: "skills (factory_uid, agent, name, description, body)"}
	for _, s := range skills {
		rows.row(factoryUID, s.Agent, s.Name, s.Description, s.Body)
	}
	return tx.insert(ctx, &rows)
}

// ListSkills reads the skills of a factory's definition by agent and name.
func (r reader) ListSkills(ctx context.Context, factoryUID string) ([]lineshaft.Skill, error) {
	const query = "SELECT agent, name, description, body FROM skills WHERE factory_uid = $1 ORDER BY agent, name"
	return collect(ctx, r, "read skills", query, []any{factoryUID}, func(scan rowScan) (*lineshaft.Skill, error) {
		s := &lineshaft.Skill{}
		return s, scan(&s.Agent, &s.Name, &s.Description, &s.Body)
	})
}

// WaitingRun is a run whose skills are still to be found.
type WaitingRun struct {
	ID       string
	QueuedAt time.Time
}

// ListSkillWaiting finds queued runs whose skills are still to be found, oldest
// first, after a given one.
func (r reader) ListSkillWaiting(ctx context.Context, after WaitingRun, limit int) ([]WaitingRun, error) {
	return collect(ctx, r, "list runs that wait for skills",
		"SELECT id, queued_at FROM runs"+r.d.by("runs_skill_wait")+` WHERE state = 'QUEUED' AND hold >= 4 AND (queued_at, id) > ($1, $2)
		ORDER BY queued_at, id LIMIT $3`, []any{micros(after.QueuedAt), after.ID, limit}, func(scan rowScan) (*WaitingRun, error) {
			w := &WaitingRun{}
			return w, scan(&w.ID, toTime(&w.QueuedAt))
		})
}

// SetSkills writes the skills of a run that was made before they were known, and
// what follows from them. The run must be locked.
func (tx *Tx) SetSkills(ctx context.Context, runID string, body *RunBody) error {
	var parts [3]string
	for i, part := range []any{body.Skills, body.Config, body.Origins} {
		var err error
		if parts[i], err = encode(part); err != nil {
			return err
		}
	}
	if _, err := tx.exec(ctx, "UPDATE run_bodies SET skills = $2, config = $3, origins = $4 WHERE run_id = $1", runID, parts[0], parts[1], parts[2]); err != nil {
		return fmt.Errorf("set skills: %w", err)
	}
	return tx.do(ctx, "set name", "UPDATE runs SET name = $2, skill_spec = $3 WHERE id = $1", runID, null(body.Config.Name), null(body.firstSkill()))
}

// AgentName is the name of the agent that a run was given to; "" when there is none,
// or not any more.
func (r reader) AgentName(ctx context.Context, runID string) (name string, err error) {
	_, err = r.look(ctx, "read agent of run", "SELECT a.name FROM runs r JOIN agents a ON a.uid = r.agent_uid WHERE r.id = $1", []any{runID}, &name)
	return name, err
}

// skillRuns is how many runs of one skill are checked for one that a filter selects.
const skillRuns = 500

// NewestOfSkills says when the newest run with each of some specs was made, among those
// that a filter selects; specs without one are left out.
func (s *Store) NewestOfSkills(ctx context.Context, f lineshaft.RunFilter, specs []string) (map[string]time.Time, error) {
	found := map[string]time.Time{}
	for part := range slices.Chunk(specs, 500) {
		var v values
		for _, spec := range part {
			v.typed([]string{"TEXT"}, spec)
		}
		w := walk{args: v.args}
		hit := []string{"TRUE"}
		for _, c := range conditions(f) {
			hit = append(hit, w.check(c))
		}
		query := fmt.Sprintf(`WITH v (spec) AS (VALUES %s) SELECT spec, newest FROM (SELECT v.spec,
			(SELECT r.id FROM (SELECT id, factory_uid FROM runs WHERE skill_spec = v.spec ORDER BY id DESC LIMIT %d) AS r WHERE %s ORDER BY r.id DESC LIMIT 1) AS newest
			FROM v) AS n WHERE newest IS NOT NULL`, v.text.String(), skillRuns, strings.Join(hit, " AND "))
		err := s.each(ctx, query, w.args, func(scan rowScan) error {
			var spec, runID string
			err := scan(&spec, &runID)
			found[spec], _ = id.Time(runID)
			return err
		})
		if err != nil {
			return nil, fmt.Errorf("read runs of skills: %w", err)
		}
	}
	return found, nil
}
