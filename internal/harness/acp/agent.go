package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

const (
	// partTime is how long an agent gets to end when its input ends: some never do.
	partTime = time.Second
	// killGrace is how long it gets after SIGTERM.
	killGrace = time.Second
	// maxQuestions is how many questions to people an agent may have open.
	maxQuestions = 16
)

// agent is one process and the connection to it.
type agent struct {
	process *sandbox.Process
	conn    *sdk.Connection
	wire    *wire
	stdin   *io.PipeWriter

	// session is the id of the protocol's session, and can what the agent can do.
	// Only the goroutine that connects sets them.
	session string
	can     capabilities

	gone chan struct{} // closed when nothing of the process is left
	exit sandbox.Exit  // set before gone is closed
	err  error         // set before gone is closed

	mu    sync.Mutex
	fault string // why the process was ended by us
}

// start starts the process. All its output goes into the queue of the session, which
// must be read until it is gone.
func (s *session) start(ctx context.Context) (*agent, error) {
	output := s.env.NewOutput(func(d lineshaft.Draft) { s.queue.push(item{draft: &d}) }, "")
	stdinR, stdinW := io.Pipe()
	callsR, callsW := io.Pipe()
	a := &agent{stdin: stdinW, gone: make(chan struct{})}
	a.wire = &wire{queue: s.queue, calls: callsW, noise: output.Stdout(), tooLong: func(harmless bool) { s.tooLong(a, harmless) }, misuse: a.kill}
	a.conn = sdk.NewConnection(s.handle, answers{stdinW, a.wire}, callsR)
	a.conn.SetLogger(slog.New(slog.DiscardHandler)) // it would log whole messages, secrets included

	process, err := s.env.Start(s.ctx, harness.Program{ //nolint:contextcheck // it lives over all turns
		Command: s.launch.command, Env: s.launch.env, Stdin: stdinR, Stdout: a.wire, Stderr: output.Stderr(),
	})
	if err != nil {
		_ = callsW.Close()
		_ = stdinW.Close()
		output.Close()
		if ctx.Err() != nil {
			return nil, context.Cause(ctx)
		}
		return nil, s.launch.startError(err)
	}
	a.runs(process)
	s.mu.Lock()
	s.agent = a
	s.mu.Unlock()
	s.running.Go(func() {
		a.exit, a.err = process.Wait()
		output.Close()
		_ = callsW.Close() // ends the connection
		close(a.gone)
	})
	return a, nil
}

func (a *agent) over() bool {
	select {
	case <-a.gone:
		return true
	default:
		return false
	}
}

// runs notes the process. It may have said something that ends it already.
func (a *agent) runs(process *sandbox.Process) {
	a.mu.Lock()
	a.process = process
	fault := a.fault
	a.mu.Unlock()
	if fault != "" {
		process.Kill(killGrace)
	}
}

// kill ends the process and says why; the first reason counts.
func (a *agent) kill(why string) {
	a.mu.Lock()
	a.fault = cmp.Or(a.fault, why)
	process := a.process
	a.mu.Unlock()
	if process != nil {
		process.Kill(killGrace)
	}
}

// part lets the agent end on its own, and ends it when it does not.
func (a *agent) part() {
	_ = a.stdin.Close()
	timer := time.NewTimer(partTime)
	defer timer.Stop()
	select {
	case <-a.gone:
		return
	case <-timer.C:
	}
	a.process.Kill(killGrace)
	<-a.gone
}

// why says how the process came to its end, once it is gone.
func (a *agent) why(program string) string {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.fault != "" {
		return a.fault
	}
	return "the agent ended before its turn did: " + harness.Describe(program, a.exit)
}

// tooLong is called by the reader for a message that does not fit.
func (s *session) tooLong(a *agent, harmless bool) {
	text := fmt.Sprintf("The agent sent a message of more than %d MB. It was left out.", maxLine>>20+1)
	if !harmless {
		text = fmt.Sprintf("the agent sent a message of more than %d MB that its session cannot do without", maxLine>>20+1)
		a.kill(text)
		return
	}
	s.notice("warning", text)
}

func (s *session) notice(level, text string) {
	d := lineshaft.NewDraft(lineshaft.EventNotice, s.env.Now(), lineshaft.NoticeData{Level: level, Text: s.env.Mask().String(text)})
	s.queue.put(item{draft: &d})
}

// handle answers the requests of the agent. It has no files and terminals of ours.
func (s *session) handle(ctx context.Context, method string, params json.RawMessage) (any, *sdk.RequestError) {
	if method != sdk.ClientMethodSessionRequestPermission {
		return nil, sdk.NewMethodNotFound(method)
	}
	q := newQuestion(params)
	if s.launch.policy == lineshaft.PermissionsAsk {
		// People answer one at a time, and slowly.
		defer s.open.Add(-1)
		if s.open.Add(1) > maxQuestions {
			s.tooMany.Do(func() {
				s.notice("warning", fmt.Sprintf("The agent asked more than %d questions at once. Those beyond are rejected.", maxQuestions))
			})
			return q.refused(), nil
		}
	}
	s.queue.push(item{question: q})
	select {
	case outcome := <-q.outcome:
		return outcome, nil
	case <-ctx.Done():
		return nil, sdk.NewRequestCancelled(nil)
	}
}

// call asks the agent for something other than a turn. An agent that does not
// answer in time is ended: it is of no use any more.
func call[T any](ctx context.Context, s *session, a *agent, within time.Duration, method string, params any) (T, error) {
	ctx, cancel := context.WithTimeoutCause(ctx, within, errSilent)
	defer cancel()
	stop := context.AfterFunc(ctx, func() {
		if errors.Is(context.Cause(ctx), errSilent) {
			a.kill(fmt.Sprintf("the agent did not answer %s within %s; %s may not be an agent of the Agent Client Protocol%s, or wait for a network that it does not have",
				method, within, s.launch.command[0], s.launch.otherMode()))
			return
		}
		a.process.Kill(killGrace)
	})
	defer stop()
	answer, err := sdk.SendRequest[T](a.conn, ctx, method, params)
	if err != nil && ctx.Err() != nil {
		<-a.gone
		return answer, context.Cause(ctx)
	}
	return answer, err
}

// errSilent is the cause when an agent does not answer.
var errSilent = errors.New("the agent did not answer in time")
