package e2e

import (
	"fmt"
	"maps"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// faultRound is one fault and its chances.
type faultRound struct {
	kind     string
	number   int
	attempts int           // that the run is allowed
	length   time.Duration // of the fault, in its range from 0 to 1 s
	variant  bool          // which of two ways it goes
}

func (r faultRound) String() string {
	return fmt.Sprintf("%s %d (attempts %d, length +%s, variant %t)", r.kind, r.number, r.attempts, r.length, r.variant)
}

// workerFaults hit one worker, serverFaults the server of all.
func workerFaults(t *testing.T) []string {
	t.Helper()
	kinds := []string{"kill", "stop", "short cut", "long cut", "cancel while cut", "upgrade"}
	if canJump(t) {
		kinds = append(kinds, "clock")
	}
	return kinds
}

func serverFaults() []string { return []string{"server restart", "server kill"} }

// faultSchedule is the order of the faults, which the seed decides.
func faultSchedule(seed uint64, kinds []string, rounds int) []faultRound {
	r := rand.New(rand.NewPCG(seed, uint64(len(kinds))))
	var all []faultRound
	for _, kind := range kinds {
		first := r.IntN(4) // four rounds have each variant with one attempt and with two
		for n := range rounds {
			all = append(all, faultRound{
				kind: kind, number: n + 1, attempts: 1 + (first+n)/2%2,
				length: time.Duration(r.IntN(1000)) * time.Millisecond, variant: (first+n)%2 == 0,
			})
		}
	}
	r.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
	return all
}

func faultRounds() int {
	switch {
	case soak():
		return 50
	case os.Getenv("LINESHAFT_TEST_ALL") != "":
		return 4 // every variant with one attempt and with two
	}
	return 1
}

func faultSeed(t *testing.T) uint64 {
	t.Helper()
	text := os.Getenv("LINESHAFT_TEST_SEED")
	if text == "" {
		return 20261115
	}
	seed, err := strconv.ParseUint(text, 10, 64)
	if err != nil {
		t.Fatalf("LINESHAFT_TEST_SEED: %v", err)
	}
	return seed
}

// workers are killed, frozen, cut off, upgraded, their clocks are set
// and their server is restarted while they hold runs. The agents keep a ledger, which
// is then held against the event log: never two lives of an agent at once, nothing
// lost or doubled, and every run ends as it should, in time.
//
//nolint:paralleltest // with a lease of 2 s a machine that is busy with other tests is one more fault
func TestX1WorkerFaults(t *testing.T) {
	seed := faultSeed(t)
	t.Logf("LINESHAFT_TEST_SEED=%d", seed)
	newer := newerBinary(t)
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		lanes := 3
		site := newFaultSite(t, database, newer, lanes)
		schedule := faultSchedule(seed, workerFaults(t), faultRounds())
		// Mostly the lanes wait, so they run side by side whatever the number of cores. A
		// lane that fails ends alone.
		var playing sync.WaitGroup
		for i, lane := range site.lanes {
			playing.Go(func() {
				for at := i; at < len(schedule) && !t.Failed(); at += lanes {
					lane.play(t, schedule[at])
				}
			})
		}
		playing.Wait()
		if t.Failed() {
			return
		}
		for _, round := range faultSchedule(seed, serverFaults(), faultRounds()) {
			site.play(t, round)
		}
		site.tally.check(t)
	})
}

// play holds a run, does the fault and checks the result.
func (l *faultLane) play(t *testing.T, round faultRound) {
	t.Helper()
	l.ready(t)
	began := time.Now()
	run := l.hold(t, round.attempts)
	defer func() { t.Logf("%s: run %s in %s", round, run.id, time.Since(began).Round(10*time.Millisecond)) }()
	switch round.kind {
	case "kill":
		run.kill(t, round)
	case "stop":
		run.freeze(t, round)
	case "short cut":
		run.shortCut(t, round)
	case "long cut":
		run.longCut(t, round)
	case "cancel while cut":
		run.cancelWhileCut(t, round)
	case "clock":
		run.clock(t, round)
	case "upgrade":
		run.upgrade(t, round)
	default:
		t.Fatalf("no fault is named %q", round.kind)
	}
}

// kill: the process starts again at once, or not before the lease has decided.
func (r *heldRun) kill(t *testing.T, round faultRound) {
	t.Helper()
	since := now()
	r.holder.kill()
	r.died(t, round.kind, since, killBound)
	releaseAgent(t, r.lane.site.dir, r.id)
	if round.variant {
		r.holder.start()
	}
	r.lost(t, round.kind, since)
	if !round.variant {
		r.holder.start()
	}
	r.ended(t, round.kind)
}

