package lineshaft

import (
	"strings"
	"time"
)

// AuthMode is how a sender proves who it is.
type AuthMode string

// The modes of W-1.
const (
	AuthToken     AuthMode = "token"
	AuthURLToken  AuthMode = "url_token"
	AuthSignature AuthMode = "signature"
)

// AuthModes lists the modes, the default first.
func AuthModes() []AuthMode { return []AuthMode{AuthToken, AuthURLToken, AuthSignature} }

// Limits and defaults of webhooks.
const (
	DefaultMaxWebhooks  = 20
	DefaultWebhookRate  = 60
	DefaultWebhookBytes = 262_144
	MaxWebhookBytes     = 1 << 20
	MaxWebhookRate      = 60_000
	// MaxOverlap is how long an old secret may stay valid after a rotation.
	MaxOverlap = 259_200 * time.Second
	// MinTokenBytes is the least length of the secret of a token mode.
	MinTokenBytes = 24
	// MaxTokenBytes keeps such a secret within what every server takes as a header.
	MaxTokenBytes = 4096
)

// Webhook is an address that outside systems send deliveries to.
type Webhook struct {
	UID             string
	FactoryUID      string
	Name            string
	AuthMode        AuthMode
	SignatureScheme string
	// SecretName is the managed secret that keeps the credential. OwnsSecret says
	// that it was made for this webhook; otherwise people manage it.
	SecretName       string
	OwnsSecret       bool
	DeliveryIDHeader string
	Enabled          bool
	// NeedsSecret says that the provider's secret is still to come.
	NeedsSecret bool
	// RateLimit is in deliveries per minute; 0 means none.
	RateLimit    int
	MaxBodyBytes int
	ReplayGuard  bool
	HMAC         WebhookHMAC
	// OldSecretUntil is when the secret from before the last rotation ends; zero when
	// only the newest one counts. It is reported, not stored with the settings.
	OldSecretUntil time.Time
	CreatedAt      time.Time
	UpdatedAt      time.Time
	DeletedAt      time.Time
}

// WebhookHMAC are the settings of the generic scheme; zero for all others.
type WebhookHMAC struct {
	Header          string `json:"header,omitempty"`
	Prefix          string `json:"prefix,omitempty"`
	Digest          string `json:"digest,omitempty"`
	Encoding        string `json:"encoding,omitempty"`
	Template        string `json:"template,omitempty"`
	TimestampHeader string `json:"timestamp_header,omitempty"`
	IDHeader        string `json:"id_header,omitempty"`
}

// Validate checks what can be checked without the table of signature schemes.
func (w Webhook) Validate() error {
	if err := CheckPartName("name", w.Name); err != nil {
		return err
	}
	switch w.AuthMode {
	case AuthToken, AuthURLToken:
		if w.SignatureScheme != "" {
			return Invalid("signature_scheme", "is only for auth_mode signature; leave it out or change the mode")
		}
	case AuthSignature:
		if w.SignatureScheme == "" {
			return Invalid("signature_scheme", "auth_mode signature needs one, such as github or standard_webhooks")
		}
	default:
		return Invalid("auth_mode", "%q is not one of token, url_token, signature", Clip(string(w.AuthMode), 40))
	}
	if w.RateLimit < 0 || w.RateLimit > MaxWebhookRate {
		return Invalid("rate_limit", "must be 0 (no limit) to %d deliveries per minute", MaxWebhookRate)
	}
	if w.MaxBodyBytes < 1 || w.MaxBodyBytes > MaxWebhookBytes {
		return Invalid("max_body_bytes", "must be 1 to %d", MaxWebhookBytes)
	}
	if w.HMAC != (WebhookHMAC{}) && w.SignatureScheme != "hmac" {
		return Invalid("hmac", "is only for signature_scheme hmac")
	}
	return w.validateHeader()
}

// validateHeader checks the delivery-ID header. The scheme's own headers are
// checked by the part that knows them.
func (w Webhook) validateHeader() error {
	name := w.DeliveryIDHeader
	if name == "" {
		return nil
	}
	for _, c := range []byte(name) {
		if !alphanumeric(c) && !strings.ContainsRune("!#$%&'*+-.^_`|~", rune(c)) {
			return Invalid("delivery_id_header", "%q is not the name of a header; write one such as X-Delivery-Id", Clip(name, 80))
		}
	}
	if len(name) > 128 {
		return Invalid("delivery_id_header", "longer than 128 characters")
	}
	for _, credential := range []string{"Authorization", "Proxy-Authorization", "Cookie"} {
		if strings.EqualFold(name, credential) {
			return Invalid("delivery_id_header", "%s carries a credential and cannot be a delivery id", credential)
		}
	}
	for _, other := range transportHeaders() {
		if strings.EqualFold(name, other) {
			return Invalid("delivery_id_header", "%s is about the connection, not the delivery; name the header that the sender puts a delivery id in", other)
		}
	}
	return nil
}

// transportHeaders say how a request travels. Most are the same every time: as a
// delivery id they would make every delivery a duplicate.
func transportHeaders() []string {
	return []string{
		"Host", "Content-Length", "Content-Type", "Content-Encoding", "Transfer-Encoding", "Connection", "Proxy-Connection", "Keep-Alive",
		"TE", "Trailer", "Upgrade", "Expect", "User-Agent", "Accept", "Accept-Encoding", "Forwarded", "Via",
		"X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto",
	}
}

// SuggestedSecretName is where a webhook's generated credential is kept unless
// another name is given.
func (w Webhook) SuggestedSecretName() string {
	var b strings.Builder
	for _, c := range []byte(strings.ToUpper(w.Name)) {
		if c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' {
			b.WriteByte(c)
		} else {
			b.WriteByte('_')
		}
	}
	name := b.String()
	if name[0] < 'A' || name[0] > 'Z' {
		name = "W_" + name
	}
	return name + "_WEBHOOK_SECRET"
}

// URLSafe says whether a secret may be in a URL path: [A-Za-z0-9._~-]+, and not a path
// that a client would fold away.
func URLSafe(secret string) bool {
	for _, c := range []byte(secret) {
		if !alphanumeric(c) && !strings.ContainsRune("._~-", rune(c)) {
			return false
		}
	}
	return secret != "" && secret != "." && secret != ".."
}
