// Package worker claims runs from the control plane and executes them: it keeps
// their leases, gives each a workspace and a sandbox, drives the agent through a
// harness, and reports what happens. The same code runs inside the server and in
// a worker of its own; the difference is what implements [Control].
//
// It makes no decision about runs: the control plane decides whether a run is queued again,
// retried or ended. It never starts an agent that the lease does not cover.
//
// Delivery: the events of an execution are numbered from 1, kept until they are
// acknowledged and sent again under the same numbers, so a control plane that
// skips numbers it has sees each once, in order. A turn is ended only after all
// its events are acknowledged. When the lease is lost, the worker drops what was not
// acknowledged, together with the agent.
//
// Concurrency: one goroutine per execution, and one each for claiming, for
// heartbeats, for directives, for reports and for removing old workspaces. Stop
// waits for all of them.
package worker
