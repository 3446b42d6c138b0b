package acp

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

// session is a harness.Session.
type session struct {
	// ctx is that of Open: the process lives as long, over all turns.
	ctx     context.Context
	options Options
	env     harness.Environment
	launch  *launch
	queue   *queue
	running sync.WaitGroup
	open    atomic.Int64 // questions to people
	tooMany sync.Once    // for the notice about them

	// known is what was reported about tools and costs over all turns. Only the turn uses it.
	known *record

	mu    sync.Mutex
	agent *agent // the present one, alive or not; nil before the first
	// id is the protocol's session that a new process must continue, cost what it
	// had cost, since when it began. The driver has them while it sets up, else the turn.
	id    string
	cost  float64
	since time.Time
	// noted says that people know how the agent asks. It belongs to the driver, as does lost: the
	// agent has no session of what came before.
	noted, lost bool
	// phase is how far the driver of the present prompt is.
	phase phase
	// stopSetup ends the driver's work before the prompt.
	stopSetup context.CancelCauseFunc
}

// phase is the state of a driver.
type phase int

const (
	idle      phase = iota
	settingUp       // starting and connecting
	prompting       // the agent has the prompt
	stopped         // it must not get it any more
)

// end is how a prompt ended.
type end struct {
	answer promptAnswer
	err    error
	agent  *agent
}

func newSession(ctx context.Context, options Options, env harness.Environment, l *launch) *session {
	return &session{ctx: ctx, options: options, env: env, launch: l, queue: newQueue(), known: newRecord(l.form)}
}

// Close ends the agent.
func (s *session) Close(context.Context) error {
	s.queue.close()
	s.mu.Lock()
	a := s.agent
	s.mu.Unlock()
	if a != nil {
		a.part()
	}
	s.running.Wait()
	if a != nil && a.err != nil && s.ctx.Err() == nil {
		return fmt.Errorf("close agent: %w", a.err)
	}
	return nil
}

// prompt lets a goroutine give a text to the agent; its end comes with the queue.
func (s *session) prompt(text string) {
	ctx, cancel := context.WithCancelCause(s.ctx)
	s.mu.Lock()
	s.phase, s.stopSetup = settingUp, cancel
	s.mu.Unlock()
	s.running.Go(func() {
		defer cancel(nil)
		e := s.drive(ctx, text)
		s.mu.Lock()
		s.phase = idle
		s.mu.Unlock()
		s.queue.put(item{end: &e})
	})
}

// drive takes a prompt to its end.
func (s *session) drive(ctx context.Context, text string) end {
	a, err := s.ready(ctx)
	if err != nil {
		return end{err: err, agent: a}
	}
	if s.lost {
		var notice string
		text, notice = s.env.Recall(ctx, text)
		s.notice("info", notice)
		s.lost = false
	}
	s.mu.Lock()
	if s.phase == stopped {
		s.mu.Unlock()
		return end{err: context.Cause(ctx), agent: a}
	}
	s.phase = prompting
	s.mu.Unlock()
	// A turn is cancelled by a message, not by giving up its answer; and a process
	// that is gone ends the call in any case.
	answer, err := sdk.SendRequest[promptAnswer](a.conn, context.WithoutCancel(ctx), sdk.AgentMethodSessionPrompt, sdk.PromptRequest{
		SessionId: sdk.SessionId(a.session), Prompt: []sdk.ContentBlock{sdk.TextBlock(text)},
	})
	return end{answer: answer, err: s.settle(a, err), agent: a}
}

// settle waits for the end of a process whose connection is cut, so that the
// error can say how it ended.
func (s *session) settle(a *agent, err error) error {
	if err == nil {
		return nil
	}
	select {
	case <-a.conn.Done():
		<-a.gone
		return errGone
	default:
		return err
	}
}

// errGone says that the process has ended.
var errGone = errors.New("the agent has ended")

// ready returns an agent that can take a prompt. After a process that ended, a new
// one continues its session.
func (s *session) ready(ctx context.Context) (*agent, error) {
	s.mu.Lock()
	a := s.agent
	s.mu.Unlock()
	if a == nil || a.over() {
		if a != nil && a.session == "" {
			return a, errGone // it never worked: say how it ended
		}
		var err error
		if a, err = s.start(ctx); err != nil {
			return nil, err
		}
	}
	if a.session != "" {
		return a, nil
	}
	if err := s.connect(ctx, a); err != nil {
		if ctx.Err() != nil {
			return a, context.Cause(ctx)
		}
		return a, s.settle(a, err)
	}
	return a, nil
}

// stop begins to end the present prompt and says whether the agent must be notified:
// it has the prompt.
func (s *session) stop(cause error) (tell bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.phase == settingUp {
		s.phase = stopped
		s.stopSetup(cause)
	}
	return s.phase == prompting
}

// cancel asks the agent to end its turn. An agent that does not read its input
// must not hold us up.
func (s *session) cancel(ctx context.Context) {
	s.mu.Lock()
	a := s.agent
	s.mu.Unlock()
	if a == nil {
		return
	}
	s.running.Go(func() {
		_ = a.conn.SendNotification(context.WithoutCancel(ctx), sdk.AgentMethodSessionCancel, sdk.CancelNotification{SessionId: sdk.SessionId(a.session)})
	})
}

func (s *session) abort(why string) {
	s.mu.Lock()
	a := s.agent
	s.mu.Unlock()
	if a != nil {
		a.kill(why)
	}
}

// Turn does one turn.
func (s *session) Turn(ctx context.Context, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	t := newTurn(s, emit)
	defer t.close()
	s.prompt(s.env.Prompt(turn)) //nolint:contextcheck // what ends the turn does not end the call of the agent
	last := t.run(ctx)
	t.finish(ctx.Err() != nil || last.err != nil)
	t.usage(last.answer)
	if ctx.Err() != nil {
		t.clear(ctx, last)
		return lineshaft.TurnResult{}, context.Cause(ctx)
	}
	return s.result(t, last)
}