// freeze: SIGSTOP for longer than the lease. The supervisor keeps running and ends the agent.
func (r *heldRun) freeze(t *testing.T, round faultRound) {
	t.Helper()
	since := now()
	r.holder.signal(t, syscall.SIGSTOP)
	end := time.Now().Add(faultLease + 200*time.Millisecond + round.length)
	r.died(t, round.kind, since, faultLease)
	releaseAgent(t, r.lane.site.dir, r.id)
	r.lost(t, round.kind, since)
	pause(t.Context(), time.Until(end))
	r.holder.signal(t, syscall.SIGCONT)
	r.over(t)
	r.ended(t, round.kind)
}

// shortCut: the agent does not notice.
func (r *heldRun) shortCut(t *testing.T, round faultRound) {
	t.Helper()
	r.holder.cable.cut(t)
	pause(t.Context(), faultLease/10+round.length/4)
	r.holder.cable.heal(t)
	r.goesOn(t, round.kind)
}

// longCut: the other worker of the id has the run before the cable is back.
func (r *heldRun) longCut(t *testing.T, round faultRound) {
	t.Helper()
	since := now()
	r.holder.cable.cut(t)
	end := time.Now().Add(faultLease + 200*time.Millisecond + round.length)
	r.died(t, round.kind, since, faultLease)
	releaseAgent(t, r.lane.site.dir, r.id)
	r.lost(t, round.kind, since)
	pause(t.Context(), time.Until(end))
	r.holder.cable.heal(t)
	r.over(t)
	r.ended(t, round.kind)
}

// cancelWhileCut: the worker learns of a cancel when it is back, and what its agent
// said in between is refused. If it is not back in time the supervisor acts.
func (r *heldRun) cancelWhileCut(t *testing.T, round faultRound) {
	t.Helper()
	since, within, length := now(), faultLease, faultLease/10+round.length/4
	if round.variant {
		length += faultLease
	}
	early := false
	r.holder.cable.cut(t)
	end := time.Now().Add(length)
	if err := r.lane.site.node.client().Runs.Cancel(t.Context(), r.id); err != nil {
		t.Fatal(err)
	}
	if state := r.state(t); state != "CANCELLED" {
		t.Errorf("after the answer to the cancel run %s is %s", r.id, state)
	}
	if !round.variant {
		pause(t.Context(), time.Until(end))
		early = r.first.dead() && now()-since < faultLease/2
		r.holder.cable.heal(t)
		within = 10 * time.Second
	}
	r.died(t, fmt.Sprintf("%s, long %t", round.kind, round.variant), since, within)
	pause(t.Context(), time.Until(end))
	r.holder.cable.heal(t)
	word := r.over(t)
	// On a busy machine a short cut can outlast the lease; nothing else ends an agent
	// whose worker cannot know of the cancel.
	if early && !strings.Contains(word, "the lease could not be renewed in time") {
		t.Errorf("the agent of run %s ended before its worker could know of the cancel: %s", r.id, word)
	}
	// The heartbeat says it, or the answer to a report.
	if strings.Contains(word, "stopped by the control plane") || strings.Contains(word, "not this worker's any more") {
		r.lane.site.tally.ended("cancel learned on reconnect", "SUCCEEDED", 1)
	} else if !round.variant {
		t.Logf("run %s ended with its lease before the worker was back: %s", r.id, word)
	}
	eventually(t, "the control plane knows that nothing is left of run "+r.id, func() bool {
		run, err := r.lane.site.node.client().Runs.Get(t.Context(), r.id)
		return err == nil && !run.IsSandboxRunning
	})
	r.check(t, round.kind, "CANCELLED")
}

// clock: the date jumps by an hour and back beyond the truth, for longer than the lease.
func (r *heldRun) clock(t *testing.T, round faultRound) {
	t.Helper()
	hour := 3600
	if round.variant {
		hour = -hour
	}
	for _, jump := range []int{hour, -hour} {
		jumpClock(t, r.holder.cmd.Process.Pid, jump)
		since := now()
		eventually(t, "the agent outlives a lease or is gone", func() bool {
			return r.lives(t)[0].last > since+faultLease*3/4 || r.first.dead()
		})
	}
	jumpClock(t, r.holder.cmd.Process.Pid, 0)
	r.goesOn(t, round.kind)
}

