package ingress

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"net/http"
	"net/netip"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/jsonbody"
	"github.com/lineshaft/lineshaft/internal/problem"
	"github.com/lineshaft/lineshaft/internal/signature"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// request is one POST to a webhook. Its body is read once, also when the checks
// begin again because the webhook was changed.
type request struct {
	in     *Ingress
	r      *http.Request
	hook   *trigger.Hook
	token  string
	source netip.Addr
	body   *body
	began  time.Time
	span   tracing.Span
}

// handle takes the request through the checks, in the order of W-6. With an error the answer
// has only what is known of the delivery.
func (q *request) handle(ctx context.Context, hook *trigger.Hook) (answer, error) {
	q.hook = hook
	if q.hook.AuthMode != lineshaft.AuthSignature {
		if why := q.checkToken(); why != "" {
			return q.reject(ctx, lineshaft.DeliveryRejectedAuth, why, q.in.denied)
		}
	}
	if q.body == nil {
		q.body = readBody(q.r, int64(q.hook.MaxBodyBytes))
	}
	if q.body.tooLarge || int64(len(q.body.data)) > int64(q.hook.MaxBodyBytes) {
		err := tooLarge(q.hook.MaxBodyBytes)
		return q.reject(ctx, lineshaft.DeliveryRejectedSize, plain(err), q.in.problems.Fix(err))
	}
	var signed signature.Request
	if q.hook.AuthMode == lineshaft.AuthSignature {
		if q.body.err != nil { // nobody can have signed what cannot be read
			return q.reject(ctx, lineshaft.DeliveryRejectedJSON, plain(q.body.err), q.in.problems.Fix(q.body.err))
		}
		signed = signature.Request{Method: q.r.Method, URL: q.address(), Header: q.r.Header, Body: q.body.data, Now: q.in.Now()}
		if q.token != "" {
			return q.reject(ctx, lineshaft.DeliveryRejectedAuth, "the URL has a segment after the webhook's uid; senders that sign post to the uid alone", q.in.denied)
		}
		if err := q.hook.Verify(signed); err != nil {
			return q.reject(ctx, lineshaft.DeliveryRejectedAuth, err.Error(), q.in.denied)
		}
	}
	return q.accept(ctx, signed)
}

// address is the URL that the sender was given, with the query it added: some sign it.
func (q *request) address() string {
	address := q.in.BaseURL + Prefix + q.hook.UID
	if q.r.URL.RawQuery != "" {
		address += "?" + q.r.URL.RawQuery
	}
	return address
}

// checkToken looks for the token where the webhook's mode has it, and only there. It
// returns what is wrong, for the log.
func (q *request) checkToken() string {
	token, ok := q.token, q.token != ""
	if q.hook.AuthMode == lineshaft.AuthToken {
		if q.token != "" {
			return "the token is in the URL; this webhook takes it in the Authorization header only"
		}
		if token, ok = bearer(q.r.Header); !ok {
			return "there is no single header \"Authorization: Bearer <token>\""
		}
	}
	switch {
	case !ok:
		return "there is no token at the end of the URL"
	case !q.hook.CheckToken(token, q.in.Now()):
		return "the token is not the webhook's"
	}
	return ""
}

// bearer takes the token out of the one Authorization header. Two of them are as
// bad as none: proxies disagree about which counts.
func bearer(header http.Header) (token string, ok bool) {
	values := header["Authorization"]
	if len(values) != 1 {
		return "", false
	}
	scheme, token, found := strings.Cut(values[0], " ")
	token = strings.TrimSpace(token)
	return token, found && strings.EqualFold(scheme, "bearer") && token != ""
}

// accept hands an authentic request to the control plane.
func (q *request) accept(ctx context.Context, signed signature.Request) (answer, error) {
	ctx = q.continueTrace(ctx)
	received := trigger.Received{Hook: q.hook, Body: q.body.data, TraceParent: tracing.Parent(ctx)}
	if q.source.IsValid() {
		received.RemoteAddr = q.source.String()
	}
	delivery := lineshaft.Delivery{WebhookUID: q.hook.UID, RemoteAddr: received.RemoteAddr, Size: int64(len(q.body.data))}
	if err := q.in.Control.CheckRate(ctx, q.hook); err != nil { // before its body takes memory
		return answer{delivery: delivery}, err
	}
	invalid := q.body.check()
	var handshake *signature.Answer
	if invalid != nil {
		received.InvalidJSON, received.Reason = true, plain(invalid)
	} else {
		received.Doc = q.body.doc
		if provider := q.hook.Provider(); provider != nil {
			handshake = provider.Handshake(signed)
		}
		received.Handshake = handshake != nil
		received.Identity, received.IdentitySource = q.identity(signed)
		if name := q.hook.EventHeader(); name != "" {
			received.Event = eventName(q.r.Header.Get(name))
		}
	}
	status := http.StatusAccepted
	switch {
	case invalid != nil:
		status = http.StatusBadRequest
	case handshake != nil:
		status = handshake.Status
	}
	received.Exchange = q.exchange(ctx, status)
	receipt, err := q.in.Control.Accept(ctx, received)
	switch {
	case err != nil:
		return answer{delivery: delivery}, err
	case invalid != nil:
		return answer{outcome: string(lineshaft.DeliveryRejectedJSON), fixed: q.in.problems.Fix(invalid), delivery: receipt.Delivery}, nil
	}
	a := answer{outcome: string(receipt.Delivery.Status), fixed: accepted(receipt.DeliveryID), delivery: receipt.Delivery}
	if handshake != nil {
		a.outcome = "handshake"
		if handshake.Status != http.StatusAccepted {
			a.fixed = greeting(handshake)
		}
	}
	return a, nil
}

