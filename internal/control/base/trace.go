package base

import (
	"context"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// The names of the control plane's spans; docs/tracing.md describes each.
const (
	SpanStart    = "start run"
	spanWait     = "wait in queue"
	spanClaim    = "claim run"
	SpanFollowup = "follow up"
	SpanEndTurn  = "end turn"
	spanCallback = "callback"
)

// StartSpans are the spans of runs that a transaction starts. Each try of it makes new
// ones; those of a try that was rolled back are forgotten, and never sent.
type StartSpans []tracing.Span

// End ends the spans of a transaction that was committed.
func (l StartSpans) End(err error) {
	if err != nil {
		return
	}
	for _, span := range l {
		span.End(nil)
	}
}

// TraceStart makes the span of a run that is about to be written, below what started
// it, and the run's own parent of it. Without tracing what started it stays that.
func (s *Base) TraceStart(ctx context.Context, n *store.NewRun, spans *StartSpans) {
	if !s.Cfg.Tracer.On() {
		return
	}
	// The context belongs to the caller who gathered the batch.
	ctx = tracing.WithParent(tracing.Detached(ctx), n.TraceParent)
	_, span := s.Cfg.Tracer.Start(ctx, SpanStart, tracing.Options{})
	NoteStart(span, n.Head.ID, n.Head.FactoryUID, n.Source)
	// The server wrote these itself: no request comes this way.
	span.String("lineshaft.automation.id", n.Body.Metadata[lineshaft.MetadataAutomation])
	span.String("lineshaft.delivery.id", n.Body.Metadata[lineshaft.MetadataDelivery])
	span.String("lineshaft.schedule.id", n.ScheduleID)
	n.TraceParent = span.Parent()
	*spans = append(*spans, span)
}

// NoteStart says what run was started, and by what.
func NoteStart(span tracing.Span, runID, factoryUID string, source lineshaft.Source) {
	span.String("lineshaft.run.id", runID)
	span.String("lineshaft.factory.id", factoryUID)
	span.String("lineshaft.run.source", string(source))
}

// QueuedAt is since when each of the claimed runs has waited.
func QueuedAt(claims []*store.Claim) []time.Time {
	times := make([]time.Time, len(claims))
	for i, claim := range claims {
		times[i] = claim.Head.QueuedAt
	}
	return times
}

// TraceClaim makes the spans of a claim that was committed: the wait before it, and the
// claim itself, which the execution continues.
func (s *Base) TraceClaim(ctx context.Context, job *lineshaft.Job, queued time.Time, workerID string) {
	if !s.Cfg.Tracer.On() {
		return
	}
	ctx = tracing.WithParent(tracing.Detached(ctx), job.TraceParent)
	begun := job.Granted
	if queued.After(begun) { // by the clock of another node
		queued = begun
	}
	_, wait := s.Cfg.Tracer.Start(ctx, spanWait, tracing.Options{At: queued, Kind: tracing.Producer})
	wait.String("lineshaft.run.id", job.RunID)
	wait.EndAt(nil, begun)
	_, claim := s.Cfg.Tracer.Start(ctx, spanClaim, tracing.Options{At: begun, Kind: tracing.Producer})
	claim.String("lineshaft.run.id", job.RunID)
	claim.String("lineshaft.execution.id", job.ExecutionID)
	claim.String("lineshaft.worker.id", workerID)
	claim.Int("lineshaft.attempt", job.Number)
	job.TraceParent = claim.Parent()
	claim.End(nil)
}

// TraceCallback makes the span of one attempt, below the run's start, and the context
// whose traceparent is sent along.
func (s *Base) TraceCallback(ctx context.Context, claim store.NotificationClaim, send func(context.Context) lineshaft.CallbackResult) lineshaft.CallbackResult {
	ctx, span := s.Cfg.Tracer.Start(tracing.WithParent(ctx, claim.TraceParent), spanCallback, tracing.Options{Kind: tracing.Client})
	result := send(ctx)
	span.String("lineshaft.notification.id", claim.NotificationID)
	span.String("lineshaft.notification.delivery.id", claim.ID)
	span.String("lineshaft.event.id", claim.EventID)
	span.String("lineshaft.run.id", claim.RunID)
	span.Int("lineshaft.attempt", claim.AttemptCount+1)
	if result.StatusCode != 0 {
		span.Int("http.response.status_code", result.StatusCode)
	}
	if !result.Delivered() {
		span.Failed("not delivered")
	}
	span.End(nil)
	return result
}
