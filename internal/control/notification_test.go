package control_test

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// receiver plays all endpoints. It keeps what it was sent.
type receiver struct {
	mu sync.Mutex
	// answer is what it says; nil takes everything.
	answer func(c lineshaft.Callback) lineshaft.CallbackResult
	got    []lineshaft.Callback
}

func (r *receiver) Check(string) error { return nil }

func (r *receiver) Send(_ context.Context, c lineshaft.Callback) lineshaft.CallbackResult {
	r.mu.Lock()
	r.got = append(r.got, c)
	answer := r.answer
	r.mu.Unlock()
	if answer == nil {
		return lineshaft.CallbackResult{StatusCode: 204, Took: time.Millisecond}
	}
	return answer(c)
}

func (r *receiver) says(answer func(lineshaft.Callback) lineshaft.CallbackResult) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.answer = answer
}

func status(code int) func(lineshaft.Callback) lineshaft.CallbackResult {
	return func(lineshaft.Callback) lineshaft.CallbackResult {
		return lineshaft.CallbackResult{StatusCode: code, Error: fmt.Sprint("it answered ", code)}
	}
}

// taken are the webhook-ids that an address was sent, in order.
func (r *receiver) taken(url string) []string {
	r.mu.Lock()
	defer r.mu.Unlock()
	var ids []string
	for _, c := range r.got {
		if c.URL == url {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

func (r *receiver) last() lineshaft.Callback {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.got[len(r.got)-1]
}

// callbackBench is a bench whose callbacks a receiver gets, by the bench's clock.
type callbackBench struct {
	*bench
	database string
	receiver *receiver
	log      *bytes.Buffer
}

func eachCallback(t *testing.T, fn func(b *callbackBench)) {
	t.Helper()
	storetest.EachDatabase(t, func(t *testing.T, database string) { fn(openCallbacks(t, database, &receiver{})) })
}

func openCallbacks(t *testing.T, database string, r *receiver) *callbackBench {
	t.Helper()
	b := &callbackBench{database: database, receiver: r, log: &bytes.Buffer{}}
	b.bench = open(t, database, under(t, "callbacks"), func(cfg *base.Config) {
		cfg.Callbacks, cfg.Logger = r, slog.New(slog.NewTextHandler(b.log, nil))
		cfg.Clock = func() time.Time { return b.clock.now() }
		cfg.RunURL = func(runID string) string { return "https://lineshaft.example/runs/" + runID }
	})
	return b
}

func (b *callbackBench) endpoint(n notify.NewNotification) notify.IssuedNotification {
	b.Helper()
	if n.URL == "" {
		n.URL = "https://example.com/hook"
	}
	return must[notify.IssuedNotification](b.bench)(b.s.CreateNotification(b.Context(), b.admin, n))
}

// fan makes all deliveries that there are to make. Transactions of other tests on the
// same PostgreSQL may keep a change from being settled.
func (b *callbackBench) fan() {
	b.Helper()
	b.settle()
	for more := true; more; {
		more = must[bool](b.bench)(b.s.FanOut(b.Context()))
	}
}

// settle waits until all changes can be read.
func (b *callbackBench) settle() {
	b.Helper()
	eventually(b.T, func() bool {
		end, err := b.store.StateEnd(b.Context())
		wantCode(b, err, "")
		unsettled, err := b.store.ListUnsettled(b.Context(), end)
		wantCode(b, err, "")
		return len(unsettled) == 0
	})
}

// send makes all attempts that are due.
func (b *callbackBench) send() {
	b.Helper()
	for must[int](b.bench)(b.s.SendDue(b.Context())) > 0 {
		b.Helper()
	}
}

func (b *callbackBench) deliveries(id string, status lineshaft.NotificationStatus) []lineshaft.NotificationDelivery {
	b.Helper()
	page := must[notify.NotificationDeliveryPage](b.bench)(b.s.ListNotificationDeliveries(b.Context(), b.admin, id, notify.NotificationDeliveryQuery{Status: status, Limit: 500}))
	return page.Deliveries
}

// passes lets time go by attempt for attempt, at most so long.
func (b *callbackBench) passes(span time.Duration) {
	b.Helper()
	for end := b.clock.now().Add(span); ; {
		due, err := b.store.DueNotifications(b.Context())
		wantCode(b, err, "")
		next := end
		for _, d := range due {
			if d.Next.Before(next) {
				next = d.Next
			}
		}
		b.clock.advance(max(0, next.Sub(b.clock.now())))
		b.send()
		if !next.Before(end) {
			return
		}
	}
}

// stateIDs are the ids of the state changes of a run, from its log.
func (b *callbackBench) stateIDs(runID string) []string {
	b.Helper()
	var ids []string
	for _, e := range b.events(runID) {
		if e.Type == lineshaft.EventState {
			ids = append(ids, e.ID)
		}
	}
	return ids
}

func sorted(list []string) []string { return slices.Sorted(slices.Values(list)) }

func (b *callbackBench) wantEvents(list []lineshaft.NotificationDelivery, ids []string) {
	b.Helper()
	var got []string
	for _, d := range list {
		got = append(got, d.EventID)
	}
	if !slices.Equal(sorted(got), sorted(ids)) {
		b.Fatalf("deliveries of %v, want %v", got, ids)
	}
}

// A receiver that is down for 70 hours misses nothing: each event is once in the log of
// each endpoint, and arrives under the id that the run's log has for it.
func TestC1ReceiverDownFor70Hours(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		first, second := b.endpoint(notify.NewNotification{URL: "https://a.example/1"}), b.endpoint(notify.NewNotification{URL: "https://b.example/2"})
		b.receiver.says(status(503))
		runID, job := b.working(lineshaft.NewRun{})
		b.end(job, lineshaft.Succeeded)
		ids := b.stateIDs(runID)
		b.fan()
		b.passes(70 * time.Hour)
		for _, n := range []notify.IssuedNotification{first, second} {
			b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationPending), ids)
		}
		tried := len(b.receiver.taken("https://a.example/1")) / len(ids)
		if tried < 12 || tried > 25 {
			b.Fatalf("each was tried %d times in 70 hours", tried)
		}
		b.receiver.says(nil)
		b.passes(2*time.Hour + time.Second)
		for _, n := range []notify.IssuedNotification{first, second} {
			b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationDelivered), ids)
			b.wantEvents(b.deliveries(n.ID, ""), ids)
			arrived := b.receiver.taken(n.URL)
			if got := slices.Compact(sorted(arrived)); !slices.Equal(got, sorted(ids)) {
				b.Fatalf("%s got %v, want %v", n.URL, got, ids)
			}
			if found := must[lineshaft.Notification](b.bench)(b.s.GetNotification(b.Context(), b.admin, n.ID)); !found.Enabled || found.LastSuccessAt.IsZero() {
				b.Fatalf("%+v", found)
			}
		}
		one := must[*lineshaft.NotificationDelivery](b.bench)(b.s.GetNotificationDelivery(b.Context(), b.admin, first.ID, b.deliveries(first.ID, "")[0].ID))
		if len(one.Attempts) != one.AttemptCount || one.Attempts[0].StatusCode != http.StatusServiceUnavailable || one.Attempts[one.AttemptCount-1].StatusCode != http.StatusNoContent || one.LastError != "" {
			b.Fatalf("%+v", one)
		}
	})
}

