package trigger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/store"
)

// chainTable is which automations start when a run ends (F-6), made of the copies of
// all factories. It does not change once made.
type chainTable struct {
	// watches are by the factory whose runs count, in the order in which they start.
	watches map[string][]chainWatch
	// agents and automations are names by uid.
	agents      map[string]string
	automations map[string]string
}

// chainWatch is a run/finished trigger.
type chainWatch struct {
	automation *HookAutomation
	revision   int64 // of its factory
	filter     lineshaft.TriggerFilter
}

// newChainTable gathers the triggers of all factories.
func newChainTable(factories map[string]*factoryCopy) *chainTable {
	t := &chainTable{watches: map[string][]chainWatch{}, agents: map[string]string{}, automations: map[string]string{}}
	for _, uid := range slices.Sorted(maps.Keys(factories)) {
		c := factories[uid]
		for _, agent := range c.agents {
			t.agents[agent.UID] = agent.Name
		}
		for _, a := range c.automations {
			t.automations[a.UID] = a.Name
			for _, trigger := range a.Triggers {
				if trigger.Provider != lineshaft.ProviderRun {
					continue
				}
				watch := chainWatch{automation: a, revision: c.factory.Revision, filter: trigger.Filter}
				for _, of := range watchedFactories(uid, trigger.Filter) {
					t.watches[of] = append(t.watches[of], watch)
				}
			}
		}
	}
	return t
}

// watchedFactories are those whose runs a trigger is about: its own, or those named.
func watchedFactories(own string, f lineshaft.TriggerFilter) []string {
	if f.Set(lineshaft.KeyFactories) == nil {
		return []string{own}
	}
	return slices.Compact(slices.Sorted(slices.Values(f.Set(lineshaft.KeyFactories).In)))
}

// chainEnd is a run that has ended, as triggers see it.
type chainEnd struct {
	store.EndedRun

	state   lineshaft.RunState
	message string
	at      time.Time
	// agent and automation are names; empty when there is none.
	agent      string
	automation string
}

// chainStart is an automation that is to start because a run has ended.
type chainStart struct {
	chainWatch
	end *chainEnd
}

// starts are the automations that the end of a run starts, each once.
func (t *chainTable) starts(end *chainEnd) []chainStart {
	end.agent = t.agents[end.AgentUID]
	if uid, ok := strings.CutPrefix(end.CreatorUID, base.AutomationPrincipalPrefix); ok {
		end.automation = t.automations[uid]
	}
	var found []chainStart
	taken := map[string]bool{}
	for _, w := range t.watches[end.FactoryUID] {
		a := w.automation
		switch {
		case taken[a.UID] || !a.Enabled:
		case end.at.Before(a.CreatedAt): // it ended before anyone wanted to know
		case w.filter.Set(lineshaft.KeyStates).Allows(string(end.state)) && w.filter.Set(lineshaft.KeyAgents).Allows(end.agent) && w.filter.Set(lineshaft.KeyAutomations).Allows(end.automation):
			taken[a.UID], found = true, append(found, chainStart{chainWatch: w, end: end})
		}
	}
	return found[:min(len(found), lineshaft.MaxRunsPerDelivery)]
}

// oldestEnd is how long ago a run may have ended that still starts something: after
// a database was moved to another machine, old ends may come up again.
const oldestEnd = 24 * time.Hour

// endsOf finds the ends of runs among state changes, in their order. A run that was
// never begun has not ended, and neither has one that continues at once because a
// follow-up waited.
//
// Of the changes the first count as asked for; the others only say what follows.
func endsOf(changes []store.StateChange, count int, now time.Time) []*chainEnd {
	var ends []*chainEnd
	for i, change := range changes[:count] {
		var data lineshaft.StateData
		if err := json.Unmarshal(change.Event.Data, &data); err != nil || data.From == "" || !data.To.Terminal() || now.Sub(change.Event.Time) > oldestEnd {
			continue
		}
		if i+1 < len(changes) && changes[i+1].Position.Txid == change.Position.Txid && changes[i+1].Event.RunID == change.Event.RunID {
			continue
		}
		ends = append(ends, &chainEnd{
			EndedRun: store.EndedRun{ID: change.Event.RunID}, state: data.To, at: change.Event.Time,
			message: cmp.Or(data.Message, string(data.ErrorCode)),
		})
	}
	return ends
}

// CheckKey requires a concurrency key that every trigger, or with schedules some trigger, can
// fill in.
func CheckKey(_ context.Context, _ *store.Tx, a lineshaft.Automation) error {
	rule := a.Config.Concurrency
	if rule == nil || !strings.Contains(rule.Key, "{{") {
		return nil
	}
	payload := false
	for _, t := range a.Triggers {
		if t.Provider == lineshaft.ProviderRun {
			return lineshaft.Invalid("concurrency.key", "a finished run has no payload to fill the key from; "+
				"write a fixed key, or create a separate automation for the run/finished trigger")
		}
		payload = payload || t.Schedule == nil
	}
	if !payload {
		return lineshaft.Invalid("concurrency.key", "a schedule has no payload to fill the key from; write a fixed key")
	}
	return nil
}

