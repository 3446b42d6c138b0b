package api

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
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

// workerBody reads a JSON body. Unlike the published API it takes what no database
// text can hold: control leaves such events out and the others are kept.
func (s *server) workerBody(w http.ResponseWriter, r *http.Request, in any) error {
	conn := http.NewResponseController(w)
	_ = conn.SetReadDeadline(time.Now().Add(s.bodyTimeout)) // not every writer has a connection
	bounds := boundsOf(infoFrom(r.Context()).caller)
	data, err := io.ReadAll(io.LimitReader(r.Body, bounds.bytes+1))
	if err != nil {
		return lineshaft.Invalid("", "the body did not arrive whole")
	}
	if int64(len(data)) > bounds.bytes {
		return bounds.tooLarge
	}
	_ = conn.SetReadDeadline(time.Time{})
	if !workerwire.Within(data, bounds.items, bounds.events) {
		return lineshaft.Invalid("", "at most %d executions and %d events can be told of in one call", bounds.items, bounds.events)
	}
	if err := json.Unmarshal(data, in); err != nil {
		return lineshaft.Invalid("", "the body is not what a worker sends") // the reason could quote it
	}
	return nil
}

// workerRoute registers a handler behind the guard. An error after the first byte
// breaks the answer off.
func (s *server) workerRoute(row route, handler func(http.ResponseWriter, *http.Request) error) {
	s.mux.HandleFunc(row.pattern(), s.guardAs(gate{permission: row.Permission, operationDoc: operationDoc{streamed: true}}, func(w http.ResponseWriter, r *http.Request) {
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
	return s.Control.Remote(infoFrom(ctx).caller, p.Host, p.ID)
}

// checkWorker refuses new work for a worker that is too old or too new. One that has
// begun something may end it.
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
	for _, job := range jobs {
		out.Jobs = append(out.Jobs, workerwire.JobOf(job))
	}
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
			s.Logger.WarnContext(ctx, "hand back did not work; the lease brings the run back", "run_id", job.RunID, "err", err)
		}
	}
}

func (s *server) workerHeartbeat(ctx context.Context, remote *runs.RemoteWorker, in workerwire.HeartbeatRequest) (workerwire.DirectivesAnswer, error) {
	held := make([]lineshaft.ExecutionRef, len(in.Held))
	for i, ref := range in.Held {
		held[i] = ref.ExecutionRef()
	}
	list, err := remote.Heartbeat(ctx, held)
	return directivesAnswer(list), err
}

func (s *server) workerDirectives(ctx context.Context, remote *runs.RemoteWorker, _ workerwire.DirectivesRequest) (workerwire.DirectivesAnswer, error) {
	waiting, cancel := s.untilStopping(ctx)
	defer cancel()
	list, err := remote.Directives(waiting)
	return directivesAnswer(list), s.stoppingInstead(err)
}

func directivesAnswer(list []lineshaft.Directive) workerwire.DirectivesAnswer {
	out := workerwire.DirectivesAnswer{Directives: []workerwire.Directive{}}
	for _, d := range list {
		out.Directives = append(out.Directives, workerwire.Directive(d))
	}
	return out
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
	next, err := remote.EndTurn(ctx, in.ExecutionRef(), lineshaft.TurnResult(in.Result))
	if err != nil || next == nil {
		return workerwire.EndTurnAnswer{}, err
	}
	turn := workerwire.TurnOf(*next)
	return workerwire.EndTurnAnswer{Next: &turn}, nil
}

func (s *server) workerTakeOver(ctx context.Context, remote *runs.RemoteWorker, in workerwire.TakeOverRequest) (workerwire.TakeOverAnswer, error) {
	last, err := remote.TakeOver(ctx, in.ExecutionRef(), in.Back)
	return workerwire.TakeOverAnswer{LastEvent: last}, err
}

func (s *server) workerLeave(ctx context.Context, remote *runs.RemoteWorker, _ workerwire.LeaveRequest) (workerwire.LeaveAnswer, error) {
	return workerwire.LeaveAnswer{}, remote.Leave(ctx)
}

// workerUpload stores the body as it comes. A body that is cut off stores nothing.
func (s *server) workerUpload(w http.ResponseWriter, r *http.Request) error {
	in, err := workerwire.DecodeUpload(r.Header.Get(workerwire.HeaderUpload))
	if err != nil {
		return lineshaft.Invalid(workerwire.HeaderUpload, "%v", err)
	}
	remote, err := s.remote(r.Context(), in.Process)
	if err != nil {
		return err
	}
	blobID, err := remote.Upload(r.Context(), in.ExecutionRef(), in.Upload(), &slowBody{body: r.Body, conn: http.NewResponseController(w), idle: s.bodyTimeout})
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
	content, err := remote.Download(r.Context(), in.ExecutionRef(), in.BlobID)
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

// untilStopping is a context that ends when the server stops, too.
func (s *server) untilStopping(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	if s.Stopping == nil {
		return ctx, cancel
	}
	over := make(chan struct{})
	go func() {
		select {
		case <-s.Stopping:
			cancel()
		case <-over:
		}
	}()
	return ctx, func() { close(over); cancel() }
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
