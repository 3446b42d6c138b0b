package check

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/e2e/faults/history"
)

// world is a short history of a server that keeps its promises, and what it says at the end.
// Each test plants one bug.
type world struct {
	entries []history.Entry
	state   *State
	now     time.Time
	number  int
}

const testBound = time.Minute

func (w *world) tick() time.Time {
	w.now = w.now.Add(time.Second)
	return w.now
}

// call notes an acknowledged call, and the audit entry of a change.
func (w *world) call(op, key, action string, args, answer map[string]string) {
	w.number++
	e := history.Entry{
		N: int64(w.number), Kind: history.Call, Op: op, Key: key, Begin: w.tick(), End: w.tick(), Status: 200,
		Request: fmt.Sprint("q-", w.number), Args: args, Answer: answer,
	}
	w.entries = append(w.entries, e)
	if action != "" {
		w.state.Audit = append(w.state.Audit, client.AuditEntry{Action: action, RequestID: e.Request})
	}
}

// event adds to the log of a run.
func (w *world) event(run *Run, execution, kind string, data map[string]string) {
	text, err := json.Marshal(data)
	if err != nil {
		panic(err)
	}
	run.Events = append(run.Events, client.Event{
		ID: fmt.Sprint(run.RunID, "-", len(run.Events)+1), Sequence: int64(len(run.Events) + 1), ExecutionID: execution,
		Type: client.EventType(kind), Time: w.tick(), Data: text,
	})
	if kind == "state" {
		run.State = client.RunState(data["to"])
	}
}

// sign is one of an agent.
func (w *world) sign(runID, what string) {
	at := w.tick()
	w.entries = append(w.entries, history.Entry{Kind: history.Agent, Op: what, Begin: at, End: at, Args: map[string]string{"run_id": runID, "pid": "7"}})
}

// add puts a run into the state and works on it until it ends.
func (w *world) add(id string, metadata map[string]string, output string) *Run {
	run := &Run{Run: client.Run{RunID: id, Metadata: metadata}}
	w.event(run, "", "state", map[string]string{"to": "QUEUED"})
	w.turn(run, id+"-x1", output, "SUCCEEDED")
	return run
}

// turn is one execution.
func (w *world) turn(run *Run, execution, output, end string) {
	w.event(run, execution, "state", map[string]string{"from": "QUEUED", "to": "INPROGRESS"})
	w.sign(run.RunID, "begin")
	w.event(run, execution, "output", map[string]string{"text": output})
	w.sign(run.RunID, "end")
	w.event(run, execution, "state", map[string]string{"from": "INPROGRESS", "to": end})
}

// done puts a run into the state, and its ends into the callbacks.
func (w *world) done(runs ...*Run) {
	for _, run := range runs {
		w.state.Runs = append(w.state.Runs, *run)
		for _, event := range run.Events {
			if data := dataOf(event); event.Type == "state" && client.RunState(data.To).Terminal() {
				w.entries = append(w.entries, history.Entry{Kind: history.Callback, Key: event.ID, Begin: w.tick(), End: w.tick(), Status: 204})
				w.state.Callbacks = append(w.state.Callbacks, client.NotificationDelivery{EventID: event.ID, Status: "delivered", AttemptCount: 1})
			}
		}
	}
}

