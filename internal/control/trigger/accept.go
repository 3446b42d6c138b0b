package trigger

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// Received is an authentic request to a webhook.
type Received struct {
	Hook *Hook
	// Body is what was sent, decoded; it must not change any more.
	Body []byte
	// Doc is the body parsed; it is parsed here without one.
	Doc *filter.Doc
	// InvalidJSON says that the body is not one acceptable JSON value: it is logged
	// and counts, but starts nothing.
	InvalidJSON bool
	// Handshake says that the provider only asks whether we answer.
	Handshake bool
	// Event is what the provider named in its header; empty for others.
	Event string
	// Identity identifies a delivery sent again; the source says where it was found.
	Identity       string
	IdentitySource string
	RemoteAddr     string
	// Reason is why the JSON is invalid, for the log.
	Reason string
	// TraceParent is what the runs that it starts continue; empty is nothing.
	TraceParent string
	Exchange
}

// Exchange is what the log says of a request and its answer (W-18).
type Exchange struct {
	// Headers are those of the request as Delivery has them.
	Headers string
	// Began is when the request arrived; zero if there was none.
	Began time.Time
	// AnswerStatus is the status that the sender gets once the delivery is written.
	AnswerStatus int
	// Test says that the request is one that SignTestEvent made.
	Test bool
}

// Receipt is the result of a request.
type Receipt struct {
	// DeliveryID is the one to answer with: a duplicate has that of the first.
	DeliveryID string
	Delivery   lineshaft.Delivery
}

// ErrStale says that the webhook was changed since its Hook was read: Receive begins again.
var ErrStale = errors.New("the webhook was changed meanwhile")

// Accept takes an authentic delivery: when it returns without error, the delivery,
// its identity and all runs that it starts are durable, in one transaction.
//
// Deliveries that come at the same time share a transaction.
func (s *Triggers) Accept(ctx context.Context, r Received) (Receipt, error) {
	if err := s.CheckRate(ctx, r.Hook); err != nil {
		return Receipt{}, err
	}
	s.NoteDelivery()
	a := newAcceptance(r)
	err := s.accepts.Do(ctx, a, s.acceptUnit)
	if err == nil {
		err = a.err
	}
	if limited, ok := errors.AsType[*lineshaft.Error](err); ok && limited.Limited {
		s.blocked.block(r.Hook.rateBlock, s.Store.Now(), limited.RetryAfter)
	}
	return a.receipt, err
}

// CheckRate says that a webhook has had its deliveries for now, by what this node knows. It
// costs no transaction.
func (s *Triggers) CheckRate(ctx context.Context, h *Hook) error {
	wait := s.blocked.wait(h.rateBlock, s.Store.Now())
	if wait <= 0 {
		return nil
	}
	if err := s.checkCurrent(ctx, h); err != nil {
		return err
	}
	return rateLimited(h, wait)
}

func rateLimited(h *Hook, wait time.Duration) error {
	return lineshaft.RateLimited(wait, "this webhook takes %d deliveries per minute; try again after the time in Retry-After", h.RateLimit)
}

// acceptance is a delivery on its way into the log.
type acceptance struct {
	Received
	Evaluation

	// push says that it reports a push to the repository that the factory follows.
	push bool

	// digests are what makes it unique: of the identity, and of the body if the
	// webhook guards against replay.
	digests []string

	// Set by each try of the transaction.
	delivery lineshaft.Delivery
	verdict  error
	// claimed are the digests that count for it: its own, or one with its source.
	claimed []string
	// alone says that it must be tried again without the others of its batch.
	alone bool
	// counted says that it is in the webhook's rate already, from a try that went well.
	counted bool

	// Set when it is over.
	receipt Receipt
	err     error
}

