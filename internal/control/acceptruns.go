package control

import (
	"context"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// runStarts gathers the runs that deliveries start, so that they are written in few
// statements.
type runStarts struct {
	s    *Service
	tx   *store.Tx
	runs []*store.NewRun
	// files are payloads; owners are the runs that get them.
	files  []lineshaft.Attachment
	owners []string
	audit  []lineshaft.AuditEntry
	// budgets says of factories that were looked up why they start nothing today.
	budgets map[string]string
	// spans are those of the runs, to be ended when all is committed.
	spans startSpans
}

// lockAhead takes what the runs of several deliveries will need one after the other.
func (b *runStarts) lockAhead(ctx context.Context, all []evaluation) error {
	var needs startNeeds
	for _, ev := range all {
		for _, a := range ev.matched {
			needs.add(a, ev.doc)
		}
	}
	return needs.lock(ctx, b.tx)
}

// startNeeds is what the runs of a transaction take one after the other.
type startNeeds struct {
	keys   []store.KeyUse
	brakes []string
}

// add adds what a run of an automation takes.
func (n *startNeeds) add(a *hookAutomation, doc *filter.Doc) {
	if rule, slot, err := a.concurrency(doc); err == nil && slot != "" {
		n.keys = append(n.keys, useKey(rule, slot))
	}
	if a.MaxRunsPerHour > 0 {
		n.brakes = append(n.brakes, a.brake().Name)
	}
}

func (n *startNeeds) lock(ctx context.Context, tx *store.Tx) error {
	return tx.LockAhead(ctx, n.keys, n.brakes, nil)
}

// useKey is how a run under a concurrency rule uses its key.
func useKey(rule *lineshaft.Concurrency, slot string) store.KeyUse {
	return store.KeyUse{Key: slot, EndsWaiting: rule.Policy == lineshaft.PolicyCancelPrevious}
}

// maxPendingRuns bounds the parameters of one statement.
const maxPendingRuns = 100

// forDelivery starts the runs of one delivery and writes what became of each
// automation into it.
func (b *runStarts) forDelivery(ctx context.Context, h *Hook, ev evaluation, d *lineshaft.Delivery, traceParent string) error {
	started := 0
	for _, a := range ev.matched {
		outcome := lineshaft.DeliveryOutcome{AutomationID: a.UID, AutomationName: a.Name}
		outcome.Result, outcome.Reason = b.s.refuse(h, a, ev)
		if outcome.Result == "" && started >= lineshaft.MaxRunsPerDelivery {
			outcome.Result, outcome.Reason = lineshaft.ResultLimit, fmt.Sprintf("a delivery starts at most %d runs", lineshaft.MaxRunsPerDelivery)
		}
		if outcome.Result == "" {
			start := runStart{automation: a, doc: ev.doc, note: runNote{"delivery", d.ID}, traceParent: traceParent}
			start.draft = func(rule *lineshaft.Concurrency) (*store.NewRun, []lineshaft.Attachment) {
				n, file := b.s.webhookRun(h, a, ev, rule, d)
				return n, []lineshaft.Attachment{file}
			}
			if err := b.begin(ctx, start, &outcome); err != nil {
				return err
			}
			if outcome.RunID != "" && outcome.Result != lineshaft.ResultFollowedUp { // only what is made counts
				started++
			}
		}
		d.Outcomes = append(d.Outcomes, outcome)
	}
	return nil
}

// refuse says why an automation that matched starts nothing, if that is known before.
func (s *Service) refuse(h *Hook, a *hookAutomation, ev evaluation) (lineshaft.OutcomeResult, string) {
	switch {
	case !a.Enabled:
		return lineshaft.ResultDisabled, "the automation is disabled"
	case ev.broken != nil:
		return lineshaft.ResultError, "the filter could not be evaluated: " + ev.broken.Error()
	case h.paused:
		return lineshaft.ResultSkipped, "the factory is paused"
	case a.broken != "":
		return lineshaft.ResultError, a.broken
	case s.noWebhookRuns != "":
		return lineshaft.ResultError, s.noWebhookRuns
	}
	return "", ""
}

// runStart is a run of an automation that is to be started.
type runStart struct {
	automation *hookAutomation
	// doc is the payload, for the key of the concurrency rule; nil when there is none.
	doc *filter.Doc
	// draft makes the run under a concurrency rule, with the files that it gets.
	draft func(rule *lineshaft.Concurrency) (*store.NewRun, []lineshaft.Attachment)
	note  runNote
	// traceParent is what starts it; empty begins a trace.
	traceParent string
}

// runNote says in the audit log what started a run.
type runNote struct{ what, id string }

// begin adds one run, if concurrency rule and brake let it.
func (b *runStarts) begin(ctx context.Context, start runStart, outcome *lineshaft.DeliveryOutcome) error {
	a := start.automation
	rule, slot, err := a.concurrency(start.doc)
	if err != nil {
		outcome.Result, outcome.Reason = lineshaft.ResultError, err.Error()
		return nil //nolint:nilerr // it is the automation's own, and told in its outcome
	}
	spent, err := b.brakeBudget(ctx, a)
	if err != nil {
		return err
	}
	if spent != "" {
		outcome.Result, outcome.Reason = lineshaft.ResultLimit, spent
		return nil
	}
	if a.MaxRunsPerHour > 0 {
		wait, err := b.tx.HitRates(ctx, a.brake())
		if err != nil {
			return err
		}
		if wait > 0 {
			outcome.Result = lineshaft.ResultLimit
			outcome.Reason = fmt.Sprintf("the automation starts at most %d runs an hour; there is room again in %s", a.MaxRunsPerHour, wait.Round(time.Second))
			return nil
		}
	}
	n, files := start.draft(rule)
	n.Head.ConcurrencyKey, n.TraceParent = slot, start.traceParent
	if err := b.s.settleSkills(ctx, b.tx, n); err != nil {
		if !definite(err) {
			return err
		}
		outcome.Result, outcome.Reason = lineshaft.ResultError, publicMessage(err)
		return nil
	}
	outcome.Result, outcome.RunID = lineshaft.ResultStarted, n.Head.ID
	if rule != nil {
		if done, err := b.enter(ctx, a, n, files, outcome); err != nil || done {
			return err
		}
	}
	return b.add(ctx, a, n, files, start.note)
}

// add puts a run among those that are written next.
func (b *runStarts) add(ctx context.Context, a *hookAutomation, n *store.NewRun, files []lineshaft.Attachment, note runNote) error {
	b.s.traceStart(ctx, n, &b.spans)
	n.Events = firstEvents(n)
	b.runs = append(b.runs, n)
	for _, file := range files {
		b.files, b.owners = append(b.files, file), append(b.owners, n.Head.ID)
	}
	b.audit = append(b.audit, auditEntry(a.caller, "run.create", "run", n.Head.ID, map[string]string{"source": string(n.Source), note.what: note.id}))
	b.tx.Wake(stream.QueueTopic(n.Head.WorkerHost))
	b.tx.Wake(stream.StatesTopic)
	if len(b.runs) >= maxPendingRuns {
		return b.flush(ctx)
	}
	return nil
}

// enter applies the concurrency rule; done says that there is no run to add.
func (b *runStarts) enter(ctx context.Context, a *hookAutomation, n *store.NewRun, files []lineshaft.Attachment, outcome *lineshaft.DeliveryOutcome) (done bool, err error) {
	if err := b.flush(ctx); err != nil { // the run that has the key may be among them
		return false, err
	}
	live, err := b.s.enterConcurrency(ctx, b.tx, a.caller, n, files)
	switch {
	case lineshaft.CodeOf(err) == lineshaft.CodeNotAuthorized:
		outcome.Result, outcome.Reason, outcome.RunID = lineshaft.ResultError, err.Error(), ""
		return true, nil
	case err != nil:
		return false, err
	case live != nil:
		outcome.Result, outcome.RunID = lineshaft.ResultFollowedUp, live.RunID
		return true, nil
	case n.Head.State.Terminal():
		outcome.Result, outcome.Reason = lineshaft.ResultSkipped, n.Head.Status.Message
	}
	return false, nil
}

// webhookRun makes the run of an automation for a delivery (W-13).
func (s *Service) webhookRun(h *Hook, a *hookAutomation, ev evaluation, rule *lineshaft.Concurrency, d *lineshaft.Delivery) (*store.NewRun, lineshaft.Attachment) {
	config := a.config
	config.Concurrency = rule
	n := s.draftRun(a.caller, lineshaft.NewRun{
		Prompt: envelope(a.Prompt, h, d.ID, d.ReceivedAt), Title: a.title(providerOf(h.Webhook), ev.doc), Source: ev.source(h, a), AgentUID: a.agentUID,
		Metadata: map[string]string{
			lineshaft.MetadataWebhook: h.UID, lineshaft.MetadataDelivery: d.ID, lineshaft.MetadataAutomation: a.UID,
		},
	}, config, a.origins)
	n.Head.FactoryUID, n.Body.Files, n.Body.Request = h.FactoryUID, 1, config
	attachmentID, _ := s.store.NewID()
	return n, lineshaft.Attachment{
		ID: attachmentID, FileName: lineshaft.PayloadFile, MimeType: "application/json", Size: d.Size, BlobID: store.PayloadBlob(d.ID),
	}
}

// flush writes the runs that were gathered.
func (b *runStarts) flush(ctx context.Context) error {
	if len(b.runs) == 0 {
		return nil
	}
	if err := b.tx.InsertRuns(ctx, b.runs); err != nil {
		return err
	}
	if len(b.owners) > 0 {
		if err := b.tx.AttachPayloads(ctx, b.owners, b.files); err != nil {
			return err
		}
	}
	if err := b.tx.Audit(ctx, b.audit...); err != nil {
		return err
	}
	b.runs, b.files, b.owners, b.audit = nil, nil, nil, nil
	return nil
}
