package worker

import (
	"cmp"
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// The names of the worker's spans; docs/tracing.md explains each.
const (
	spanExecute = "execute run"
	spanPrepare = "prepare workspace"
	spanTurn    = "agent turn"
	spanStore   = "store files"
)

// trace begins the span of an execution, below the claim, and returns the context of
// all it does.
func (e *execution) trace(ctx context.Context) context.Context {
	w := e.worker
	ctx, e.span = w.config.Tracer.Start(tracing.WithParent(ctx, e.job.TraceParent), spanExecute, tracing.Options{Kind: tracing.Consumer})
	e.span.String("lineshaft.run.id", e.job.RunID)
	e.span.String("lineshaft.execution.id", e.job.ExecutionID)
	e.span.String("lineshaft.worker.id", w.config.WorkerID)
	e.span.Int("lineshaft.attempt", e.job.Number)
	return ctx
}

func (e *execution) endSpan() {
	e.span.String("lineshaft.harness", e.harnessName)
	e.span.Int("lineshaft.turns", e.turns)
	endTurnSpan(e.span, e.outcome)
}

// traceTurn begins the span of a turn. Until the next one, the agent's requests to
// models belong to it.
func (e *execution) traceTurn(turn lineshaft.Turn) (context.Context, tracing.Span) {
	ctx, span := e.worker.config.Tracer.Start(e.work, spanTurn, tracing.Options{})
	span.String("lineshaft.run.id", e.job.RunID)
	span.String("lineshaft.turn", turn.Name())
	span.String("lineshaft.harness", e.harnessName)
	e.mu.Lock()
	defer e.mu.Unlock()
	e.turnTrace = tracing.Parent(ctx)
	return ctx, span
}

// endTurnSpan says how a turn or an execution ended. What people asked for is not a
// failure.
func endTurnSpan(span tracing.Span, result lineshaft.TurnResult) {
	span.String("lineshaft.turn.state", string(result.State))
	if result.State == lineshaft.Failed || result.State == lineshaft.Errored {
		code := cmp.Or(string(result.Code), string(result.State))
		span.Failed(code)
	}
	span.End(nil)
}

// turnParent is gateway.SessionConfig.TraceParent.
func (e *execution) turnParent() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.turnTrace
}

// traced adds the trace to the environment of a process, so that its own spans
// can be a part of it.
func (e *execution) traced(ctx context.Context, env []string) []string {
	if parent := tracing.Parent(ctx); parent != "" {
		return append(env, tracing.Variable+"="+parent)
	}
	return env
}
