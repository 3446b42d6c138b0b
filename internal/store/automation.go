package store

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
)

const automationColumns = "uid, factory_uid, name, prompt, enabled, agent, triggers, config, max_runs_per_hour, created_at, updated_at, title"

func scanAutomation(scan rowScan) (*lineshaft.Automation, error) {
	a := &lineshaft.Automation{}
	return a, scan(&a.UID, &a.FactoryUID, &a.Name, &a.Prompt, toFlag(&a.Enabled), &a.Agent, toJSON(&a.Triggers), toJSON(&a.Config), &a.MaxRunsPerHour,
		toTime(&a.CreatedAt), toTime(&a.UpdatedAt), &a.Title)
}

// PutAutomation stores an automation, new or changed; another one of the same name
// is a conflict.
func (tx *Tx) PutAutomation(ctx context.Context, a lineshaft.Automation) error {
	var triggers strings.Builder
	encoder := json.NewEncoder(&triggers)
	encoder.SetEscapeHTML(false) // a filter is read as it was written
	if err := encoder.Encode(a.Triggers); err != nil {
		return fmt.Errorf("encode triggers: %w", err)
	}
	config, err := json.Marshal(a.Config)
	if err != nil {
		return fmt.Errorf("encode automation: %w", err)
	}
	return tx.do(ctx, "put automation",
		`INSERT INTO automations (`+automationColumns+`) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12)
		ON CONFLICT (uid) DO UPDATE SET name = excluded.name, prompt = excluded.prompt, enabled = excluded.enabled, agent = excluded.agent,
		triggers = excluded.triggers, config = excluded.config, max_runs_per_hour = excluded.max_runs_per_hour, updated_at = excluded.updated_at,
		title = excluded.title`,
		a.UID, a.FactoryUID, a.Name, a.Prompt, flag(a.Enabled), a.Agent, strings.TrimSpace(triggers.String()), string(config), a.MaxRunsPerHour,
		micros(a.CreatedAt), micros(a.UpdatedAt), a.Title)
}

// DeleteAutomation removes an automation; its runs stay.
func (tx *Tx) DeleteAutomation(ctx context.Context, factoryUID, uid string) error {
	return tx.change(ctx, "delete automation", "automation", uid,
		"DELETE FROM automations WHERE uid = $1 AND factory_uid = $2", uid, factoryUID)
}

// GetAutomation reads one automation of a factory.
func (r reader) GetAutomation(ctx context.Context, factoryUID, uid string) (*lineshaft.Automation, error) {
	return only(r.automations(ctx, "WHERE uid = $1 AND factory_uid = $2", uid, factoryUID)).orNotFound("automation", uid)
}

// ListAutomations reads the automations of a factory by name.
func (r reader) ListAutomations(ctx context.Context, factoryUID string) ([]lineshaft.Automation, error) {
	return r.automations(ctx, "WHERE factory_uid = $1 ORDER BY name", factoryUID)
}

// PageAutomations reads a page of automations by factory and name, as lists show them: of
// all factories, or of those that are named.
func (r reader) PageAutomations(ctx context.Context, factoryUIDs []string, after PartKey, limit int) ([]lineshaft.Automation, bool, error) {
	end, args := partsAfter(factoryUIDs, after)
	return readPage(ctx, r, listing[lineshaft.Automation]{
		sizes: "SELECT octet_length(prompt) + octet_length(config) + octet_length(triggers) FROM automations", end: end, args: args, read: r.automations,
		cut: func(a *lineshaft.Automation) { a.Truncated = cutTexts(&a.Config, &a.Prompt) },
	}, limit)
}

func (r reader) automations(ctx context.Context, where string, args ...any) ([]lineshaft.Automation, error) {
	return collect(ctx, r, "read automations", "SELECT "+automationColumns+" FROM automations "+where, args, scanAutomation)
}
