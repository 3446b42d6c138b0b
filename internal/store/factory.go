package store

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
)

const factoryColumns = "uid, name, alias, description, mode, defaults, shared, paused, daily_tokens, daily_cost_micros, foreman, revision, created_at, updated_at"

func scanFactory(scan rowScan) (*lineshaft.Factory, error) {
	f := &lineshaft.Factory{}
	var shared factoryShared
	err := scan(&f.UID, &f.Name, &f.Alias, &f.Description, &f.Mode, toJSON(&f.Defaults), toJSON(&shared), toFlag(&f.Paused), &f.DailyBudget.MaxTokens,
		&f.DailyBudget.MaxCostMicros, &f.Foreman, &f.Revision, toTime(&f.CreatedAt), toTime(&f.UpdatedAt))
	f.Secrets, f.MCPServers, f.Repositories = shared.Secrets, shared.MCPServers, shared.Repositories
	return f, err
}

// factoryShared is what a factory has besides its defaults.
type factoryShared struct {
	Secrets      []string                       `json:"secrets,omitempty"`
	MCPServers   map[string]lineshaft.MCPServer `json:"mcp_servers,omitempty"`
	Repositories []lineshaft.Repository         `json:"repositories,omitempty"`
}

func encodeFactory(f lineshaft.Factory) (defaults, shared string, err error) {
	if defaults, err = encode(f.Defaults); err != nil {
		return "", "", err
	}
	shared, err = encode(factoryShared{f.Secrets, f.MCPServers, f.Repositories})
	return defaults, shared, err
}

// aliasKey makes aliases unique whatever their case; no alias is NULL.
func aliasKey(alias string) any { return null(lineshaft.FoldCase(alias)) }

// InsertFactory stores a new factory; a taken alias is a conflict.
func (tx *Tx) InsertFactory(ctx context.Context, f lineshaft.Factory) error {
	defaults, shared, err := encodeFactory(f)
	if err != nil {
		return err
	}
	return tx.do(ctx, "insert factory",
		`INSERT INTO factories (uid, name, alias, alias_key, description, mode, defaults, shared, paused, foreman, revision, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 1, $11, $12)`, f.UID, f.Name, f.Alias, aliasKey(f.Alias), f.Description, f.Mode, defaults, shared,
		flag(f.Paused), f.Foreman, micros(f.CreatedAt), micros(f.UpdatedAt))
}

// UpdateFactory writes what people may change of a factory that LockFactory returned.
func (tx *Tx) UpdateFactory(ctx context.Context, f lineshaft.Factory) error {
	defaults, shared, err := encodeFactory(f)
	if err != nil {
		return err
	}
	return tx.do(ctx, "update factory",
		"UPDATE factories SET name = $2, alias = $3, alias_key = $4, description = $5, defaults = $6, shared = $7, paused = $8, foreman = $9, daily_tokens = $10, daily_cost_micros = $11 WHERE uid = $1",
		f.UID, f.Name, f.Alias, aliasKey(f.Alias), f.Description, defaults, shared, flag(f.Paused), f.Foreman, f.DailyBudget.MaxTokens, f.DailyBudget.MaxCostMicros)
}

// DeleteFactory removes a factory with its agents and automations. Its webhooks are
// also deleted, but keep their rows for the log.
func (tx *Tx) DeleteFactory(ctx context.Context, uid string, at time.Time) error {
	for _, table := range []string{"agents", "automations", "runners", "skills", "definition_revisions", "definition_files", "factory_repositories", "timers", "factory_spending"} {
		if _, err := tx.exec(ctx, "DELETE FROM "+table+" WHERE factory_uid = $1", uid); err != nil {
			return fmt.Errorf("delete %s: %w", table, err)
		}
	}
	if _, err := tx.exec(ctx, "UPDATE webhooks SET deleted_at = $2, credential = '', old_credential = '' WHERE factory_uid = $1 AND deleted_at = 0", uid, micros(at)); err != nil {
		return fmt.Errorf("delete webhooks: %w", err)
	}
	return tx.do(ctx, "delete factory", "DELETE FROM factories WHERE uid = $1", uid)
}

// LockFactory begins a change to a factory or a part of it: no delivery is accepted
// meanwhile, and those that were prepared before find another revision.
func (tx *Tx) LockFactory(ctx context.Context, uid string, at time.Time) (*lineshaft.Factory, error) {
	if tx.d.lockFactory != "" {
		if _, err := tx.exec(ctx, tx.d.lockFactory, uid); err != nil {
			return nil, fmt.Errorf("lock factory: %w", err)
		}
	}
	return tx.factory(ctx, uid, "UPDATE factories SET revision = revision + 1, updated_at = $2 WHERE uid = $1 RETURNING "+factoryColumns, uid, micros(at))
}

