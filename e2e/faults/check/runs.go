package check

import (
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/e2e/faults/history"
)

// said is what the log of a run says, in the order of the log.
type said struct {
	states   []string
	messages []string
	output   string
	// broken is how many turns ended in another way than well, such as those whose process was
	// killed, while the run went on with the next follow-up.
	broken int
}

type eventData struct {
	To   string `json:"to"`
	Text string `json:"text"`
}

func dataOf(event client.Event) (data eventData) {
	if event.Decode(&data) != nil {
		return eventData{} // an event without any of these
	}
	return data
}

func (r *Run) said() (s said) {
	var output strings.Builder
	for _, event := range r.Events {
		switch data := dataOf(event); event.Type { //nolint:exhaustive // the others say nothing about promises
		case "state":
			s.states = append(s.states, data.To)
		case "message":
			s.messages = append(s.messages, data.Text)
		case "notice":
			if strings.HasPrefix(data.Text, "the turn ended as ") {
				s.broken++
			}
		case "output":
			output.WriteString(data.Text)
		}
	}
	s.output = output.String()
	return s
}

// excused says whether a run may have left something undone: it was cancelled, or its
// workers were lost more often than it has attempts.
func (s said) excused() bool {
	return slices.Contains(s.states, "CANCELLED") || slices.Contains(s.states, "ERROR") || slices.Contains(s.states, "FAILED")
}

func (s said) mentions(word string) (n int) {
	for _, text := range s.messages {
		if strings.Contains(text, word) {
			n++
		}
	}
	return n
}

// checkFollowups: each acknowledged follow-up is in the log of its run once and, unless the
// run was cancelled or lost too often or the log says that its turn was broken off, the agent did it.
func (c *checker) checkFollowups() {
	logs, undone := map[string]said{}, map[string]int{}
	for key, tries := range c.intents {
		op, word, _ := strings.Cut(key, " ")
		run := c.runs[tries[0].Args["run_id"]]
		if op != history.Followup || run == nil {
			continue
		}
		if _, there := logs[run.RunID]; !there {
			logs[run.RunID] = run.said()
		}
		log := logs[run.RunID]
		n, ok := log.mentions(word), slices.ContainsFunc(tries, history.Entry.OK)
		switch {
		case n > 1:
			c.findf(Duplicated, run.RunID, "follow-up %s is %d times in the log", word, n)
		case ok && n == 0:
			c.findf(Lost, run.RunID, "follow-up %s was acknowledged and is not in the log", word)
		case ok && run.State.Terminal() && !log.excused() && !strings.Contains(log.output, "did "+word):
			if undone[run.RunID]++; undone[run.RunID] > log.broken {
				c.findf(Lost, run.RunID, "follow-up %s was acknowledged and never done; the run was %v, and %d turns were broken off", word, log.states, log.broken)
			}
		}
	}
}

// checkCancels: an acknowledged cancel is in the log, and is the end unless a follow-up came.
func (c *checker) checkCancels() {
	follow := c.lastFollowups()
	for e := range c.acknowledged(history.Cancel) {
		run := c.runs[e.Args["run_id"]]
		if run == nil {
			continue // checkRuns says so
		}
		if log := run.said(); !slices.Contains(log.states, "CANCELLED") {
			c.findf(Lost, run.RunID, "a cancel was acknowledged and is not in the log: %v", log.states)
		}
		if follow[run.RunID].Before(e.Begin) && run.State != "CANCELLED" {
			c.findf(WentOn, run.RunID, "it is %s after an acknowledged cancel, and nobody followed up", run.State)
		}
		for _, sign := range c.entries {
			if sign.Kind == history.Agent && sign.Op == "begin" && sign.Args["run_id"] == run.RunID &&
				sign.Begin.Sub(e.End) > 10*time.Second && follow[run.RunID].Before(e.Begin) {
				c.findf(WentOn, run.RunID, "an agent began %s after the cancel was acknowledged",
					sign.Begin.Sub(e.End).Round(time.Millisecond))
			}
		}
	}
}

// lastFollowups is when each run was last followed up. A follow-up without an answer may come
// into effect at any time: a server that was stopped continues with it.
func (c *checker) lastFollowups() map[string]time.Time {
	last := map[string]time.Time{}
	for key, tries := range c.intents {
		if !strings.HasPrefix(key, history.Followup+" ") {
			continue
		}
		id, at := tries[0].Args["run_id"], time.Now().Add(time.Hour)
		for _, e := range tries {
			if e.OK() || e.Status/100 == 4 {
				at = e.End
			}
		}
		if at.After(last[id]) {
			last[id] = at
		}
	}
	return last
}