// upgrade: a newer worker starts beside the one that drains, or in its folder after
// it. In one variant the agent has the time to end.
func (r *heldRun) upgrade(t *testing.T, round faultRound) {
	t.Helper()
	old := r.holder
	bin := r.lane.site.newer
	if old.bin != "" {
		bin = ""
	}
	var next *faultWorker
	beside := round.length < 500*time.Millisecond
	if beside {
		next = r.lane.worker(old.cable, r.lane.site.t.TempDir(), bin)
	}
	if round.variant {
		releaseAgent(t, r.lane.site.dir, r.id)
	}
	since := now()
	old.stop()
	r.died(t, fmt.Sprintf("%s, released %t", round.kind, round.variant), since, 4*time.Second)
	releaseAgent(t, r.lane.site.dir, r.id)
	if !beside {
		next = r.lane.worker(old.cable, old.dir, bin)
	}
	for i, w := range r.lane.workers {
		if w == old {
			r.lane.workers[i] = next
		}
	}
	if lives := r.lives(t); lives[0].ended && len(lives) == 1 {
		r.check(t, round.kind, r.wait(t))
		return
	}
	r.ended(t, round.kind)
}

// goesOn checks that the agent of a run that nobody lost is heard, and ends it. On a
// busy machine the lease may be lost all the same, which the tally bounds.
func (r *heldRun) goesOn(t *testing.T, kind string) {
	t.Helper()
	said := r.lives(t)[0].lines
	eventually(t, "more of run "+r.id+" is heard", func() bool {
		return r.heard(t) > said || r.first.dead()
	})
	releaseAgent(t, r.lane.site.dir, r.id)
	state := r.wait(t)
	lives := len(r.lives(t))
	if lives == 1 && state != "SUCCEEDED" && !r.cutOff(t) {
		t.Errorf("%s: run %s is %s", kind, r.id, state)
	}
	r.check(t, kind, state)
}

// cutOff says that the run was lost with its worker.
func (r *heldRun) cutOff(t *testing.T) bool {
	t.Helper()
	run, err := r.lane.site.node.client().Runs.Get(t.Context(), r.id)
	return err == nil && run.State == "ERROR" && run.StatusMessage != nil && run.StatusMessage.Retryable != nil && *run.StatusMessage.Retryable
}

// ended checks the end of a run whose first execution was lost.
func (r *heldRun) ended(t *testing.T, kind string) {
	t.Helper()
	state := r.wait(t)
	switch {
	case r.attempts == 1 && !r.cutOff(t):
		t.Errorf("%s: run %s had one attempt and is %s, not ERROR with retryable", kind, r.id, state)
	case r.attempts > 1 && state != "SUCCEEDED":
		t.Errorf("%s: run %s had another attempt and is %s", kind, r.id, state)
	}
	r.check(t, kind, state)
}

// wait waits for the end of a run.
func (r *heldRun) wait(t *testing.T) (state client.RunState) {
	t.Helper()
	eventually(t, "run "+r.id+" ends", func() bool {
		state = r.state(t)
		return state == "SUCCEEDED" || state == "ERROR" || state == "FAILED" || state == "CANCELLED"
	})
	return state
}

// play lets every lane hold a run and takes the server away.
func (s *faultSite) play(t *testing.T, round faultRound) {
	t.Helper()
	began := time.Now()
	var runs []*heldRun
	for _, lane := range s.lanes {
		lane.ready(t)
		runs = append(runs, lane.hold(t, 3))
	}
	since := now()
	if round.kind == "server restart" {
		s.node.stop()
	} else {
		s.node.kill()
	}
	pause(t.Context(), round.length/4)
	s.node.start(t.Context())
	away := now() - since
	for _, run := range runs {
		run.goesOn(t, round.kind)
	}
	t.Logf("%s: away for %s, all in %s", round, away.Round(time.Millisecond), time.Since(began).Round(10*time.Millisecond))
}

// outputText is what an output event says.
func outputText(t *testing.T, event client.Event) string {
	t.Helper()
	var data struct{ Text string }
	if err := event.Decode(&data); err != nil {
		t.Fatal(err)
	}
	return data.Text
}

