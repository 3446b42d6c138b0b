package control_test

import (
	"context"
	"errors"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// poison makes the database refuse events with that word.
func poison(t *testing.T, database string) {
	t.Helper()
	if store.IsPostgres(database) {
		storetest.Exec(t, database, "ALTER TABLE events ADD CONSTRAINT poison CHECK (data NOT LIKE '%poison%')")
		return
	}
	storetest.Exec(t, database, "CREATE TRIGGER poison BEFORE INSERT ON events WHEN NEW.data LIKE '%poison%' BEGIN SELECT RAISE(ABORT, 'poison'); END")
}

// Reports and ends that come together with some that cannot be stored, and with callers that
// leave, are done once each: the log has those who got success, and nobody else.
func TestX1OneThatFailsDoesNotHarmWhoComesTogetherWithIt(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		b := open(t, database)
		poison(t, database)
		const kinds, many = 4, 32
		jobs, runIDs := make([]lineshaft.Job, many), make([]string, many)
		for i := range jobs {
			runIDs[i], jobs[i] = b.working(lineshaft.NewRun{})
		}
		errs := make([]error, many)
		together(many, func(i int) {
			ctx, cancel := context.WithCancel(b.Context())
			defer cancel()
			report := lineshaft.Report{ExecutionRef: jobs[i].ExecutionRef, First: 1, Events: b.outputs(1, 2)}
			switch i % kinds {
			case 0:
				_, errs[i] = b.s.EndTurn(ctx, jobs[i].ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded})
				return
			case 1:
				report.Events[1] = b.output("poison")
			case 2:
				go cancel()
			}
			_, errs[i] = b.s.Report(ctx, []lineshaft.Report{report})
		})
		for i, runID := range runIDs {
			lines := b.lines(runID)
			switch i % kinds {
			case 0:
				wantCode(b, errs[i], "")
				b.want(runID, lineshaft.Succeeded)
			case 1:
				if wantCode(b, errs[i], lineshaft.CodeInternal); len(lines) > 0 || !strings.Contains(errs[i].Error(), "insert into events") {
					b.Errorf("%v, and stored is %q", errs[i], lines)
				}
			case 2:
				if errs[i] != nil && !errors.Is(errs[i], context.Canceled) || (errs[i] == nil) != slices.Equal(lines, wantLines(2)) || errs[i] != nil && len(lines) > 0 {
					b.Errorf("who left got %v, and stored is %q", errs[i], lines)
				}
			default:
				if wantCode(b, errs[i], ""); !slices.Equal(lines, wantLines(2)) {
					b.Errorf("%q", lines)
				}
			}
		}
		b.sound(runIDs...)
	})
}

// Ending a tree that has overrun its budget takes as long as it takes. Reports of others do
// not wait for it.
func TestX15EndsOfTreesHoldUpNobodyElse(t *testing.T) {
	t.Parallel()
	b := open(t, storetest.Postgres(t))
	neighbour, other := b.working(lineshaft.NewRun{})
	var roots, children []string
	var jobs []lineshaft.Job
	for range base.BatchesAtOnce("postgres") {
		root, job := b.working(lineshaft.NewRun{Config: lineshaft.AgentConfig{Budget: &lineshaft.Budget{MaxTokens: 1000}}})
		roots, jobs = append(roots, root), append(jobs, job)
	}
	for _, job := range jobs {
		started, err := b.as(must[lineshaft.Caller](b)(b.s.Authenticate(b.Context(), job.RunToken)), lineshaft.NewRun{})
		wantCode(b, err, "")
		children = append(children, started.RunID)
	}
	held, release := make(chan struct{}), make(chan struct{})
	var all sync.WaitGroup
	all.Go(func() {
		err := b.store.Write(b.Context(), func(ctx context.Context, tx *store.Tx) error {
			_, err := tx.LockRuns(ctx, children)
			close(held)
			<-release
			return err
		})
		if err != nil {
			b.Error(err)
		}
	})
	<-held
	for i, job := range jobs {
		all.Go(func() {
			refused, err := b.s.Report(b.Context(), []lineshaft.Report{{ExecutionRef: job.ExecutionRef, First: 1, Events: []lineshaft.Draft{b.usage(1001, 0, 0)}}})
			if err = errors.Join(append(refused, err)...); err != nil {
				b.Error(err)
			}
		})
		for b.run(roots[i]).Usage.Total() == 0 && !b.Failed() { // so each has a transaction of its own, and is at the ends
			runtime.Gosched()
		}
	}
	wantCode(b, b.report(lineshaft.Report{ExecutionRef: other.ExecutionRef, First: 1, Events: b.outputs(1, 1)}), "")
	close(release)
	all.Wait()
	for _, child := range children { // had the report waited, they would have been given up by now
		b.want(child, lineshaft.Failed)
	}
	b.want(neighbour, lineshaft.InProgress)
}

// Deliveries to webhooks of several factories share a transaction. If one factory has changed,
// the others' are accepted, and count in their rates, once.
func TestW5AFactoryThatChangedDoesNotHarmOthers(t *testing.T) {
	t.Parallel()
	eachWorks(t, factories.NewWebhook{RateLimit: new(3)}, func(w *works) {
		w.automation("it", "")
		second := *w
		second.factory = must[*lineshaft.Factory](w.bench)(w.s.CreateFactory(w.Context(), w.admin, factories.NewFactory{Name: "second"})).UID
		second.hook = must[factories.IssuedWebhook](w.bench)(w.s.CreateWebhook(w.Context(), w.admin, second.factory, factories.NewWebhook{Name: "other", RateLimit: new(3)}))
		stale := second.ready()
		second.automation("new", "")
		h := w.ready()
		batch := []trigger.Received{received(stale, "s1", `{}`), received(h, "1", `{}`), received(stale, "s2", `{}`), received(h, "2", `{}`)}
		_, errs := w.s.AcceptTogether(w.Context(), batch...)
		for i, err := range errs {
			if (i%2 == 0) != errors.Is(err, trigger.ErrStale) || i%2 == 1 && err != nil {
				w.Errorf("delivery %d: %v", i, err)
			}
		}
		if w.statuses()[lineshaft.DeliveryAccepted] != 2 || len(second.log()) != 0 || len(w.runs()) != 2 {
			w.Errorf("%v, %d of the other, %d runs", w.statuses(), len(second.log()), len(w.runs()))
		}
		fresh := second.ready()
		_, errs = w.s.AcceptTogether(w.Context(), received(fresh, "s1", `{}`), received(h, "3", `{}`), received(h, "4", `{}`),
			received(fresh, "s2", `{}`), received(fresh, "s3", `{}`), received(fresh, "s4", `{}`))
		for i, full := range []bool{false, false, true, false, false, true} {
			if full {
				limited(w, errs[i])
			} else {
				wantCode(w, errs[i], "")
			}
		}
	})
}
