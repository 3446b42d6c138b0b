package trigger

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/cron"
	"github.com/lineshaft/lineshaft/internal/store"
)

// The prefixes of timer owners, by kind.
const (
	scheduleTimer   = "schedule/"
	automationTimer = "automation/"
)

func automationOf(owner string) string {
	uid, _, _ := strings.Cut(strings.TrimPrefix(owner, automationTimer), "/")
	return uid
}

// triggerTimer is the owner of the timer of an automation's trigger: an unchanged
// trigger keeps its timer, wherever it is, and one with a name keeps it as long as the
// name stays.
func triggerTimer(automationUID string, timing lineshaft.Timing) string {
	if timing.Name != "" {
		return automationTimer + automationUID + "/" + digest("named "+timing.Name)
	}
	text, _ := json.Marshal(timing)
	return automationTimer + automationUID + "/" + digest(string(text))
}

// checkTiming says whether a timing can be read and goes with a concurrency rule.
func checkTiming(timing lineshaft.Timing, rule *lineshaft.Concurrency) error {
	if _, err := cron.Parse(timing); err != nil {
		return err
	}
	if timing.Overlap != lineshaft.OverlapAllow && rule != nil {
		return lineshaft.Invalid("overlap", "cannot be used with a concurrency rule, which already says what happens while the last run is live; leave out one of them")
	}
	return nil
}

// CheckTimings is checkTiming for the triggers of an automation.
func CheckTimings(a lineshaft.Automation) error {
	for i, t := range a.Triggers {
		if t.Schedule == nil {
			continue
		}
		if err := checkTiming(*t.Schedule, a.Config.Concurrency); err != nil {
			return InField(err, fmt.Sprintf("triggers[%d].schedule.", i))
		}
	}
	return nil
}

// SyncTimers makes the timers of a factory those of its enabled automations. Whoever
// changes automations calls it at the end of the transaction.
func (s *Triggers) SyncTimers(ctx context.Context, tx *store.Tx, factoryUID string) error {
	automations, err := tx.ListAutomations(ctx, factoryUID)
	if err != nil {
		return err
	}
	have, err := tx.ListTimers(ctx, factoryUID)
	if err != nil {
		return err
	}
	wanted := map[string]lineshaft.Timing{}
	for _, a := range automations {
		for _, t := range a.Triggers {
			if a.Enabled && t.Schedule != nil {
				wanted[triggerTimer(a.UID, *t.Schedule)] = *t.Schedule
			}
		}
	}
	var gone []string
	for _, timer := range have {
		timing, stays := wanted[timer.Owner]
		if !stays {
			gone = append(gone, timer.Owner)
		}
		if timing == timer.Timing {
			delete(wanted, timer.Owner)
		}
	}
	if err := tx.DeleteTimers(ctx, gone); err != nil || len(wanted) == 0 {
		return err
	}
	now, err := s.TimerClock(ctx, tx)
	if err != nil {
		return err
	}
	for owner, timing := range wanted {
		timer, err := newTimer(owner, timing, now)
		if err != nil { // it was checked when it was saved; a time zone that went since must not hold up other changes
			s.Log.LogAttrs(ctx, slog.LevelError, "timing cannot be read", slog.String("timer", owner), slog.Any("err", err))
			continue
		}
		timer.FactoryUID = factoryUID
		if err := tx.PutTimer(ctx, timer); err != nil {
			return err
		}
	}
	return nil
}

// newTimer is a timer that begins now.
func newTimer(owner string, timing lineshaft.Timing, now time.Time) (store.Timer, error) {
	parsed, err := cron.Parse(timing)
	if err != nil {
		return store.Timer{}, err
	}
	timer := store.Timer{Owner: owner, Timing: timing, Anchor: now}
	if next, ok := parsed.Anchored(now).Next(now); ok {
		timer.NextAt, timer.Slot = next.At, next.Name
	}
	return timer, nil
}

// draftTimed drafts the run of an automation's schedule. Nothing came from outside, so
// it also gets the secrets of agent, factory and environment.
func (s *Triggers) draftTimed(ctx context.Context, tx *store.Tx, f *firing) error {
	factory, err := tx.GetFactory(ctx, f.timer.FactoryUID)
	if err != nil {
		return err
	}
	a, err := tx.GetAutomation(ctx, factory.UID, automationOf(f.timer.Owner))
	if err != nil {
		return err
	}
	agents, err := tx.ListAgents(ctx, factory.UID)
	if err != nil {
		return err
	}
	if f.timer.Timing.Overlap != lineshaft.OverlapAllow {
		a.Config.Concurrency = f.overlap()
	}
	ready := s.NewHookAutomation(factory, agents, *a)
	start := ready.start()
	f.start = &start
	if rule := ready.config.Concurrency; rule != nil && strings.Contains(rule.Key, "{{") {
		start.Broken = "the concurrency key needs a payload, which a schedule does not have; " +
			"use a key without {{…}}, or another automation for the schedule"
	}
	if start.Broken != "" {
		return nil
	}
	at := slices.IndexFunc(agents, func(agent lineshaft.Agent) bool { return agent.UID == ready.agentUID })
	config, origins, err := s.runs.ResolveConfig(ctx, tx, ready.caller, lineshaft.AgentConfig{}, runs.Definitions{Automation: a, Agent: &agents[at], Factory: factory})
	if err != nil {
		return err
	}
	f.run = s.runs.DraftRun(ready.caller, lineshaft.NewRun{
		Prompt: a.Prompt + "\n\n" + firedLine(f.timer.Timing, f.slot), Title: ready.TitleFor("", nil), Source: lineshaft.SourceSchedule, AgentUID: ready.agentUID,
		Metadata: map[string]string{lineshaft.MetadataAutomation: a.UID},
		FiredBy:  &lineshaft.FiredBy{ScheduleID: automationTimer + a.UID, Name: a.Name, Cron: f.timer.Timing.Cron, Slot: f.slot.Name},
	}, config, origins)
	f.run.Head.FactoryUID, f.run.Body.Request = factory.UID, config
	f.setOverlapKey()
	return nil
}

// firedLine says to the agent what time its run is for.
func firedLine(timing lineshaft.Timing, slot cron.Slot) string {
	zone := timing.Timezone
	zone = cmp.Or(zone, "UTC")
	return fmt.Sprintf("(Started by its schedule %q for %s, %s.)", timing.Cron, slot.Name, zone)
}

// overlap is the concurrency rule of a timing's overlap policy.
func (f *firing) overlap() *lineshaft.Concurrency {
	return &lineshaft.Concurrency{Key: "timer/" + f.timer.Owner, Policy: lineshaft.ConcurrencyPolicy(f.timer.Timing.Overlap)}
}

// setOverlapKey gives the overlap rule a slot that no other rule can name.
func (f *firing) setOverlapKey() {
	if f.timer.Timing.Overlap != lineshaft.OverlapAllow {
		f.run.Head.ConcurrencyKey = "timer/" + f.timer.Owner
	}
}