// Watchable requires every factory whose runs a trigger waits for to be one that the
// caller may see: an automation learns how its runs end.
func Watchable(c lineshaft.Caller) func(context.Context, *store.Tx, lineshaft.Automation) error {
	return func(ctx context.Context, tx *store.Tx, a lineshaft.Automation) error {
		for i, t := range a.Triggers {
			if t.Provider != lineshaft.ProviderRun {
				continue
			}
			field := fmt.Sprintf("triggers[%d].filter.factories", i)
			if err := checkWatched(ctx, tx, c, field, t.Filter.Set(lineshaft.KeyFactories)); err != nil {
				return err
			}
		}
		return nil
	}
}

func checkWatched(ctx context.Context, tx *store.Tx, c lineshaft.Caller, field string, factories *lineshaft.Choice) error {
	if factories == nil {
		return nil
	}
	if factories.In == nil || factories.NotIn != nil {
		return lineshaft.Invalid(field, "name the factories that count, by uid, as a list; not_in is not possible")
	}
	for _, uid := range factories.In {
		_, err := tx.GetFactory(ctx, uid)
		if base.IgnoreNotFound(err) != nil {
			return err
		}
		if err != nil || !c.MaySeeFactory(uid) { // the same answer for both
			return lineshaft.Invalid(field, "there is no factory %s that your key may see", strconv.Quote(lineshaft.Clip(uid, 100)))
		}
	}
	return nil
}

// CheckChains requires every automation whose runs a trigger waits for to be one of the
// factory; those of other factories are not looked up.
func CheckChains(ctx context.Context, tx *store.Tx, a lineshaft.Automation) error {
	known, err := tx.ListAutomations(ctx, a.FactoryUID)
	if err != nil {
		return err
	}
	before, _ := base.Named(known, a.UID, func(o lineshaft.Automation) string { return o.UID })
	known = append(known, a) // which may wait for its own runs, under a new name
	for i, t := range a.Triggers {
		if name, ok := UnknownChain(t, known, before.Triggers); ok {
			return lineshaft.Invalid(fmt.Sprintf("triggers[%d].filter.automations", i),
				"there is no automation %s in this factory; check the name with 'lineshaft automation list'", strconv.Quote(lineshaft.Clip(name, 100)))
		}
	}
	return nil
}

// UnknownChain finds a missing automation that a trigger waits for. What a trigger
// named before may be deleted by now.
func UnknownChain(t lineshaft.Trigger, known []lineshaft.Automation, before []lineshaft.Trigger) (string, bool) {
	if t.Provider != lineshaft.ProviderRun || t.Filter.Set(lineshaft.KeyFactories) != nil {
		return "", false
	}
	for _, name := range t.Filter.Set(lineshaft.KeyAutomations).Values() {
		_, there := base.Named(known, name, AutomationName)
		kept := slices.ContainsFunc(before, func(b lineshaft.Trigger) bool {
			return slices.Contains(b.Filter.Set(lineshaft.KeyAutomations).Values(), name)
		})
		if !there && !kept {
			return name, true
		}
	}
	return "", false
}

// RenameInChains gives the new name of an automation to the triggers of its factory that
// wait for its runs, also to its own.
func RenameInChains(ctx context.Context, tx *store.Tx, a *lineshaft.Automation, before string) error {
	if a.Name == before {
		return nil
	}
	all, err := tx.ListAutomations(ctx, a.FactoryUID)
	if err != nil {
		return err
	}
	for i := range all {
		one := &all[i]
		if one.UID == a.UID {
			one = a // which the caller stores
		}
		found := false
		for _, t := range one.Triggers {
			if t.Filter.Set(lineshaft.KeyFactories) == nil {
				found = ReplaceChoice(t.Filter.Set(lineshaft.KeyAutomations), before, a.Name) || found
			}
		}
		if found && one != a {
			if err := tx.PutAutomation(ctx, *one); err != nil {
				return err
			}
		}
	}
	return nil
}

// AutomationName is for base.Named.
func AutomationName(a lineshaft.Automation) string { return a.Name }

// ReplaceChoice replaces a name and says whether it was in the choice.
func ReplaceChoice(c *lineshaft.Choice, name, by string) (found bool) {
	if c == nil {
		return false
	}
	for _, list := range [][]string{c.In, c.NotIn} {
		for i := range list {
			if list[i] == name {
				list[i], found = by, true
			}
		}
	}
	return found
}
