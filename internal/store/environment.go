package store

import (
	"context"
	"fmt"

	"github.com/lineshaft/lineshaft"
)

const environmentColumns = "uid, config, creator_uid, editor_uid, created_at, updated_at"

// PutEnvironment stores an environment, new or changed.
func (tx *Tx) PutEnvironment(ctx context.Context, e lineshaft.Environment) error {
	config, err := encode(e.Config)
	if err != nil {
		return err
	}
	return tx.do(ctx, "put environment", `INSERT INTO environments (`+environmentColumns+`) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (uid) DO UPDATE SET config = excluded.config, editor_uid = excluded.editor_uid, updated_at = excluded.updated_at`,
		e.UID, config, e.Creator, e.Editor, micros(e.CreatedAt), micros(e.UpdatedAt))
}

// DeleteEnvironment removes an environment; runs keep its uid.
func (tx *Tx) DeleteEnvironment(ctx context.Context, uid string) error {
	return tx.change(ctx, "delete environment", "environment", uid, "DELETE FROM environments WHERE uid = $1", uid)
}

// LockEnvironment reads an environment that this transaction is about to change or
// to rely on.
func (tx *Tx) LockEnvironment(ctx context.Context, uid string) (*lineshaft.Environment, error) {
	return tx.environment(ctx, uid, tx.d.forUpdate)
}

// GetEnvironment reads an environment.
func (r reader) GetEnvironment(ctx context.Context, uid string) (*lineshaft.Environment, error) {
	return r.environment(ctx, uid, "")
}

func (r reader) environment(ctx context.Context, uid, lock string) (*lineshaft.Environment, error) {
	return only(r.environments(ctx, "WHERE uid = $1"+lock, uid)).orNotFound("environment", uid)
}

// ListEnvironments reads all environments.
func (r reader) ListEnvironments(ctx context.Context) ([]lineshaft.Environment, error) {
	return r.environments(ctx, "ORDER BY uid")
}

// EnvironmentExtent is how many environments there are, and how long their configurations.
func (r reader) EnvironmentExtent(ctx context.Context) (Extent, error) {
	return r.extent(ctx, "SELECT count(*), coalesce(sum(octet_length(config)), 0) FROM environments")
}

func (r reader) environments(ctx context.Context, where string, args ...any) ([]lineshaft.Environment, error) {
	return collect(ctx, r, "read environments",
		"SELECT "+environmentColumns+" FROM environments "+where, args, func(scan rowScan) (*lineshaft.Environment, error) {
			e := &lineshaft.Environment{}
			return e, scan(&e.UID, toJSON(&e.Config), &e.Creator, &e.Editor, toTime(&e.CreatedAt), toTime(&e.UpdatedAt))
		})
}

// LiveRun finds a run in an environment that has not ended; "" when there is none.
func (r reader) LiveRun(ctx context.Context, environmentUID string) (runID string, err error) {
	_, err = r.look(ctx, "find live run of environment",
		"SELECT id FROM runs WHERE environment_id = $1 AND finished_at = 0 ORDER BY id LIMIT 1", []any{environmentUID}, &runID)
	return runID, err
}

// DescribeEnvironment reads an environment with what is known of its use.
func (r reader) DescribeEnvironment(ctx context.Context, uid string) (*lineshaft.EnvironmentDetail, error) {
	e, err := r.GetEnvironment(ctx, uid)
	if err != nil {
		return nil, err
	}
	found, err := r.describe(ctx, []lineshaft.Environment{*e}, "WHERE uid = $1", uid)
	if err != nil {
		return nil, err
	}
	return &found[0], nil
}

// DescribeEnvironments reads all environments with what is known of their use.
func (r reader) DescribeEnvironments(ctx context.Context) ([]lineshaft.EnvironmentDetail, error) {
	list, err := r.ListEnvironments(ctx)
	if err != nil {
		return nil, err
	}
	return r.describe(ctx, list, "")
}

// describe adds to environments who made them and their newest runs.
func (r reader) describe(ctx context.Context, list []lineshaft.Environment, where string, args ...any) ([]lineshaft.EnvironmentDetail, error) {
	details := make([]lineshaft.EnvironmentDetail, len(list))
	at := map[string]*lineshaft.EnvironmentDetail{}
	for i, e := range list {
		details[i] = lineshaft.EnvironmentDetail{Environment: e, CreatedBy: lineshaft.Principal{UID: e.Creator}, EditedBy: lineshaft.Principal{UID: e.Editor}}
		at[e.UID] = &details[i]
	}
	err := r.each(ctx, `WITH e (uid, creator, editor, newest) AS (SELECT uid, creator_uid, editor_uid,
			(SELECT id FROM runs WHERE environment_id = environments.uid ORDER BY id DESC LIMIT 1) FROM environments `+where+`)
		SELECT e.uid, c.type, c.display_name, c.email, d.type, d.display_name, d.email,
			r.id, r.factory_uid, r.title, r.state, r.error_code, r.created_at, r.updated_at, r.started_at
		FROM e LEFT JOIN principals c ON c.uid = e.creator LEFT JOIN principals d ON d.uid = e.editor LEFT JOIN runs r ON r.id = e.newest`,
		args, func(scan rowScan) error { return scanDetail(scan, at) })
	if err != nil {
		return nil, fmt.Errorf("describe environments: %w", err)
	}
	return details, nil
}

func scanDetail(scan func(...any) error, at map[string]*lineshaft.EnvironmentDetail) error {
	var uid string
	var creator, editor [3]*string
	var runID, factory, title, state, code *string
	var created, updated, started *int64
	err := scan(&uid, &creator[0], &creator[1], &creator[2], &editor[0], &editor[1], &editor[2], &runID, &factory, &title, &state, &code, &created, &updated, &started)
	d := at[uid]
	if err != nil || d == nil { // made since the list was read
		return err
	}
	d.CreatedBy = lineshaft.Principal{UID: d.Creator, Type: lineshaft.PrincipalType(text(creator[0])), DisplayName: text(creator[1]), Email: text(creator[2])}
	d.EditedBy = lineshaft.Principal{UID: d.Editor, Type: lineshaft.PrincipalType(text(editor[0])), DisplayName: text(editor[1]), Email: text(editor[2])}
	if runID != nil {
		d.LastRun = &lineshaft.EnvironmentRun{
			ID: *runID, FactoryUID: text(factory), Title: text(title), State: lineshaft.RunState(text(state)), Code: lineshaft.Code(text(code)),
			CreatedAt: fromMicros(*created), UpdatedAt: fromMicros(*updated), StartedAt: fromMicros(*started),
		}
	}
	return nil
}
