package control_test

import (
	"path/filepath"
	"strings"
	"testing"
	"time"

	sdk "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/sdk/trace/tracetest"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
	"github.com/lineshaft/lineshaft/internal/stream"
	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/tracing/tracingtest"
)

const (
	callerTrace  = "4bf92f3577b34da6a3ce929d0e0e4736"
	callerSpan   = "00f067aa0ba902b7"
	callerParent = "00-" + callerTrace + "-" + callerSpan + "-01"
	// noSpan is the parent of the first span of a trace.
	noSpan = "0000000000000000"
)

// traced gives a control plane a tracer of its own.
func traced() (func(*base.Config), tracingtest.Spans) {
	tracer, spans := tracingtest.New()
	return func(cfg *base.Config) { cfg.Tracer = tracer }, spans
}

// one is the only span of a name.
func one(tb testing.TB, spans tracingtest.Spans, name string) tracingtest.Span {
	tb.Helper()
	list := spans.Named(name)
	if len(list) != 1 {
		tb.Fatalf("%d spans %q", len(list), name)
	}
	return list[0]
}

// A run keeps its place in the caller's trace, and the claim continues from there.
func TestI5ARunKeepsItsTrace(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		on, spans := traced()
		b := open(t, database, on)
		ctx := tracing.WithParent(t.Context(), callerParent)
		started := must[runs.Started](b)(b.s.StartRun(ctx, b.admin, lineshaft.NewRun{Prompt: "secret plan", Source: lineshaft.SourceAPI}, nil))
		start := one(t, spans, "start run")
		kept := "00-" + callerTrace + "-" + start.SpanID() + "-01"
		if got := b.run(started.RunID).TraceParent; got != kept || start.ParentID() != callerSpan || start.Attribute("lineshaft.run.id") != started.RunID || start.Attribute("lineshaft.run.source") != "API" {
			t.Errorf("the row has %q, not %q; %v", got, kept, start.Attributes())
		}
		job := b.claimOne(lineshaft.HostedWorker, started.RunID)
		wait, claim := one(t, spans, "wait in queue"), one(t, spans, "claim run")
		if wait.ParentID() != start.SpanID() || claim.ParentID() != start.SpanID() || claim.Attribute("lineshaft.attempt") != "1" || claim.Attribute("lineshaft.worker.id") != "w-hosted" {
			t.Errorf("claim %v", claim.Attributes())
		}
		if job.TraceParent != "00-"+callerTrace+"-"+claim.SpanID()+"-01" || wait.EndTime().Before(wait.StartTime()) {
			t.Errorf("the job has %q", job.TraceParent)
		}
		b.begin(job)
		turn := tracing.WithParent(t.Context(), job.TraceParent)
		if _, err := b.s.EndTurn(turn, job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Succeeded, Turn: lineshaft.PromptTurn}); err != nil {
			t.Fatal(err)
		}
		if end := one(t, spans, "end turn"); end.TraceID() != callerTrace || end.Attribute("lineshaft.turn.state") != "SUCCEEDED" {
			t.Errorf("end %v", end.Attributes())
		}
		if _, err := b.s.Followup(t.Context(), b.admin, lineshaft.NewFollowup{RunID: started.RunID, Message: "more"}, nil); err != nil {
			t.Fatal(err)
		}
		if up := one(t, spans, "follow up"); len(up.Links()) != 1 || up.Links()[0].SpanContext.SpanID().String() != start.SpanID() || up.TraceID() == callerTrace {
			t.Errorf("follow-up %v", up.Links())
		}
		if again := b.claimOne(lineshaft.HostedWorker, started.RunID); tracing.TraceIDOf(again.TraceParent) != callerTrace {
			t.Errorf("after the follow-up: %q", again.TraceParent)
		}
	})
}

// With tracing off a caller's own trace is passed on as it came; without one there is
// none.
func TestI5OffPassesTheCallersTraceOn(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		ctx := tracing.WithParent(b.Context(), callerParent)
		started := must[runs.Started](b)(b.s.StartRun(ctx, b.admin, lineshaft.NewRun{Prompt: "p", Source: lineshaft.SourceAPI}, nil))
		if job := b.claimOne(lineshaft.HostedWorker, started.RunID); job.TraceParent != callerParent {
			b.Errorf("the job has %q", job.TraceParent)
		}
		none := b.start(lineshaft.NewRun{})
		if job := b.claimOne(lineshaft.HostedWorker, none.RunID); job.TraceParent != "" || b.run(none.RunID).TraceParent != "" {
			b.Errorf("the job has %q", job.TraceParent)
		}
	})
}

// An Idempotency-Key that comes again starts nothing, and the run keeps its first trace.
func TestI5AReplayKeepsTheFirstTrace(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		on, spans := traced()
		b := open(t, database, on)
		var ids []string
		for range 2 {
			started := must[runs.Started](b)(b.s.StartRun(t.Context(), b.admin, lineshaft.NewRun{Prompt: "p", Source: lineshaft.SourceAPI},
				&base.Idempotency{Method: "POST", Path: "/x", Key: "k"}))
			ids = append(ids, started.RunID)
		}
		list := spans.Named("start run")
		if len(list) != 2 || ids[0] != ids[1] || list[1].Attribute("lineshaft.replayed") != "true" || b.run(ids[0]).TraceParent != "00-"+list[0].TraceID()+"-"+list[0].SpanID()+"-01" {
			t.Errorf("%d spans", len(list))
		}
	})
}

