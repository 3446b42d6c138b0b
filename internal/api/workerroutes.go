package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/rate"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

// worked makes a route of a handler for a self-hosted worker: JSON in and out, for
// the process that the body names. Answers hold secrets, so nothing may keep them.
func worked[I interface{ Caller() workerwire.Process }, O any](handler func(context.Context, *runs.RemoteWorker, I) (O, error)) binder {
	return func(s *server, row route) {
		s.workerRoute(row, func(w http.ResponseWriter, r *http.Request) error {
			var in I
			if err := s.workerBody(w, r, &in); err != nil {
				return err
			}
			remote, err := s.remote(r.Context(), in.Caller())
			if err != nil {
				return err
			}
			out, err := handler(r.Context(), remote, in)
			if err != nil {
				return err
			}
			return json.NewEncoder(w).Encode(out)
		})
	}
}

// workerStream makes a route whose body or answer is the content of a file.
func workerStream(handler func(http.ResponseWriter, *http.Request) error) binder {
	return func(s *server, row route) { s.workerRoute(row, handler) }
}

// workerBody reads a JSON body. Unlike the published API it accepts what no database
// text can hold: control leaves out such events and keeps the others.
func (s *server) workerBody(w http.ResponseWriter, r *http.Request, in any) error {
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(s.bodyTimeout)) // not every writer has a connection
	bounds := boundsOf(infoFrom(r.Context()).caller)
	data, err := io.ReadAll(io.LimitReader(r.Body, bounds.bytes+1))
	if err != nil {
		return lineshaft.Invalid("", "the body did not arrive completely")
	}
	if int64(len(data)) > bounds.bytes {
		return bounds.tooLarge
	}
	_ = conn.SetReadDeadline(time.Time{})
	if !workerwire.Within(data, bounds.items, bounds.events) {
		return lineshaft.Invalid("", "at most %d executions and %d events can be reported in one call", bounds.items, bounds.events)
	}
	if err := json.Unmarshal(data, in); err != nil {
		return lineshaft.Invalid("", "the body is not what a worker sends") // the reason could quote it
	}
	return nil
}

// workerRoute registers a handler behind the guard. An error after the first byte
// breaks the answer off.
func (s *server) workerRoute(row route, handler func(http.ResponseWriter, *http.Request) error) {
	s.mux.HandleFunc(row.pattern(), s.guardAs(gate{permission: row.Permission, operationDoc: operationDoc{Streamed: true}}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Cache-Control", "no-store")
		w.Header().Set("Content-Type", "application/json")
		w.Header().Set(workerwire.HeaderProtocol, strconv.Itoa(workerwire.Protocol))
		err := s.oneOfFew(infoFrom(r.Context()).caller, row.Path, func() error { return handler(w, r) })
		if err == nil {
			return
		}
		if rec := recorderOf(w); rec.status != 0 {
			rec.abort()
			return
		}
		s.problems.Write(w, r, err)
	}))
}

// remote is the control plane for the process that calls.
func (s *server) remote(ctx context.Context, p workerwire.Process) (*runs.RemoteWorker, error) {
	return s.Control.Remote(callerOf(ctx), p.Host, p.ID)
}

// checkWorker refuses new work for a worker that is too old or too new. It may finish
// what it has begun.
func (s *server) checkWorker(version string) error {
	return workerwire.CheckVersions(version, s.Version)
}

func (s *server) workerConnect(ctx context.Context, remote *runs.RemoteWorker, in workerwire.ConnectRequest) (workerwire.ConnectAnswer, error) {
	if err := workerwire.CheckProtocol(in.Protocol); err != nil {
		return workerwire.ConnectAnswer{}, err
	}
	if err := s.checkWorker(in.Version); err != nil {
		return workerwire.ConnectAnswer{}, err
	}
	ended, err := remote.Connect(ctx)
	return workerwire.ConnectAnswer{Version: s.Version, Ended: ended}, err
}

