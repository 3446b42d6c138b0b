package remote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

// Config sets up a Client.
type Config struct {
	// Server is the address of the server, such as https://lineshaft.example.com.
	Server string
	// Key is an API key of role worker or admin.
	Key string
	// Host is the id that runs are addressed to, Process the id of this process: the
	// host, a slash, and a word that no other process has.
	Host, Process string
	// Version is that of this program.
	Version string
	// Labels are what the worker says about its machine, each KEY=VALUE.
	Labels []string
	// HTTP sends the requests; nil is one that suits long polls.
	HTTP *http.Client
	// Away is told when the server stops answering, with the reason, and with nil when
	// it answers again. Calls are one after the other. Nil is nobody.
	Away func(reason error)
}

// The time that one request gets. What is not answered by then is asked again by the
// worker; a long poll has its wait on top.
const (
	callTime = 30 * time.Second
	pollTime = workerwire.LongPoll + 15*time.Second
	// idleTime is how long an upload or a download may stand still.
	idleTime = 60 * time.Second
)

// Client is the control plane of one worker process. Its methods may be called at the
// same time.
type Client struct {
	config Config
	base   string
	http   *http.Client

	mu sync.Mutex
	// known are the executions that were given and have not ended.
	known map[string]bool
	away  bool
	// denied is the last refusal of the key; nil once it is taken again.
	denied error
}

// New makes a client. Nothing is sent yet.
func New(config Config) (*Client, error) {
	u, err := url.Parse(config.Server)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return nil, fmt.Errorf("%q is not the address of a server; write a whole URL, such as https://lineshaft.example.com", config.Server)
	}
	if config.Away == nil {
		config.Away = func(error) {}
	}
	c := &Client{config: config, base: strings.TrimRight(config.Server, "/") + "/api/v1", http: config.HTTP, known: map[string]bool{}}
	if c.http == nil {
		c.http = NewHTTPClient(nil)
	}
	return c, nil
}

// NewHTTPClient is what suits a worker: connections are kept, HTTP/2 is spoken where
// the server does, the proxy of the environment is used, and redirects are refused,
// since they would carry the key elsewhere. Nil is the default transport.
func NewHTTPClient(base *http.Transport) *http.Client {
	if base == nil {
		base, _ = http.DefaultTransport.(*http.Transport)
	}
	transport := base.Clone()
	// Claims and directives each hold a connection of HTTP/1.1 for most of the time.
	transport.MaxIdleConnsPerHost = 16
	transport.ExpectContinueTimeout = 2 * time.Second
	// A connection of HTTP/2 that a cut has killed would swallow heartbeats for minutes.
	transport.HTTP2 = &http.HTTP2Config{SendPingTimeout: 5 * time.Second, PingTimeout: 5 * time.Second}
	return &http.Client{
		Transport:     transport,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
}

// Welcome is what the server said at the beginning.
type Welcome struct {
	// Version is that of the server.
	Version string
	// Ended is how many executions of an earlier life of this process were given up.
	Ended int
}

// Connect says that this process has just started and holds nothing. Call it before
// the worker claims, and after everything of an earlier process has ended.
func (c *Client) Connect(ctx context.Context) (Welcome, error) {
	var out workerwire.ConnectAnswer
	err := c.call(ctx, callTime, workerwire.PathConnect, workerwire.ConnectRequest{Process: c.process(), Version: c.config.Version, Protocol: workerwire.Protocol}, &out)
	return Welcome(out), err
}

// Claim implements worker.Control.
//
// When a lease began cannot be told across a network: the answer may have taken any
// time. So a job arrives as one whose heartbeat is due: the worker sends that before
// it starts a process under the lease, and counts from when it was sent.
func (c *Client) Claim(ctx context.Context, req lineshaft.ClaimRequest) ([]lineshaft.Job, error) {
	var out workerwire.ClaimAnswer
	err := c.call(ctx, pollTime, workerwire.PathClaim, workerwire.ClaimRequest{
		Process: c.process(), Version: c.config.Version, Limit: req.Limit, Capacity: req.Capacity, Labels: c.config.Labels, Known: c.knownIDs(),
	}, &out)
	if err != nil {
		return nil, err
	}
	jobs := make([]lineshaft.Job, len(out.Jobs))
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, job := range out.Jobs {
		jobs[i] = job.Job()
		jobs[i].Granted = time.Now().Add(-jobs[i].Lease/3 - time.Millisecond)
		c.known[job.ExecutionID] = true
	}
	return jobs, nil
}

func (c *Client) knownIDs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.AppendSeq(make([]string, 0, len(c.known)), maps.Keys(c.known)) // never null
}

