package api

import (
	"context"
	"strings"
	"time"

	"github.com/danielgtaylor/huma/v2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// ingressPath is where deliveries go, below the webhook base URL; the uid follows.
const ingressPath = "/webhooks/w/"

type (
	// WebhookAuthMode is how a sender proves who it is.
	WebhookAuthMode string
	// SignatureScheme is a provider's way to sign.
	SignatureScheme string
)

// Schema implements huma.SchemaProvider.
func (WebhookAuthMode) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "WebhookAuthMode", lineshaft.AuthModes(), "How a sender proves who it is: a bearer token, a token at the end of the URL, or a signature.")
}

// Schema implements huma.SchemaProvider.
func (SignatureScheme) Schema(r huma.Registry) *huma.Schema {
	return enum(r, "SignatureScheme", factories.SignatureSchemes(), "How the sender signs; hmac takes its settings from hmac. The list may grow.")
}

// Webhook is an address that outside systems send deliveries to. Its secret is
// never in it.
type Webhook struct {
	UID              string          `json:"uid"`
	FactoryUID       string          `json:"factory_uid"`
	Name             string          `json:"name"`
	AuthMode         WebhookAuthMode `json:"auth_mode"`
	SignatureScheme  SignatureScheme `json:"signature_scheme,omitempty"`
	SecretName       string          `json:"secret_name" doc:"The managed secret that keeps the credential."`
	DeliveryIDHeader string          `json:"delivery_id_header,omitempty"`
	Enabled          bool            `json:"enabled" doc:"A disabled webhook answers 404."`
	NeedsSecret      bool            `json:"needs_secret" doc:"The provider's secret is still missing: give it to rotateWebhook."`
	RateLimit        int             `json:"rate_limit" doc:"Deliveries per minute; 0 means no limit."`
	MaxBodyBytes     int             `json:"max_body_bytes"`
	ReplayGuard      bool            `json:"replay_guard"`
	HMAC             *WebhookHMAC    `json:"hmac,omitempty"`
	OldSecretUntil   string          `json:"old_secret_until,omitempty" format:"date-time" doc:"When the secret before the last rotation ends; absent when only the newest counts."`
	IngressURL       string          `json:"ingress_url" doc:"Where deliveries are sent. For a url_token webhook it ends in the placeholder {token}, except in the answer that shows the secret."`
	CreatedAt        string          `json:"created_at" format:"date-time"`
	UpdatedAt        string          `json:"updated_at" format:"date-time"`
}

// IssuedWebhook adds the secret that was generated, this one time.
type IssuedWebhook struct {
	Webhook
	Secret string `json:"secret,omitempty" doc:"The secret, if the server generated it. It is shown only now."`
}

// WebhookHMAC are the settings of the scheme hmac.
type WebhookHMAC struct {
	Header          string `json:"header" doc:"Carries the signature."`
	Prefix          string `json:"prefix,omitempty" doc:"Comes before the signature, such as sha256=."`
	Digest          string `json:"digest,omitempty" doc:"sha256 (default), sha1, sha384 or sha512."`
	Encoding        string `json:"encoding,omitempty" doc:"hex (default) or base64."`
	Template        string `json:"template,omitempty" doc:"What is signed: {body} (default), or that with {timestamp}, {id}, {method} and {url}."`
	TimestampHeader string `json:"timestamp_header,omitempty" doc:"Carries the time in Unix seconds or milliseconds; needed for {timestamp}."`
	IDHeader        string `json:"id_header,omitempty" doc:"Carries the delivery id; needed for {id}."`
}

