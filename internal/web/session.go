package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/stream"
)

const (
	// firstEvents is how much of a log the page itself carries; the stream brings the rest.
	firstEvents = 500
	heartbeat   = 15 * time.Second
	writeWithin = 30 * time.Second
	newestRuns  = 50
	// recheckEvery is how long a stream relies on its key without asking again.
	recheckEvery = time.Second
)

func (s *server) runsPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) {
	found, err := s.Control.ListRuns(r.Context(), c, lineshaft.RunQuery{Sort: lineshaft.SortUpdated, Limit: newestRuns})
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.render(w, r, http.StatusOK, "runs", page{Title: "Runs", Caller: &c, Data: found.Runs})
}

// line is one event as the page shows it.
type line struct {
	Sequence int64
	Time     time.Time
	Type     lineshaft.EventType
	// Kind picks the style: user, assistant, stdout, stderr, state, tool, notice.
	Kind string
	Text string
}

type sessionData struct {
	Run   *lineshaft.Run
	Lines []line
	After int64
	// CanSend and CanCancel say what the reader may do; the rest has no button.
	CanSend   bool
	CanCancel bool
	Live      bool
}

func (s *server) sessionPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) {
	run, err := s.Control.GetRun(r.Context(), c, r.PathValue("id"))
	if err != nil {
		s.fail(w, r, err)
		return
	}
	events, err := s.Control.Events(r.Context(), c, run.ID, 0, firstEvents)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	if !events.More {
		catchUp(run, events.Events)
	}
	data := sessionData{Run: run, Live: events.More || !run.State.Terminal(), CanSend: control.MayChange(c, run), CanCancel: !run.State.Terminal() && control.MayChange(c, run)}
	for _, e := range events.Events {
		data.Lines = append(data.Lines, lineOf(e))
		data.After = e.Sequence
	}
	s.render(w, r, http.StatusOK, "session", page{Title: run.Title, Caller: &c, Data: data})
}

// catchUp moves a run to the last state of its log, which was read after it: what the
// page has of the log already is not told to it again.
func catchUp(run *lineshaft.Run, events []lineshaft.Event) {
	for _, e := range slices.Backward(events) {
		if e.Type != lineshaft.EventState {
			continue
		}
		if told, ok := decode[lineshaft.StateData](e); ok && told.To != run.State {
			run.State, run.Status.Message = told.To, told.Message
		}
		return
	}
}

// lineOf turns an event into text; what it does not know it shows as its data.
func lineOf(e lineshaft.Event) line {
	l := line{Sequence: e.Sequence, Time: e.Time, Type: e.Type, Kind: "notice", Text: string(e.Data)}
	switch e.Type {
	case lineshaft.EventMessage, lineshaft.EventThought:
		if d, ok := decode[lineshaft.MessageData](e); ok {
			l.Kind, l.Text = d.Role, d.Text
		}
	case lineshaft.EventOutput:
		if d, ok := decode[lineshaft.OutputData](e); ok {
			l.Kind, l.Text = d.Stream, d.Text
		}
	case lineshaft.EventState:
		if d, ok := decode[lineshaft.StateData](e); ok {
			l.Kind, l.Text = "state", string(d.To)
			if d.Message != "" {
				l.Text += " — " + d.Message
			}
		}
	case lineshaft.EventNotice:
		if d, ok := decode[lineshaft.NoticeData](e); ok {
			l.Text = d.Text
		}
	case lineshaft.EventToolCall:
		if d, ok := decode[lineshaft.ToolCallData](e); ok {
			l.Kind, l.Text = "tool", d.Name
			if command, ok := d.Input["command"].(string); ok {
				l.Text = "$ " + command
			}
		}
	case lineshaft.EventToolResult:
		if d, ok := decode[lineshaft.ToolResultData](e); ok {
			l.Kind, l.Text = "tool", d.Name+" "+d.State
		}
	case lineshaft.EventArtifact:
		if d, ok := decode[lineshaft.ArtifactData](e); ok {
			l.Text = "artifact " + d.Type + " " + d.FileName + d.URL
		}
	case lineshaft.EventPlan:
		if d, ok := decode[lineshaft.PlanData](e); ok {
			l.Text = planText(d)
		}
	case lineshaft.EventPermission:
		if d, ok := decode[lineshaft.PermissionData](e); ok {
			l.Text = questionText(d)
		}
	case lineshaft.EventUsage:
		if d, ok := decode[lineshaft.UsageData](e); ok {
			l.Text = strings.TrimSpace(fmt.Sprintf("%d tokens in, %d out  %s", d.InputTokens, d.OutputTokens, d.ModelID))
		}
	}
	return l
}

