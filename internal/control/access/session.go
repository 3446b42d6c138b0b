package access

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
)

// SessionLife is how long a browser stays signed in with a key; 12 hours is the
// default for an identity provider, whose word on the role is only read at sign-in.
const (
	SessionLife = 14 * 24 * time.Hour
)

// maxUserAgent bounds what is kept of a browser's name for itself.
const maxUserAgent = 300

// Visitor is the browser that signs in.
type Visitor struct {
	RemoteAddr string
	UserAgent  string
	// Token is that of the session which the browser had before; it ends.
	Token string
	// RequestID goes to the audit log.
	RequestID string
}

// CreateSession signs a browser in with a key and returns the cookie's token.
func (s *Access) CreateSession(ctx context.Context, key string, from Visitor) (string, error) {
	c, err := s.Authenticate(ctx, key)
	if err != nil {
		return "", err
	}
	if c.Role == lineshaft.RoleRun || c.Role == lineshaft.RoleWorker {
		return "", lineshaft.Denied("a %s key cannot sign in; use a person's key", c.Role)
	}
	c.RemoteAddr, c.RequestID = from.RemoteAddr, from.RequestID
	return s.insertSession(ctx, c, lineshaft.Session{Method: lineshaft.SessionByKey, KeyID: c.KeyID}, from, SessionLife)
}

// CreateIdentitySession signs a browser in whose user an identity provider vouches
// for. The role holds for this session: the next sign-in reads it again.
func (s *Access) CreateIdentitySession(ctx context.Context, who lineshaft.Identity, from Visitor) (string, error) {
	if who.Issuer == "" || who.Subject == "" {
		return "", ErrUnauthenticated()
	}
	if !slices.Contains([]lineshaft.Role{lineshaft.RoleViewer, lineshaft.RoleMember, lineshaft.RoleManager, lineshaft.RoleAdmin}, who.Role) {
		return "", lineshaft.Denied("your account has no role here; ask an admin of this server to give one to a group you are in")
	}
	c := lineshaft.Caller{Principal: principalOf(who), Role: who.Role, RemoteAddr: from.RemoteAddr, RequestID: from.RequestID}
	return s.insertSession(ctx, c, lineshaft.Session{Method: lineshaft.SessionByOIDC, Role: who.Role}, from, s.Cfg.OIDCSessionLife)
}

// IdentitySessionLife is how long a browser stays signed in by an identity provider.
func (s *Access) IdentitySessionLife() time.Duration { return s.Cfg.OIDCSessionLife }

// principalOf gives one person one uid, whatever their name is today.
func principalOf(who lineshaft.Identity) lineshaft.Principal {
	sum := sha256.Sum256([]byte(strconv.Itoa(len(who.Issuer)) + ":" + who.Issuer + who.Subject))
	name := cmp.Or(who.Name, who.Subject)
	return lineshaft.Principal{
		UID: "user_" + hex.EncodeToString(sum[:16]), Type: lineshaft.User,
		DisplayName: clip(name, lineshaft.MaxNameRunes), Email: clip(who.Email, 320),
	}
}

func clip(text string, most int) string {
	text = strings.ToValidUTF8(strings.ReplaceAll(text, "\x00", ""), "\ufffd")
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most])
	}
	return text
}

func (s *Access) insertSession(ctx context.Context, c lineshaft.Caller, made lineshaft.Session, from Visitor, life time.Duration) (string, error) {
	sessionID, now := s.Store.NewID()
	made.ID, made.Principal = sessionID, c.Principal
	made.RemoteAddr, made.UserAgent = from.RemoteAddr, clip(from.UserAgent, maxUserAgent)
	made.CreatedAt, made.ExpiresAt = now, now.Add(life)
	token := id.Secret(32)
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if made.Method == lineshaft.SessionByOIDC {
			if err := tx.UpdatePrincipal(ctx, c.Principal, now); err != nil {
				return err
			}
		}
		if from.Token != "" {
			if _, err := tx.DeleteSession(ctx, from.Token); err != nil {
				return err
			}
		}
		if err := tx.InsertSession(ctx, made, token); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "session.create", "session", sessionID, map[string]string{"method": string(made.Method), "role": string(c.Role)})
	})
	if err != nil {
		return "", err
	}
	return token, nil
}