func TestC1WhatACallbackTells(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		b.endpoint(notify.NewNotification{States: []lineshaft.RunState{lineshaft.Failed}})
		runID, job := b.working(lineshaft.NewRun{Title: "A <b>title</b>", Config: lineshaft.AgentConfig{Name: "doctor"}})
		_, err := b.s.EndTurn(b.Context(), job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Failed, Message: "no luck", Code: lineshaft.CodeAgentProcessFailed})
		wantCode(b, err, "")
		b.fan()
		b.send()
		events := b.events(runID)
		last, sent := events[len(events)-1], b.receiver.last()
		var body struct {
			Type      string         `json:"type"`
			Timestamp time.Time      `json:"timestamp"`
			Data      map[string]any `json:"data"`
		}
		wantCode(b, json.Unmarshal(sent.Body, &body), "")
		if sent.ID != last.ID || body.Type != "run.state_changed" || !body.Timestamp.Equal(last.Time) || len(b.receiver.taken("https://example.com/hook")) != 1 {
			b.Fatalf("%+v: %s", sent, sent.Body)
		}
		for field, want := range map[string]any{
			"event_id": last.ID, "sequence": float64(last.Sequence), "run_id": runID, "state": "FAILED", "previous_state": "INPROGRESS", "message": "no luck",
			"error_code": "agent_process_failed", "title": "A <b>title</b>", "name": "doctor", "url": "https://lineshaft.example/runs/" + runID,
		} {
			if body.Data[field] != want {
				b.Errorf("%s is %v, want %v", field, body.Data[field], want)
			}
		}
		for _, field := range []string{"created_at", "finished_at"} {
			if _, err := time.Parse(time.RFC3339, fmt.Sprint(body.Data[field])); err != nil {
				b.Errorf("%s: %v", field, err)
			}
		}
		for _, field := range []string{"factory_uid", "automation_id", "prompt"} {
			if _, there := body.Data[field]; there {
				b.Errorf("%s is there", field)
			}
		}
	})
}