func decode[T any](e lineshaft.Event) (data T, ok bool) {
	return data, json.Unmarshal(e.Data, &data) == nil
}

// sessionEvents streams the lines of a run to its page.
func (s *server) sessionEvents(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) {
	after, err := resumeAfter(r)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	go func() {
		select {
		case <-s.Stopping:
			cancel()
		case <-ctx.Done():
		}
	}()
	follower, err := s.Control.Follow(ctx, c, r.PathValue("id"), after)
	if err != nil {
		s.fail(w, r, err)
		return
	}
	defer follower.Close()
	w.Header().Set("Content-Type", "text/event-stream")
	w.Header().Set("X-Accel-Buffering", "no")
	out := http.NewResponseController(w)
	_ = out.SetReadDeadline(time.Time{}) // nothing more is to be read
	if _, err := io.WriteString(w, "retry: 1000\n\n"); err != nil || out.Flush() != nil {
		return
	}
	for asked := time.Now(); ; {
		items, err := next(ctx, follower)
		if time.Since(asked) > recheckEvery {
			if s.Control.Recheck(ctx, c) != nil {
				return // the browser comes back and is sent to sign in
			}
			asked = time.Now()
		}
		if errors.Is(err, io.EOF) {
			_, _ = io.WriteString(w, "event: end\ndata: {}\n\n")
			return
		}
		if err != nil && !errors.Is(err, context.DeadlineExceeded) {
			return // the reader is gone or the server stops; the browser comes back by itself
		}
		if out.SetWriteDeadline(time.Now().Add(writeWithin)) != nil || writeLines(w, items) != nil || out.Flush() != nil {
			return
		}
	}
}

func next(ctx context.Context, f *stream.Follower) ([]stream.Item, error) {
	ctx, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	return f.Next(ctx)
}

func writeLines(w io.Writer, items []stream.Item) error {
	if len(items) == 0 {
		_, err := io.WriteString(w, ": still here\n\n")
		return err
	}
	for _, item := range items {
		l := lineOf(item.Event)
		raw, err := json.Marshal(map[string]any{"sequence": l.Sequence, "time": clock(l.Time), "kind": l.Kind, "type": l.Type, "text": l.Text})
		if err != nil {
			return err
		}
		if _, err := io.WriteString(w, "id: "+strconv.FormatInt(l.Sequence, 10)+"\ndata: "+string(raw)+"\n\n"); err != nil {
			return err
		}
	}
	return nil
}

func resumeAfter(r *http.Request) (int64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, nil
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil || after < 0 {
		return 0, lineshaft.Invalid("after", "not a sequence number")
	}
	return after, nil
}

func (s *server) followup(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) {
	r.Body = http.MaxBytesReader(w, r.Body, maxForm)
	if !c.Role.May(lineshaft.PermissionRunsStart) {
		s.fail(w, r, lineshaft.Denied("your key may look but not send messages"))
		return
	}
	runID := r.PathValue("id")
	_, err := s.Control.Followup(r.Context(), c, lineshaft.NewFollowup{RunID: runID, Message: r.PostFormValue("message")}, nil)
	s.back(w, r, runID, err)
}

func (s *server) cancel(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) {
	if !c.Role.May(lineshaft.PermissionRunsStart) {
		s.fail(w, r, lineshaft.Denied("your key may look but not cancel runs"))
		return
	}
	runID := r.PathValue("id")
	_, err := s.Control.Cancel(r.Context(), c, runID, false, nil)
	s.back(w, r, runID, err)
}

func (s *server) back(w http.ResponseWriter, r *http.Request, runID string, err error) {
	if err != nil {
		s.fail(w, r, err)
		return
	}
	http.Redirect(w, r, "/runs/"+runID, http.StatusSeeOther)
}
