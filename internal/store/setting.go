package store

import (
	"context"
	"fmt"
)

// SealedPrefix begins the names of settings whose value is sealed under the master
// key, bound to the name itself.
const SealedPrefix = "sealed/"

// Setting is a fact that all nodes of a database share.
type Setting struct{ Name, Value string }

// EnsureSetting returns the stored value of a setting, storing value if there is none.
func (tx *Tx) EnsureSetting(ctx context.Context, name, value string) (string, error) {
	if _, err := tx.exec(ctx, "INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING", name, value); err != nil {
		return "", fmt.Errorf("put setting: %w", err)
	}
	var stored string
	if err := tx.one(ctx, "SELECT value FROM settings WHERE name = $1", []any{name}, &stored); err != nil {
		return "", fmt.Errorf("read setting: %w", err)
	}
	return stored, nil
}

// ReplaceSetting writes another value of a setting if it still is the given one.
func (tx *Tx) ReplaceSetting(ctx context.Context, name, was, value string) error {
	return tx.do(ctx, "replace setting", "UPDATE settings SET value = $3 WHERE name = $1 AND value = $2", name, was, value)
}

// GetSetting reads a setting; one that was never stored is empty.
func (r reader) GetSetting(ctx context.Context, name string) (stored string, err error) {
	_, err = r.look(ctx, "read setting", "SELECT value FROM settings WHERE name = $1", []any{name}, &stored)
	return stored, err
}

// PutSetting stores a setting, whatever it was before.
func (tx *Tx) PutSetting(ctx context.Context, name, value string) error {
	return tx.do(ctx, "put setting",
		"INSERT INTO settings (name, value) VALUES ($1, $2) ON CONFLICT (name) DO UPDATE SET value = excluded.value", name, value)
}

// DeleteSettings removes a setting and all below it, as a folder with its content.
func (tx *Tx) DeleteSettings(ctx context.Context, name string) error {
	return tx.do(ctx, "delete settings",
		"DELETE FROM settings WHERE name = $1 OR (name >= $2 AND name < $3)", name, name+"/", name+"0") // 0 follows /
}

// ListSettings reads the settings below a folder, such as "sealed/", by name and at
// most limit of them, beginning after a name.
func (r reader) ListSettings(ctx context.Context, folder, after string, limit int) ([]Setting, error) {
	last := folder[:len(folder)-1] + "0" // 0 follows /
	const query = "SELECT name, value FROM settings WHERE name > $1 AND name < $2 ORDER BY name LIMIT $3"
	return collect(ctx, r, "list settings", query, []any{max(folder, after), last, limit}, func(scan rowScan) (*Setting, error) {
		s := &Setting{}
		return s, scan(&s.Name, &s.Value)
	})
}
