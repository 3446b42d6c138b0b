package lineshaft

import (
	"slices"
	"sync"
	"time"
)

// PrincipalType distinguishes people from programs.
type PrincipalType string

// The kinds of principals.
const (
	User           PrincipalType = "user"
	ServiceAccount PrincipalType = "service_account"
)

// Principal is the caller of a request: the owner of an API key, or a run's own token.
type Principal struct {
	UID         string
	Type        PrincipalType
	DisplayName string
	Email       string
}

// Role bundles permissions (S-3).
type Role string

// The roles.
const (
	RoleViewer  Role = "viewer"
	RoleMember  Role = "member"
	RoleManager Role = "manager"
	RoleAdmin   Role = "admin"
	RoleWorker  Role = "worker"
	RoleRun     Role = "run"
)

// Roles lists the roles in order of power, then the two for programs.
func Roles() []Role {
	return []Role{RoleViewer, RoleMember, RoleManager, RoleAdmin, RoleWorker, RoleRun}
}

// Permission is what a route asks for.
type Permission string

// The permissions. Public routes name PermissionNone.
const (
	PermissionNone       Permission = "none"
	PermissionWhoami     Permission = "whoami"
	PermissionRunsRead   Permission = "runs:read"
	PermissionRunsStart  Permission = "runs:start"
	PermissionRunsManage Permission = "runs:manage"
	// PermissionServerRead covers what the server has for all runs: workers and models.
	PermissionServerRead Permission = "server:read"
	// PermissionFactoriesRead covers factories, agents, automations, webhooks and deliveries.
	PermissionFactoriesRead   Permission = "factories:read"
	PermissionFactoriesManage Permission = "factories:manage"
	PermissionSecrets         Permission = "secrets:manage"
	PermissionKeys            Permission = "keys:manage"
	PermissionAudit           Permission = "audit:read"
	PermissionWork            Permission = "runs:work"
	// PermissionReport lets an agent report about its own run.
	PermissionReport Permission = "runs:report"
	// PermissionWorkOwn is for calls about an execution that the caller holds.
	PermissionWorkOwn Permission = "runs:work:own"
)

// grants are what each role includes.
var grants = sync.OnceValue(func() map[Role][]Permission {
	viewer := []Permission{PermissionWhoami, PermissionRunsRead, PermissionServerRead, PermissionFactoriesRead}
	member := append(slices.Clone(viewer), PermissionRunsStart)
	manager := append(slices.Clone(member), PermissionRunsManage, PermissionFactoriesManage)
	return map[Role][]Permission{
		RoleViewer:  viewer,
		RoleMember:  member,
		RoleManager: manager,
		RoleAdmin:   append(slices.Clone(manager), PermissionKeys, PermissionAudit, PermissionSecrets, PermissionWork, PermissionWorkOwn),
		RoleWorker:  {PermissionWhoami, PermissionWork, PermissionWorkOwn},
		RoleRun:     {PermissionWhoami, PermissionRunsRead, PermissionRunsStart, PermissionReport, PermissionWorkOwn},
	}
})

// May says whether the role grants the permission. An unknown role grants nothing.
func (r Role) May(p Permission) bool { return p == PermissionNone || slices.Contains(grants()[r], p) }

// Caller is an authenticated principal with the limits of the key it used.
type Caller struct {
	Principal Principal
	Role      Role
	// KeyID is the API key or, for RoleRun, the execution.
	KeyID string
	// SessionID is the browser session that this is; sessions of an identity provider
	// have no key.
	SessionID string
	// FactoryUIDs limits what is seen and touched; empty means everything, but for RoleRun
	// nothing. The run of no factory has an empty uid.
	FactoryUIDs []string
	// WorkerIDs are the ids a worker key may claim for. For RoleRun it is the worker of
	// the execution and, while it is placed in a process of its own, that process.
	WorkerIDs []string
	// RunID is the run whose token this is (RoleRun only), and TraceParent what its
	// trace continues.
	RunID       string
	TraceParent string
	// RemoteAddr and RequestID go to the audit log.
	RemoteAddr string
	RequestID  string
}

// MaySeeFactory says whether the caller's key reaches runs of that factory; runs
// outside any factory have none.
func (c Caller) MaySeeFactory(uid string) bool {
	return len(c.FactoryUIDs) == 0 && c.Role != RoleRun || slices.Contains(c.FactoryUIDs, uid)
}

// Need refuses a caller whose role does not include a permission. Every use case begins
// with it.
func (c Caller) Need(p Permission) error {
	if c.Role.May(p) {
		return nil
	}
	return Denied("the role %q of this key does not include %s", c.Role, p)
}

// APIKey is a stored key; the key itself is never stored.
type APIKey struct {
	ID          string
	Name        string
	Role        Role
	Owner       Principal
	Hint        string
	FactoryUIDs []string
	WorkerIDs   []string
	CreatedAt   time.Time
	ExpiresAt   time.Time
	RevokedAt   time.Time
	LastUsedAt  time.Time
}

// Usable says whether the key opens anything at the given time.
func (k APIKey) Usable(now time.Time) bool {
	return k.RevokedAt.IsZero() && (k.ExpiresAt.IsZero() || now.Before(k.ExpiresAt))
}

// SessionMethod is how someone signed in with a browser.
type SessionMethod string

// The ways to sign in.
const (
	SessionByKey  SessionMethod = "key"
	SessionByOIDC SessionMethod = "oidc"
)

// Session is a browser that is signed in; its token is never stored.
type Session struct {
	ID        string
	Principal Principal
	Method    SessionMethod
	// KeyID and KeyName are set for sessions of a key.
	KeyID   string
	KeyName string
	// Role and FactoryUIDs are those of the key as it is now or, for sessions of an
	// identity provider, those of the sign-in.
	Role        Role
	FactoryUIDs []string
	// RemoteAddr and UserAgent are what the browser signed in with.
	RemoteAddr string
	UserAgent  string
	CreatedAt  time.Time
	ExpiresAt  time.Time
	// LastSeenAt lags behind by a minute at most.
	LastSeenAt time.Time
}

// Identity is what an identity provider says of someone who signed in there.
type Identity struct {
	Issuer string
	// Subject names the person at the issuer, and never another one.
	Subject string
	Name    string
	Email   string
	// Role is what the claims of the person map to.
	Role Role
}