func (c *Client) forget(executionID string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.known, executionID)
}

// Heartbeat implements worker.Control.
func (c *Client) Heartbeat(ctx context.Context, _ string, held []lineshaft.ExecutionRef) ([]lineshaft.Directive, error) {
	in := workerwire.HeartbeatRequest{Process: c.process(), Held: append([]lineshaft.ExecutionRef{}, held...)} // never null
	return c.directives(ctx, callTime, workerwire.PathHeartbeat, in)
}

// Directives implements worker.Control.
func (c *Client) Directives(ctx context.Context, _ string) ([]lineshaft.Directive, error) {
	return c.directives(ctx, pollTime, workerwire.PathDirectives, workerwire.DirectivesRequest{Process: c.process()})
}

func (c *Client) directives(ctx context.Context, within time.Duration, path string, in any) ([]lineshaft.Directive, error) {
	var out workerwire.DirectivesAnswer
	err := c.call(ctx, within, path, in, &out)
	return out.Directives, err
}

// Report implements worker.Control.
func (c *Client) Report(ctx context.Context, reports []lineshaft.Report) ([]error, error) {
	in := workerwire.ReportRequest{Process: c.process(), Reports: make([]workerwire.Report, len(reports))}
	for i, r := range reports {
		in.Reports[i] = workerwire.ReportOf(r)
	}
	var out workerwire.ReportAnswer
	if err := c.call(ctx, callTime, workerwire.PathReport, in, &out); err != nil {
		return nil, err
	}
	if len(out.Errors) != len(reports) {
		return nil, fmt.Errorf("report: %d answers for %d reports", len(out.Errors), len(reports))
	}
	answers := make([]error, len(reports))
	for i, refused := range out.Errors {
		answers[i] = refused.Err()
		if lineshaft.CodeOf(answers[i]) == lineshaft.CodeConflict {
			c.forget(reports[i].ExecutionID)
		}
	}
	return answers, nil
}

// EndTurn implements worker.Control.
func (c *Client) EndTurn(ctx context.Context, ref lineshaft.ExecutionRef, result lineshaft.TurnResult) (*lineshaft.Turn, error) {
	var out workerwire.EndTurnAnswer
	err := c.call(ctx, callTime, workerwire.PathEndTurn, workerwire.EndTurnRequest{
		Process: c.process(), ExecutionRef: ref, Result: result,
	}, &out)
	if err != nil {
		if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
			c.forget(ref.ExecutionID)
		}
		return nil, err
	}
	if out.Next == nil {
		if result.State != lineshaft.Blocked { // a question without its answer ends nothing
			c.forget(ref.ExecutionID)
		}
		return nil, nil
	}
	return out.Next, nil
}

// TakeOver makes this process the one that works on an execution; the number is that
// of the last event that was reported before.
func (c *Client) TakeOver(ctx context.Context, ref lineshaft.ExecutionRef, _ string, back bool) (lastEvent int64, err error) {
	c.mu.Lock()
	c.known[ref.ExecutionID] = true // else a claim would give it up
	c.mu.Unlock()
	var out workerwire.TakeOverAnswer
	err = c.call(ctx, callTime, workerwire.PathTakeOver, workerwire.TakeOverRequest{Process: c.process(), ExecutionRef: ref, Back: back}, &out)
	if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
		c.forget(ref.ExecutionID)
	}
	return out.LastEvent, err
}

// Leave takes the process off the list of connected workers.
func (c *Client) Leave(ctx context.Context) error {
	return c.call(ctx, callTime, workerwire.PathLeave, workerwire.LeaveRequest{Process: c.process()}, &workerwire.LeaveAnswer{})
}

func (c *Client) process() workerwire.Process {
	return workerwire.Process{Host: c.config.Host, ID: c.config.Process}
}

// noted tells Away when the server's answering changes. That the caller stopped waiting
// for the answer says nothing about the server.
func (c *Client) noted(ctx context.Context, err error) {
	outage, ok := errors.AsType[*outageError](err)
	if ok && errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	switch code := lineshaft.CodeOf(err); {
	case err == nil:
		c.denied = nil
	case !ok && (code == lineshaft.CodeAuthenticationRequired || code == lineshaft.CodeNotAuthorized):
		c.denied = err
	}
	if ok == c.away {
		return
	}
	if c.away = ok; ok {
		c.config.Away(outage)
	} else {
		c.config.Away(nil)
	}
}

// Denied is why the server does not take the key any more; nil while it does.
func (c *Client) Denied() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.denied
}
