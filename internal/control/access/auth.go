package access

import (
	"context"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// KeyPrefix begins every API key; run tokens begin with runTokenPrefix.
const (
	KeyPrefix      = "ls_"
	RunTokenPrefix = "ls_run_"
)

// keyLife is how long a key that was looked up is trusted without asking again. A
// revoked key is refused at once on its own node and within this time elsewhere.
const keyLife = time.Second

// ErrUnauthenticated is the answer to a caller without a valid key.
func ErrUnauthenticated() error {
	return &lineshaft.Error{
		Code:    lineshaft.CodeAuthenticationRequired,
		Message: "send a valid API key as Authorization: Bearer ls_…; an admin can create one with lineshaft apikey create",
	}
}

// orUnauthenticated turns "there is none" into the one answer that reveals nothing.
func orUnauthenticated(err error) error {
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return ErrUnauthenticated()
	}
	return err
}

// keyCache keeps keys that were just used, so that a busy client costs no look-up
// for each request.
type keyCache struct {
	changed *stream.Subscription
	mu      sync.Mutex
	callers map[string]cachedCaller
	used    map[string]time.Time
	// sessions are when browser sessions were last seen, until that is stored.
	sessions map[string]time.Time
	// changes counts how often keys were revoked: what was looked up before the
	// newest of them is not kept.
	changes int
}

type cachedCaller struct {
	caller lineshaft.Caller
	until  time.Time
}

func newKeyCache(hub *stream.Hub) *keyCache {
	return &keyCache{changed: hub.Subscribe(stream.KeysTopic), callers: map[string]cachedCaller{}, used: map[string]time.Time{}, sessions: map[string]time.Time{}}
}

// notice forgets everything when a key was revoked. The lock is held.
func (k *keyCache) notice() {
	select {
	case <-k.changed.C:
		clear(k.callers)
		k.changes++
	default:
	}
}

// get returns the caller of a key, or what put needs after the look-up.
func (k *keyCache) get(hash string, now time.Time) (c lineshaft.Caller, ok bool, changes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.notice()
	entry, ok := k.callers[hash]
	if !ok || !now.Before(entry.until) {
		return lineshaft.Caller{}, false, k.changes
	}
	k.used[entry.caller.KeyID] = now
	return entry.caller, true, k.changes
}

// put keeps what was looked up after a get, but not past the key's own end.
func (k *keyCache) put(hash string, key *lineshaft.APIKey, now time.Time, changes int) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.used[key.ID] = now
	k.notice()
	if k.changes != changes {
		return // this key may be the one that was revoked meanwhile
	}
	if len(k.callers) > 10_000 {
		clear(k.callers)
	}
	until := now.Add(keyLife)
	if !key.ExpiresAt.IsZero() && key.ExpiresAt.Before(until) {
		until = key.ExpiresAt
	}
	k.callers[hash] = cachedCaller{callerOf(key), until}
}

// see remembers that a session was used, with its key if it has one.
func (k *keyCache) see(sessionID, keyID string, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.sessions[sessionID] = now
	if keyID != "" {
		k.used[keyID] = now
	}
}

// takeUsed hands out when keys and sessions were last used, once.
func (k *keyCache) takeUsed() (keys, sessions map[string]time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	keys, sessions = k.used, k.sessions
	k.used, k.sessions = map[string]time.Time{}, map[string]time.Time{}
	return keys, sessions
}

// Authenticate finds who a key or run token belongs to. Everything that does not open
// anything gives the same error; an unreachable store gives its own.
func (s *Access) Authenticate(ctx context.Context, key string) (lineshaft.Caller, error) {
	if !strings.HasPrefix(key, KeyPrefix) || len(key) > 256 {
		return lineshaft.Caller{}, ErrUnauthenticated()
	}
	if strings.HasPrefix(key, RunTokenPrefix) {
		return s.authenticateRun(ctx, key)
	}
	now := s.Store.Now()
	hash := store.Hash(key)
	c, ok, changes := s.keys.get(hash, now)
	if ok {
		return c, nil
	}
	found, err := s.Store.FindAPIKey(ctx, key)
	if err != nil {
		return lineshaft.Caller{}, orUnauthenticated(err)
	}
	if !found.Usable(now) {
		return lineshaft.Caller{}, ErrUnauthenticated()
	}
	s.keys.put(hash, found, now, changes)
	return callerOf(found), nil
}

func callerOf(k *lineshaft.APIKey) lineshaft.Caller {
	return lineshaft.Caller{Principal: k.Owner, Role: k.Role, KeyID: k.ID, FactoryUIDs: k.FactoryUIDs, WorkerIDs: k.WorkerIDs}
}

// authenticateRun finds the run of a live execution's token.
func (s *Access) authenticateRun(ctx context.Context, token string) (lineshaft.Caller, error) {
	run, err := s.Store.RunOfToken(ctx, token)
	if store.IsNoRows(err) || err == nil && !run.Held { // the run was taken from this execution
		return lineshaft.Caller{}, ErrUnauthenticated()
	}
	if err != nil {
		return lineshaft.Caller{}, err
	}
	return lineshaft.Caller{
		Principal: lineshaft.Principal{UID: base.RunPrincipalPrefix + run.RunID, Type: lineshaft.ServiceAccount, DisplayName: run.Title},
		Role:      lineshaft.RoleRun, KeyID: run.ExecutionID, RunID: run.RunID, TraceParent: run.TraceParent,
		FactoryUIDs: []string{run.FactoryUID}, // of a run without a factory: none, and not all
	}, nil
}

// Recheck says whether a caller's key, token or session still opens anything. Streams ask it
// from time to time: they live longer than a look at the key.
func (s *Access) Recheck(ctx context.Context, c lineshaft.Caller) error {
	if c.Role == lineshaft.RoleRun {
		live, err := s.Store.IsLive(ctx, c.KeyID)
		if err == nil && !live {
			err = ErrUnauthenticated()
		}
		return err
	}
	if c.SessionID != "" {
		_, err := s.Store.GetSession(ctx, c.SessionID, s.Store.Now())
		return orUnauthenticated(err)
	}
	key, err := s.Store.GetAPIKey(ctx, c.KeyID)
	if err == nil && !key.Usable(s.Store.Now()) {
		err = ErrUnauthenticated()
	}
	return err
}

// NoteKeyUse records when keys and browser sessions were last used: one write for
// all requests since the last time.
func (s *Access) NoteKeyUse(ctx context.Context) error {
	used, sessions := s.keys.takeUsed()
	if len(used)+len(sessions) == 0 {
		return nil
	}
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		for keyID, at := range used {
			if err := tx.TouchAPIKey(ctx, keyID, at); err != nil {
				return err
			}
		}
		for sessionID, at := range sessions {
			if err := tx.TouchSession(ctx, sessionID, at); err != nil {
				return err
			}
		}
		return nil
	})
}
