package access

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/id"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// minKeyLength is the least length of a key that an operator chooses.
const minKeyLength = 24

// maxKeyFactories bounds the factories that a key is limited to: lists ask for each.
const maxKeyFactories = 200

// CreateAPIKey makes a key and returns it; it cannot be read again.
func (s *Access) CreateAPIKey(ctx context.Context, c lineshaft.Caller, n NewAPIKey) (lineshaft.APIKey, string, error) {
	if err := c.Need(lineshaft.PermissionKeys); err != nil {
		return lineshaft.APIKey{}, "", err
	}
	if err := s.validateKey(n); err != nil {
		return lineshaft.APIKey{}, "", err
	}
	if !within(c, n.FactoryUIDs) {
		return lineshaft.APIKey{}, "", lineshaft.Denied("your key is limited to factories; give factory_uids that are among its own")
	}
	if err := mayActAs(c, n.Owner.UID); err != nil {
		return lineshaft.APIKey{}, "", err
	}
	return s.insertKey(ctx, c, n, KeyPrefix+id.Secret(30), func(ctx context.Context, tx *store.Tx) error {
		return base.CheckReach(ctx, tx, c, n.FactoryUIDs)
	})
}

// mayActAs says whether a caller may make keys of a principal. Sessions, own runs and
// the audit log go by its uid, so a key that is limited to factories makes keys of new
// principals and of its own only: any other uid may belong to someone who reaches
// further, or will once they sign in.
func mayActAs(c lineshaft.Caller, uid string) error {
	if reserved(uid) {
		return lineshaft.Invalid("owner.uid", "%q is reserved for the server; leave it out for a new one", lineshaft.Clip(uid, 100))
	}
	if uid == "" || uid == c.Principal.UID || len(c.FactoryUIDs) == 0 {
		return nil
	}
	return &lineshaft.Error{
		Code: lineshaft.CodeNotAuthorized, Field: "owner.uid",
		Message: "your key is limited to factories and can create keys only for its own owner or a new one; leave owner.uid out",
	}
}

// reserved are the uids of what acts without a key.
func reserved(uid string) bool {
	return uid == base.System().Principal.UID || uid == base.RepositoryPrincipalUID ||
		slices.ContainsFunc([]string{base.RunPrincipalPrefix, base.AutomationPrincipalPrefix, base.SchedulePrincipalPrefix}, func(prefix string) bool { return strings.HasPrefix(uid, prefix) })
}

func (s *Access) validateKey(n NewAPIKey) error {
	if n.Name == "" || utf8.RuneCountInString(n.Name) > lineshaft.MaxNameRunes {
		return lineshaft.Invalid("name", "a key needs a name of 1 to %d characters", lineshaft.MaxNameRunes)
	}
	if n.Role == lineshaft.RoleRun || !slices.Contains(lineshaft.Roles(), n.Role) {
		return lineshaft.Invalid("role", "%q is not one of viewer, member, manager, admin, worker", n.Role)
	}
	if !n.ExpiresAt.IsZero() && !n.ExpiresAt.After(s.Store.Now()) {
		return lineshaft.Invalid("expires_at", "this time has already passed")
	}
	if (n.Role == lineshaft.RoleWorker) != (len(n.WorkerIDs) > 0) {
		return lineshaft.Invalid("worker_ids", "a key with role worker names the worker ids it may claim for; other keys do not")
	}
	if n.FactoryUIDs != nil && len(n.FactoryUIDs) == 0 {
		return lineshaft.Invalid("factory_uids", "an empty list reaches nothing; name factories, or leave the field out for a key that reaches all")
	}
	if len(n.FactoryUIDs) > maxKeyFactories {
		return lineshaft.Invalid("factory_uids", "%d factories are too many for one key; at most %d are allowed, or leave the field out for all", len(n.FactoryUIDs), maxKeyFactories)
	}
	for _, worker := range n.WorkerIDs {
		if err := lineshaft.CheckWorkerID("worker_ids", worker); err != nil {
			return err
		}
	}
	return nil
}