// ShareFactories keeps factories from changing until the transaction ends. Their revisions are
// there once something else has been read, or with Await; one that is gone has none.
func (tx *Tx) ShareFactories(ctx context.Context, uids []string) (map[string]int64, error) {
	if len(uids) == 0 {
		return nil, nil
	}
	uids = slices.Compact(slices.Sorted(slices.Values(uids)))
	if tx.d.shareFactory != "" {
		rows := inserts{forms: casts("TEXT")}
		for _, uid := range uids {
			rows.row(uid)
		}
		text, args := rows.padded(tx.d)
		if err := tx.send(ctx, "share factories", fmt.Sprintf(tx.d.shareFactory, text), args...); err != nil {
			return nil, err
		}
	}
	revisions := map[string]int64{}
	var args []any
	query := "SELECT uid, revision FROM factories WHERE uid IN " + list(&args, uids)
	return revisions, tx.ask(ctx, "read factory revisions", query, args, func(scan rowScan) error {
		var uid string
		var revision int64
		err := scan(&uid, &revision)
		revisions[uid] = revision
		return err
	})
}

// FactoryRevisions reads the revision of every factory, for copies kept in memory.
func (r reader) FactoryRevisions(ctx context.Context) (map[string]int64, error) {
	return pairs[string, int64](ctx, r, "read factory revisions", "SELECT uid, revision FROM factories", nil)
}

// GetFactory reads a factory.
func (r reader) GetFactory(ctx context.Context, uid string) (*lineshaft.Factory, error) {
	return r.factory(ctx, uid, "SELECT "+factoryColumns+" FROM factories WHERE uid = $1", uid)
}

func (r reader) factory(ctx context.Context, uid, query string, args ...any) (*lineshaft.Factory, error) {
	return find(ctx, r, "factory", uid, query, args, scanFactory)
}

// ListFactories reads factories in the order of their making, from after a uid on.
func (r reader) ListFactories(ctx context.Context, after string, limit int) ([]lineshaft.Factory, error) {
	return collect(ctx, r, "list factories", "SELECT "+factoryColumns+" FROM factories WHERE uid > $1 ORDER BY uid LIMIT $2", []any{after, limit}, scanFactory)
}

// Factories reads factories by their uids; those that are gone are left out.
func (r reader) Factories(ctx context.Context, uids ...string) (map[string]lineshaft.Factory, error) {
	found := map[string]lineshaft.Factory{}
	if len(uids) == 0 {
		return found, nil
	}
	var args []any
	err := r.each(ctx, "SELECT "+factoryColumns+" FROM factories WHERE uid IN "+list(&args, uids), args, func(scan rowScan) error {
		f, err := scanFactory(scan)
		if err == nil {
			found[f.UID] = *f
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read factories: %w", err)
	}
	return found, nil
}

// PartCounts is how many parts a factory has.
type PartCounts struct{ Agents, Automations, Webhooks int }

// CountParts counts the live parts of factories; one without any is not in the map.
func (r reader) CountParts(ctx context.Context, factoryUIDs ...string) (map[string]PartCounts, error) {
	counts := map[string]PartCounts{}
	if len(factoryUIDs) == 0 {
		return counts, nil
	}
	for _, kind := range []struct {
		from  string
		field func(*PartCounts) *int
	}{
		{"agents WHERE factory_uid IN ", func(c *PartCounts) *int { return &c.Agents }},
		{"automations WHERE factory_uid IN ", func(c *PartCounts) *int { return &c.Automations }},
		{"webhooks WHERE deleted_at = 0 AND factory_uid IN ", func(c *PartCounts) *int { return &c.Webhooks }},
	} {
		var args []any
		query := "SELECT factory_uid, count(*) FROM " + kind.from + list(&args, factoryUIDs) + " GROUP BY factory_uid"
		err := r.each(ctx, query, args, func(scan rowScan) error {
			var uid string
			var n int
			if err := scan(&uid, &n); err != nil {
				return fmt.Errorf("scan count: %w", err)
			}
			c := counts[uid]
			*kind.field(&c) = n
			counts[uid] = c
			return nil
		})
		if err != nil {
			return nil, fmt.Errorf("count parts: %w", err)
		}
	}
	return counts, nil
}

// AliasTaken says whether another factory has an alias.
func (r reader) AliasTaken(ctx context.Context, alias, exceptUID string) (bool, error) {
	return r.exists(ctx, "look for alias", "SELECT 1 FROM factories WHERE alias_key = $1 AND uid <> $2", aliasKey(alias), exceptUID)
}