// exchange is what the log says of the request and of its answer.
func (q *request) exchange(ctx context.Context, status int) trigger.Exchange {
	return trigger.Exchange{Headers: q.headers(), Began: q.began, AnswerStatus: status, Test: isTest(ctx)}
}

// reject logs a refused request, unless too many were.
func (q *request) reject(ctx context.Context, status lineshaft.DeliveryStatus, reason string, fixed problem.Fixed) (answer, error) {
	rejected := trigger.Rejected{Hook: q.hook, Status: status, Reason: reason, Source: q.source, Size: max(q.r.ContentLength, 0)}
	// Token modes look at the size of bodies of senders they know only.
	rejected.Authentic = q.hook.AuthMode != lineshaft.AuthSignature && status == lineshaft.DeliveryRejectedSize
	unread := q.r.ContentLength != 0
	if q.body != nil {
		rejected.Size, unread = max(rejected.Size, int64(len(q.body.data))), q.body.unread
	}
	rejected.Exchange = q.exchange(ctx, fixed.Status)
	a := answer{outcome: string(status), fixed: fixed, unread: unread}
	a.delivery = lineshaft.Delivery{WebhookUID: q.hook.UID, Size: rejected.Size}
	if q.source.IsValid() {
		a.delivery.RemoteAddr = q.source.String()
	}
	err := q.in.Control.Reject(ctx, rejected)
	if rejected.Authentic && limited(err) { // an authentic sender of large bodies hears about the size, logged or not
		return a, nil
	}
	return a, err
}

// identity finds what distinguishes this delivery from another; the first match counts (W-10).
func (q *request) identity(signed signature.Request) (id, source string) {
	if name := q.hook.DeliveryIDHeader; name != "" {
		if id := headerID(q.r.Header, name); id != "" {
			return id, "header " + name
		}
	}
	if provider := q.hook.Provider(); provider != nil {
		if id, source := provider.Identity(signed); id != "" {
			return storable(id), source
		}
	}
	for _, name := range []string{"X-Service-Delivery-Id", "X-Lineshaft-Delivery-Id", "X-Warp-Delivery-Id"} {
		if id := headerID(q.r.Header, name); id != "" {
			return id, "header " + name
		}
	}
	sum := sha256.Sum256(q.body.data)
	return hex.EncodeToString(sum[:]), "hash of the body"
}

// maxEvent is the longest name of an event.
const maxEvent = 100

// eventName keeps what can be the name of an event: forges use letters, digits, spaces
// and underscores. No trigger knows an event with any other character.
func eventName(text string) string {
	for _, c := range []byte(text) {
		if (c < 'a' || c > 'z') && (c < 'A' || c > 'Z') && (c < '0' || c > '9') && !strings.ContainsRune(" _-.", rune(c)) {
			return ""
		}
	}
	if len(text) > maxEvent {
		return ""
	}
	return text
}

func headerID(header http.Header, name string) string {
	return storable(strings.TrimSpace(header.Get(name)))
}

// maxIdentity is the longest id that is stored as it is.
const maxIdentity = 512

// storable gives ids that are very long or not text another form, so that each
// still has its own.
func storable(id string) string {
	if len(id) <= maxIdentity && utf8.ValidString(id) && !strings.ContainsRune(id, 0) {
		return id
	}
	sum := sha256.Sum256([]byte(id))
	return "sha256:" + hex.EncodeToString(sum[:])
}

// plain is the text of an error that may be shown.
func plain(err error) string {
	if pub, ok := errors.AsType[*lineshaft.Error](err); ok {
		return pub.Message
	}
	return err.Error()
}

func tooLarge(limit int) error {
	_, err := jsonbody.Read(strings.NewReader(""), jsonbody.Options{Limit: int64(limit), Length: int64(limit) + 1})
	return err
}