// CreateWebhookRequest asks for a webhook.
type CreateWebhookRequest struct {
	Name             string          `json:"name" minLength:"1" maxLength:"100" doc:"Unique in the factory; also a file name of its definition. It cannot be changed."`
	AuthMode         WebhookAuthMode `json:"auth_mode,omitempty" doc:"token when absent."`
	SignatureScheme  SignatureScheme `json:"signature_scheme,omitempty" doc:"Required with auth_mode signature, refused otherwise."`
	Secret           *string         `json:"secret,omitempty" doc:"The secret to use. If absent, a new one is generated, that of secret_name is used, or the provider's comes later with rotateWebhook."`
	SecretName       string          `json:"secret_name,omitempty" maxLength:"128" doc:"The managed secret to use or create. If absent, NAME_WEBHOOK_SECRET."`
	DeliveryIDHeader string          `json:"delivery_id_header,omitempty" maxLength:"128" doc:"The header that identifies a delivery."`
	Enabled          *bool           `json:"enabled,omitempty" doc:"True when absent."`
	RateLimit        *int            `json:"rate_limit,omitempty" minimum:"0" maximum:"60000" doc:"Deliveries per minute; 0 means no limit. 60 if absent."`
	MaxBodyBytes     *int            `json:"max_body_bytes,omitempty" minimum:"1" maximum:"1048576" doc:"262144 when absent."`
	ReplayGuard      bool            `json:"replay_guard,omitempty" doc:"A body that was accepted before is a duplicate under any delivery id."`
	HMAC             *WebhookHMAC    `json:"hmac,omitempty" doc:"Only for signature_scheme hmac, which requires it."`
}

// UpdateWebhookRequest changes a webhook; what is absent stays. Name, mode and
// scheme can only be given as they are.
type UpdateWebhookRequest struct {
	Name             *string          `json:"name,omitempty" doc:"Another name gets 422: create a second webhook instead."`
	AuthMode         *WebhookAuthMode `json:"auth_mode,omitempty" doc:"Another mode gets 422."`
	SignatureScheme  *SignatureScheme `json:"signature_scheme,omitempty" doc:"Another scheme gets 422."`
	Secret           *string          `json:"secret,omitempty" doc:"Always gets 400: use rotateWebhook."`
	SecretName       *string          `json:"secret_name,omitempty" maxLength:"128" doc:"Another managed secret, which must exist; its value counts from now on."`
	DeliveryIDHeader *string          `json:"delivery_id_header,omitempty" maxLength:"128" doc:"Empty removes it."`
	Enabled          *bool            `json:"enabled,omitempty" doc:"Enabling it uses the current value of the managed secret."`
	RateLimit        *int             `json:"rate_limit,omitempty" minimum:"0" maximum:"60000"`
	MaxBodyBytes     *int             `json:"max_body_bytes,omitempty" minimum:"1" maximum:"1048576"`
	ReplayGuard      *bool            `json:"replay_guard,omitempty"`
	HMAC             *WebhookHMAC     `json:"hmac,omitempty" doc:"Replaced as a whole."`
}

// RotateWebhookRequest asks for a new secret.
type RotateWebhookRequest struct {
	Secret         *string `json:"secret,omitempty" doc:"The new secret; generated when absent. Required for schemes whose provider makes it."`
	OverlapSeconds int     `json:"overlap_seconds,omitempty" minimum:"0" maximum:"259200" doc:"How long the old secret stays valid; if absent, it ends at once."`
}

// ListWebhooksResponse lists a factory's webhooks by name.
type ListWebhooksResponse struct {
	Webhooks []Webhook `json:"webhooks"`
	PageInfo PageInfo  `json:"page_info"`
}

// WebhookPath is the part of a path that names a webhook of a factory. It is
// exported for the reason that FactoryPath is.
type WebhookPath struct {
	FactoryPath
	WebhookUID string `path:"webhookUid" doc:"The uid of a webhook."`
}

type ofWebhook[T any] struct {
	WebhookPath
	Body T
}

type listWebhooksInput struct {
	FactoryPath
	ListQuery
}

func (s *server) createWebhook(ctx context.Context, in *ofFactory[CreateWebhookRequest]) (*issued[IssuedWebhook], error) {
	body := in.Body
	return s.issuedWebhook(s.Control.CreateWebhook(ctx, callerOf(ctx), in.FactoryUID, factories.NewWebhook{
		Name: body.Name, AuthMode: lineshaft.AuthMode(body.AuthMode), SignatureScheme: string(body.SignatureScheme), Secret: body.Secret,
		SecretName: body.SecretName, DeliveryIDHeader: body.DeliveryIDHeader, Enabled: body.Enabled, RateLimit: body.RateLimit,
		MaxBodyBytes: body.MaxBodyBytes, ReplayGuard: body.ReplayGuard, HMAC: body.HMAC.domain(),
	}))
}

