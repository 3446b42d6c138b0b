package store

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/lineshaft/lineshaft"
)

// InsertAgent stores a new agent; its name is unique in the factory.
func (tx *Tx) InsertAgent(ctx context.Context, a lineshaft.Agent) error {
	config, err := json.Marshal(a.Config)
	if err != nil {
		return fmt.Errorf("encode agent: %w", err)
	}
	_, err = tx.exec(ctx, `INSERT INTO agents (uid, factory_uid, name, type, description, prompt, config, created_at, updated_at)
		VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)`, a.UID, a.FactoryUID, a.Name, a.Type, a.Description, a.Prompt, string(config),
		micros(a.CreatedAt), micros(a.UpdatedAt))
	if err != nil {
		return fmt.Errorf("insert agent: %w", err)
	}
	return nil
}

// ListAgents reads the agents of a factory by name.
func (r reader) ListAgents(ctx context.Context, factoryUID string) ([]lineshaft.Agent, error) {
	var found []lineshaft.Agent
	err := r.each(ctx, `SELECT uid, factory_uid, name, type, description, prompt, config, created_at, updated_at FROM agents
		WHERE factory_uid = $1 ORDER BY name`, []any{factoryUID}, func(scan func(...any) error) error {
		var a lineshaft.Agent
		var config string
		var created, updated int64
		if err := scan(&a.UID, &a.FactoryUID, &a.Name, &a.Type, &a.Description, &a.Prompt, &config, &created, &updated); err != nil {
			return fmt.Errorf("scan agent: %w", err)
		}
		if err := json.Unmarshal([]byte(config), &a.Config); err != nil {
			return fmt.Errorf("decode agent: %w", err)
		}
		a.CreatedAt, a.UpdatedAt = fromMicros(created), fromMicros(updated)
		found = append(found, a)
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("list agents: %w", err)
	}
	return found, nil
}
