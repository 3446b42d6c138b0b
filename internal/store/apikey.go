package store

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
)

const keyColumns = `k.id, k.name, k.role, k.owner_uid, p.type, p.display_name, p.email, k.hint, k.factory_uids, k.worker_ids,
	k.created_at, k.expires_at, k.revoked_at, k.last_used_at`

const keyTables = " FROM api_keys k JOIN principals p ON p.uid = k.owner_uid "

func scanKey(scan rowScan) (*lineshaft.APIKey, error) {
	var k lineshaft.APIKey
	var factories, workers string
	var created, expires, revoked, used int64
	if err := scan(&k.ID, &k.Name, &k.Role, &k.Owner.UID, &k.Owner.Type, &k.Owner.DisplayName, &k.Owner.Email, &k.Hint, &factories, &workers,
		&created, &expires, &revoked, &used); err != nil {
		return nil, fmt.Errorf("scan key: %w", err)
	}
	k.CreatedAt, k.ExpiresAt, k.RevokedAt, k.LastUsedAt = fromMicros(created), fromMicros(expires), fromMicros(revoked), fromMicros(used)
	if err := errors.Join(json.Unmarshal([]byte(factories), &k.FactoryUIDs), json.Unmarshal([]byte(workers), &k.WorkerIDs)); err != nil {
		return nil, fmt.Errorf("decode key: %w", err)
	}
	return &k, nil
}

// InsertAPIKey stores a key by its hash.
func (tx *Tx) InsertAPIKey(ctx context.Context, k lineshaft.APIKey, key string) error {
	factories, err := json.Marshal(k.FactoryUIDs)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	workers, err := json.Marshal(k.WorkerIDs)
	if err != nil {
		return fmt.Errorf("encode key: %w", err)
	}
	return tx.do(ctx, "insert key",
		`INSERT INTO api_keys (id, name, role, owner_uid, key_hash, hint, factory_uids, worker_ids, created_at, expires_at,
		revoked_at, last_used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0)`,
		k.ID, k.Name, k.Role, k.Owner.UID, Hash(key), k.Hint, string(factories), string(workers), micros(k.CreatedAt), micros(k.ExpiresAt))
}

// FindAPIKey looks a key up by its text; NotFound when there is none.
func (r reader) FindAPIKey(ctx context.Context, key string) (*lineshaft.APIKey, error) {
	return r.apiKey(ctx, "WHERE k.key_hash = $1", Hash(key))
}

// GetAPIKey reads a key by its id.
func (r reader) GetAPIKey(ctx context.Context, keyID string) (*lineshaft.APIKey, error) {
	return r.apiKey(ctx, "WHERE k.id = $1", keyID)
}

func (r reader) apiKey(ctx context.Context, where string, arg any) (*lineshaft.APIKey, error) {
	return find(ctx, r, "API key", "", "SELECT "+keyColumns+keyTables+where, []any{arg}, scanKey)
}

// PageAPIKeys reads a page of keys, newest first, from before one on.
func (r reader) PageAPIKeys(ctx context.Context, before string, limit int) ([]lineshaft.APIKey, bool, error) {
	if before == "" {
		before = "z" // above every id
	}
	keys, err := r.apiKeys(ctx, "WHERE k.id < $1 ORDER BY k.id DESC LIMIT $2", before, limit+1)
	if len(keys) > limit {
		return keys[:limit], true, err
	}
	return keys, false, err
}

// KeysOf reads the keys of an owner.
func (r reader) KeysOf(ctx context.Context, ownerUID string) ([]lineshaft.APIKey, error) {
	return r.apiKeys(ctx, "WHERE k.owner_uid = $1", ownerUID)
}

// LockAdminKeys reads the admin keys that were not revoked, and holds them: nobody
// else revokes one meanwhile.
func (tx *Tx) LockAdminKeys(ctx context.Context) ([]lineshaft.APIKey, error) {
	return tx.apiKeys(ctx, "WHERE k.role = 'admin' AND k.revoked_at = 0 ORDER BY k.id"+tx.d.forUpdate)
}

func (r reader) apiKeys(ctx context.Context, where string, args ...any) ([]lineshaft.APIKey, error) {
	return collect(ctx, r, "list keys", "SELECT "+keyColumns+keyTables+where, args, scanKey)
}

// RevokeAPIKey ends a key; NotFound when there is no such key. A second call changes nothing.
func (tx *Tx) RevokeAPIKey(ctx context.Context, keyID string, at time.Time) error {
	return tx.change(ctx, "revoke key", "API key", keyID,
		"UPDATE api_keys SET revoked_at = CASE WHEN revoked_at = 0 THEN $2 ELSE revoked_at END WHERE id = $1", keyID, micros(at))
}

// TouchAPIKey records that a key was used.
func (tx *Tx) TouchAPIKey(ctx context.Context, keyID string, at time.Time) error {
	_, err := tx.exec(ctx, "UPDATE api_keys SET last_used_at = $2 WHERE id = $1 AND last_used_at < $2", keyID, micros(at))
	return err
}