func (s *server) workerClaim(ctx context.Context, remote *runs.RemoteWorker, in workerwire.ClaimRequest) (workerwire.ClaimAnswer, error) {
	out := workerwire.ClaimAnswer{Jobs: []workerwire.Job{}}
	if err := s.checkWorker(in.Version); err != nil {
		return out, err
	}
	waiting, cancel := s.untilStopping(ctx)
	defer cancel()
	jobs, err := remote.Claim(waiting, lineshaft.ClaimRequest{Limit: in.Limit, Capacity: in.Capacity, Version: in.Version, Labels: in.Labels}, in.Known)
	if err != nil {
		return out, s.stoppingInstead(err)
	}
	out.Jobs = each(jobs, func(job *lineshaft.Job) workerwire.Job { return workerwire.JobOf(*job) })
	if ctx.Err() != nil { // nobody hears the answer
		s.handBack(context.WithoutCancel(ctx), remote, jobs)
	}
	return out, nil
}

// handBackTime bounds what is done for a worker that has gone away.
const handBackTime = 10 * time.Second

// handBack returns jobs whose worker did not wait for them.
func (s *server) handBack(ctx context.Context, remote *runs.RemoteWorker, jobs []lineshaft.Job) {
	ctx, cancel := context.WithTimeout(ctx, handBackTime)
	defer cancel()
	for _, job := range jobs {
		_, err := remote.EndTurn(ctx, job.ExecutionRef, lineshaft.TurnResult{State: lineshaft.Queued, Message: "the worker did not get the run", Dead: true})
		if err != nil {
			s.Logger.WarnContext(ctx, "could not hand the run back; it returns when its lease ends", "run_id", job.RunID, "err", err)
		}
	}
}

func (s *server) workerHeartbeat(ctx context.Context, remote *runs.RemoteWorker, in workerwire.HeartbeatRequest) (workerwire.DirectivesAnswer, error) {
	list, err := remote.Heartbeat(ctx, in.Held)
	return workerwire.DirectivesAnswer{Directives: orEmpty(list)}, err
}

func (s *server) workerDirectives(ctx context.Context, remote *runs.RemoteWorker, _ workerwire.DirectivesRequest) (workerwire.DirectivesAnswer, error) {
	waiting, cancel := s.untilStopping(ctx)
	defer cancel()
	list, err := remote.Directives(waiting)
	return workerwire.DirectivesAnswer{Directives: orEmpty(list)}, s.stoppingInstead(err)
}

func (s *server) workerReport(ctx context.Context, remote *runs.RemoteWorker, in workerwire.ReportRequest) (workerwire.ReportAnswer, error) {
	reports := make([]lineshaft.Report, len(in.Reports))
	for i, r := range in.Reports {
		reports[i] = r.Report()
	}
	refused, err := remote.Report(ctx, reports)
	out := workerwire.ReportAnswer{Errors: make([]*workerwire.Error, len(refused))}
	for i, answer := range refused {
		if out.Errors[i] = workerwire.ErrorOf(answer); answer != nil && out.Errors[i].Code == lineshaft.CodeInternal {
			s.Logger.ErrorContext(ctx, "report could not be taken", "execution_id", reports[i].ExecutionID, "err", answer)
		}
	}
	return out, err
}

func (s *server) workerEndTurn(ctx context.Context, remote *runs.RemoteWorker, in workerwire.EndTurnRequest) (workerwire.EndTurnAnswer, error) {
	next, err := remote.EndTurn(ctx, in.ExecutionRef, in.Result)
	return workerwire.EndTurnAnswer{Next: next}, err
}

func (s *server) workerTakeOver(ctx context.Context, remote *runs.RemoteWorker, in workerwire.TakeOverRequest) (workerwire.TakeOverAnswer, error) {
	last, err := remote.TakeOver(ctx, in.ExecutionRef, in.Back)
	return workerwire.TakeOverAnswer{LastEvent: last}, err
}

func (s *server) workerLeave(ctx context.Context, remote *runs.RemoteWorker, _ workerwire.LeaveRequest) (workerwire.LeaveAnswer, error) {
	return workerwire.LeaveAnswer{}, remote.Leave(ctx)
}

// workerUpload stores the body as it comes. It stores nothing of a body that is cut off.
func (s *server) workerUpload(w http.ResponseWriter, r *http.Request) error {
	in, err := workerwire.DecodeUpload(r.Header.Get(workerwire.HeaderUpload))
	if err != nil {
		return lineshaft.Invalid(workerwire.HeaderUpload, "%v", err)
	}
	remote, err := s.remote(r.Context(), in.Process)
	if err != nil {
		return err
	}
	blobID, err := remote.Upload(r.Context(), in.ExecutionRef, in.Upload, &slowBody{body: r.Body, conn: http.NewResponseController(w), idle: s.bodyTimeout})
	if err != nil {
		return err
	}
	return json.NewEncoder(w).Encode(workerwire.UploadAnswer{BlobID: blobID})
}