// goodWorld has one of everything: a delivery for two automations, a run with a follow-up, a
// run that was cancelled, one that got a secret, a scheduled one, and a definition.
func goodWorld() *world {
	w := &world{now: time.Date(2026, 11, 17, 9, 0, 0, 0, time.UTC), state: &State{}}
	for _, name := range []string{"factory", "webhook", "all", "odd", "endpoint", "definition"} {
		w.call(history.Setup, name, "", nil, map[string]string{"id": name + "-id"})
	}
	w.call(history.Deliver, "d1", "", map[string]string{"odd": "true"}, map[string]string{"delivery_id": "D1"})
	w.state.Deliveries = []client.Delivery{{DeliveryID: "D1", Status: "accepted", Identity: "d1"}}
	all := w.add("run-all", map[string]string{"delivery_id": "D1", "automation_id": "all-id"}, "")
	odd := w.add("run-odd", map[string]string{"delivery_id": "D1", "automation_id": "odd-id"}, "")

	w.call(history.Run, "k1", "run.create", nil, map[string]string{"run_id": "run-1"})
	first := w.add("run-1", map[string]string{"key": "k1"}, "")
	w.call(history.Get, "k2", "", map[string]string{"run_id": "run-1"}, map[string]string{"state": "SUCCEEDED"})
	w.call(history.Followup, "word-1-end", "run.followup", map[string]string{"run_id": "run-1"}, nil)
	w.event(first, "", "message", map[string]string{"text": "do word-1-end"})
	w.event(first, "", "state", map[string]string{"from": "SUCCEEDED", "to": "QUEUED"})
	w.turn(first, "run-1-x2", "did word-1-end\n", "SUCCEEDED")

	w.call(history.Run, "k3", "run.create", nil, map[string]string{"run_id": "run-2"})
	second := &Run{Run: client.Run{RunID: "run-2", Metadata: map[string]string{"key": "k3"}}}
	w.event(second, "", "state", map[string]string{"to": "QUEUED"})
	w.event(second, "", "state", map[string]string{"to": "CANCELLED"})
	w.call(history.Cancel, "k4", "run.cancel", map[string]string{"run_id": "run-2"}, nil)
	w.call(history.Get, "k5", "", map[string]string{"run_id": "run-2"}, map[string]string{"state": "CANCELLED"})

	w.call(history.Rotate, "1", "secret.update", nil, nil)
	w.call(history.Run, "k6", "run.create", map[string]string{"secret": "PROBE"}, map[string]string{"run_id": "run-3"})
	third := w.add("run-3", map[string]string{"key": "k6"}, "secret v1\n")
	w.call(history.Apply, "k7", "definition.apply", nil, map[string]string{"revision": "2"})
	w.state.Revisions = []client.DefinitionRevision{{Number: 2, Comment: "k7"}}
	fourth := w.add("run-4", nil, "")
	fourth.Schedule = &client.RunSchedule{ScheduleID: "s", Slot: "2026-11-17T09:01"}
	w.done(all, odd, first, second, third, fourth)
	w.entries = append(w.entries, history.Entry{Kind: history.Mark, Op: "calm", Begin: w.tick(), End: w.tick()})
	w.state.Looked = w.now.Add(time.Hour)
	return w
}

// run finds a run of the state.
func (w *world) run(id string) *Run {
	i := slices.IndexFunc(w.state.Runs, func(r Run) bool { return r.RunID == id })
	return &w.state.Runs[i]
}

// unAudit takes the entry of a call out of the audit log.
func (w *world) unAudit(action string) {
	i := slices.IndexFunc(w.state.Audit, func(e client.AuditEntry) bool { return e.Action == action })
	w.state.Audit = slices.Delete(w.state.Audit, i, i+1)
}

// bug is a way to break a promise, and the rule that must find it, about what.
type bug struct {
	name, rule, about string
	plant             func(w *world)
}

func bugs() []bug {
	return slices.Concat(lostBugs(), doubledBugs(), otherBugs())
}

func lostBugs() []bug {
	return []bug{
		{"a false 202", Lost, "d2", func(w *world) {
			w.call(history.Deliver, "d2", "", map[string]string{"odd": "false"}, map[string]string{"delivery_id": "D2"})
		}},
		{"a false 200", Lost, "k9", func(w *world) {
			w.call(history.Run, "k9", "run.create", nil, map[string]string{"run_id": "run-9"})
		}},
		{"an automation without its run", Lost, "d1", func(w *world) {
			w.state.Runs = slices.DeleteFunc(w.state.Runs, func(r Run) bool { return r.RunID == "run-odd" })
		}},
		{"a lost follow-up", Lost, "run-1", func(w *world) {
			for i, event := range w.run("run-1").Events {
				if event.Type == "message" {
					w.run("run-1").Events[i].Type = "notice"
				}
			}
		}},
		{"a follow-up that was not done", Lost, "run-1", func(w *world) {
			for i, event := range w.run("run-1").Events {
				if event.Type == "output" {
					w.run("run-1").Events[i].Data = json.RawMessage(`{"text": "something else"}`)
				}
			}
		}},
		{"a lost definition", Lost, "k7", func(w *world) { w.state.Revisions = nil }},
		{"a lost cancel", Lost, "run-1", func(w *world) {
			w.call(history.Cancel, "k8", "run.cancel", map[string]string{"run_id": "run-1"}, nil)
		}},
	}
}

