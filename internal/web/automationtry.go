package web

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	controltrigger "github.com/lineshaft/lineshaft/internal/control/trigger"
)

// How many stored deliveries a trial offers, of each webhook and together.
const (
	pastOfEach = 10
	pastMost   = 25
)

// pastDelivery is a stored delivery that an automation can be tried on.
type pastDelivery struct {
	ID, Webhook, Event string
	Size               int64
	// When is the time of receipt as people tell it.
	When string
}

// listening are the webhooks whose deliveries may concern triggers; all of them when
// no trigger says which.
func listening(triggers []lineshaft.Trigger, hooks []lineshaft.Webhook) []lineshaft.Webhook {
	var heard []lineshaft.Webhook
	for _, h := range hooks {
		if slices.ContainsFunc(triggers, func(t lineshaft.Trigger) bool {
			named := slices.Contains(t.Filter.WebhookIDs, h.UID) || slices.Contains(t.Filter.Webhooks, h.Name)
			return named || t.Sent() && h.SignatureScheme == t.Provider
		}) {
			heard = append(heard, h)
		}
	}
	return heard
}

// pastDeliveries are the newest stored deliveries with a payload, newest first.
func (s *server) pastDeliveries(ctx context.Context, c lineshaft.Caller, factoryUID string, hooks []lineshaft.Webhook) ([]pastDelivery, error) {
	var list []pastDelivery
	for _, h := range hooks {
		found, err := s.Control.ListDeliveries(ctx, c, factoryUID, h.UID, controltrigger.DeliveryQuery{Limit: pastOfEach})
		if err != nil {
			return nil, err
		}
		for _, d := range found.Items {
			if d.Status == lineshaft.DeliveryAccepted {
				list = append(list, pastDelivery{ID: d.ID, Webhook: h.Name, Event: d.Event, Size: d.Size, When: fmt.Sprintf("%s (%s)", agoText(d.ReceivedAt, time.Now()), d.ReceivedAt.UTC().Format("15:04:05 UTC"))})
			}
		}
	}
	slices.SortFunc(list, func(a, b pastDelivery) int { return strings.Compare(b.ID, a.ID) })
	return list[:min(len(list), pastMost)], nil
}

// trialSubject is what triggers are tried on: a stored delivery, or a body.
type trialSubject struct{ Delivery, Body, Event string }

// trial is what triggers make of one delivery.
type trial struct {
	Subject trialSubject
	// Would says that one trigger at least fires, Judged that one at least could be tried.
	Would    bool
	Judged   bool
	Verdicts []verdict
	// Problem is why it could not be tried.
	Problem string
}

type verdict struct {
	Number int
	Head   string
	Would  bool
	Checks []shownCheck
	// Problem is why this trigger could not be tried.
	Problem string
}

// shownCheck is a check as a page shows it.
type shownCheck struct {
	Path, Operator, Wanted, Seen string
	Missing, Passed              bool
}

// try asks control what each trigger makes of a delivery.
func (s *server) try(ctx context.Context, c lineshaft.Caller, factoryUID string, triggers []lineshaft.Trigger, subject trialSubject) *trial {
	if strings.TrimSpace(subject.Body) != "" {
		subject.Delivery = "" // what was pasted is newer than what was chosen
	}
	t := &trial{Subject: subject}
	if subject.Delivery == "" && strings.TrimSpace(subject.Body) == "" {
		t.Problem = "Choose a stored delivery, or paste a body."
		return t
	}
	for i, trigger := range triggers {
		v := verdict{Number: i + 1, Head: triggerHead(trigger)}
		if !trigger.Delivered() {
			v.Problem = "No delivery fires this trigger."
			t.Verdicts = append(t.Verdicts, v)
			continue
		}
		test := factories.FilterTest{Provider: trigger.Provider, Event: trigger.Event, Filter: trigger.Filter, DeliveryID: subject.Delivery, PayloadEvent: subject.Event}
		if subject.Delivery == "" {
			test.Payload = json.RawMessage(subject.Body)
		}
		found, err := s.Control.TestFilter(ctx, c, factoryUID, test)
		if err != nil {
			v.Problem = s.problemText(ctx, err)
		}
		v.Would = err == nil && found.WouldTrigger
		t.Would, t.Judged = t.Would || v.Would, t.Judged || err == nil
		for _, check := range found.Checks {
			v.Checks = append(v.Checks, showCheck(check))
		}
		t.Verdicts = append(t.Verdicts, v)
	}
	return t
}

// problemText is what a reader may know of an error.
func (s *server) problemText(ctx context.Context, err error) string {
	if told, ok := errors.AsType[*lineshaft.Error](err); ok && told.Code != lineshaft.CodeInternal {
		return told.Message
	}
	s.Logger.ErrorContext(ctx, "try automation", "err", err)
	return "Something went wrong here. The log has the details."
}

func showCheck(check factories.Check) shownCheck {
	operators := map[string]string{"in": "is one of", "not_in": "is none of", "exists": "exists", "object": "is an object like"}
	return shownCheck{
		Path: strings.TrimPrefix(check.Path, "payload."), Operator: cmp.Or(operators[check.Operator], check.Operator), Wanted: string(check.Expected),
		Seen: string(check.Seen), Missing: check.Seen == nil, Passed: check.Passed,
	}
}