// insertKey stores a key unless allowed, when given, refuses it.
func (s *Access) insertKey(ctx context.Context, c lineshaft.Caller, n NewAPIKey, key string, allowed func(context.Context, *store.Tx) error) (lineshaft.APIKey, string, error) {
	keyID, at := s.Store.NewID()
	owner := n.Owner
	owner.Type = cmp.Or(owner.Type, lineshaft.ServiceAccount)
	owner.UID = cmp.Or(owner.UID, string(owner.Type)+"_"+keyID)
	owner.DisplayName = cmp.Or(owner.DisplayName, n.Name)
	stored := lineshaft.APIKey{
		ID: keyID, Name: n.Name, Role: n.Role, Owner: owner, Hint: key[:len(KeyPrefix)+4] + "…",
		FactoryUIDs: n.FactoryUIDs, WorkerIDs: n.WorkerIDs, CreatedAt: at, ExpiresAt: n.ExpiresAt,
	}
	var made *lineshaft.APIKey
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if allowed != nil {
			if err := allowed(ctx, tx); err != nil {
				return err
			}
		}
		name := n.Name
		again, err := s.Idempotently(ctx, tx, c, n.Once, &name, func() error {
			if err := tx.PutPrincipal(ctx, owner, at); err != nil {
				return err
			}
			if err := tx.InsertAPIKey(ctx, stored, key); err != nil {
				return err
			}
			return s.Audit(ctx, tx, c, "apikey.create", "api_key", keyID, map[string]string{"name": n.Name, "role": string(n.Role), "owner": owner.UID})
		})
		if err == nil && again {
			return lineshaft.Conflict("the key %s was already created and shown once; if you missed it, revoke it and create another", name)
		}
		if err != nil {
			return err
		}
		made, err = tx.GetAPIKey(ctx, keyID) // with the name that its owner has
		return err
	})
	if err != nil {
		return lineshaft.APIKey{}, "", err
	}
	return *made, key, nil
}

// noKeyYet fails with a Conflict when there is a key. The setting makes nodes that
// start at the same time wait for each other.
func noKeyYet(ctx context.Context, tx *store.Tx) error {
	if _, err := tx.EnsureSetting(ctx, "first_key", "made"); err != nil {
		return err
	}
	keys, _, err := tx.PageAPIKeys(ctx, "", 1)
	if err == nil && len(keys) > 0 {
		return lineshaft.Conflict("a key exists already")
	}
	return err
}

// within says whether a limit to factories is at most as wide as the caller's own.
func within(c lineshaft.Caller, factories []string) bool {
	if len(c.FactoryUIDs) == 0 {
		return true
	}
	outside := func(uid string) bool { return !slices.Contains(c.FactoryUIDs, uid) }
	return len(factories) > 0 && !slices.ContainsFunc(factories, outside)
}

// ListAPIKeys reads a page of the keys that reach no further than the caller's, newest
// first. It may be short, or empty, while there is more.
func (s *Access) ListAPIKeys(ctx context.Context, c lineshaft.Caller, limit int, cursor string) (base.Page[lineshaft.APIKey], error) {
	if err := c.Need(lineshaft.PermissionKeys); err != nil {
		return base.Page[lineshaft.APIKey]{}, err
	}
	page, err := base.ReadPage("keys", cursor, func(k *lineshaft.APIKey) string { return k.ID }, func(before string) ([]lineshaft.APIKey, bool, error) {
		return s.Store.PageAPIKeys(ctx, before, limit)
	})
	page.Items = slices.DeleteFunc(page.Items, func(k lineshaft.APIKey) bool { return !within(c, k.FactoryUIDs) })
	return page, err
}

