package store

import (
	"context"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
)

// A session of a key is what the key is now; a revoked key has no sessions. Sessions
// of an identity provider have no key.
const (
	sessionColumns = `s.id, s.principal_uid, p.type, p.display_name, p.email, s.method, s.key_id, coalesce(k.name, ''), coalesce(k.role, s.role),
		coalesce(k.factory_uids, 'null'), s.remote_addr, s.user_agent, s.created_at, s.expires_at, s.last_seen_at`
	sessionTables = " FROM sessions s JOIN principals p ON p.uid = s.principal_uid LEFT JOIN api_keys k ON k.id = s.key_id "
	sessionLive   = " s.expires_at > $1 AND (s.method <> 'key' OR k.revoked_at = 0 AND (k.expires_at = 0 OR k.expires_at > $1))"
)

func scanSession(scan rowScan) (*lineshaft.Session, error) {
	s := &lineshaft.Session{}
	return s, scan(&s.ID, &s.Principal.UID, &s.Principal.Type, &s.Principal.DisplayName, &s.Principal.Email, &s.Method, &s.KeyID, &s.KeyName, &s.Role,
		toJSON(&s.FactoryUIDs), &s.RemoteAddr, &s.UserAgent, toTime(&s.CreatedAt), toTime(&s.ExpiresAt), toTime(&s.LastSeenAt))
}

// InsertSession stores a browser session by the hash of its token.
func (tx *Tx) InsertSession(ctx context.Context, s lineshaft.Session, token string) error {
	return tx.do(ctx, "insert session",
		`INSERT INTO sessions (token_hash, id, principal_uid, method, key_id, role, remote_addr, user_agent, created_at, expires_at,
		last_seen_at) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $9)`,
		Hash(token), s.ID, s.Principal.UID, s.Method, s.KeyID, s.Role, s.RemoteAddr, s.UserAgent, micros(s.CreatedAt), micros(s.ExpiresAt))
}

// FindSession looks a live session up by its token; NotFound when there is none.
func (r reader) FindSession(ctx context.Context, token string, now time.Time) (*lineshaft.Session, error) {
	return r.session(ctx, "s.token_hash = $2", Hash(token), now)
}

// GetSession reads a live session by its id; NotFound when there is none.
func (r reader) GetSession(ctx context.Context, sessionID string, now time.Time) (*lineshaft.Session, error) {
	return r.session(ctx, "s.id = $2", sessionID, now)
}

func (r reader) session(ctx context.Context, where, arg string, now time.Time) (*lineshaft.Session, error) {
	query := "SELECT " + sessionColumns + sessionTables + "WHERE " + where + " AND" + sessionLive
	return find(ctx, r, "session", "", query, []any{micros(now), arg}, scanSession)
}

// ListSessions reads live sessions of a principal, or everyone's when it is empty,
// newest first, from those before a session on.
func (r reader) ListSessions(ctx context.Context, principalUID, before string, limit int, now time.Time) ([]lineshaft.Session, error) {
	query, args := "SELECT "+sessionColumns+sessionTables+"WHERE"+sessionLive, []any{micros(now)}
	for _, and := range []struct{ column, value string }{{"s.principal_uid =", principalUID}, {"s.id <", before}} {
		if and.value != "" {
			args = append(args, and.value)
			query += fmt.Sprintf(" AND %s $%d", and.column, len(args))
		}
	}
	args = append(args, limit)
	query += fmt.Sprintf(" ORDER BY s.id DESC LIMIT $%d", len(args))
	return collect(ctx, r, "list sessions", query, args, scanSession)
}

// TouchSession records that a session was used.
func (tx *Tx) TouchSession(ctx context.Context, sessionID string, at time.Time) error {
	return tx.do(ctx, "touch session", "UPDATE sessions SET last_seen_at = $2 WHERE id = $1 AND last_seen_at < $2", sessionID, micros(at))
}

// DeleteSession ends the session of a token, and says which one that was; empty when
// there is none.
func (tx *Tx) DeleteSession(ctx context.Context, token string) (sessionID string, err error) {
	_, err = tx.look(ctx, "delete session", "DELETE FROM sessions WHERE token_hash = $1 RETURNING id", []any{Hash(token)}, &sessionID)
	return sessionID, err
}

// EndSession ends a session by its id; NotFound when there is none.
func (tx *Tx) EndSession(ctx context.Context, sessionID string) error {
	return tx.change(ctx, "end session", "session", sessionID, "DELETE FROM sessions WHERE id = $1", sessionID)
}

// EndOtherSessions ends all sessions of a principal but one, and says how many.
func (tx *Tx) EndOtherSessions(ctx context.Context, principalUID, keep string) (int64, error) {
	return tx.count(ctx, "end other sessions", "DELETE FROM sessions WHERE principal_uid = $1 AND id <> $2", principalUID, keep)
}

// EndSessionsOfKey ends all sessions that were signed in with a key but one, and says
// how many.
func (tx *Tx) EndSessionsOfKey(ctx context.Context, key lineshaft.APIKey, keep string) (int64, error) {
	return tx.count(ctx, "end sessions of key", "DELETE FROM sessions WHERE principal_uid = $1 AND key_id = $2 AND id <> $3", key.Owner.UID, key.ID, keep)
}

// DeleteOldSessions removes sessions whose time is over.
func (tx *Tx) DeleteOldSessions(ctx context.Context, now time.Time) error {
	_, err := tx.exec(ctx, "DELETE FROM sessions WHERE expires_at < $1", micros(now))
	return err
}