func doubledBugs() []bug {
	again := func(w *world, of string) {
		run := *w.run(of)
		run.RunID += "-again"
		w.state.Runs = append(w.state.Runs, run)
	}
	return []bug{
		{"a double start of a delivery", Duplicated, "d1", func(w *world) { again(w, "run-all") }},
		{"a double start of a request", Duplicated, "k1", func(w *world) { again(w, "run-1") }},
		{"a time of a schedule that fires twice", Duplicated, "run-4-again", func(w *world) { again(w, "run-4") }},
		{"a delivery that is accepted twice", Duplicated, "d1", func(w *world) {
			w.state.Deliveries = append(w.state.Deliveries, client.Delivery{DeliveryID: "D2", Status: "accepted", Identity: "d1"})
		}},
		{"a follow-up that is there twice", Duplicated, "run-1", func(w *world) {
			w.event(w.run("run-1"), "", "message", map[string]string{"text": "do word-1-end"})
		}},
		{"two live executions, by the agents", Double, "run-1", func(w *world) { w.sign("run-1", "second") }},
		{"two live executions, by the log", Double, "run-1", func(w *world) {
			run := w.run("run-1")
			w.event(run, "run-1-x1", "notice", nil)
		}},
	}
}

func otherBugs() []bug {
	return []bug{
		{"a stale read of a new run", Stale, "run-1", func(w *world) {
			w.call(history.Get, "k8", "", map[string]string{"run_id": "run-1"}, nil)
			w.entries[len(w.entries)-1].Status = 404
		}},
		{"a stale read of a cancel", Stale, "run-2", func(w *world) {
			w.call(history.Get, "k8", "", map[string]string{"run_id": "run-2"}, map[string]string{"state": "INPROGRESS"})
		}},
		{"a stale secret", Stale, "run-3", func(w *world) {
			for i, event := range w.run("run-3").Events {
				if event.Type == "output" {
					w.run("run-3").Events[i].Data = json.RawMessage(`{"text": "secret v0\n"}`)
				}
			}
		}},
		{"a run that never ends", Unended, "run-1", func(w *world) {
			run := w.run("run-1")
			run.Events, run.State = run.Events[:len(run.Events)-1], "INPROGRESS"
		}},
		{"a queue that stands still", Unended, "all", func(w *world) { w.state.Standstill = 2 * testBound }},
		{"a cancelled run that went on", WentOn, "run-2", func(w *world) {
			w.event(w.run("run-2"), "x", "output", map[string]string{"text": "still here"})
		}},
		{"a cancelled run that succeeded", WentOn, "run-2", func(w *world) {
			w.event(w.run("run-2"), "x", "state", map[string]string{"to": "SUCCEEDED"})
		}},
		{"an agent that began after the cancel", WentOn, "run-2", func(w *world) {
			w.now = w.now.Add(time.Minute)
			w.sign("run-2", "begin")
		}},
		{"a callback that is lost", CallbackNo, "run-2", func(w *world) {
			w.entries = slices.DeleteFunc(w.entries, func(e history.Entry) bool { return e.Kind == history.Callback && e.Key == "run-2-2" })
		}},
		{"a callback that was never made", CallbackNo, "run-2", func(w *world) {
			w.state.Callbacks = slices.DeleteFunc(w.state.Callbacks, func(d client.NotificationDelivery) bool { return d.EventID == "run-2-2" })
		}},
		{"a callback that was given up at once", CallbackNo, "run-2", func(w *world) {
			i := slices.IndexFunc(w.state.Callbacks, func(d client.NotificationDelivery) bool { return d.EventID == "run-2-2" })
			w.state.Callbacks[i].Status = "failed"
		}},
		{"a callback twice beyond the promise", CallbackUp, "run-2", func(w *world) {
			w.entries = append(w.entries, history.Entry{Kind: history.Callback, Key: "run-2-2", Begin: w.tick(), End: w.tick(), Status: 204})
		}},
		{"an audit gap of a run", Audit, "k1", func(w *world) { w.unAudit("run.create") }},
		{"an audit gap of a rotation", Audit, "1", func(w *world) { w.unAudit("secret.update") }},
		{"a hole in a log", Log, "run-1", func(w *world) {
			w.run("run-1").Events = slices.Delete(w.run("run-1").Events, 2, 3)
		}},
	}
}