func TestC1FiltersSelectChanges(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		factory := b.factory("one", "one").UID
		all := b.endpoint(notify.NewNotification{URL: "https://example.com/all"})
		ended := b.endpoint(notify.NewNotification{URL: "https://example.com/ended", States: []lineshaft.RunState{lineshaft.Succeeded, lineshaft.Succeeded}})
		own := b.endpoint(notify.NewNotification{URL: "https://example.com/own", FactoryUIDs: []string{factory}})
		named := b.endpoint(notify.NewNotification{URL: "https://example.com/named", RunName: "doctor"})
		off := b.endpoint(notify.NewNotification{URL: "https://example.com/off", Enabled: new(false)})
		runID, job := b.working(lineshaft.NewRun{Config: lineshaft.AgentConfig{Name: "doctor"}})
		b.end(job, lineshaft.Succeeded)
		inside := b.inFactory(factory, lineshaft.NewRun{})
		b.fan()
		ids := b.stateIDs(runID)
		b.wantEvents(b.deliveries(all.ID, ""), append(b.stateIDs(inside), ids...))
		b.wantEvents(b.deliveries(ended.ID, ""), ids[len(ids)-1:])
		b.wantEvents(b.deliveries(own.ID, ""), b.stateIDs(inside))
		b.wantEvents(b.deliveries(named.ID, ""), ids)
		b.wantEvents(b.deliveries(off.ID, ""), nil)
		if len(ended.States) != 1 {
			b.Errorf("states are %v", ended.States)
		}
	})
}

// An endpoint gets what commits after its creation was answered and nothing from before,
// whether it is the first one or not.
func TestC1AnEndpointBeginsWithItsCreation(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		b.start(lineshaft.NewRun{})
		b.fan()
		first := b.endpoint(notify.NewNotification{})
		one := b.start(lineshaft.NewRun{}).RunID // not fanned out when the next one is made
		second := b.endpoint(notify.NewNotification{})
		two := b.start(lineshaft.NewRun{}).RunID
		b.fan()
		b.wantEvents(b.deliveries(first.ID, ""), append(b.stateIDs(one), b.stateIDs(two)...))
		b.wantEvents(b.deliveries(second.ID, ""), b.stateIDs(two))
		// The same goes for one that is switched off and on.
		for _, id := range []string{first.ID, second.ID} {
			b.enable(id, false)
		}
		b.start(lineshaft.NewRun{})
		b.enable(first.ID, true)
		three := b.start(lineshaft.NewRun{}).RunID
		b.fan()
		b.wantEvents(b.deliveries(first.ID, ""), slices.Concat(b.stateIDs(one), b.stateIDs(two), b.stateIDs(three)))
		b.wantEvents(b.deliveries(second.ID, ""), b.stateIDs(two))
	})
}