// check holds the event log of a run that is over against the ledger of its agents.
func (r *heldRun) check(t *testing.T, kind string, state client.RunState) {
	t.Helper()
	events, err := r.events(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	lives := r.lives(t)
	r.lane.site.tally.ended(kind, state, len(lives))
	if len(lives) > r.attempts {
		t.Errorf("%s: run %s had %d agents and %d attempts", kind, r.id, len(lives), r.attempts)
	}
	for i := 1; i < len(lives); i++ {
		if lives[i].begin <= lives[i-1].last {
			t.Errorf("%s: run %s: an agent began %s before the last sign of the one before", kind, r.id, lives[i-1].last-lives[i].begin)
		}
	}
	said := r.checkOrder(t, kind, events)
	for i, execution := range said {
		life := lifeOf(lives, execution.text)
		switch {
		case execution.text == "":
		case life == nil:
			t.Errorf("%s: run %s: execution %d says what no agent said: %.80q", kind, r.id, i+1, execution.text)
		case !strings.HasPrefix(life.text(), execution.text):
			t.Errorf("%s: run %s: execution %d: output is lost or doubled:\n%s", kind, r.id, i+1, execution.text)
		case i == len(said)-1 && state == "SUCCEEDED" && (!life.ended || life.text() != execution.text):
			t.Errorf("%s: run %s SUCCEEDED with %d bytes of output, its agent wrote %d", kind, r.id, len(execution.text), len(life.text()))
		}
	}
}

// saidBy is what one execution has in the log.
type saidBy struct{ id, text string }

// checkOrder checks the numbers of the events, that no execution is heard after its
// end, and returns what each said.
func (r *heldRun) checkOrder(t *testing.T, kind string, events []client.Event) (said []saidBy) {
	t.Helper()
	over := ""
	for i, event := range events {
		if event.Sequence != int64(i+1) {
			t.Fatalf("%s: run %s: event %d has the number %d", kind, r.id, i+1, event.Sequence)
		}
		if event.ExecutionID != "" && (len(said) == 0 || said[len(said)-1].id != event.ExecutionID) {
			for _, s := range said {
				if s.id == event.ExecutionID {
					t.Errorf("%s: run %s: an older execution is heard after a newer one: event %d", kind, r.id, event.Sequence)
				}
			}
			said = append(said, saidBy{id: event.ExecutionID})
		}
		switch event.Type { //nolint:exhaustive // the others say nothing that agents wrote
		case "state":
			var data struct{ To string }
			if err := event.Decode(&data); err != nil {
				t.Fatal(err)
			}
			over = ""
			if data.To != "INPROGRESS" && data.To != "PENDING" && data.To != "CLAIMED" {
				over = data.To
			}
		case "output":
			if over != "" {
				t.Errorf("%s: run %s: event %d is output after the run was %s", kind, r.id, event.Sequence, over)
			}
			said[len(said)-1].text += outputText(t, event)
		}
	}
	return said
}

func lifeOf(lives []*agentLife, text string) *agentLife {
	for _, life := range lives {
		if strings.HasPrefix(text, life.id+" ") {
			return life
		}
	}
	return nil
}

// check says what was seen. Of what should continue, half may begin again: an answer that a
// busy machine gives after two thirds of a second is as good as a cut, and may hit both of two.
// What a short cut does to a lease is tested without a machine in package worker.
func (f *faultTally) check(t *testing.T) {
	t.Helper()
	for _, kind := range slices.Concat(workerFaults(t), serverFaults()) {
		t.Logf("%-16s %3d rounds: %d went on, %d began again, %d ended in ERROR or CANCELLED",
			kind, f.rounds[kind], f.wentOn[kind], f.again[kind], f.failed[kind])
	}
	for _, kind := range slices.Sorted(maps.Keys(f.deaths)) {
		t.Logf("%s: the agent was gone after %s at most, the run given up after %s at most", kind, f.deaths[kind].Round(time.Millisecond), f.losses[kind].Round(time.Millisecond))
	}
	if on, all := f.wentOn["short cut"]+f.wentOn["clock"], f.rounds["short cut"]+f.rounds["clock"]; all > 2 && on < all/2 {
		t.Errorf("after short cuts and clock jumps %d of %d runs went on", on, all)
	}
	if rounds := f.rounds["upgrade"]; f.wentOn["upgrade"] < rounds/5 { // about half have the time
		t.Errorf("in %d of %d upgrades the agent could end in peace", f.wentOn["upgrade"], rounds)
	}
	learned := f.wentOn["cancel learned on reconnect"]
	t.Logf("%d cancels were learned on reconnect", learned)
	if learned < f.rounds["cancel while cut"]*2/5 { // about half of the cuts are short
		t.Errorf("%d of %d cancels were learned on reconnect", learned, f.rounds["cancel while cut"])
	}
}
