package trigger

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/skills"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/store"
)

// starter starts the runs of one transaction for triggers.
type starter struct {
	*runs.Starter
	room *Triggers
}

func (s *Triggers) newStarter(tx *store.Tx) *starter { return &starter{s.runs.NewStarter(tx), s} }

// lockAhead takes what the runs of several deliveries will need one after the other.
func (b *starter) lockAhead(ctx context.Context, all []Evaluation) error {
	var needs runs.StartNeeds
	for _, ev := range all {
		for _, a := range ev.Matched {
			needs.Add(a.keys(ev.doc), a.brake())
		}
	}
	return needs.Lock(ctx, b.Tx)
}

// keys are the concurrency keys that a run for a payload would use.
func (h *HookAutomation) keys(doc *filter.Doc) []store.KeyUse {
	rule, slot, err := h.concurrency(doc)
	if err != nil || slot == "" {
		return nil
	}
	return []store.KeyUse{runs.UseKey(rule, slot)}
}

// forDelivery starts the runs of one delivery and writes the result of each automation
// into it.
func (b *starter) forDelivery(ctx context.Context, h *Hook, ev Evaluation, d *lineshaft.Delivery, traceParent string) error {
	started := 0
	for _, a := range ev.Matched {
		outcome := lineshaft.DeliveryOutcome{AutomationID: a.UID, AutomationName: a.Name}
		outcome.Result, outcome.Reason = refuse(a, ev)
		if outcome.Result == "" && started >= lineshaft.MaxRunsPerDelivery {
			outcome.Result, outcome.Reason = lineshaft.ResultLimit, fmt.Sprintf("a delivery starts at most %d runs", lineshaft.MaxRunsPerDelivery)
		}
		if outcome.Result == "" {
			start := a.start()
			start.Broken = cmp.Or(start.Broken, b.room.noWebhookRuns)
			start.Logged = true
			err := b.forPayload(ctx, a, ev.doc, start, &outcome, func(rule *lineshaft.Concurrency) (*store.NewRun, []lineshaft.Attachment) {
				n, file := b.room.webhookRun(h, a, ev, rule, d)
				n.TraceParent = traceParent
				return n, []lineshaft.Attachment{file}
			})
			if err != nil {
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

// refuse says why an automation that matched is not even asked to start a run.
func refuse(a *HookAutomation, ev Evaluation) (lineshaft.OutcomeResult, string) {
	switch {
	case !a.Enabled:
		return lineshaft.ResultDisabled, "the automation is disabled"
	case ev.Broken != nil:
		return lineshaft.ResultError, "the filter could not be evaluated: " + ev.Broken.Error()
	}
	return "", ""
}

// forPayload starts the run of an automation, whose payload may fill its concurrency key,
// and writes the result into an outcome.
func (b *starter) forPayload(
	ctx context.Context, a *HookAutomation, doc *filter.Doc, start runs.RunStart, outcome *lineshaft.DeliveryOutcome,
	draft func(rule *lineshaft.Concurrency) (*store.NewRun, []lineshaft.Attachment),
) error {
	rule, slot, err := a.concurrency(doc)
	if err != nil {
		start.Broken = cmp.Or(start.Broken, err.Error())
	}
	var made *store.NewRun
	start.Draft = func() (*store.NewRun, []lineshaft.Attachment) {
		n, files := draft(rule)
		made, n.Head.ConcurrencyKey = n, slot
		return n, files
	}
	started, err := b.Start(ctx, start)
	outcome.Result, outcome.RunID = lineshaft.ResultStarted, started.RunID
	switch {
	case err != nil:
		outcome.Result, outcome.Reason = refusedResult(err)
	case started.FollowedUp:
		outcome.Result = lineshaft.ResultFollowedUp
	case started.State.Terminal():
		outcome.Result, outcome.Reason = lineshaft.ResultSkipped, made.Head.Status.Message
	}
	if err != nil && !runs.Refusal(err) {
		return err
	}
	return nil
}

// refusedResult is the outcome of an automation whose run was refused.
func refusedResult(err error) (lineshaft.OutcomeResult, string) {
	public, ok := errors.AsType[*lineshaft.Error](err)
	switch {
	case !ok:
		return lineshaft.ResultError, skills.PublicMessage(err)
	case errors.Is(err, runs.ErrPaused):
		return lineshaft.ResultSkipped, "the factory is paused"
	case public.Limited, public.Code == lineshaft.CodeBudgetExceeded:
		return lineshaft.ResultLimit, public.Message
	}
	return lineshaft.ResultError, public.Message
}

// webhookRun makes the run of an automation for a delivery (W-13).
func (s *Triggers) webhookRun(h *Hook, a *HookAutomation, ev Evaluation, rule *lineshaft.Concurrency, d *lineshaft.Delivery) (*store.NewRun, lineshaft.Attachment) {
	config := a.config
	config.Concurrency = rule
	n := s.runs.DraftRun(a.caller, lineshaft.NewRun{
		Prompt: envelope(a.Prompt, h, d.ID, d.ReceivedAt), Title: a.TitleFor(providerOf(h.Webhook), ev.doc), Source: ev.source(h, a), AgentUID: a.agentUID,
		Metadata: map[string]string{
			lineshaft.MetadataWebhook: h.UID, lineshaft.MetadataDelivery: d.ID, lineshaft.MetadataAutomation: a.UID,
		},
	}, config, a.origins)
	n.Head.FactoryUID, n.Body.Request = h.FactoryUID, config
	attachmentID, _ := s.Store.NewID()
	return n, lineshaft.Attachment{
		ID: attachmentID, FileName: lineshaft.PayloadFile, MimeType: "application/json", Size: d.Size, BlobID: store.PayloadBlob(d.ID),
	}
}