// SessionCaller finds who a browser session belongs to. A revoked key ends its sessions.
// The time when a session was last seen is stored later, for many requests at once.
func (s *Access) SessionCaller(ctx context.Context, token string) (lineshaft.Caller, error) {
	now := s.Store.Now()
	found, err := s.Store.FindSession(ctx, token, now)
	if err != nil {
		return lineshaft.Caller{}, orUnauthenticated(err)
	}
	s.keys.see(found.ID, found.KeyID, now)
	return lineshaft.Caller{Principal: found.Principal, Role: found.Role, KeyID: found.KeyID, SessionID: found.ID, FactoryUIDs: found.FactoryUIDs}, nil
}

// EndSession signs a browser out.
func (s *Access) EndSession(ctx context.Context, token string) error {
	c, err := s.SessionCaller(ctx, token)
	if lineshaft.CodeOf(err) == lineshaft.CodeAuthenticationRequired {
		return nil
	}
	if err != nil {
		return err
	}
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		ended, err := tx.DeleteSession(ctx, token)
		if err != nil || ended == "" {
			return err
		}
		return s.Audit(ctx, tx, c, "session.end", "session", ended, nil)
	})
}

// SessionPage is a page of browser sessions; Next is the cursor of those after it.
type SessionPage struct {
	Sessions []lineshaft.Session
	Next     string
}

// ListSessions reads the caller's own live sessions or, for an admin who asks,
// everyone's; newest first.
func (s *Access) ListSessions(ctx context.Context, c lineshaft.Caller, everybody bool, limit int, cursor string) (SessionPage, error) {
	if err := c.Need(lineshaft.PermissionWhoami); err != nil {
		return SessionPage{}, err
	}
	owner := c.Principal.UID
	if everybody {
		if err := mayRuleSessions(c); err != nil {
			return SessionPage{}, err
		}
		owner = ""
	}
	var list []lineshaft.Session
	for len(list) <= limit {
		found, err := s.Store.ListSessions(ctx, owner, cursor, limit+1, s.Store.Now())
		if err != nil {
			return SessionPage{}, err
		}
		for _, one := range found {
			if within(c, one.FactoryUIDs) {
				list = append(list, one)
			}
		}
		if len(found) <= limit {
			break
		}
		cursor = found[limit].ID
	}
	if len(list) <= limit {
		return SessionPage{Sessions: list}, nil
	}
	return SessionPage{Sessions: list[:limit], Next: list[limit-1].ID}, nil
}

// ownSession says whether a session is the caller's: of the same principal, who may
// have other keys, and of no further reach than the key that asks.
func ownSession(c lineshaft.Caller, one *lineshaft.Session) bool {
	return one.Principal.UID == c.Principal.UID && within(c, one.FactoryUIDs)
}

// mayRuleSessions is for what is done to other people's sessions.
func mayRuleSessions(c lineshaft.Caller) error {
	if !c.Role.May(lineshaft.PermissionKeys) {
		return lineshaft.Denied("your role, %s, can see only its own sessions", c.Role)
	}
	if len(c.FactoryUIDs) > 0 {
		return lineshaft.Denied("other people's sessions reach all factories; your key is limited to some")
	}
	return nil
}

// GetSession reads a session of the caller's own or, for an admin, anyone's.
func (s *Access) GetSession(ctx context.Context, c lineshaft.Caller, sessionID string) (lineshaft.Session, error) {
	if err := c.Need(lineshaft.PermissionWhoami); err != nil {
		return lineshaft.Session{}, err
	}
	found, err := s.Store.GetSession(ctx, sessionID, s.Store.Now())
	if err != nil {
		return lineshaft.Session{}, err
	}
	if !ownSession(c, found) && mayRuleSessions(c) != nil {
		return lineshaft.Session{}, lineshaft.NotFound("session", "") // as for one that never was
	}
	return *found, nil
}