// slowBody gives a body time for each piece instead of for the whole.
type slowBody struct {
	body io.Reader
	conn *http.ResponseController
	idle time.Duration
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	_ = b.conn.SetReadDeadline(time.Now().Add(b.idle)) // not every writer has a connection
	return b.body.Read(p)
}

func (s *server) workerDownload(w http.ResponseWriter, r *http.Request) error {
	var in workerwire.DownloadRequest
	if err := s.workerBody(w, r, &in); err != nil {
		return err
	}
	remote, err := s.remote(r.Context(), in.Process)
	if err != nil {
		return err
	}
	content, err := remote.Download(r.Context(), in.ExecutionRef, in.BlobID)
	if err != nil {
		return err
	}
	defer func() { _ = content.Close() }()
	w.Header().Set("Content-Type", "application/octet-stream")
	if _, err := io.Copy(w, content); err != nil {
		return fmt.Errorf("send blob: %w", err)
	}
	return nil
}

// untilStopping is a context that also ends when the server stops.
func (s *server) untilStopping(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	leave := context.AfterFunc(s.life, cancel)
	return ctx, func() { leave(); cancel() }
}

// stoppingInstead says that the server stops where that ended a wait.
func (s *server) stoppingInstead(err error) error {
	if err == nil || s.Stopping == nil {
		return err
	}
	select {
	case <-s.Stopping:
		return lineshaft.Unavailable(err, "the server is stopping; ask again")
	default:
		return err
	}
}

// What a run token may do as a worker. The process that an execution was placed in
// calls with it, and so can its agent: the bounds are far above what the process needs,
// and what they leave to the agent does not hurt others.
const (
	// executorRate is how many calls of one kind an execution may make in a minute.
	executorRate = 6000
	// executorCalls is how many calls of one kind may be answered at once.
	executorCalls = 4
	// strangeBody is enough to take an execution over.
	strangeBody = 64 << 10
)

// workerBounds is how much one call of a worker may bring.
type workerBounds struct {
	bytes         int64
	items, events int
	tooLarge      error
}

// boundsOf says what a caller may send. A worker key brings reports of up to as many
// executions as a worker can have slots. The holder of a run token has nothing to
// report unless the run is placed in a process of its own.
func boundsOf(c lineshaft.Caller) workerBounds {
	tooLarge := &lineshaft.Error{Code: lineshaft.CodePayloadTooLarge, Message: fmt.Sprintf("the body has more than %d bytes", largeBody)}
	switch {
	case c.Role != lineshaft.RoleRun:
		return workerBounds{largeBody, 10_000, 200_000, tooLarge}
	case runs.Placed(c):
		return workerBounds{largeBody, 1, 10_000, tooLarge}
	default:
		return workerBounds{strangeBody, 1, 10_000, lineshaft.Conflict("the worker no longer holds this execution; end it and send no more reports")}
	}
}

// checkExecutorRate counts each kind of call separately: what an executor reports too
// often must not hold up its heartbeats.
func (s *server) checkExecutorRate(executionID, path string) error {
	if verdict, _ := s.executors.Take(executionID+" "+path, s.Now()); verdict.Wait > 0 {
		return lineshaft.RateLimited(verdict.Wait, "a run token may make %d calls of a kind per minute; wait %d s", executorRate, rate.Seconds(verdict.Wait))
	}
	return nil
}

// atOnce counts the calls that are being answered.
type atOnce struct {
	mu    sync.Mutex
	calls map[string]int
}

// oneOfFew answers a call of a run token unless too many are being answered.
func (s *server) oneOfFew(c lineshaft.Caller, path string, answer func() error) error {
	if c.Role != lineshaft.RoleRun {
		return answer()
	}
	key := c.KeyID + " " + path
	if !s.atOnce.enter(key) {
		return lineshaft.RateLimited(time.Second, "a run token may make %d calls of a kind at once", executorCalls)
	}
	defer s.atOnce.leave(key)
	return answer()
}

func (a *atOnce) enter(key string) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls[key] >= executorCalls {
		return false
	}
	a.calls[key]++
	return true
}

func (a *atOnce) leave(key string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.calls[key]--; a.calls[key] == 0 {
		delete(a.calls, key)
	}
}
