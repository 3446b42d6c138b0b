package store

import (
	"context"

	"github.com/lineshaft/lineshaft"
)

const runnerColumns = "uid, factory_uid, name, config, created_at, updated_at"

// PutRunner stores a runner, new or changed; its name is unique in the factory.
func (tx *Tx) PutRunner(ctx context.Context, n lineshaft.Runner) error {
	config, err := encode(n.Config)
	if err != nil {
		return err
	}
	return tx.do(ctx, "put runner", `INSERT INTO runners (`+runnerColumns+`) VALUES ($1, $2, $3, $4, $5, $6)
		ON CONFLICT (uid) DO UPDATE SET name = excluded.name, config = excluded.config, updated_at = excluded.updated_at`,
		n.UID, n.FactoryUID, n.Name, config, micros(n.CreatedAt), micros(n.UpdatedAt))
}

// DeleteRunner removes a runner.
func (tx *Tx) DeleteRunner(ctx context.Context, uid string) error {
	return tx.do(ctx, "delete runner", "DELETE FROM runners WHERE uid = $1", uid)
}

// GetRunner reads a runner of any factory.
func (r reader) GetRunner(ctx context.Context, uid string) (*lineshaft.Runner, error) {
	return only(r.runners(ctx, "WHERE uid = $1", uid)).orNotFound("runner", uid)
}

// ListRunners reads the runners of a factory by name.
func (r reader) ListRunners(ctx context.Context, factoryUID string) ([]lineshaft.Runner, error) {
	return r.runners(ctx, "WHERE factory_uid = $1 ORDER BY name", factoryUID)
}

func (r reader) runners(ctx context.Context, where string, args ...any) ([]lineshaft.Runner, error) {
	return collect(ctx, r, "read runners",
		"SELECT "+runnerColumns+" FROM runners "+where, args, func(scan rowScan) (*lineshaft.Runner, error) {
			n := &lineshaft.Runner{}
			return n, scan(&n.UID, &n.FactoryUID, &n.Name, toJSON(&n.Config), toTime(&n.CreatedAt), toTime(&n.UpdatedAt))
		})
}