func (s *server) listWebhooks(ctx context.Context, in *listWebhooksInput) (*answer[ListWebhooksResponse], error) {
	list, err := s.Control.ListWebhooks(ctx, callerOf(ctx), in.FactoryUID)
	if err != nil {
		return nil, err
	}
	nameOf := func(w *lineshaft.Webhook) string { return w.Name }
	webhooks, info, err := fillWith(s.wireWebhook)(base.PageOf(list, "webhooks\x00"+in.FactoryUID, in.Cursor, in.Limit, nameOf, strings.Compare))
	return reply(ListWebhooksResponse{webhooks, info}, err)
}

func (s *server) getWebhook(ctx context.Context, in *WebhookPath) (*answer[Webhook], error) {
	return shown(at(s.wireWebhook))(s.Control.GetWebhook(ctx, callerOf(ctx), in.FactoryUID, in.WebhookUID))
}

func (s *server) updateWebhook(ctx context.Context, in *ofWebhook[UpdateWebhookRequest]) (*answer[Webhook], error) {
	body := in.Body
	change := factories.WebhookChange{
		Name: body.Name, AuthMode: (*lineshaft.AuthMode)(body.AuthMode), SignatureScheme: (*string)(body.SignatureScheme), Secret: body.Secret,
		SecretName: body.SecretName, DeliveryIDHeader: body.DeliveryIDHeader, Enabled: body.Enabled, RateLimit: body.RateLimit,
		MaxBodyBytes: body.MaxBodyBytes, ReplayGuard: body.ReplayGuard,
	}
	if body.HMAC != nil {
		change.HMAC = new(body.HMAC.domain())
	}
	return shown(at(s.wireWebhook))(s.Control.UpdateWebhook(ctx, callerOf(ctx), in.FactoryUID, in.WebhookUID, change))
}

func (s *server) rotateWebhook(ctx context.Context, in *ofWebhook[*RotateWebhookRequest]) (*issued[IssuedWebhook], error) {
	var wanted factories.WebhookRotation
	if in.Body != nil {
		wanted = factories.WebhookRotation{Secret: in.Body.Secret, Overlap: time.Duration(in.Body.OverlapSeconds) * time.Second}
	}
	return s.issuedWebhook(s.Control.RotateWebhook(ctx, callerOf(ctx), in.FactoryUID, in.WebhookUID, wanted))
}

func (s *server) deleteWebhook(ctx context.Context, in *WebhookPath) (*struct{}, error) {
	return nil, s.Control.DeleteWebhook(ctx, callerOf(ctx), in.FactoryUID, in.WebhookUID)
}

// issuedWebhook shows a generated secret, and the URL that contains it.
func (s *server) issuedWebhook(made factories.IssuedWebhook, err error) (*issued[IssuedWebhook], error) {
	out := IssuedWebhook{Webhook: s.wireWebhook(&made.Webhook), Secret: made.Secret}
	if made.Secret != "" && made.AuthMode == lineshaft.AuthURLToken {
		out.IngressURL = s.ingressURL(made.UID) + "/" + made.Secret
	}
	return issue(out, err)
}

func (s *server) ingressURL(uid string) string { return s.WebhookBaseURL + ingressPath + uid }

func (s *server) wireWebhook(w *lineshaft.Webhook) Webhook {
	out := Webhook{
		UID: w.UID, FactoryUID: w.FactoryUID, Name: w.Name, AuthMode: WebhookAuthMode(w.AuthMode), SignatureScheme: SignatureScheme(w.SignatureScheme),
		SecretName: w.SecretName, DeliveryIDHeader: w.DeliveryIDHeader, Enabled: w.Enabled, NeedsSecret: w.NeedsSecret, RateLimit: w.RateLimit,
		MaxBodyBytes: w.MaxBodyBytes, ReplayGuard: w.ReplayGuard, IngressURL: s.ingressURL(w.UID),
		OldSecretUntil: stampOrEmpty(w.OldSecretUntil), CreatedAt: stamp(w.CreatedAt), UpdatedAt: stamp(w.UpdatedAt),
	}
	if w.AuthMode == lineshaft.AuthURLToken {
		out.IngressURL += "/{token}"
	}
	if w.HMAC != (lineshaft.WebhookHMAC{}) {
		out.HMAC = new(WebhookHMAC(w.HMAC))
	}
	return out
}

// domain is the settings as the domain has them; none are the zero value.
func (h *WebhookHMAC) domain() lineshaft.WebhookHMAC {
	if h == nil {
		return lineshaft.WebhookHMAC{}
	}
	return lineshaft.WebhookHMAC(*h)
}
