package worker

import (
	"context"
	"io"

	"github.com/lineshaft/lineshaft"
)

// Control is what a worker needs from the control plane. control.Service provides it
// in process, a client over HTTP. All methods may be called at the
// same time.
//
// Life of an execution: Claim gives it; Report, Upload and Download continue until
// EndTurn says that nothing is left to do; Heartbeat names it at least every
// third of its lease from Claim until then. A Conflict or NotFound error of any call
// about an execution means that it is not this worker's any more: the worker ends the
// agent and reports nothing more. Other errors that are not the call's own
// fault count as an outage and the call is made again, so every method must
// accept being called twice for the same thing.
type Control interface {
	// Claim waits until there is at least one job for the worker's host, and
	// returns none after about 20 s. The lease of each job begins when it returns.
	Claim(ctx context.Context, req lineshaft.ClaimRequest) ([]lineshaft.Job, error)
	// Heartbeat extends the leases of the held executions. A stop directive names
	// those that could not be extended; a follow-up directive those for which a
	// follow-up waits now, again with each heartbeat until EndTurn gives it.
	Heartbeat(ctx context.Context, workerID string, held []lineshaft.ExecutionRef) ([]lineshaft.Directive, error)
	// Directives waits for the next directives for executions of this worker, and
	// returns none after about 20 s. The heartbeat repeats what was missed.
	Directives(ctx context.Context, workerID string) ([]lineshaft.Directive, error)
	// Report takes batches of events, at most one batch per execution in a call, and
	// returns one error per report. Event numbers that were accepted before are skipped.
	// An artifact event of type PULL_REQUEST has no uid yet.
	Report(ctx context.Context, reports []lineshaft.Report) ([]error, error)
	// EndTurn records how a turn ended and returns the next one, or nil when the
	// execution is over. The turn is named in the result, so that a call whose answer
	// was lost can be made again. With state Blocked the turn continues, and the returned turn is
	// the follow-up that answers the question that the result names, nil while there is
	// none; a follow-up directive says when to ask again. After a stop directive it is called with state
	// Cancelled to say that nothing of the agent is left.
	EndTurn(ctx context.Context, ref lineshaft.ExecutionRef, result lineshaft.TurnResult) (*lineshaft.Turn, error)
	// Upload stores an artifact or the execution's snapshot; an artifact is
	// recorded, with its event, when Upload returns. Nothing is stored when reading
	// content fails.
	Upload(ctx context.Context, ref lineshaft.ExecutionRef, upload lineshaft.Upload, content io.Reader) (blobID string, err error)
	// Download opens a blob that the execution's job or turns name.
	Download(ctx context.Context, ref lineshaft.ExecutionRef, blobID string) (io.ReadCloser, error)
}
