// Package check decides whether a server kept its promises under faults. It knows the history
// of the calls and what the server says at the end over its API, and nothing of the program
// that made the faults or the calls.
package check

import (
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/e2e/faults/history"
)

// The rules, by what a broken one means.
const (
	Lost       = "lost"       // an acknowledged call has no effect
	Duplicated = "duplicated" // something was done twice that was asked for once
	Double     = "double"     // two executions of a run were alive at once
	Stale      = "stale"      // a read did not see what was acknowledged before it
	Unended    = "unended"    // a run did not end within its bound
	WentOn     = "went on"    // a cancelled run was worked on
	CallbackNo = "callback"   // a callback neither arrived nor was given up as promised
	CallbackUp = "callbacks"  // a callback came more often than it may
	Audit      = "audit"      // a change is not in the audit log
	Log        = "log"        // the log of a run has a hole or is out of order
)

// Finding is a promise that was not kept.
type Finding struct {
	Rule  string `json:"rule"`
	About string `json:"about"`
	Text  string `json:"text"`
}

// checker has what all rules look things up in.
type checker struct {
	entries []history.Entry
	state   *State
	bound   time.Duration
	places  map[string]string
	runs    map[string]*Run
	// intents are the calls by operation and key, in their order: one call is tried until it
	// is answered.
	intents  map[string][]history.Entry
	findings []Finding
}

// Check compares the state with the history. After the faults every run must have ended, and
// the queue must never have stopped for longer than the bound.
func Check(entries []history.Entry, state *State, bound time.Duration) []Finding {
	c := &checker{
		entries: entries, state: state, bound: bound, places: placesOf(entries),
		runs: map[string]*Run{}, intents: map[string][]history.Entry{},
	}
	for i := range state.Runs {
		c.runs[state.Runs[i].RunID] = &state.Runs[i]
	}
	for _, e := range entries {
		if e.Kind == history.Call {
			c.intents[e.Op+" "+e.Key] = append(c.intents[e.Op+" "+e.Key], e)
		}
	}
	c.checkRuns()
	c.checkDeliveries()
	c.checkSlots()
	c.checkFollowups()
	c.checkCancels()
	c.checkLogs()
	c.checkAgents()
	c.checkEnds()
	c.checkReads()
	c.checkSecrets()
	c.checkRevisions()
	c.checkCallbacks()
	c.checkAudit()
	return c.findings
}

func (c *checker) findf(rule, about, format string, args ...any) {
	c.findings = append(c.findings, Finding{Rule: rule, About: about, Text: fmt.Sprintf(format, args...)})
}

// acknowledged yields the answer of each intent of an operation that got one.
func (c *checker) acknowledged(op string) func(yield func(e history.Entry) bool) {
	return func(yield func(e history.Entry) bool) {
		seen := map[string]bool{}
		for _, e := range c.entries {
			if e.Kind != history.Call || e.Op != op || !e.OK() || seen[e.Key] {
				continue
			}
			seen[e.Key] = true
			if !yield(e) {
				return
			}
		}
	}
}

// checkRuns: each acknowledged run exists under its id, and each key has one run.
func (c *checker) checkRuns() {
	byKey := map[string][]string{}
	for _, run := range c.state.Runs {
		if key := run.Metadata["key"]; key != "" {
			byKey[key] = append(byKey[key], run.RunID)
		}
	}
	for key, ids := range byKey {
		if len(ids) > 1 {
			c.findf(Duplicated, key, "one request started the runs %v", ids)
		}
		if len(c.intents[history.Run+" "+key]) == 0 {
			c.findf(Duplicated, key, "nobody asked for run %v", ids)
		}
	}
	for e := range c.acknowledged(history.Run) {
		if id := e.Answer["run_id"]; c.runs[id] == nil {
			c.findf(Lost, e.Key, "run %s was acknowledged and is not there", id)
		} else if c.runs[id].Metadata["key"] != e.Key {
			c.findf(Lost, e.Key, "run %s is that of another request, %s", id, c.runs[id].Metadata["key"])
		}
	}
}

// checkDeliveries: each acknowledged delivery is in the log once, under the id of its
// answer, and each automation that it is for has one run.
func (c *checker) checkDeliveries() {
	accepted := map[string][]client.Delivery{}
	for _, d := range c.state.Deliveries {
		if d.Status == "accepted" {
			accepted[d.Identity] = append(accepted[d.Identity], d)
		}
	}
	started := map[string]map[string]int{} // delivery, automation
	for _, run := range c.state.Runs {
		if id := run.Metadata["delivery_id"]; id != "" {
			if started[id] == nil {
				started[id] = map[string]int{}
			}
			started[id][run.Metadata["automation_id"]]++
		}
	}
	for e := range c.acknowledged(history.Deliver) {
		if len(accepted[e.Key]) == 0 {
			c.findf(Lost, e.Key, "delivery %s was acknowledged and is not in the log", e.Answer["delivery_id"])
		} else if got := accepted[e.Key][0].DeliveryID; got != e.Answer["delivery_id"] {
			c.findf(Lost, e.Key, "it was acknowledged as delivery %s and is in the log as %s", e.Answer["delivery_id"], got)
		}
	}
	for identity, all := range accepted {
		if len(all) > 1 {
			c.findf(Duplicated, identity, "it was accepted %d times", len(all))
		}
		tries := c.intents[history.Deliver+" "+identity]
		if len(tries) == 0 {
			c.findf(Duplicated, identity, "nobody sent this delivery")
			continue
		}
		want := map[string]int{c.places["all"]: 1}
		if tries[0].Args["odd"] == "true" {
			want[c.places["odd"]] = 1
		}
		for automation, n := range started[all[0].DeliveryID] {
			if n > want[automation] {
				c.findf(Duplicated, identity, "automation %s has %d runs of delivery %s", automation, n, all[0].DeliveryID)
			}
		}
		for automation := range want {
			if started[all[0].DeliveryID][automation] == 0 {
				c.findf(Lost, identity, "automation %s has no run of delivery %s", automation, all[0].DeliveryID)
			}
		}
	}
}

// checkSlots: a schedule starts one run for each of its times.
func (c *checker) checkSlots() {
	seen := map[string]string{}
	for _, run := range c.state.Runs {
		if run.Schedule == nil {
			continue
		}
		slot := run.Schedule.ScheduleID + " " + run.Schedule.Slot
		if other := seen[slot]; other != "" {
			c.findf(Duplicated, run.RunID, "the schedule's time %s has already started run %s", run.Schedule.Slot, other)
		}
		seen[slot] = run.RunID
	}
}

// checkEnds: every run has ended, in time.
func (c *checker) checkEnds() {
	for _, run := range c.state.Runs {
		if !run.State.Terminal() {
			c.findf(Unended, run.RunID, "it is %s, and the queue stood still for %s after the faults", run.State, c.state.Standstill)
		}
	}
	if c.state.Standstill > c.bound {
		c.findf(Unended, "all", "no run ended for %s, though some had to", c.state.Standstill.Round(time.Second))
	}
}
