package api

import (
	"context"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/access"
)

// WhoamiResponse says whose a key is and what it may do.
type WhoamiResponse struct {
	Principal   RunCreatorInfo `json:"principal"`
	Role        string         `json:"role" enum:"viewer,member,manager,admin,worker,run"`
	Permissions []string       `json:"permissions"`
	KeyID       string         `json:"key_id,omitempty"`
	RunID       string         `json:"run_id,omitempty" doc:"The run whose token this is."`
	Limits      KeyLimits      `json:"limits"`
}

// KeyLimits are the limits of a key.
type KeyLimits struct {
	FactoryUIDs       []string `json:"factory_uids,omitempty" doc:"The factories that the key reaches; if absent, all, or none for a run token."`
	WorkerIDs         []string `json:"worker_ids,omitempty" doc:"The worker ids that a worker key may claim for."`
	RequestsPerMinute int      `json:"requests_per_minute,omitempty" doc:"If absent, there is no limit."`
}

func (s *server) whoami(ctx context.Context, _ *struct{}) (*answer[WhoamiResponse], error) {
	caller := callerOf(ctx)
	out := WhoamiResponse{
		Principal: wirePrincipal(caller.Principal), Role: string(caller.Role), Permissions: []string{},
		KeyID: caller.KeyID, RunID: caller.RunID,
		Limits: KeyLimits{FactoryUIDs: slices.DeleteFunc(slices.Clone(caller.FactoryUIDs), func(uid string) bool { return uid == "" }), WorkerIDs: caller.WorkerIDs, RequestsPerMinute: s.Rate.Limit()},
	}
	for _, p := range []lineshaft.Permission{
		lineshaft.PermissionWhoami, lineshaft.PermissionRunsRead, lineshaft.PermissionRunsStart, lineshaft.PermissionRunsManage,
		lineshaft.PermissionServerRead, lineshaft.PermissionFactoriesRead, lineshaft.PermissionFactoriesManage, lineshaft.PermissionSecrets,
		lineshaft.PermissionKeys, lineshaft.PermissionAudit, lineshaft.PermissionWork, lineshaft.PermissionReport,
	} {
		if caller.Role.May(p) {
			out.Permissions = append(out.Permissions, string(p))
		}
	}
	return reply(out, nil)
}

// APIKey is a key as the list shows it: never the key itself.
type APIKey struct {
	ID          string         `json:"id"`
	Name        string         `json:"name"`
	Role        KeyRole        `json:"role"`
	Owner       RunCreatorInfo `json:"owner"`
	Hint        string         `json:"hint,omitempty" doc:"The first characters of the key, to recognise it by."`
	FactoryUIDs []string       `json:"factory_uids,omitempty"`
	WorkerIDs   []string       `json:"worker_ids,omitempty"`
	CreatedAt   string         `json:"created_at" format:"date-time"`
	ExpiresAt   *string        `json:"expires_at,omitempty" format:"date-time"`
	RevokedAt   *string        `json:"revoked_at,omitempty" format:"date-time"`
	LastUsedAt  *string        `json:"last_used_at,omitempty" format:"date-time"`
}

// CreatedAPIKey adds the key itself, this one time.
type CreatedAPIKey struct {
	APIKey
	Key string `json:"key" doc:"The key. It is shown only now and cannot be read again."`
}

// CreateAPIKeyRequest asks for a key.
type CreateAPIKeyRequest struct {
	Name        string    `json:"name" minLength:"1" maxLength:"200"`
	Role        KeyRole   `json:"role"`
	ExpiresAt   time.Time `json:"expires_at,omitzero" doc:"If absent, never."`
	FactoryUIDs []string  `json:"factory_uids,omitempty" minItems:"1" maxItems:"100" doc:"Limits the key to these factories and their runs; all when absent."`
	WorkerIDs   []string  `json:"worker_ids,omitempty" maxItems:"100" doc:"For role worker: the ids it may claim for."`
	Owner       *KeyOwner `json:"owner,omitempty" doc:"Who the key acts as; a service account with the key's name when absent."`
}

// KeyOwner is who a key acts as.
type KeyOwner struct {
	Type        string `json:"type" enum:"user,service_account"`
	UID         string `json:"uid,omitempty" maxLength:"256" doc:"If absent, a new one. A key that is limited to factories may name only its own owner."`
	DisplayName string `json:"display_name,omitempty" maxLength:"200"`
	Email       string `json:"email,omitempty" maxLength:"320"`
}

