package worker

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/iotest"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
)

// The test binary is also the supervisor of agents, and a worker that a test stops.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "frozen" {
		os.Exit(frozen(os.Args[2], os.Args[3], os.Args[4]))
	}
	if code, ok := harnesstest.Supervise(context.Background()); ok {
		os.Exit(code)
	}
	goleak.VerifyTestMain(m)
}

const testLease = 30 * time.Second

var errOutage = errors.New("control plane is away")

// fakeControl is a control plane in memory. Everything the worker does is
// recorded; fail and hold say how it misbehaves.
type fakeControl struct {
	t          *testing.T
	jobs       chan lineshaft.Job
	directives chan lineshaft.Directive
	// fail is asked before every call; an error is the answer.
	fail func(method string) error
	// order wants no output before the execution has started.
	order bool
	// lose is asked after every call has done its work; an error is the answer.
	lose func(method string) error

	mu      sync.Mutex
	changed chan struct{}
	limits  []int // of the claims
	beats   [][]string
	calls   []string
	runs    map[string]*fakeRun
	blobs   map[string][]byte
	cut     int // which of the next downloads is cut
}

// fakeRun is what the control plane knows of an execution.
type fakeRun struct {
	events  []lineshaft.Draft
	marks   []string
	results []lineshaft.TurnResult
	next    []lineshaft.Turn
	at      *lineshaft.Turn // the follow-up that was given last
	// asks are the questions, and answers those to come, one for each question.
	asks    []string
	answers []lineshaft.Turn
	uploads []lineshaft.Upload
	// answer is the answer to its reports.
	answer  error
	reports int
}

func newControl(t *testing.T) *fakeControl {
	return &fakeControl{
		t: t, jobs: make(chan lineshaft.Job, 100), directives: make(chan lineshaft.Directive, 1000), changed: make(chan struct{}),
		fail: func(string) error { return nil }, lose: func(string) error { return nil },
		runs: map[string]*fakeRun{}, blobs: map[string][]byte{},
	}
}

// lock gives what is known of an execution, with the lock held; the returned
// function gives it back and wakes those who await something.
func (c *fakeControl) lock(id string) (*fakeRun, func()) {
	c.mu.Lock()
	if c.runs[id] == nil {
		c.runs[id] = &fakeRun{}
	}
	return c.runs[id], func() {
		close(c.changed)
		c.changed = make(chan struct{})
		c.mu.Unlock()
	}
}

func (c *fakeControl) called(method string) error {
	_, unlock := c.lock("")
	c.calls = append(c.calls, method)
	unlock()
	return c.fail(method)
}

