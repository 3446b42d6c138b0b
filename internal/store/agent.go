package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

const agentColumns = "uid, factory_uid, name, type, description, prompt, config, created_at, updated_at"

// PutAgent stores an agent, new or changed. Its name is unique in the factory, or among
// agents without a factory, and stays known to its runs.
func (tx *Tx) PutAgent(ctx context.Context, a lineshaft.Agent) error {
	config, err := encode(a.Config)
	if err != nil {
		return err
	}
	_, err = tx.exec(ctx, `INSERT INTO agents (`+agentColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
		ON CONFLICT (uid) DO UPDATE SET name = excluded.name, type = excluded.type, description = excluded.description,
		prompt = excluded.prompt, config = excluded.config, updated_at = excluded.updated_at`,
		a.UID, a.FactoryUID, a.Name, a.Type, a.Description, a.Prompt, config, micros(a.CreatedAt), micros(a.UpdatedAt))
	if err != nil {
		return fmt.Errorf("put agent: %w", err)
	}
	executor := lineshaft.Principal{UID: a.UID, Type: lineshaft.ServiceAccount, DisplayName: a.Name}
	if err := tx.PutPrincipal(ctx, executor, a.CreatedAt); err != nil {
		return err
	}
	return tx.RenamePrincipal(ctx, executor)
}

// DeleteAgent removes an agent; its runs stay.
func (tx *Tx) DeleteAgent(ctx context.Context, uid string) error {
	return tx.change(ctx, "delete agent", "agent", uid, "DELETE FROM agents WHERE uid = $1", uid)
}

// LockAgent reads an agent that this transaction is about to change.
func (tx *Tx) LockAgent(ctx context.Context, uid string) (*lineshaft.Agent, error) {
	return tx.agent(ctx, uid, tx.d.forUpdate)
}

// SchedulesOfAgent reads the names of the schedules that start runs of an agent.
func (r reader) SchedulesOfAgent(ctx context.Context, uid string) ([]string, error) {
	names, err := r.texts(ctx, "SELECT name FROM schedules WHERE agent_uid = $1 AND agent_uid <> ''", uid)
	if err != nil {
		return nil, fmt.Errorf("read schedules of agent: %w", err)
	}
	slices.Sort(names)
	return names, nil
}

// GetAgent reads an agent of any factory, or of none.
func (r reader) GetAgent(ctx context.Context, uid string) (*lineshaft.Agent, error) {
	return r.agent(ctx, uid, "")
}

func (r reader) agent(ctx context.Context, uid, lock string) (*lineshaft.Agent, error) {
	return only(r.agents(ctx, "WHERE uid = $1"+lock, uid)).orNotFound("agent", uid)
}

// ListAgents reads the agents of a factory by name; those without a factory for an empty uid.
func (r reader) ListAgents(ctx context.Context, factoryUID string) ([]lineshaft.Agent, error) {
	return r.agents(ctx, "WHERE factory_uid = $1 ORDER BY name", factoryUID)
}

// PartKey is a place in a list by factory and name.
type PartKey struct{ Factory, Name string }

// PageAgents reads a page of agents by factory and name, as lists show them: of all
// factories, or of those that are named.
func (r reader) PageAgents(ctx context.Context, factoryUIDs []string, after PartKey, limit int) ([]lineshaft.Agent, bool, error) {
	end, args := partsAfter(factoryUIDs, after)
	return readPage(ctx, r, listing[lineshaft.Agent]{
		sizes: "SELECT octet_length(prompt) + octet_length(config) FROM agents", end: end, args: args, read: r.agents,
		cut: func(a *lineshaft.Agent) { a.Truncated = cutTexts(&a.Config, &a.Prompt) },
	}, limit)
}

// PartName is what a part of a factory is called.
type PartName struct {
	PartKey

	UID string
}

// PartNames reads only the names of agents, automations or live webhooks, by factory and name: nothing long.
func (r reader) PartNames(ctx context.Context, noun string, factoryUIDs []string, after PartKey, limit int) ([]PartName, error) {
	end, args := partsAfter(factoryUIDs, after)
	from := map[string]string{
		"agent": "agents WHERE", "automation": "automations WHERE", "webhook": "webhooks WHERE deleted_at = 0 AND",
	}[noun]
	query := fmt.Sprintf("SELECT factory_uid, name, uid FROM %s%s LIMIT %d", from, strings.TrimPrefix(end, "WHERE"), limit)
	return collect(ctx, r, "read names of parts", query, args, func(scan rowScan) (*PartName, error) {
		n := &PartName{}
		return n, scan(&n.Factory, &n.Name, &n.UID)
	})
}

// partsAfter is the end of a statement that reads parts of factories by factory and name.
func partsAfter(factoryUIDs []string, after PartKey) (end string, args []any) {
	args = []any{after.Factory, after.Name}
	end = "WHERE (factory_uid, name) > ($1, $2)"
	if len(factoryUIDs) > 0 {
		end += " AND factory_uid IN " + list(&args, factoryUIDs)
	}
	return end + " ORDER BY factory_uid, name", args
}

func (r reader) agents(ctx context.Context, where string, args ...any) ([]lineshaft.Agent, error) {
	return collect(ctx, r, "read agents", "SELECT "+agentColumns+" FROM agents "+where, args, func(scan rowScan) (*lineshaft.Agent, error) {
		a := &lineshaft.Agent{}
		return a, scan(&a.UID, &a.FactoryUID, &a.Name, &a.Type, &a.Description, &a.Prompt, toJSON(&a.Config), toTime(&a.CreatedAt), toTime(&a.UpdatedAt))
	})
}