// GetAPIKey reads a key that reaches no further than the caller's.
func (s *Access) GetAPIKey(ctx context.Context, c lineshaft.Caller, keyID string) (lineshaft.APIKey, error) {
	if err := c.Need(lineshaft.PermissionKeys); err != nil {
		return lineshaft.APIKey{}, err
	}
	if !id.Valid(keyID) { // no database can be asked for every text
		return lineshaft.APIKey{}, lineshaft.NotFound("API key", lineshaft.Clip(keyID, 100))
	}
	key, err := s.Store.GetAPIKey(ctx, keyID)
	if err != nil {
		return lineshaft.APIKey{}, err
	}
	if !within(c, key.FactoryUIDs) {
		return lineshaft.APIKey{}, lineshaft.NotFound("API key", keyID)
	}
	return *key, nil
}

// RevokeAPIKey ends a key, and the browser sessions that were signed in with it. The
// last key that rules everything stays.
func (s *Access) RevokeAPIKey(ctx context.Context, c lineshaft.Caller, keyID string) error {
	if err := c.Need(lineshaft.PermissionKeys); err != nil {
		return err
	}
	if _, err := s.GetAPIKey(ctx, c, keyID); err != nil {
		return err
	}
	return s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		if err := s.leavesAnAdmin(ctx, tx, keyID); err != nil {
			return err
		}
		tx.Wake(stream.KeysTopic)
		if err := tx.RevokeAPIKey(ctx, keyID, s.Store.Now()); err != nil {
			return err
		}
		return s.Audit(ctx, tx, c, "apikey.revoke", "api_key", keyID, nil)
	})
}

// leavesAnAdmin fails with a Conflict when no other key reaches everything. The keys
// are locked: of two admins who revoke each other, one is refused.
func (s *Access) leavesAnAdmin(ctx context.Context, tx *store.Tx, keyID string) error {
	admins, err := tx.LockAdminKeys(ctx)
	if err != nil {
		return err
	}
	now := s.Store.Now()
	admins = slices.DeleteFunc(admins, func(k lineshaft.APIKey) bool { return len(k.FactoryUIDs) > 0 || !k.Usable(now) })
	if len(admins) == 1 && admins[0].ID == keyID {
		return lineshaft.Conflict("this is the last admin key that reaches everything; create another first")
	}
	return nil
}

// EnsureAdmin makes the first admin key. With chosen empty it makes a random one, but
// only if there is no key at all, and returns it; a chosen one is stored unless it
// already exists. The result is empty when nothing was made.
func (s *Access) EnsureAdmin(ctx context.Context, chosen string) (string, error) {
	admin := NewAPIKey{
		Name: "admin", Role: lineshaft.RoleAdmin,
		Owner: lineshaft.Principal{UID: "user_admin", Type: lineshaft.User, DisplayName: "Administrator"},
	}
	if chosen == "" {
		keys, _, err := s.Store.PageAPIKeys(ctx, "", 1)
		if err != nil || len(keys) > 0 {
			return "", err
		}
		_, key, err := s.insertKey(ctx, base.System(), admin, KeyPrefix+id.Secret(30), noKeyYet)
		if lineshaft.CodeOf(err) == lineshaft.CodeConflict { // another node was faster
			return "", nil
		}
		return key, err
	}
	if !strings.HasPrefix(chosen, KeyPrefix) || strings.HasPrefix(chosen, RunTokenPrefix) || len(chosen) < minKeyLength {
		return "", lineshaft.Invalid("LINESHAFT_ADMIN_KEY", "it must begin with %s, but not with %s, and have at least %d characters", KeyPrefix, RunTokenPrefix, minKeyLength)
	}
	_, err := s.Store.FindAPIKey(ctx, chosen)
	if lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
		return "", err
	}
	_, _, err = s.insertKey(ctx, base.System(), admin, chosen, nil)
	if lineshaft.CodeOf(err) == lineshaft.CodeConflict { // another node was faster
		err = nil
	}
	return "", err
}

// NewAPIKey asks for a key.
type NewAPIKey struct {
	Name        string
	Role        lineshaft.Role
	ExpiresAt   time.Time
	FactoryUIDs []string
	WorkerIDs   []string
	// Owner is who the key acts as; the zero value makes a service account of the key's name.
	Owner lineshaft.Principal
	// Once, if given, makes a second call with it a Conflict: the key cannot be shown again.
	Once *base.Idempotency
}