// RevokeSession ends a session of the caller's own or, for an admin, anyone's. Live
// streams of that browser stop with it.
func (s *Access) RevokeSession(ctx context.Context, c lineshaft.Caller, sessionID string) error {
	if err := c.Need(lineshaft.PermissionWhoami); err != nil {
		return err
	}
	found, err := s.GetSession(ctx, c, sessionID)
	if err != nil {
		return err
	}
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := tx.EndSession(ctx, sessionID); err != nil {
			return err
		}
		whose := map[string]string{"of": found.Principal.UID, "name": found.Principal.DisplayName}
		return s.Audit(ctx, tx, c, "session.revoke", "session", sessionID, whose)
	})
}

// RevokeOtherSessions ends all sessions of the caller's own but the one that asks,
// and says how many.
func (s *Access) RevokeOtherSessions(ctx context.Context, c lineshaft.Caller) (int, error) {
	if err := c.Need(lineshaft.PermissionWhoami); err != nil {
		return 0, err
	}
	var ended int64
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if ended, err = endOtherSessions(ctx, tx, c); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "session.revoke_others", "session", c.SessionID, map[string]string{"count": strconv.FormatInt(ended, 10)})
	})
	return int(ended), err
}

// endOtherSessions ends those that ownSession finds: for a key that is limited to
// factories it checks the keys of its owner, since other keys may reach further.
func endOtherSessions(ctx context.Context, tx *store.Tx, c lineshaft.Caller) (ended int64, err error) {
	if len(c.FactoryUIDs) == 0 {
		return tx.EndOtherSessions(ctx, c.Principal.UID, c.SessionID)
	}
	keys, err := tx.KeysOf(ctx, c.Principal.UID)
	for _, key := range keys {
		if !within(c, key.FactoryUIDs) {
			continue
		}
		n, err := tx.EndSessionsOfKey(ctx, key, c.SessionID)
		if err != nil {
			return 0, err
		}
		ended += n
	}
	return ended, err
}

// AuditQuery is one page of the audit log.
type AuditQuery struct {
	Filter lineshaft.AuditFilter
	Limit  int
	// Cursor comes from the page before; empty for the newest entries.
	Cursor string
}

// AuditPage is a page of the audit log, newest first.
type AuditPage struct {
	Entries []lineshaft.AuditEntry
	Next    string
}

// ListAudit reads a page of the audit log, newest first.
func (s *Access) ListAudit(ctx context.Context, c lineshaft.Caller, q AuditQuery) (AuditPage, error) {
	if err := c.Need(lineshaft.PermissionAudit); err != nil {
		return AuditPage{}, err
	}
	if len(c.FactoryUIDs) > 0 {
		return AuditPage{}, lineshaft.Denied("the audit log covers all factories; your key is limited to some")
	}
	if err := q.Filter.Validate(); err != nil {
		return AuditPage{}, err
	}
	raw, err := json.Marshal(q.Filter) //nolint:musttag // only hashed, never read back
	if err != nil {
		return AuditPage{}, fmt.Errorf("fingerprint list: %w", err)
	}
	list, before := base.Fingerprint("audit\x00"+string(raw)), ""
	if q.Cursor != "" {
		key, err := base.DecodeCursor[string](list, q.Cursor)
		if err != nil {
			return AuditPage{}, err
		}
		before = *key
	}
	entries, err := s.Store.ListAudit(ctx, q.Filter, before, q.Limit+1)
	if err != nil {
		return AuditPage{}, err
	}
	page := AuditPage{Entries: entries}
	if len(entries) > q.Limit {
		page.Entries = entries[:q.Limit]
		if page.Next, err = base.EncodeCursor(list, entries[q.Limit-1].ID); err != nil {
			return AuditPage{}, fmt.Errorf("encode cursor: %w", err)
		}
	}
	return page, nil
}
