package lineshaft

import "time"

// SessionMethod is how somebody signed in with a browser.
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

// Identity is what an identity provider says of somebody who signed in there.
type Identity struct {
	Issuer string
	// Subject names the person at the issuer, and never another one.
	Subject string
	Name    string
	Email   string
	// Role is what the claims of the person map to.
	Role Role
}