func (b *callbackBench) enable(id string, enabled bool) lineshaft.Notification {
	b.Helper()
	return must[lineshaft.Notification](b.bench)(b.s.UpdateNotification(b.Context(), b.admin, id, notify.NotificationChange{Enabled: &enabled}))
}

// Endpoints come and runs start at the same time, while two nodes fan out: anyone who was
// answered before a run was asked for gets it, once.
func TestC1NothingIsMissedOrDoubledInRaces(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		other := b.with(under(t, "callbacks"))
		stop := make(chan struct{})
		var fans sync.WaitGroup
		for _, node := range []*bench{b.bench, other} {
			fans.Go(func() {
				for {
					select {
					case <-stop:
						return
					default:
						if _, err := node.s.FanOut(context.WithoutCancel(b.Context())); err != nil {
							b.Errorf("fan out: %v", err)
							return
						}
					}
				}
			})
		}
		const rounds = 12
		endpoints, later := make([]string, rounds), make([]string, rounds)
		before := make([]string, rounds)
		together(rounds, func(i int) {
			started, err := b.as(b.admin, lineshaft.NewRun{})
			before[i] = started.RunID
			if err != nil {
				b.Error(err)
			}
			made, err := b.s.CreateNotification(b.Context(), b.admin, notify.NewNotification{URL: fmt.Sprintf("https://example.com/%d", i)})
			if err != nil {
				b.Error(err)
				return
			}
			endpoints[i] = made.ID
			if started, err = b.as(b.admin, lineshaft.NewRun{}); err != nil {
				b.Error(err)
			}
			later[i] = started.RunID
		})
		close(stop)
		fans.Wait()
		b.fan()
		_, err := other.s.FanOut(b.Context()) // it sees that nothing is left
		wantCode(b, err, "")
		for i, id := range endpoints {
			count := map[string]int{}
			for _, d := range b.deliveries(id, "") {
				count[d.RunID]++
			}
			if count[later[i]] != 1 || count[before[i]] != 0 {
				b.Errorf("endpoint %d: run of before %d, run of after %d times", i, count[before[i]], count[later[i]])
			}
		}
	})
}

// Two servers on one database make each delivery once and send each once.
func TestC1TwoServers(t *testing.T) {
	t.Parallel()
	database, r := storetest.Postgres(t), &receiver{}
	a := openCallbacks(t, database, r)
	other := openCallbacks(t, database, r)
	n := a.endpoint(notify.NewNotification{})
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	for _, node := range []*callbackBench{a, other} {
		running.Go(func() { node.s.FollowNotifications(ctx) })
		running.Go(func() { node.s.SendCallbacks(ctx) })
	}
	const runs = 40
	var ids []string
	for range runs {
		ids = append(ids, a.stateIDs(a.start(lineshaft.NewRun{}).RunID)...)
	}
	eventually(t, func() bool { return len(a.deliveries(n.ID, lineshaft.NotificationDelivered)) == runs })
	stop()
	running.Wait()
	if got := sorted(r.taken(n.URL)); !slices.Equal(got, sorted(ids)) {
		t.Fatalf("%d requests for %d events", len(got), len(ids))
	}
}

