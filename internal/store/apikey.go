package store

import (
	"context"
	"time"

	"github.com/lineshaft/lineshaft"
)

const keyColumns = `k.id, k.name, k.role, k.owner_uid, p.type, p.display_name, p.email, k.hint, k.factory_uids, k.worker_ids,
	k.created_at, k.expires_at, k.revoked_at, k.last_used_at`

const keyTables = " FROM api_keys k JOIN principals p ON p.uid = k.owner_uid "

func scanKey(scan rowScan) (*lineshaft.APIKey, error) {
	k := &lineshaft.APIKey{}
	return k, scan(&k.ID, &k.Name, &k.Role, &k.Owner.UID, &k.Owner.Type, &k.Owner.DisplayName, &k.Owner.Email, &k.Hint,
		toJSON(&k.FactoryUIDs), toJSON(&k.WorkerIDs), toTime(&k.CreatedAt), toTime(&k.ExpiresAt), toTime(&k.RevokedAt), toTime(&k.LastUsedAt))
}

// InsertAPIKey stores a key by its hash.
func (tx *Tx) InsertAPIKey(ctx context.Context, k lineshaft.APIKey, key string) error {
	factories, err := encode(k.FactoryUIDs)
	if err != nil {
		return err
	}
	workers, err := encode(k.WorkerIDs)
	if err != nil {
		return err
	}
	return tx.do(ctx, "insert key",
		`INSERT INTO api_keys (id, name, role, owner_uid, key_hash, hint, factory_uids, worker_ids, created_at, expires_at,
		revoked_at, last_used_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, 0, 0)`,
		k.ID, k.Name, k.Role, k.Owner.UID, Hash(key), k.Hint, factories, workers, micros(k.CreatedAt), micros(k.ExpiresAt))
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
