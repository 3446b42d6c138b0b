package acp

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

const (
	// tick is how often a turn looks whether something has waited too long.
	tick = 250 * time.Millisecond
	// quiet is how long nothing may come after the end of a turn: updates that
	// belong to it may be under way. Later ones are reported in the next turn.
	quiet = 100 * time.Millisecond
	// lateTime bounds the wait for quiet.
	lateTime = time.Second
	// remindTime is how often an agent is reminded that its turn is cancelled: a
	// cancel that overtakes its prompt means nothing.
	remindTime = time.Second
)

// turn consumes the queue during one turn and makes events.
type turn struct {
	session *session
	emit    harness.Emit
	text    *text
	known   *record

	// questions are those without an answer; people are asked the first of them.
	questions []*question
	asking    bool
	stopAsk   context.CancelCauseFunc // ends what asks them
	denied    bool
	// said are answers that chose no option: the agent gets them as a message.
	said []string
}

func newTurn(s *session, emit harness.Emit) *turn {
	t := &turn{session: s, emit: emit, known: s.known, stopAsk: func(error) {}}
	t.text = newText(s.env.Mask(), t.event)
	return t
}

// close gives up the questions that are left.
func (t *turn) close() {
	t.stopAsk(nil)
	for _, q := range t.questions {
		q.give(cancelled())
	}
	t.questions = nil
}

func (t *turn) event(kind lineshaft.EventType, data any) {
	t.emit(lineshaft.NewDraft(kind, t.session.env.Now(), data))
}

// run consumes until the turn has ended, whatever ends it.
func (t *turn) run(ctx context.Context) *end {
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	done := ctx.Done()
	asks, stopAsk := context.WithCancelCause(ctx)
	defer stopAsk(nil)
	t.stopAsk = stopAsk
	var stop stopping
	for {
		if e := t.drain(asks); e != nil {
			if next := t.next(e, ctx.Err() != nil); next != "" {
				t.session.prompt(next) //nolint:contextcheck // what ends the turn does not end the call of the agent
				continue
			}
			t.late(asks, e)
			return e
		}
		select {
		case <-t.session.queue.more:
		case now := <-ticker.C:
			t.text.grownOld(now)
			t.known.grownOld(t, now)
			stop.tick(ctx, t.session, now)
		case <-done:
			done = nil
			t.close()
			stop.begin(ctx, t.session)
		}
	}
}

// drain handles what has come; it stops at an end.
func (t *turn) drain(ctx context.Context) *end {
	for {
		i, ok := t.session.queue.pop()
		switch {
		case !ok:
			return nil
		case i.end != nil:
			return i.end
		case i.draft != nil:
			t.emit(*i.draft)
		case i.question != nil:
			t.ask(ctx, i.question)
		case i.answer != nil:
			t.answered(ctx, i.answer)
		default:
			t.update(i.update)
		}
	}
}

// next is a message that the agent must still get in this turn.
func (t *turn) next(e *end, stopped bool) string {
	if len(t.said) == 0 || e.err != nil || stopped {
		return ""
	}
	text := strings.Join(t.said, "\n\n")
	t.said, t.denied = nil, false
	t.text.flush()
	t.usage(e.answer)
	return text
}

// late handles what comes after the end but belongs to the turn.
func (t *turn) late(ctx context.Context, e *end) {
	if e.agent == nil || e.agent.over() {
		return // all it said came before its end
	}
	over := time.NewTimer(lateTime)
	defer over.Stop()
	for {
		pause := time.NewTimer(quiet)
		select {
		case <-t.session.queue.more:
			pause.Stop()
			t.drain(ctx)
		case <-pause.C:
			t.drain(ctx)
			return
		case <-over.C:
			pause.Stop()
			return
		}
	}
}

// finish reports what is left at the end of a turn.
func (t *turn) finish(stopped bool) {
	t.text.flush()
	t.known.endTurn(t, stopped)
}

// stopping is the course of a turn that is ended from outside.
type stopping struct {
	began, told time.Time
	forced      bool
}

func (c *stopping) begin(ctx context.Context, s *session) {
	c.began = time.Now()
	if s.stop(context.Cause(ctx)) {
		c.told = c.began
		s.cancel(ctx)
	}
}

// tick takes the next step: a reminder, and in the end force.
func (c *stopping) tick(ctx context.Context, s *session, now time.Time) {
	switch {
	case c.began.IsZero() || c.forced:
	case now.Sub(c.began) >= s.options.CancelTime:
		c.forced = true
		s.abort("the agent did not end its turn when asked to")
	case !c.told.IsZero() && now.Sub(c.told) >= remindTime:
		c.told = now
		s.cancel(ctx)
	}
}

