package factories

import (
	"context"
	"errors"
	"fmt"
	"reflect"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/store"
)

// Limits of a back-test. It checks as many deliveries of each webhook as of any other,
// the newest ones.
const (
	maxBacktest      = 50_000
	maxBacktestBytes = 1 << 30
	backtestPage     = 500
)

// Backtest says what a changed automation would have made of the deliveries that
// are stored: by its triggers, filters and whether it is enabled. Pauses, brakes and
// concurrency rules do not count.
type Backtest struct {
	Automation string
	Action     definition.Action
	// Deliveries is how many were checked: those of the webhooks that the automation
	// listens to, now or then.
	Deliveries int
	// Starts is how many start no run now and would start one, Stops the other way
	// round.
	Starts int
	Stops  int
	// Truncated says that there are more deliveries than were checked.
	Truncated bool
}

// trial is one automation before and after.
type trial struct {
	Backtest

	before, after *trigger.HookAutomation // nil for a missing one
	// now and would count the deliveries that start a run before and after.
	now, would int
}

// pastBounds is how much of the past is checked. The context only says when it is
// enough: what is read until then counts.
type pastBounds struct {
	deliveries, bytes int
	within            context.Context // a bound, not the context of the work
}

// backtest runs the stored deliveries through the changed automations. It uses the code
// of the ingress, so the two cannot disagree.
func (s *Factories) backtest(ctx context.Context, w *work) ([]Backtest, error) {
	trials := s.trials(w)
	if len(trials) == 0 {
		return nil, nil
	}
	var hooks []*pastHook
	for _, one := range w.webhooks {
		h, err := s.newPastHook(w.factory, one.was, &one.next.Webhook, trials)
		if err != nil {
			return nil, err
		}
		hooks = append(hooks, h)
	}
	for i := range w.parts.webhooks { // those that go
		was := &w.parts.webhooks[i]
		if _, stays := base.Named(w.d.Webhooks, was.Name, webhookName); stays {
			continue
		}
		h, err := s.newPastHook(w.factory, was, nil, trials)
		if err != nil {
			return nil, err
		}
		hooks = append(hooks, h)
	}
	if err := s.replayPast(ctx, hooks, pastBounds{deliveries: maxBacktest, bytes: maxBacktestBytes, within: ctx}); err != nil {
		return nil, err
	}
	var told []Backtest
	for _, t := range trials {
		told = append(told, t.Backtest)
	}
	return told, nil
}

// trials are the automations whose triggers or switch differ, by name.
func (s *Factories) trials(w *work) []*trial {
	var trials []*trial
	for _, change := range w.of(definition.KindAutomation) {
		before, was := base.Named(w.parts.automations, change.Name, trigger.AutomationName)
		after, is := base.Named(w.d.Automations, change.Name, trigger.AutomationName)
		if was && is && before.Enabled == after.Enabled && reflect.DeepEqual(before.Triggers, after.Triggers) {
			continue
		}
		t := &trial{Backtest: Backtest{Automation: change.Name, Action: change.Action}}
		if was {
			t.before = s.trigger.NewHookAutomation(&w.parts.factory, w.parts.agents, before)
		}
		if is {
			after.UID, after.FactoryUID = before.UID, w.factory.UID
			t.after = s.trigger.NewHookAutomation(&w.d.Factory, w.d.Agents, after)
		}
		trials = append(trials, t)
	}
	return trials
}

// pastHook is a webhook whose deliveries are checked again.
type pastHook struct {
	uid string
	// before and after have the automations that are tried, as they are and as they
	// would be; they are the same unless the webhook itself changes how it is read.
	before, after *trigger.Hook
	trials        []*trial
}

// newPastHook makes a webhook ready for the back-test. A new one has no deliveries.
func (s *Factories) newPastHook(f *lineshaft.Factory, was *store.Webhook, is *lineshaft.Webhook, trials []*trial) (*pastHook, error) {
	past := &pastHook{}
	if was == nil {
		return past, nil
	}
	var before, after []*trigger.HookAutomation
	for _, t := range trials {
		if t.before != nil {
			before = append(before, t.before)
		}
		if t.after != nil {
			after = append(after, t.after)
		}
	}
	past.uid = was.UID
	hook := func(w lineshaft.Webhook, automations []*trigger.HookAutomation) (*trigger.Hook, error) {
		h, err := s.trigger.NewHook(f, store.Webhook{Webhook: w}, automations) // without credentials: nobody will be authenticated
		if err != nil {
			return nil, fmt.Errorf("make webhook ready: %w", err)
		}
		return h, nil
	}
	var err error
	if is != nil && is.AuthMode == was.AuthMode && is.SignatureScheme == was.SignatureScheme {
		if past.before, err = hook(was.Webhook, append(before, after...)); err != nil {
			return nil, err
		}
		past.after = past.before
	} else {
		if past.before, err = hook(was.Webhook, before); err != nil {
			return nil, err
		}
		if is != nil {
			if past.after, err = hook(*is, after); err != nil {
				return nil, err
			}
		}
	}
	for _, t := range trials {
		if past.before.Has(t.before) || past.after.Has(t.after) {
			past.trials = append(past.trials, t)
		}
	}
	return past, nil
}

// errEnough ends the reading of deliveries.
var errEnough = errors.New("enough deliveries")

// replayPast looks at the deliveries of each webhook, newest first.
func (s *Factories) replayPast(ctx context.Context, hooks []*pastHook, most pastBounds) error {
	heard := 0
	for _, h := range hooks {
		if len(h.trials) > 0 {
			heard++
		}
	}
	for _, h := range hooks {
		if len(h.trials) == 0 {
			continue
		}
		share := pastBounds{deliveries: most.deliveries / heard, bytes: most.bytes / heard, within: most.within}
		if err := s.replayHook(ctx, h, share); err != nil {
			return err
		}
	}
	return nil
}

func (s *Factories) replayHook(ctx context.Context, h *pastHook, most pastBounds) error {
	seen, bytes, before := 0, most.bytes, ""
	for {
		read := 0
		err := s.Store.EachPayload(ctx, h.uid, before, backtestPage, func(p store.Payload) error {
			read++
			before = p.DeliveryID
			if p.Handshake {
				return nil
			}
			if seen == most.deliveries || bytes < len(p.Body) || most.within.Err() != nil {
				return errEnough
			}
			seen, bytes = seen+1, bytes-len(p.Body)
			h.try(p)
			return nil
		})
		if errors.Is(err, errEnough) {
			for _, t := range h.trials {
				t.Truncated = true
			}
			return nil
		}
		if err != nil || read < backtestPage {
			return err
		}
	}
}

// try counts what a delivery starts before and after.
func (h *pastHook) try(p store.Payload) {
	before := h.before.Evaluate(p.Event, p.Body)
	after := before
	if h.after != h.before {
		after = trigger.Evaluation{}
		if h.after != nil {
			after = h.after.Evaluate(p.Event, p.Body)
		}
	}
	for _, t := range h.trials {
		t.Deliveries++
		starts, would := before.Starts(t.before), after.Starts(t.after)
		if starts {
			t.now++
		}
		if would {
			t.would++
		}
		if would && !starts {
			t.Starts++
		}
		if starts && !would {
			t.Stops++
		}
	}
}
