package check

import (
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/e2e/faults/history"
)

// checkRevisions: each acknowledged definition is a revision, and none exists twice.
func (c *checker) checkRevisions() {
	there := map[string][]int64{}
	for _, r := range c.state.Revisions {
		there[r.Comment] = append(there[r.Comment], r.Number)
	}
	for e := range c.acknowledged(history.Apply) {
		if len(there[e.Key]) == 0 {
			c.findf(Lost, e.Key, "definition %s was acknowledged as revision %s and is not there", e.Key, e.Answer["revision"])
		}
	}
}

// checkCallbacks: every end of a run was reported, or is still tried in the promised way, and not
// more often than the log of attempts and the faults can explain.
func (c *checker) checkCallbacks() {
	receipts := map[string][]history.Entry{}
	for _, e := range c.entries {
		if e.Kind == history.Callback && !e.Begin.After(c.state.Looked) {
			receipts[e.Key] = append(receipts[e.Key], e)
		}
	}
	logged := map[string]client.NotificationDelivery{}
	for _, d := range c.state.Callbacks {
		logged[d.EventID] = d
	}
	for _, run := range c.state.Runs {
		if !run.State.Terminal() {
			continue // checkEnds says so
		}
		for _, event := range run.Events {
			if data := dataOf(event); event.Type == "state" && client.RunState(data.To).Terminal() {
				c.checkCallback(run.RunID, event, logged[event.ID], receipts[event.ID])
			}
		}
	}
}

func (c *checker) checkCallback(runID string, event client.Event, log client.NotificationDelivery, got []history.Entry) {
	arrived := slices.ContainsFunc(got, history.Entry.OK)
	switch {
	case log.EventID == "":
		c.findf(CallbackNo, runID, "no callback was made of event %s", event.ID)
	case log.Status == "delivered" && !arrived:
		c.findf(CallbackNo, runID, "event %s counts as delivered, and the receiver never took it", event.ID)
	case log.Status == "failed":
		c.findf(CallbackNo, runID, "event %s was given up after %d attempts, long before its 72 hours", event.ID, log.AttemptCount)
	case log.Status == "pending" && (log.NextAttemptAt == nil || log.AttemptCount == 0):
		c.findf(CallbackNo, runID, "event %s still waits for its first attempt", event.ID)
	}
	if more := len(got) - log.AttemptCount; more > 0 && log.EventID != "" && more > c.faultsNear(got) {
		c.findf(CallbackUp, runID, "event %s came %d times; the log has %d attempts, and no fault hid the others", event.ID,
			len(got), log.AttemptCount)
	}
	taken := 0
	for _, e := range got {
		if e.OK() {
			taken++
		}
	}
	if taken > 1 && taken-1 > c.faultsNear(got) {
		c.findf(CallbackUp, runID, "event %s was taken %d times, and no fault hid that it was taken", event.ID, taken)
	}
}

// faultsNear counts the faults that could have kept the server from noting an attempt.
func (c *checker) faultsNear(got []history.Entry) (n int) {
	for _, e := range c.entries {
		if e.Kind == history.Fault && e.End.After(got[0].Begin.Add(-time.Minute)) && e.Begin.Before(got[len(got)-1].End) {
			n++
		}
	}
	return n
}

// checkAudit: each acknowledged change is in the audit log, under the request id of one of its
// tries, once.
func (c *checker) checkAudit() {
	actions := map[string]string{
		history.Run: "run.create", history.Followup: "run.followup", history.Cancel: "run.cancel",
		history.Apply: "definition.apply", history.Rotate: "secret.update",
	}
	there := map[string]int{} // action and request
	for _, e := range c.state.Audit {
		there[e.Action+" "+e.RequestID]++
	}
	for key, tries := range c.intents {
		op, about, _ := strings.Cut(key, " ")
		action := actions[op]
		if action == "" {
			continue
		}
		n := 0
		for _, e := range tries {
			n += there[action+" "+e.Request]
		}
		once := op == history.Run || op == history.Followup // the others are done again when they are sent again
		switch ok := slices.ContainsFunc(tries, history.Entry.OK); {
		case ok && n == 0:
			c.findf(Audit, about, "%s was acknowledged, and the audit log does not have it", op)
		case once && n > 1:
			c.findf(Duplicated, about, "the audit log has %s %d times", op, n)
		}
	}
}