// clear makes sure, after a turn that was ended from outside, that nothing of it
// continues. An agent that left tools open may have left their processes running:
// it is ended with its whole tree, and the next turn continues its session in a
// new process. An agent that could not do that keeps running.
func (t *turn) clear(ctx context.Context, e *end) {
	if e.agent == nil || e.agent.over() || !t.known.leftOpen {
		return
	}
	if !e.agent.can.remembers() {
		t.event(lineshaft.EventNotice, lineshaft.NoticeData{Level: "warning", Text: "The interrupted turn may have left processes running: the agent cannot be started again without losing the conversation. They end with the execution."})
		return
	}
	e.agent.kill("restarted after an interrupt")
	for !e.agent.over() {
		select {
		case <-t.session.queue.more:
			t.drain(ctx)
		case <-e.agent.gone:
		}
	}
	t.drain(ctx)
}

// result is the result of a turn that ended on its own.
func (s *session) result(t *turn, e *end) (lineshaft.TurnResult, error) {
	if e.err != nil {
		return s.failure(e)
	}
	failed := func(message string) (lineshaft.TurnResult, error) {
		return lineshaft.TurnResult{State: lineshaft.Failed, Code: lineshaft.CodeAgentProcessFailed, Message: message}, nil
	}
	switch sdk.StopReason(e.answer.StopReason) {
	case sdk.StopReasonEndTurn:
		return lineshaft.TurnResult{State: lineshaft.Succeeded}, nil
	case sdk.StopReasonMaxTokens:
		return failed("the model reached its limit of tokens; send a follow-up to let the agent continue, or give it a smaller task")
	case sdk.StopReasonMaxTurnRequests:
		return failed("the agent reached its limit of model requests for one turn; send a follow-up to let it continue")
	case sdk.StopReasonRefusal:
		return failed("the agent refused to continue; what it said before is in the session log")
	case sdk.StopReasonCancelled:
		if t.denied {
			return failed("the agent stopped because a permission was denied")
		}
		return lineshaft.TurnResult{State: lineshaft.Cancelled, Message: "the agent cancelled its turn"}, nil
	}
	return failed(fmt.Sprintf("the agent ended its turn for the reason %q, which is unknown here", clip(e.answer.StopReason, 60)))
}

// failure is what an error means for the run.
func (s *session) failure(e *end) (lineshaft.TurnResult, error) {
	if public, ok := errors.AsType[*lineshaft.Error](e.err); ok {
		return lineshaft.TurnResult{}, public
	}
	var message string
	problem, isProblem := errors.AsType[*sdk.RequestError](e.err)
	switch {
	case e.agent != nil && e.agent.over():
		if e.agent.exit.Reason == sandbox.ReasonStarved {
			return lineshaft.TurnResult{}, harness.ErrStarved
		}
		if e.agent.err != nil {
			return lineshaft.TurnResult{}, fmt.Errorf("run agent: %w", e.agent.err)
		}
		message = e.agent.why(s.launch.command[0])
	case isProblem && problem.Code == authRequired:
		message = "the agent has no valid key for its model (" + describe(problem) + "): " + preset.KeyHint(s.launch.form.name)
	case isProblem:
		message = "the agent answered with an error: " + describe(problem)
	default:
		return lineshaft.TurnResult{}, fmt.Errorf("run agent: %w", e.err)
	}
	return lineshaft.TurnResult{
		State: lineshaft.Failed, Code: lineshaft.CodeAgentProcessFailed, Message: s.env.Mask().String(message),
		Dead: e.agent.over() && e.agent.session == "", // it never worked, so it never will
	}, nil
}

func describe(err error) string {
	problem, ok := errors.AsType[*sdk.RequestError](err)
	if !ok {
		return clip(err.Error(), maxMessage)
	}
	text := problem.Message
	if more := detail(problem.Data); more != "" && more != text {
		text += ": " + more
	}
	return clip(fmt.Sprintf("%s (code %d)", clip(text, maxMessage), problem.Code), maxMessage+20)
}

// detail is the text in the data of an error, which agents put under various names.
func detail(data any) string {
	if text, ok := data.(string); ok {
		return text
	}
	if fields, ok := data.(map[string]any); ok {
		for _, key := range []string{"details", "message", "error"} {
			if text, ok := fields[key].(string); ok && text != "" {
				return text
			}
		}
	}
	raw, err := json.Marshal(data)
	if err != nil || data == nil {
		return ""
	}
	return string(raw)
}

// maxMessage is the longest message of an agent that becomes part of one of ours.
const maxMessage = 1000

// clip shortens a text to n bytes or less, at a character.
func clip(text string, n int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= n {
		return text
	}
	return lineshaft.CutBytes(text, n) + "…"
}
