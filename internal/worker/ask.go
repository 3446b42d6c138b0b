package worker

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"sync"

	"github.com/lineshaft/lineshaft"
)

// asking is what an execution knows of its agent's questions.
type asking struct {
	// one is full while people see a question; others wait for it.
	one chan struct{}

	mu    sync.Mutex
	turn  string // the present one
	count int
	// unused is a question that ended without its answer, which may be on the way.
	unused string
}

// ask is harness.Environment.Ask. Questions are put one after the other, so that it
// is clear which of them a follow-up answers.
func (e *execution) ask(ctx context.Context, question lineshaft.PermissionData) (string, error) {
	select {
	case e.asking.one <- struct{}{}:
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
	defer func() { <-e.asking.one }()
	e.started()
	e.watch.block(true)
	defer e.watch.block(false)
	draft := e.fit(e.masked(lineshaft.NewDraft(lineshaft.EventPermission, e.worker.config.Now(), question)))
	e.watch.saw(draft)
	if !e.outbox.delivered(ctx, draft) { // the question is stored before the run is BLOCKED
		return "", context.Cause(ctx)
	}
	result := lineshaft.TurnResult{State: lineshaft.Blocked}
	result.Turn, result.Ask = e.asking.next()
	answer, err := e.awaitAnswer(ctx, result)
	if err == nil {
		err = e.place(ctx, answer.Attachments)
	}
	if err != nil {
		e.asking.late(result.Ask)
		e.outbox.tell(markUnblocked)
		return "", err
	}
	return answer.Message + attached(answer.Attachments), nil
}

// awaitAnswer asks the control plane for the answer, and again whenever it says that
// a follow-up waits.
func (e *execution) awaitAnswer(ctx context.Context, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	select {
	case <-e.followup: // about one that was sent before the question
	default:
	}
	for {
		var answer *lineshaft.Turn
		err := persist(ctx, func(ctx context.Context) (err error) {
			answer, err = e.worker.control.EndTurn(ctx, e.job.ExecutionRef, result)
			return err
		})
		switch {
		case ctx.Err() != nil:
			return nil, context.Cause(ctx)
		case gone(err):
			e.endLife(errLost)
			return nil, err
		case err != nil:
			return nil, fmt.Errorf("ask: %w", err)
		case answer != nil:
			return answer, nil
		}
		select {
		case <-e.followup:
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		}
	}
}

func attached(files []lineshaft.Attachment) string {
	if len(files) == 0 {
		return ""
	}
	names := make([]string, len(files))
	for i, f := range files {
		names[i] = f.FileName
	}
	return "\n\nFiles in the workspace: " + strings.Join(names, ", ")
}

// begin notes the turn whose questions come next.
func (a *asking) begin(turn string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.turn, a.unused = turn, ""
}

func (a *asking) next() (turn, ask string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.count++
	return a.turn, strconv.Itoa(a.count)
}

func (a *asking) late(ask string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.unused = ask
}

// end gives the question that ended without an answer, if it was the last one.
func (a *asking) end() string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.unused == strconv.Itoa(a.count) {
		return a.unused
	}
	return ""
}
