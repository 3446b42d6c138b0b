package web

import (
	"net/http"
	"slices"
	"strconv"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
)

const (
	// windowEvents and windowBytes bound the stretch of a log that one page carries;
	// the stream and links bring the rest.
	windowEvents = 300
	windowBytes  = 256 << 10
)

func (s *server) runRoutes() []route {
	return []route{
		{"GET /runs/{id}", lineshaft.PermissionRunsRead, s.inTurn(s.runPage)},
		{"GET /runs/{id}/items", lineshaft.PermissionRunsRead, s.inTurn(s.runItems)},
		{"GET /runs/{id}/events", lineshaft.PermissionRunsRead, s.runEvents},
		{"GET /runs/{id}/log", lineshaft.PermissionRunsRead, s.runLog},
		{"GET /runs/{id}/artifacts/{uid}", lineshaft.PermissionRunsRead, s.artifactContent},
		{"GET /runs/{id}/attachments/{uid}", lineshaft.PermissionRunsRead, s.attachmentContent},
		{"POST /runs/{id}/followups", lineshaft.PermissionRunsStart, s.followup},
		{"POST /runs/{id}/interrupt", lineshaft.PermissionRunsStart, s.interrupt},
		{"POST /runs/{id}/cancel", lineshaft.PermissionRunsStart, s.cancel},
		{"POST /runs/{id}/rerun", lineshaft.PermissionRunsStart, s.rerun},
	}
}

// runData is the page of a run.
type runData struct {
	runLive

	Fixed  runFixed
	Window window
	Items  []item
	// Message is what was typed into a follow-up that is shown again.
	Message string
}

// window is the stretch of a log that a page carries.
type window struct {
	// First and Last are the sequences of its ends; zero when it is empty.
	First, Last int64
	// Earlier is where the stretch before begins to be read from; zero at the start.
	Earlier int64
	// Later is the same for the stretch after; only pages about the past have it.
	Later int64
	// Follow says that the page goes on with what comes.
	Follow bool
}

func (s *server) runPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	p, err := s.runPageOf(r, c)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "run", p)
}

func (s *server) runPageOf(r *http.Request, c lineshaft.Caller) (page, error) {
	run, err := s.Control.GetRun(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return page{}, err
	}
	events, win, err := s.window(r, c, run)
	if err != nil {
		return page{}, err
	}
	if win.Follow {
		catchUp(run, events)
	}
	data := runData{Window: win, Items: s.stretch(c, run, events, win)}
	if data.runLive, err = s.runLive(r.Context(), c, run); err != nil {
		return page{}, err
	}
	if data.Fixed, err = s.runFixed(r.Context(), c, run); err != nil {
		return page{}, err
	}
	return page{Title: run.Title, Section: "runs", Crumbs: []crumb{{"Runs", "/runs"}}, Data: data}, nil
}

// window reads the newest stretch of a log, or with ?before the one before that.
func (s *server) window(r *http.Request, c lineshaft.Caller, run *lineshaft.Run) ([]lineshaft.Event, window, error) {
	end, past := run.LastSequence, false
	if text := r.FormValue("before"); text != "" {
		before, err := strconv.ParseInt(text, 10, 64)
		if err != nil || before < 1 {
			return nil, window{}, lineshaft.Invalid("before", "not a sequence number")
		}
		if before <= end {
			end, past = before-1, true
		}
	}
	read, err := s.Control.EventsBefore(r.Context(), c, run.ID, end+1, windowEvents)
	if err != nil {
		return nil, window{}, err
	}
	events := newest(read)
	win := window{Follow: !past}
	if len(events) > 0 {
		win.First, win.Last = events[0].Sequence, events[len(events)-1].Sequence
	}
	if win.First > 1 {
		win.Earlier = win.First
	}
	if past {
		win.Later = min(end+windowEvents, run.LastSequence) + 1
	}
	return events, win, nil
}

// newest leaves out the first events where all together are too much for a page.
func newest(events []lineshaft.Event) []lineshaft.Event {
	size := 0
	for i, e := range slices.Backward(events) {
		if size += len(e.Data); size > windowBytes && i < len(events)-1 {
			return events[i+1:]
		}
	}
	return events
}

// runItems is a stretch of the transcript alone, for a page that has another one.
func (s *server) runItems(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	run, err := s.Control.GetRun(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	events, win, err := s.window(r, c, run)
	if err != nil {
		return err
	}
	return s.fragment(w, r, "run", "items", s.stretch(c, run, events, win))
}

// stretch makes the items of a window. A call without a result in an earlier one may
// have got it later: of an execution that is over it is not said to be running.
func (s *server) stretch(c lineshaft.Caller, run *lineshaft.Run, events []lineshaft.Event, win window) []item {
	items := s.transcribe(run.ID, runs.MayChange(c, run), events)
	if win.Follow || !run.State.Terminal() && run.State != lineshaft.Queued {
		return items
	}
	for _, i := range items {
		if i.Tool != nil && i.Tool.State == lineshaft.ToolRunning {
			i.Tool.State = ""
		}
	}
	return items
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