func (c *fakeControl) Claim(ctx context.Context, req lineshaft.ClaimRequest) ([]lineshaft.Job, error) {
	if err := c.called("Claim"); err != nil {
		return nil, err
	}
	_, unlock := c.lock("")
	c.limits = append(c.limits, req.Limit)
	unlock()
	timeout := time.NewTimer(20 * time.Second)
	defer timeout.Stop()
	var jobs []lineshaft.Job
	select {
	case job := <-c.jobs:
		jobs = append(jobs, job)
	case <-timeout.C:
		return nil, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	for len(jobs) < req.Limit && len(c.jobs) > 0 {
		jobs = append(jobs, <-c.jobs)
	}
	return jobs, c.lose("Claim")
}

func (c *fakeControl) Heartbeat(_ context.Context, _ string, held []lineshaft.ExecutionRef) ([]lineshaft.Directive, error) {
	if err := c.called("Heartbeat"); err != nil {
		return nil, err
	}
	_, unlock := c.lock("")
	defer unlock()
	var ids []string
	for _, ref := range held {
		ids = append(ids, ref.ExecutionID)
		if ref.Token != "token-"+ref.ExecutionID {
			c.t.Errorf("heartbeat of %s with token %q", ref.ExecutionID, ref.Token)
		}
	}
	slices.Sort(ids)
	c.beats = append(c.beats, ids)
	var directives []lineshaft.Directive
	for _, id := range ids {
		if run := c.runs[id]; run != nil && len(run.next) > 0 {
			directives = append(directives, lineshaft.Directive{ExecutionID: id, Kind: lineshaft.DirectiveFollowup})
		}
	}
	return directives, c.lose("Heartbeat")
}

func (c *fakeControl) Directives(ctx context.Context, _ string) ([]lineshaft.Directive, error) {
	timeout := time.NewTimer(20 * time.Second)
	defer timeout.Stop()
	select {
	case d := <-c.directives:
		return []lineshaft.Directive{d}, nil
	case <-timeout.C:
		return nil, c.fail("Directives")
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (c *fakeControl) Report(_ context.Context, reports []lineshaft.Report) ([]error, error) {
	if err := c.called("Report"); err != nil {
		return nil, err
	}
	answers := make([]error, len(reports))
	for i, r := range reports {
		answers[i] = c.take(r)
	}
	return answers, c.lose("Report")
}

// take numbers events like the real one: what it has is skipped, a hole is an error.
func (c *fakeControl) take(r lineshaft.Report) error {
	run, unlock := c.lock(r.ExecutionID)
	defer unlock()
	run.reports++
	if run.answer != nil {
		return run.answer
	}
	have := int64(len(run.events))
	if r.First > have+1 {
		c.t.Errorf("report of %s begins with %d, %d are here", r.ExecutionID, r.First, have)
	}
	for i, draft := range r.Events {
		if c.order && draft.Type == lineshaft.EventOutput && !r.Started && len(run.marks) == 0 {
			c.t.Errorf("output of %s before it started", r.ExecutionID)
		}
		if r.First+int64(i) > have {
			run.events = append(run.events, draft)
		}
	}
	for name, told := range map[string]bool{"started": r.Started, "blocked": r.Blocked, "unblocked": r.Unblocked} {
		if told {
			run.marks = append(run.marks, name)
		}
	}
	return nil
}

func (c *fakeControl) EndTurn(_ context.Context, ref lineshaft.ExecutionRef, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	if err := c.called("EndTurn"); err != nil {
		return nil, err
	}
	run, unlock := c.lock(ref.ExecutionID)
	defer unlock()
	if result.State == lineshaft.Blocked {
		return run.answerTo(result), c.lose("EndTurn")
	}
	if at := run.at; at != nil && result.Turn != "" && at.Name() != result.Turn {
		return at, c.lose("EndTurn") // sent again
	}
	run.results = append(run.results, result)
	if len(run.next) == 0 || result.Dead {
		return nil, c.lose("EndTurn")
	}
	run.at, run.next = &run.next[0], run.next[1:]
	return run.at, c.lose("EndTurn")
}

// answerTo gives the answer to a question, again if it was given before.
func (r *fakeRun) answerTo(result lineshaft.TurnResult) *lineshaft.Turn {
	name := result.Turn + " " + result.Ask
	if n := len(r.asks); n == 0 || r.asks[n-1] != name {
		r.asks = append(r.asks, name)
	}
	if len(r.answers) < len(r.asks) {
		return nil
	}
	return &r.answers[len(r.asks)-1]
}

func (c *fakeControl) Upload(_ context.Context, ref lineshaft.ExecutionRef, upload lineshaft.Upload, content io.Reader) (string, error) {
	if err := c.called("Upload " + string(upload.Kind)); err != nil {
		return "", err
	}
	raw, err := io.ReadAll(content)
	if err != nil {
		return "", err
	}
	run, unlock := c.lock(ref.ExecutionID)
	defer unlock()
	run.uploads = append(run.uploads, upload)
	id := fmt.Sprintf("%s-%s-%s", upload.Kind, ref.ExecutionID, upload.FilePath)
	c.blobs[id] = raw
	return id, c.lose("Upload")
}

func (c *fakeControl) Download(_ context.Context, _ lineshaft.ExecutionRef, id string) (io.ReadCloser, error) {
	if err := c.called("Download"); err != nil {
		return nil, err
	}
	_, unlock := c.lock("")
	defer unlock()
	raw, ok := c.blobs[id]
	if !ok {
		return nil, lineshaft.NotFound("blob", id)
	}
	if c.cut > 0 {
		if c.cut--; c.cut == 0 {
			return io.NopCloser(io.MultiReader(bytes.NewReader(raw[:len(raw)/2]), iotest.ErrReader(errors.New("the connection was cut")))), nil
		}
	}
	return io.NopCloser(bytes.NewReader(raw)), nil
}

// cutDownload lets the nth download from now on end in its middle.
func (c *fakeControl) cutDownload(nth int) {
	_, unlock := c.lock("")
	defer unlock()
	c.cut = nth
}

// await blocks until the condition, which is called with the lock held, is met.
func (c *fakeControl) await(what string, met func() bool) {
	c.t.Helper()
	deadline := time.After(2 * time.Hour) // of a bubble
	if !c.inBubble() {
		deadline = time.After(2 * time.Minute)
	}
	for {
		c.mu.Lock()
		ok, changed := met(), c.changed
		c.mu.Unlock()
		if ok {
			return
		}
		select {
		case <-changed:
		case <-deadline:
			c.t.Fatalf("waited in vain for: %s", what)
		}
	}
}

// inBubble distinguishes fake time from real: a bubble begins at the year 2000.
func (c *fakeControl) inBubble() bool { return time.Now().Year() < 2020 }

// ended waits for the n-th result of an execution.
func (c *fakeControl) ended(id string, n int) lineshaft.TurnResult {
	c.t.Helper()
	c.await(fmt.Sprintf("result %d of %s", n, id), func() bool { return c.runs[id] != nil && len(c.runs[id].results) >= n })
	run, unlock := c.lock(id)
	defer unlock()
	return run.results[n-1]
}

// texts are the texts of an execution's events of a type.
func (c *fakeControl) texts(id string, kind lineshaft.EventType) []string {
	run, unlock := c.lock(id)
	defer unlock()
	var out []string
	for _, d := range run.events {
		var data struct {
			Text string `json:"text"`
			URL  string `json:"url"`
		}
		if d.Type == kind && json.Unmarshal(d.Data, &data) == nil {
			out = append(out, data.Text+data.URL)
		}
	}
	return out
}

// marks are what the reports of an execution said besides events.
func (c *fakeControl) marks(id string) string {
	run, unlock := c.lock(id)
	defer unlock()
	return strings.Join(run.marks, " ")
}

func (c *fakeControl) count(method string) int {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := 0
	for _, call := range c.calls {
		if strings.HasPrefix(call, method) {
			n++
		}
	}
	return n
}

func (c *fakeControl) stop(id string) {
	c.directives <- lineshaft.Directive{ExecutionID: id, Kind: lineshaft.DirectiveStop}
}

// job makes one for an execution id.
func job(id, message string) lineshaft.Job {
	return lineshaft.Job{
		ExecutionRef: lineshaft.ExecutionRef{ExecutionID: id, Token: "token-" + id},
		RunID:        "run-" + id, Number: 1, Turn: lineshaft.Turn{Message: message},
		RunToken: harnesstest.Token, Lease: testLease,
	}
}

func number(n int) *int { return &n }

// scripted is an agent in this process: each turn is one call of the function.
type scripted struct {
	turn func(ctx context.Context, env harness.Environment, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error)
}

func (s scripted) Name() string      { return "scripted" }
func (s scripted) WithoutWorkspace() {}

func (s scripted) Open(_ context.Context, env harness.Environment) (harness.Session, error) {
	return scriptedSession{s, env}, nil
}

type scriptedSession struct {
	scripted
	env harness.Environment
}

func (s scriptedSession) Turn(ctx context.Context, turn lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	s.env.Started()
	return s.turn(ctx, s.env, turn, emit)
}

func (s scriptedSession) Close(context.Context) error { return nil }

// done is the result of a good turn.
func done() (lineshaft.TurnResult, error) {
	return lineshaft.TurnResult{State: lineshaft.Succeeded}, nil
}

// untilEnd waits for the end of the turn.
func untilEnd(ctx context.Context, _ harness.Environment, _ lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
	<-ctx.Done()
	return lineshaft.TurnResult{}, context.Cause(ctx)
}

// output is an event of the agent.
func output(text string) lineshaft.Draft {
	return lineshaft.NewDraft(lineshaft.EventOutput, time.Now(), lineshaft.OutputData{Stream: "stdout", Text: text})
}

// begin starts a worker with a scripted agent; the test ends it.
func begin(t *testing.T, c Control, config Config, agent scripted) *Worker {
	t.Helper()
	config.Harnesses = harness.Set{Harnesses: []harness.Harness{agent}, Default: "scripted"}
	return start(t, c, config)
}

func start(t *testing.T, c Control, config Config) *Worker {
	t.Helper()
	config.WorkerID = "w1"
	if config.DataDir == "" {
		config.DataDir = t.TempDir()
	}
	w, err := New(config, c)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		w.config.Drain = -1
		if err := w.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return w
}

// advance lets time pass in a bubble, and what then happens happen.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}
