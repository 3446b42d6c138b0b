package factories

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
	"github.com/lineshaft/lineshaft/internal/cron"
	"github.com/lineshaft/lineshaft/internal/definition"
)

// ReadTrigger puts the text of a filter into a trigger and checks both, as saving
// would as far as that needs no store. The text is that of definition files: the payload
// filter for provider webhook, the keys of the filter for others. Problems have places
// in the text; those without a line are about the rest of the trigger.
func ReadTrigger(t lineshaft.Trigger, text string) (lineshaft.Trigger, []lineshaft.FileProblem) {
	read, problems := definition.ParseFilter(t, text)
	t.Filter = read
	if len(problems) > 0 {
		return t, problems
	}
	err := t.Validate("")
	if err == nil && t.Schedule != nil {
		_, err = cron.Parse(*t.Schedule)
	}
	if err == nil {
		err = catalog.Check(t)
	}
	if public, ok := errors.AsType[*lineshaft.Error](err); ok {
		message, hint, _ := strings.Cut(public.Message, "; ")
		problems = append(problems, lineshaft.FileProblem{File: strings.TrimPrefix(public.Field, "."), Message: message, Hint: hint})
	}
	return t, problems
}

// WriteTriggerFilter is the text of a trigger's filter, as ReadTrigger takes it.
func WriteTriggerFilter(t lineshaft.Trigger) string { return definition.WriteFilter(t) }

// FilterDoubt is what to check again in a payload filter that can be saved: a field
// that looks like a misspelt operator. Empty is none.
func FilterDoubt(payload json.RawMessage) string {
	operators := map[string]string{"notin": "not_in", "nin": "not_in", "exist": "exists", "oneof": "in", "anyof": "in", "equals": "in", "eq": "in"}
	var fields map[string]json.RawMessage
	if json.Unmarshal(payload, &fields) != nil {
		return ""
	}
	for _, inner := range fields {
		var below map[string]json.RawMessage
		if json.Unmarshal(inner, &below) != nil {
			continue
		}
		for name := range below {
			if meant := operators[strings.ToLower(strings.NewReplacer("_", "", "-", "", "$", "").Replace(name))]; meant != "" && meant != name {
				return "“" + name + "” is read as a field of the body. If it is meant as an operator, write " + meant + "."
			}
		}
		if doubt := FilterDoubt(inner); doubt != "" {
			return doubt
		}
	}
	return ""
}

// FilterKey is a key of filters, for transports.
type FilterKey = catalog.KeySpec

// TriggerEvent is an event of the catalogue, for transports.
type TriggerEvent = catalog.EventSpec

// AnyEvent means every event of a provider whose events are not established.
const AnyEvent = catalog.AnyEvent

// FilterKeys are the keys that filters of triggers may have.
func FilterKeys() []FilterKey { return catalog.Keys() }

// TriggerCatalog lists the events of a provider with the keys of their filters.
func TriggerCatalog(provider string) ([]TriggerEvent, error) {
	events, ok := catalog.Catalog(provider)
	if !ok {
		missing := lineshaft.NotFound("provider", lineshaft.Clip(provider, 40))
		missing.Message = fmt.Sprintf("there is no provider %q; choose one of %s", lineshaft.Clip(provider, 40), strings.Join(lineshaft.Providers(), ", "))
		return nil, missing
	}
	return events, nil
}

// TriggerEvents lists what triggers of a provider may name as their event.
func TriggerEvents(provider string) []string { return catalog.Events(provider) }

// Bounds of the back-test of one automation: someone waits for it.
const (
	draftBacktest       = 5_000
	draftBacktestBytes  = 64 << 20
	draftBacktestWithin = 2 * time.Second
)

// DraftBacktest says what an automation would have made of the stored deliveries of
// the webhooks that it listens to, now or as it would be.
type DraftBacktest struct {
	// Deliveries is how many were checked, the newest ones.
	Deliveries int
	// Would is how many of them start a run of the automation as it would be, Now as it is.
	Would int
	Now   int
	// Truncated says that there are more deliveries than were checked.
	Truncated bool
}

// BacktestAutomation tries an automation that is not saved on the stored deliveries.
// The uid is that of the one it would replace; empty for a new one.
func (s *Factories) BacktestAutomation(ctx context.Context, c lineshaft.Caller, factoryUID, uid string, n lineshaft.Automation) (DraftBacktest, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return DraftBacktest{}, err
	}
	if _, err := s.VisibleFactory(ctx, c, factoryUID); err != nil {
		return DraftBacktest{}, err
	}
	if err := checkFilters(n.Triggers); err != nil {
		return DraftBacktest{}, err
	}
	parts, err := s.currentParts(ctx, factoryUID)
	if err != nil {
		return DraftBacktest{}, err
	}
	t := &trial{after: s.trigger.NewHookAutomation(&parts.factory, parts.agents, lineshaft.Automation{
		UID: uid, FactoryUID: factoryUID, Name: n.Name, Enabled: n.Enabled, Agent: n.Agent, Triggers: n.Triggers,
	})}
	if uid != "" {
		was, err := s.Store.GetAutomation(ctx, factoryUID, uid)
		if err != nil {
			return DraftBacktest{}, err
		}
		t.before = s.trigger.NewHookAutomation(&parts.factory, parts.agents, *was)
	}
	var hooks []*pastHook
	for i := range parts.webhooks {
		was := &parts.webhooks[i]
		h, err := s.newPastHook(&parts.factory, was, &was.Webhook, []*trial{t})
		if err != nil {
			return DraftBacktest{}, err
		}
		hooks = append(hooks, h)
	}
	within, cancel := context.WithTimeout(ctx, draftBacktestWithin)
	defer cancel()
	if err := s.replayPast(ctx, hooks, pastBounds{deliveries: draftBacktest, bytes: draftBacktestBytes, within: within}); err != nil {
		return DraftBacktest{}, err
	}
	return DraftBacktest{Deliveries: t.Deliveries, Would: t.would, Now: t.now, Truncated: t.Truncated}, nil
}