// Each run of a delivery is below it, also when several deliveries share a transaction,
// and a chain continues the trace of the run that ended.
func TestI5DeliveriesAndChains(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		on, spans := traced()
		w := newWorks(t, database, factories.NewWebhook{}, on)
		w.automation("A", "")
		w.automation("B", "", after(`{"automations":["A"],"states":["SUCCEEDED"]}`))
		w.watching()
		r := received(w.ready(), "1", opened)
		r.TraceParent = callerParent
		d := must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), r)).Delivery
		start := one(t, spans, "start run")
		runID := d.Outcomes[0].RunID
		if start.TraceID() != callerTrace || start.ParentID() != callerSpan || start.Attribute("lineshaft.delivery.id") != d.ID || start.Attribute("lineshaft.run.id") != runID || start.Attribute("lineshaft.automation.id") == "" {
			t.Errorf("start %v", start.Attributes())
		}
		w.done(runID, lineshaft.Succeeded)
		w.settle()
		list := spans.Named("start run")
		if len(list) != 2 || list[1].TraceID() != callerTrace || list[1].ParentID() != start.SpanID() {
			t.Fatalf("the chain has %d starts", len(list))
		}
		// A delivery that comes again starts nothing, and makes no span.
		must[trigger.Receipt](w.bench)(w.s.Accept(w.Context(), r))
		// Without a trace of its own a delivery begins one.
		must[trigger.Receipt](w.bench)(w.s.Accept(tracing.WithParent(w.Context(), callerParent), received(w.ready(), "2", opened)))
		if list = spans.Named("start run"); len(list) != 3 || list[2].TraceID() == callerTrace || list[2].ParentID() != noSpan {
			t.Errorf("%d starts", len(list))
		}
	})
}

// A dry run is rolled back, and so are its spans.
func TestI5NoSpansOfWhatWasTakenBack(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		on, spans := traced()
		w := newWorks(t, database, factories.NewWebhook{}, on)
		w.automation("A", "")
		d := w.deliver("1", opened)
		w.redeliver(d.ID, true)
		if n := len(spans.Named("start run")); n != 1 {
			t.Errorf("%d starts after the dry run", n)
		}
		w.redeliver(d.ID, false)
		if n := len(spans.Named("start run")); n != 2 {
			t.Errorf("%d starts after the redelivery", n)
		}
	})
}

// A schedule that fires begins a trace; what its transaction loses makes no span.
func TestI5SchedulesBeginATrace(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		on, spans := traced()
		at := &stopped{}
		at.set(time.Date(2026, 6, 1, 10, 0, 0, 0, time.UTC))
		w := &timing{bench: open(t, database, on, func(cfg *base.Config) { cfg.Clock = at.now }), at: at, database: database}
		good, bad := w.schedule(daily("good")), daily("poison")
		w.schedule(bad)
		w.poison("bad_run", "INSERT", "runs", "NEW.title = 'poison'")
		if w.to("2026-06-01 12:00") != 1 {
			t.Fatalf("%d runs", len(w.runs()))
		}
		start := one(t, spans, "start run")
		run := w.runs()[0]
		if start.ParentID() != noSpan || start.Attribute("lineshaft.schedule.id") != good.ID || start.Attribute("lineshaft.run.id") != run.ID || !strings.Contains(w.run(run.ID).TraceParent, start.SpanID()) {
			t.Errorf("start %v, row %q", start.Attributes(), w.run(run.ID).TraceParent)
		}
	})
}

// The token of a run carries the run's trace, for agents that say nothing of theirs.
func TestI5RunTokensKnowTheirTrace(t *testing.T) {
	t.Parallel()
	on, _ := traced()
	b := open(t, storetest.SQLite(t), on)
	runID, job := b.working(lineshaft.NewRun{})
	caller := must[lineshaft.Caller](b)(b.s.Authenticate(t.Context(), job.RunToken))
	if caller.TraceParent == "" || caller.TraceParent != b.run(runID).TraceParent {
		t.Errorf("the token knows %q", caller.TraceParent)
	}
}

// BenchmarkStartRun says what tracing costs: "off" is what everyone pays.
func BenchmarkStartRun(b *testing.B) {
	kept := sdk.NewTracerProvider(sdk.WithBatcher(tracetest.NewNoopExporter()))
	defer func() { _ = kept.Shutdown(b.Context()) }()
	for _, bc := range []struct {
		name   string
		tracer *tracing.Tracer
	}{{"off", nil}, {"on", tracing.New(kept.Tracer("bench"))}} {
		b.Run(bc.name, func(b *testing.B) {
			hub := stream.NewHub()
			st, err := store.Open(b.Context(), store.Options{Database: filepath.Join(b.TempDir(), "bench.db"), Wake: hub.Wake})
			if err != nil {
				b.Fatal(err)
			}
			defer func() { _ = st.Close() }()
			s, err := control.New(b.Context(), st, hub, stream.New(st, hub, func(lineshaft.Event) []byte { return nil }), base.Config{Tracer: bc.tracer})
			if err != nil {
				b.Fatal(err)
			}
			if _, err := s.EnsureAdmin(b.Context(), adminKey); err != nil {
				b.Fatal(err)
			}
			admin, err := s.Authenticate(b.Context(), adminKey)
			if err != nil {
				b.Fatal(err)
			}
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.StartRun(b.Context(), admin, lineshaft.NewRun{Prompt: "p", Source: lineshaft.SourceAPI}, nil); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