// checkLogs: numbers without holes, no event of an execution after one of a newer one, no output
// of a run that is over, and the log ends in the state that the run has.
func (c *checker) checkLogs() {
	for i := range c.state.Runs {
		run := &c.state.Runs[i]
		over, newest, old := "", "", map[string]bool{}
		for n, event := range run.Events {
			if event.Sequence != int64(n+1) {
				c.findf(Log, run.RunID, "event %d has the number %d", n+1, event.Sequence)
				break
			}
			if id := event.ExecutionID; id != "" && id != newest {
				if old[id] {
					c.findf(Double, run.RunID, "execution %s is heard after a newer one, in event %d", id, event.Sequence)
				}
				old[newest], newest = true, id
			}
			switch data := dataOf(event); {
			case event.Type == "state" && client.RunState(over).Terminal() && data.To != "QUEUED":
				c.findf(WentOn, run.RunID, "it left %s for %s", over, data.To)
				over = data.To
			case event.Type == "state":
				over = data.To
			case event.Type == "output" && client.RunState(over).Terminal():
				c.findf(WentOn, run.RunID, "event %d is output after the run was %s", event.Sequence, over)
			}
		}
		if len(run.Events) > 0 && run.State.Terminal() && over != string(run.State) {
			c.findf(Log, run.RunID, "it is %s and its log ends in %s", run.State, over)
		}
	}
}

// checkAgents: the agents themselves know when they were not alone.
func (c *checker) checkAgents() {
	for _, e := range c.entries {
		if e.Kind == history.Agent && e.Op == "second" {
			c.findf(Double, e.Args["run_id"], "agent %s began while another one of the run was alive", e.Args["pid"])
		}
	}
}

// checkReads: anyone who asks afterwards sees what was acknowledged, on any node.
func (c *checker) checkReads() {
	follow := c.lastFollowups()
	started, cancelled := map[string]time.Time{}, map[string]time.Time{}
	for e := range c.acknowledged(history.Run) {
		started[e.Answer["run_id"]] = e.End
	}
	for e := range c.acknowledged(history.Cancel) {
		if id := e.Args["run_id"]; follow[id].IsZero() {
			cancelled[id] = e.End
		}
	}
	for _, e := range c.entries {
		if e.Kind != history.Call || e.Op != history.Get {
			continue
		}
		id := e.Args["run_id"]
		if at, ok := started[id]; ok && e.Begin.After(at) && e.Status == 404 {
			c.findf(Stale, id, "a read %s after the run was acknowledged did not find it", e.Begin.Sub(at).Round(time.Millisecond))
		}
		if at, ok := cancelled[id]; ok && e.Begin.After(at) && e.OK() && e.Answer["state"] != "CANCELLED" {
			c.findf(Stale, id, "a read %s after the cancel was acknowledged says %s", e.Begin.Sub(at).Round(time.Millisecond),
				e.Answer["state"])
		}
	}
}

// checkSecrets: a run that was asked for after a rotation was acknowledged gets that value or a
// newer one, or one whose rotation was sent without an answer: that may come late.
func (c *checker) checkSecrets() {
	late := map[int]bool{}
	for _, e := range c.entries {
		if version, err := strconv.Atoi(e.Key); err == nil && e.Kind == history.Call && e.Op == history.Rotate && !e.OK() {
			late[version] = true
		}
	}
	for e := range c.acknowledged(history.Run) {
		run := c.runs[e.Answer["run_id"]]
		if e.Args["secret"] == "" || run == nil {
			continue
		}
		want := 0
		for r := range c.acknowledged(history.Rotate) {
			if version, err := strconv.Atoi(r.Key); err == nil && r.End.Before(c.intents[history.Run+" "+e.Key][0].Begin) {
				want = max(want, version)
			}
		}
		for line := range strings.Lines(run.said().output) {
			text, found := strings.CutPrefix(strings.TrimSpace(line), "secret v")
			if got, err := strconv.Atoi(text); found && (err != nil || got < want && !late[got]) {
				c.findf(Stale, run.RunID, "it got version %q of a secret; version %d was acknowledged before", text, want)
			}
		}
	}
}
