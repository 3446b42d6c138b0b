package store

import (
	"context"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Secret is a managed secret with its sealed value.
type Secret struct {
	lineshaft.Secret

	Sealed string
}

const secretColumns = "name, kind, access, description, sealed, created_at, updated_at"

// InsertSecret stores a new secret; a taken name is a conflict.
func (tx *Tx) InsertSecret(ctx context.Context, s Secret) error {
	return tx.do(ctx, "insert secret", "INSERT INTO secrets ("+secretColumns+") VALUES ($1, $2, $3, $4, $5, $6, $7)",
		s.Name, s.Kind, s.Access, s.Description, s.Sealed, micros(s.CreatedAt), micros(s.UpdatedAt))
}

// UpdateSecret writes a secret's value, access and description.
func (tx *Tx) UpdateSecret(ctx context.Context, s Secret) error {
	return tx.change(ctx, "update secret", "secret", s.Name,
		"UPDATE secrets SET access = $2, description = $3, sealed = $4, updated_at = $5 WHERE name = $1",
		s.Name, s.Access, s.Description, s.Sealed, micros(s.UpdatedAt))
}

// ReplaceSealed writes a value sealed again if it was not changed meanwhile.
func (tx *Tx) ReplaceSealed(ctx context.Context, name, was, sealed string) error {
	_, err := tx.exec(ctx, "UPDATE secrets SET sealed = $3 WHERE name = $1 AND sealed = $2", name, was, sealed)
	return err
}

// DeleteSecret removes a secret.
func (tx *Tx) DeleteSecret(ctx context.Context, name string) error {
	return tx.change(ctx, "delete secret", "secret", name, "DELETE FROM secrets WHERE name = $1", name)
}

// LockSecret reads a secret that this transaction is about to change or to rely on.
func (tx *Tx) LockSecret(ctx context.Context, name string) (*Secret, error) {
	return tx.secret(ctx, name, "WHERE name = $1"+tx.d.forUpdate)
}

// GetSecret reads a secret.
func (r reader) GetSecret(ctx context.Context, name string) (*Secret, error) {
	return r.secret(ctx, name, "WHERE name = $1")
}

func (r reader) secret(ctx context.Context, name, where string) (*Secret, error) {
	return only(r.secrets(ctx, secretColumns, where, name)).orNotFound("secret", name)
}

// ListSecrets reads secrets by name, from after one on, of a kind or of all: there are few of the other. Their
// sealed values are long and only read for callers that open them.
func (r reader) ListSecrets(ctx context.Context, kind lineshaft.SecretKind, after string, limit int, sealed bool) ([]Secret, error) {
	columns, where, args := secretColumns, "", []any{after, limit}
	if !sealed {
		columns = strings.Replace(columns, "sealed", "'' AS sealed", 1)
	}
	if kind != "" {
		where, args = " AND kind = $3", append(args, kind)
	}
	return r.secrets(ctx, columns, "WHERE name > $1"+where+" ORDER BY name LIMIT $2", args...)
}

func (r reader) secrets(ctx context.Context, columns, where string, args ...any) ([]Secret, error) {
	return collect(ctx, r, "read secrets", "SELECT "+columns+" FROM secrets "+where, args, func(scan rowScan) (*Secret, error) {
		s := &Secret{}
		var created, updated int64
		if err := scan(&s.Name, &s.Kind, &s.Access, &s.Description, &s.Sealed, &created, &updated); err != nil {
			return nil, fmt.Errorf("scan secret: %w", err)
		}
		s.CreatedAt, s.UpdatedAt = fromMicros(created), fromMicros(updated)
		return s, nil
	})
}
