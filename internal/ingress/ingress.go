// Package ingress takes deliveries at /webhooks/w/: it authenticates the sender,
// reads the body once and hands it to the control plane, which answers when the
// delivery and its runs are durable. It is the hot path, in plain net/http; how
// webhooks are managed is not its business.
//
// The order of the checks is part of the contract (W-6): method, webhook, token, size,
// signature, rate, JSON, identity. Until the webhook is known, nothing reveals whether
// it exists.
package ingress

import (
	"cmp"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/netip"
	"runtime/debug"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/peer"
	"github.com/lineshaft/lineshaft/internal/problem"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// Prefix is where webhooks live; a webhook's uid follows.
const Prefix = "/webhooks/w/"

// Plane is the part of the control plane that takes deliveries.
type Plane interface {
	Receive(ctx context.Context, uid string, handle func(*trigger.Hook) error) error
	CheckRate(ctx context.Context, h *trigger.Hook) error
	Accept(ctx context.Context, r trigger.Received) (trigger.Receipt, error)
	Reject(ctx context.Context, r trigger.Rejected) error
}

// Deps is what the ingress needs.
type Deps struct {
	Control Plane
	Logger  *slog.Logger
	// BaseURL is what webhook addresses begin with; some senders sign it. ErrorBase
	// is where the error pages are.
	BaseURL        string
	ErrorBase      string
	TrustedProxies []netip.Prefix
	// Observe counts an answered request by its outcome.
	Observe func(outcome string, status int, took time.Duration)
	// Tracer makes a span of each delivery; nil is none.
	Tracer *tracing.Tracer
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Ingress is the handler of everything below Prefix.
type Ingress struct {
	Deps

	problems problem.Writer
	// Answers that are the same for everyone.
	notFound, wrongMethod, denied problem.Fixed
}

// New returns the handler.
func New(deps Deps) *Ingress {
	if deps.Now == nil {
		deps.Now = time.Now
	}
	deps.Logger = cmp.Or(deps.Logger, slog.New(slog.DiscardHandler))
	if deps.Observe == nil {
		deps.Observe = func(string, int, time.Duration) {}
	}
	in := &Ingress{Deps: deps, problems: problem.Writer{Base: deps.ErrorBase, Logger: deps.Logger}}
	in.notFound = in.problems.Fix(&lineshaft.Error{
		Code: lineshaft.CodeNotFound, Message: "there is no webhook at this address that takes deliveries",
	})
	in.wrongMethod = in.problems.Fix(&lineshaft.Error{Code: lineshaft.CodeMethodNotAllowed, Message: "a webhook takes POST"})
	in.wrongMethod.Header.Set("Allow", http.MethodPost)
	in.denied = in.problems.Fix(&lineshaft.Error{
		Code: lineshaft.CodeAuthenticationRequired, Message: "the webhook did not accept the credential or signature of this request",
	})
	return in
}

// answer is what a request gets, and what log and metrics say about it.
type answer struct {
	outcome  string
	fixed    problem.Fixed
	delivery lineshaft.Delivery
	// unread says that the body was not read to its end.
	unread bool
	cause  error
	span   tracing.Span
}

// ServeHTTP answers one request.
func (in *Ingress) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	began := in.Now()
	requestID := peer.RequestID(r)
	w.Header()["X-Request-Id"] = []string{requestID}
	w.Header()["X-Content-Type-Options"] = []string{"nosniff"}
	var a answer
	defer func() { //nolint:contextcheck // logging a failure needs no context
		if fault := recover(); fault != nil {
			in.Logger.ErrorContext(r.Context(), "panic in the ingress", "fault", fault, "stack", string(debug.Stack()), "request_id", requestID)
			a = in.failed(lineshaft.Delivery{}, errors.New("panic"))
			a.fixed.Write(w)
		}
		in.finish(r, requestID, a, in.Now().Sub(began))
	}()
	q := &request{in: in, r: r, began: began}
	q.trace()
	a = in.answer(r, q)
	a.span = q.span
	if q.span.On() {
		w.Header()[tracing.Header] = []string{q.span.Parent()}
	}
	if a.unread {
		w.Header()["Connection"] = []string{"close"} // what is left of the body is not worth reading
	}
	a.fixed.Write(w)
}

// finish writes the log line and the metrics. The path stays out of both: it may
// hold a token (S-2).
func (in *Ingress) finish(r *http.Request, requestID string, a answer, took time.Duration) {
	in.Observe(a.outcome, a.fixed.Status, took)
	a.endSpan()
	level := slog.LevelInfo
	if a.fixed.Status >= http.StatusInternalServerError {
		level = slog.LevelError
	}
	if !in.Logger.Enabled(r.Context(), level) {
		return
	}
	attrs := make([]slog.Attr, 0, 13)
	attrs = append(attrs, slog.String("outcome", a.outcome), slog.Int("status", a.fixed.Status), slog.Duration("duration", took), slog.String("request_id", requestID))
	if d := a.delivery; d.WebhookUID != "" {
		attrs = append(attrs, slog.String("webhook", d.WebhookUID), slog.String("delivery", d.ID), slog.Int64("size", d.Size),
			slog.String("remote_addr", d.RemoteAddr), slog.Int("outcomes", len(d.Outcomes)), slog.Int("not_matched", d.NotMatched))
	}
	if a.span.On() {
		attrs = append(attrs, slog.String("trace_id", a.span.TraceID()))
	}
	if a.cause != nil {
		attrs = append(attrs, slog.Any("err", a.cause))
	}
	in.Logger.LogAttrs(r.Context(), level, "delivery", attrs...)
}

// answer decides what a request gets.
func (in *Ingress) answer(r *http.Request, q *request) answer {
	uid, token, shaped := split(r.URL.EscapedPath())
	if r.Method != http.MethodPost {
		return in.challenge(r, uid, answer{outcome: "wrong_method", fixed: in.wrongMethod, unread: r.ContentLength != 0})
	}
	q.token, q.source = token, peer.Addr(r, in.TrustedProxies)
	a := answer{outcome: "not_found", fixed: in.notFound, unread: r.ContentLength != 0}
	if !shaped {
		return a
	}
	return in.settle(r.Context(), uid, a, q.handle)
}

// settle handles a request again until its webhook did not change meanwhile. unknown is
// the answer for unknown webhooks.
func (in *Ingress) settle(ctx context.Context, uid string, unknown answer, handle func(context.Context, *trigger.Hook) (answer, error)) answer {
	a := unknown
	err := in.Control.Receive(ctx, uid, func(hook *trigger.Hook) (err error) {
		if a = unknown; hook != nil {
			a, err = handle(ctx, hook)
		}
		return err
	})
	if err != nil {
		failed := in.failed(a.delivery, err)
		failed.unread = a.unread
		return failed
	}
	return a
}

var plainTilde = strings.NewReplacer("%7E", "~", "%7e", "~")

// split takes a webhook's uid and, if there is one, the token out of a path. A path
// with escapes is not one of ours: uids and tokens need none. Only "~", which tokens
// may have, is escaped by some senders nonetheless.
func split(path string) (uid, token string, shaped bool) {
	rest, ok := strings.CutPrefix(path, Prefix)
	rest = plainTilde.Replace(rest)
	uid, token, withToken := strings.Cut(rest, "/")
	if !ok || uid == "" || withToken && token == "" || strings.ContainsAny(rest, "%") || strings.Contains(token, "/") {
		return "", "", false
	}
	return uid, token, true
}

// failed answers with a failure of ours, or with what the control plane said.
func (in *Ingress) failed(d lineshaft.Delivery, err error) answer {
	a := answer{outcome: "failed", fixed: in.problems.Fix(err), delivery: d, cause: err}
	if limited, ok := errors.AsType[*lineshaft.Error](err); ok {
		a.cause = limited.Cause
		if limited.Limited {
			a.outcome = "rate_limited"
		}
	}
	return a
}