// eventually waits for something that another goroutine does.
func eventually(t *testing.T, done func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !done(); {
		if time.Now().After(end) {
			t.Fatal("it did not happen")
		}
		select {
		case <-t.Context().Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

// A node that dies after it claimed, or after it sent but before it noted so, leaves a
// delivery that is sent again when the lease is over, under the same id.
func TestC1AClaimOfADeadNodeIsTakenAgain(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		runID := b.start(lineshaft.NewRun{}).RunID
		b.fan()
		claimed := must[int](b.bench)(control.ClaimCallbacks(b.Context(), b.s, n.ID))
		if claimed != 1 {
			b.Fatalf("claimed %d", claimed)
		}
		b.send()
		if sent := b.receiver.taken(n.URL); len(sent) != 0 {
			b.Fatalf("sent %v while another node holds it", sent)
		}
		b.clock.advance(61 * time.Second)
		b.send()
		if sent := b.receiver.taken(n.URL); !slices.Equal(sent, b.stateIDs(runID)) {
			b.Fatalf("sent %v", sent)
		}
		b.wantEvents(b.deliveries(n.ID, lineshaft.NotificationDelivered), b.stateIDs(runID))
	})
}

// A note that a node makes after its lease does not count: another has the delivery.
func TestC1ALateNoteIsNotTaken(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		b.start(lineshaft.NewRun{})
		b.fan()
		b.receiver.says(func(lineshaft.Callback) lineshaft.CallbackResult {
			b.receiver.says(nil)
			b.clock.advance(61 * time.Second)
			if got := must[int](b.bench)(control.ClaimCallbacks(b.Context(), b.s, n.ID)); got != 1 {
				b.Errorf("another node claimed %d", got)
			}
			return lineshaft.CallbackResult{StatusCode: 500, Error: "late"}
		})
		_, err := b.s.SendDue(b.Context())
		wantCode(b, err, "")
		if d := b.deliveries(n.ID, "")[0]; d.AttemptCount != 0 || d.LastError != "" {
			b.Fatalf("%+v", d)
		}
	})
}

// A slow endpoint with a long queue holds up nobody.
func TestC1ASlowEndpointStarvesNobody(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		slow, fast := b.endpoint(notify.NewNotification{URL: "https://slow.example/"}), b.endpoint(notify.NewNotification{URL: "https://fast.example/"})
		release := make(chan struct{})
		b.receiver.says(func(c lineshaft.Callback) lineshaft.CallbackResult {
			if c.URL == slow.URL {
				<-release
			}
			return lineshaft.CallbackResult{StatusCode: 200}
		})
		const runs = 30
		for range runs {
			b.start(lineshaft.NewRun{})
		}
		ctx, stop := context.WithCancel(b.Context())
		var running sync.WaitGroup
		running.Go(func() { b.s.FollowNotifications(ctx) })
		running.Go(func() { b.s.SendCallbacks(ctx) })
		eventually(b.T, func() bool { return len(b.deliveries(fast.ID, lineshaft.NotificationDelivered)) == runs })
		if busy := len(b.receiver.taken(slow.URL)); busy < 1 || busy > 8 {
			b.Errorf("%d requests at once to the slow one", busy)
		}
		close(release)
		eventually(b.T, func() bool { return len(b.deliveries(slow.ID, lineshaft.NotificationDelivered)) == runs })
		stop()
		running.Wait()
	})
}

// A server that stops breaks off requests that hang and gives their deliveries back.
func TestC1StoppingGivesBackWhatIsUnderWay(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		n := b.endpoint(notify.NewNotification{})
		b.start(lineshaft.NewRun{})
		b.fan()
		ctx, stop := context.WithCancel(b.Context())
		b.receiver.says(func(lineshaft.Callback) lineshaft.CallbackResult {
			stop()
			return lineshaft.CallbackResult{Error: "cut"}
		})
		_, err := b.s.SendDue(ctx)
		wantCode(b, err, "")
		if d := b.deliveries(n.ID, "")[0]; d.Status != lineshaft.NotificationPending || d.AttemptCount != 0 || d.NextAttemptAt.After(b.clock.now()) {
			b.Fatalf("%+v", d)
		}
		if strings.Contains(b.log.String(), "record callback") {
			b.Error(b.log)
		}
	})
}
