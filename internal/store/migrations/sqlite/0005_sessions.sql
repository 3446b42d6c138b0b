-- A browser session is signed in by a key or by an identity provider, and people
-- see and end their own.
ALTER TABLE sessions ADD COLUMN id TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN principal_uid TEXT NOT NULL DEFAULT '';
-- role is set for sessions of an identity provider, which have no key.
ALTER TABLE sessions ADD COLUMN role TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN method TEXT NOT NULL DEFAULT 'key';
ALTER TABLE sessions ADD COLUMN remote_addr TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN user_agent TEXT NOT NULL DEFAULT '';
ALTER TABLE sessions ADD COLUMN last_seen_at BIGINT NOT NULL DEFAULT 0;
-- Nobody is signed out by this: older sessions get an id and the owner of their key.
UPDATE sessions SET id = 'old-' || substr(token_hash, 1, 32), last_seen_at = created_at,
    principal_uid = coalesce((SELECT owner_uid FROM api_keys WHERE api_keys.id = sessions.key_id), '');
CREATE UNIQUE INDEX sessions_id ON sessions (id);
CREATE INDEX sessions_principal ON sessions (principal_uid, id);
