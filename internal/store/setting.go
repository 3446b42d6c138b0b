package store

import (
	"context"
	"errors"
	"fmt"
)

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
	if _, err := tx.exec(ctx, "UPDATE settings SET value = $3 WHERE name = $1 AND value = $2", name, was, value); err != nil {
		return fmt.Errorf("replace setting: %w", err)
	}
	return nil
}

// GetSetting reads a setting; one that was never stored is empty.
func (r reader) GetSetting(ctx context.Context, name string) (string, error) {
	var stored string
	err := r.one(ctx, "SELECT value FROM settings WHERE name = $1", []any{name}, &stored)
	if err != nil && !errors.Is(err, errNoRows) {
		return "", fmt.Errorf("read setting: %w", err)
	}
	return stored, nil
}
