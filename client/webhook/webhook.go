// Package webhook signs deliveries to the webhooks of a Lineshaft server, for programs
// that send them: in the way of any sender that the server knows, with the secret that
// the webhook was made with. It does not send, and it does not verify: the server does.
//
// All functions may be called by many goroutines.
package webhook

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/internal/signature"
)

// TokenScheme is for webhooks that ask for their secret itself: the header
// Authorization carries it.
const TokenScheme = "token"

// deliveryIDHeader tells deliveries apart where a scheme has no header for it.
const deliveryIDHeader = "X-Lineshaft-Delivery-Id"

// Sender is how a webhook wants its deliveries signed.
type Sender struct {
	// Scheme is one of Schemes, such as "standard_webhooks" or "github", or TokenScheme.
	Scheme string
	// Secret is that of the webhook. For a scheme with Ed25519 it is the private key:
	// whsk_ and base64 for Standard Webhooks, hex for Discord.
	Secret string
	// HMAC says how the scheme "hmac" signs; it is zero for all others.
	HMAC HMAC
	// Now returns the time; nil is time.Now.
	Now func() time.Time
}

// HMAC holds the settings of the scheme "hmac", as those of the webhook.
type HMAC struct {
	Header          string // carries the signature; needed
	Prefix          string // comes before it, such as "sha256="
	Digest          string // sha1, sha256 (also when empty), sha384 or sha512
	Encoding        string // hex (also when empty) or base64
	Template        string // what is signed: "{body}" (also when empty), "{timestamp}.{body}", …
	TimestampHeader string // needed for {timestamp}
	IDHeader        string // needed for {id}
}

// Schemes lists the names of all schemes, without TokenScheme.
func Schemes() []string { return signature.Names() }

// NewRequest makes a signed POST of a body to the address of a webhook. The id shows
// the server that a delivery sent again is the same one; when it is empty, the same body
// counts as the same delivery. An id or a time stamp that the scheme has in the
// body must be in it already.
func (s Sender) NewRequest(ctx context.Context, address string, body []byte, id string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, bytes.NewReader(body))
	if err != nil {
		return nil, errors.New("the address of the webhook is not well formed") // it may hold a token
	}
	req.Header.Set("Content-Type", "application/json")
	if err := s.Sign(req, body, id); err != nil {
		return nil, err
	}
	return req, nil
}

// Sign adds the headers of the signature to a request whose body is known. Nothing that
// is signed (address, body, headers of the scheme) may change afterwards.
func (s Sender) Sign(req *http.Request, body []byte, id string) error {
	if s.Secret == "" {
		return errors.New("the secret of the webhook is empty: it was shown when the webhook was made, or rotated")
	}
	if strings.ContainsAny(id, "\r\n") {
		return errors.New("the id of a delivery is one line")
	}
	if id != "" && req.Header.Get(deliveryIDHeader) == "" {
		req.Header.Set(deliveryIDHeader, id)
	}
	if s.Scheme == TokenScheme {
		req.Header.Set("Authorization", "Bearer "+s.Secret)
		return nil
	}
	now := time.Now
	if s.Now != nil {
		now = s.Now
	}
	r := &signature.Request{Method: req.Method, URL: req.URL.String(), Header: req.Header, Body: body, Now: now()}
	if err := signature.Sign(s.Scheme, signature.HMAC(s.HMAC), s.Secret, r, id); err != nil {
		return fmt.Errorf("sign as %s: %w", s.Scheme, err)
	}
	req.Header = r.Header
	return nil
}