// D-2: a checker that finds nothing is worth nothing. Each planted bug is found, and named
// with what it is about; the history without one has no finding.
func TestD2CheckerFindsPlantedBugs(t *testing.T) {
	t.Parallel()
	if findings := goodWorld().check(t); len(findings) != 0 {
		t.Fatalf("nothing is wrong, and found was %+v", findings)
	}
	for _, b := range bugs() {
		t.Run(b.name, func(t *testing.T) {
			t.Parallel()
			w := goodWorld()
			b.plant(w)
			findings := w.check(t)
			if !slices.ContainsFunc(findings, func(f Finding) bool { return f.Rule == b.rule && f.About == b.about }) {
				t.Errorf("want a finding %q about %s, got %+v", b.rule, b.about, findings)
			}
		})
	}
}

// check goes the way of a real history: through the file.
func (w *world) check(t *testing.T) []Finding {
	t.Helper()
	var file bytes.Buffer
	book := history.NewWriter(&file)
	for _, e := range w.entries {
		book.Add(e)
	}
	entries, err := history.Read(&file)
	if err != nil || book.Err() != nil || len(entries) != len(w.entries) {
		t.Fatalf("%d entries of %d: %v, %v", len(entries), len(w.entries), err, book.Err())
	}
	return Check(entries, w.state, testBound)
}

// D-2: what nobody was promised is not a finding.
func TestD2CheckerAllowsWhatIsNotPromised(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(w *world){
		"a call without an answer that had no effect": func(w *world) {
			w.call(history.Run, "k9", "", nil, nil)
			w.entries[len(w.entries)-1].Status = 0
		},
		"a call without an answer that had its effect": func(w *world) {
			w.call(history.Run, "k9", "run.create", nil, nil)
			w.entries[len(w.entries)-1].Status = 0
			w.done(w.add("run-9", map[string]string{"key": "k9"}, ""))
		},
		"a run that goes on after a late follow-up": func(w *world) {
			w.call(history.Followup, "word-9-end", "", map[string]string{"run_id": "run-2"}, nil)
			w.entries[len(w.entries)-1].Status = 0
			run := *w.run("run-2")
			w.state.Runs = slices.DeleteFunc(w.state.Runs, func(r Run) bool { return r.RunID == "run-2" })
			w.event(&run, "", "state", map[string]string{"to": "QUEUED"})
			w.turn(&run, "x", "", "SUCCEEDED")
			w.entries = slices.DeleteFunc(w.entries, func(e history.Entry) bool { return e.Kind == history.Callback && e.Key == "run-2-2" })
			w.done(&run) // which sends all callbacks of the run
		},
		"a follow-up whose turn was broken off, and whose run went on": func(w *world) {
			for i, event := range w.run("run-1").Events {
				if event.Type == "output" {
					w.run("run-1").Events[i].Type = "notice"
					w.run("run-1").Events[i].Data = json.RawMessage(`{"text": "the turn ended as FAILED: the agent was killed"}`)
				}
			}
		},
		"a callback that comes again after a fault": func(w *world) {
			w.entries = append(w.entries, history.Entry{Kind: history.Fault, Op: "kill -9 server", Begin: w.tick(), End: w.tick()},
				history.Entry{Kind: history.Callback, Key: "run-2-2", Begin: w.tick(), End: w.tick(), Status: 204})
		},
		"a callback that is tried again later": func(w *world) {
			i := slices.IndexFunc(w.state.Callbacks, func(d client.NotificationDelivery) bool { return d.EventID == "run-2-2" })
			next := w.now.Add(time.Hour)
			w.state.Callbacks[i].Status, w.state.Callbacks[i].NextAttemptAt = "pending", &next
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := goodWorld()
			change(w)
			if findings := w.check(t); len(findings) != 0 {
				t.Errorf("found %+v", findings)
			}
		})
	}
}