func newAcceptance(r Received) *acceptance {
	a := &acceptance{Received: r}
	if r.InvalidJSON {
		return a
	}
	a.digests = []string{digest(r.Hook.UID, "id", r.Identity)}
	if r.Hook.ReplayGuard {
		sum := sha256.Sum256(r.Body)
		a.digests = append(a.digests, digest(r.Hook.UID, "body", string(sum[:])))
	}
	switch {
	case r.Handshake:
	case r.Doc != nil:
		a.Evaluation = r.Hook.match(r.Event, r.Doc)
	default:
		a.Evaluation = r.Hook.Evaluate(r.Event, r.Body)
	}
	a.push = r.Hook.follows != nil && PushTo(r.Hook.follows, a.doc)
	return a
}

// digest is a short name for an identity of a webhook: 128 bits, since ids may be
// long and the key of a table should not be.
func digest(parts ...string) string {
	sum := sha256.Sum256([]byte(strings.Join(parts, "\x00")))
	return base64.RawURLEncoding.EncodeToString(sum[:16])
}

// Evaluation is which automations of a webhook a body matches.
type Evaluation struct {
	doc        *filter.Doc
	Matched    []*HookAutomation // by name
	notMatched int
	// Broken is why no filter could be evaluated.
	Broken error
	// event is what the provider sent, if any trigger asks; sent has the automations that
	// such a trigger matched.
	event *catalog.Event
	sent  map[*HookAutomation]bool
}

func (ev Evaluation) source(h *Hook, a *HookAutomation) lineshaft.Source {
	if !ev.sent[a] {
		return lineshaft.SourceWebhook
	}
	return map[string]lineshaft.Source{
		lineshaft.ProviderGitHub: lineshaft.SourceGitHub, lineshaft.ProviderGitLab: lineshaft.SourceGitLab, lineshaft.ProviderLinear: lineshaft.SourceLinear,
		lineshaft.ProviderSlack: lineshaft.SourceSlack, lineshaft.ProviderJira: lineshaft.SourceJira,
	}[SenderOf(h.Webhook)]
}

// Evaluate matches a body, and the event that its sender named, against the webhook's
// automations.
func (h *Hook) Evaluate(event string, body []byte) Evaluation {
	doc, err := filter.Parse(body)
	if err != nil {
		return Evaluation{Broken: err, Matched: h.Automations} // each of them says why it did not start
	}
	return h.match(event, doc)
}

func (h *Hook) match(event string, doc *filter.Doc) Evaluation {
	ev := Evaluation{doc: doc}
	if len(h.Automations) == 0 {
		return ev
	}
	if len(h.sent) > 0 {
		ev.event = catalog.Read(SenderOf(h.Webhook), event, ev.doc)
		h.evaluateSent(&ev)
		return ev
	}
	last := -1
	for _, i := range h.filters.Match(ev.doc, nil) {
		if owner := h.owners[i]; owner != last { // triggers of one automation are adjacent
			ev.Matched, last = append(ev.Matched, h.Automations[owner]), owner
		}
	}
	ev.notMatched = len(h.Automations) - len(ev.Matched)
	return ev
}

// evaluateSent is for a webhook that triggers of its provider also listen to.
func (h *Hook) evaluateSent(ev *Evaluation) {
	matched := make([]bool, len(h.Automations))
	for _, i := range h.filters.Match(ev.doc, nil) {
		matched[h.owners[i]] = true
	}
	ev.sent = map[*HookAutomation]bool{}
	for _, t := range h.sent {
		if a := h.Automations[t.owner]; !ev.sent[a] && t.matcher.Match(ev.event) {
			matched[t.owner], ev.sent[a] = true, true
		}
	}
	for i, a := range h.Automations {
		if matched[i] {
			ev.Matched = append(ev.Matched, a)
		}
	}
	ev.notMatched = len(h.Automations) - len(ev.Matched)
}

// Has says whether an automation listens to the webhook.
func (h *Hook) Has(a *HookAutomation) bool {
	if h == nil || a == nil {
		return false
	}
	return slices.Contains(h.Automations, a)
}

// Starts says whether a matched automation starts a run, as far as the definition
// decides it.
func (ev Evaluation) Starts(a *HookAutomation) bool {
	if a == nil || !a.Enabled || a.Broken != "" || ev.Broken != nil {
		return false
	}
	return slices.Contains(ev.Matched, a)
}
