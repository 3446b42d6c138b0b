package control

import (
	"context"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// runStarts gathers the runs that deliveries start, so that they are written in few
// statements.
type runStarts struct {
	s     *Service
	tx    *store.Tx
	runs  []*store.NewRun
	files []lineshaft.Attachment // one for each run
	audit []lineshaft.AuditEntry
}

// lockAhead takes what the runs of several deliveries will need one after the other.
func (b *runStarts) lockAhead(ctx context.Context, all []evaluation) error {
	var slots, brakes []string
	for _, ev := range all {
		for _, a := range ev.matched {
			if _, slot, err := a.concurrency(ev.doc); err == nil && slot != "" {
				slots = append(slots, slot)
			}
			if a.MaxRunsPerHour > 0 {
				brakes = append(brakes, a.brake().Name)
			}
		}
	}
	return b.tx.LockAhead(ctx, slots, brakes)
}

// maxPendingRuns bounds the parameters of one statement.
const maxPendingRuns = 100

// forDelivery starts the runs of one delivery and writes what became of each
// automation into it.
func (b *runStarts) forDelivery(ctx context.Context, h *Hook, ev evaluation, d *lineshaft.Delivery) error {
	started := 0
	for _, a := range ev.matched {
		outcome := lineshaft.DeliveryOutcome{AutomationID: a.UID, AutomationName: a.Name}
		outcome.Result, outcome.Reason = b.s.refuse(h, a, ev)
		if outcome.Result == "" && started >= lineshaft.MaxRunsPerDelivery {
			outcome.Result, outcome.Reason = lineshaft.ResultLimit, fmt.Sprintf("a delivery starts at most %d runs", lineshaft.MaxRunsPerDelivery)
		}
		if outcome.Result == "" {
			if err := b.start(ctx, h, a, ev, d, &outcome); err != nil {
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

// start adds one run.
func (b *runStarts) start(ctx context.Context, h *Hook, a *hookAutomation, ev evaluation, d *lineshaft.Delivery, outcome *lineshaft.DeliveryOutcome) error {
	rule, slot, err := a.concurrency(ev.doc)
	if err != nil {
		outcome.Result, outcome.Reason = lineshaft.ResultError, err.Error()
		return nil //nolint:nilerr // it is the automation's own, and told in its outcome
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
	n, file := b.s.webhookRun(h, a, rule, d)
	n.Head.ConcurrencyKey = slot
	outcome.Result, outcome.RunID = lineshaft.ResultStarted, n.Head.ID
	if rule != nil {
		if done, err := b.enter(ctx, a, n, file, outcome); err != nil || done {
			return err
		}
	}
	n.Events = firstEvents(n)
	b.runs, b.files = append(b.runs, n), append(b.files, file)
	b.audit = append(b.audit, auditEntry(a.caller, "run.create", "run", n.Head.ID, map[string]string{"source": string(n.Source), "delivery": d.ID}))
	b.tx.Wake(stream.QueueTopic(n.Head.WorkerHost))
	b.tx.Wake(stream.StatesTopic)
	if len(b.runs) >= maxPendingRuns {
		return b.flush(ctx)
	}
	return nil
}

// enter applies the concurrency rule; done says that there is no run to add.
func (b *runStarts) enter(ctx context.Context, a *hookAutomation, n *store.NewRun, file lineshaft.Attachment, outcome *lineshaft.DeliveryOutcome) (done bool, err error) {
	if err := b.flush(ctx); err != nil { // the run that has the key may be among them
		return false, err
	}
	live, err := b.s.enterConcurrency(ctx, b.tx, a.caller, n, []lineshaft.Attachment{file})
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
func (s *Service) webhookRun(h *Hook, a *hookAutomation, rule *lineshaft.Concurrency, d *lineshaft.Delivery) (*store.NewRun, lineshaft.Attachment) {
	config := a.config
	config.Concurrency = rule
	n := s.draftRun(a.caller, lineshaft.NewRun{
		Prompt: envelope(a.Prompt, h, d.ID, d.ReceivedAt), Title: a.Name, Source: lineshaft.SourceWebhook,
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
	owners := make([]string, len(b.runs))
	for i, n := range b.runs {
		owners[i] = n.Head.ID
	}
	if err := b.tx.AttachPayloads(ctx, owners, b.files); err != nil {
		return err
	}
	if err := b.tx.Audit(ctx, b.audit...); err != nil {
		return err
	}
	b.runs, b.files, b.audit = nil, nil, nil
	return nil
}