// ListAPIKeysResponse lists the keys.
type ListAPIKeysResponse struct {
	APIKeys  []APIKey `json:"apikeys"`
	PageInfo PageInfo `json:"page_info"`
}

type keyInput struct {
	KeyID string `path:"keyId" doc:"The id of a key."`
}

func (s *server) createAPIKey(ctx context.Context, in *given[CreateAPIKeyRequest]) (*issued[CreatedAPIKey], error) {
	if at := in.Body.ExpiresAt; !at.IsZero() && !at.After(s.Now()) {
		return nil, lineshaft.Invalid("expires_at", "must be in the future")
	}
	wanted := access.NewAPIKey{
		Name: in.Body.Name, Role: lineshaft.Role(in.Body.Role), ExpiresAt: in.Body.ExpiresAt,
		FactoryUIDs: in.Body.FactoryUIDs, WorkerIDs: in.Body.WorkerIDs,
	}
	if o := in.Body.Owner; o != nil {
		wanted.Owner = lineshaft.Principal{UID: o.UID, Type: lineshaft.PrincipalType(o.Type), DisplayName: o.DisplayName, Email: o.Email}
	}
	stored, key, err := s.Control.CreateAPIKey(ctx, callerOf(ctx), wanted)
	return issue(CreatedAPIKey{APIKey: wireAPIKey(&stored), Key: key}, err)
}

func (s *server) listAPIKeys(ctx context.Context, in *ListQuery) (*answer[ListAPIKeysResponse], error) {
	keys, info, err := fillWith(wireAPIKey)(s.Control.ListAPIKeys(ctx, callerOf(ctx), in.Limit, in.Cursor))
	return reply(ListAPIKeysResponse{keys, info}, err)
}

func (s *server) revokeAPIKey(ctx context.Context, in *keyInput) (*struct{}, error) {
	return nil, s.Control.RevokeAPIKey(ctx, callerOf(ctx), in.KeyID)
}

func wireAPIKey(k *lineshaft.APIKey) APIKey {
	return APIKey{
		ID: k.ID, Name: k.Name, Role: KeyRole(k.Role), Owner: wirePrincipal(k.Owner), Hint: k.Hint,
		FactoryUIDs: k.FactoryUIDs, WorkerIDs: k.WorkerIDs, CreatedAt: stamp(k.CreatedAt),
		ExpiresAt: stampOrNull(k.ExpiresAt), RevokedAt: stampOrNull(k.RevokedAt), LastUsedAt: stampOrNull(k.LastUsedAt),
	}
}

// AuditEntry is one row of the audit log.
type AuditEntry struct {
	ID         string            `json:"id"`
	Time       string            `json:"time" format:"date-time"`
	Actor      RunCreatorInfo    `json:"actor"`
	KeyID      string            `json:"key_id,omitempty"`
	Action     string            `json:"action"`
	TargetType string            `json:"target_type,omitempty"`
	TargetID   string            `json:"target_id,omitempty"`
	RemoteAddr string            `json:"remote_addr,omitempty"`
	RequestID  string            `json:"request_id,omitempty"`
	Detail     map[string]string `json:"detail,omitempty"`
}

// ListAuditResponse is a page of the audit log, newest first.
type ListAuditResponse struct {
	Entries  []AuditEntry `json:"entries"`
	PageInfo PageInfo     `json:"page_info"`
}

func (s *server) listAudit(ctx context.Context, in *PageQuery) (*answer[ListAuditResponse], error) {
	page, err := s.Control.ListAudit(ctx, callerOf(ctx), access.AuditQuery{Limit: in.Limit, Cursor: in.Cursor})
	return reply(ListAuditResponse{each(page.Entries, wireAuditEntry), pageInfo(page.Next)}, err)
}

func wireAuditEntry(e *lineshaft.AuditEntry) AuditEntry {
	return AuditEntry{
		ID: e.ID, Time: stamp(e.Time), Actor: wirePrincipal(e.Actor), KeyID: e.KeyID, Action: e.Action,
		TargetType: e.TargetType, TargetID: e.TargetID, RemoteAddr: e.RemoteAddr, RequestID: e.RequestID, Detail: e.Detail,
	}
}
