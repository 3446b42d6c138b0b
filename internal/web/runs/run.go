package runs

import (
	"net/url"
	"slices"
	"strconv"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

const (
	// windowEvents and windowBytes bound the stretch of a log that one page carries;
	// the stream and links bring the rest.
	windowEvents = 300
	windowBytes  = 256 << 10
)

func (s pages) runRoutes() []page.Route {
	return []page.Route{
		page.Get("/runs/{id}", see, page.InTurn(page.Show("run", s.runPage))),
		page.Get("/runs/{id}/items", see, page.InTurn(s.runItems)),
		page.Get("/runs/{id}/events", see, s.runEvents),
		page.Get("/runs/{id}/find", see, page.InTurn(s.runFind)),
		page.Get("/runs/{id}/time", see, page.InTurn(s.runTime)),
		page.Get("/runs/{id}/outline", see, page.InTurn(s.runOutline)),
		page.Get("/runs/{id}/changes", see, page.InTurn(page.Show("runchanges", s.runChangesPage))),
		page.Get("/runs/{id}/compare", see, page.InTurn(page.Show("runcompare", s.runComparePage))),
		page.Get("/runs/{id}/log", see, s.runLog),
		page.Get("/runs/{id}/artifacts/{uid}", see, s.artifactContent),
		page.Get("/runs/{id}/attachments/{uid}", see, s.attachmentContent),
		page.Post("/runs/{id}/followups", start, s.followup),
		page.Post("/runs/{id}/interrupt", start, s.interrupt),
		page.Post("/runs/{id}/cancel", start, s.cancel),
		page.Post("/runs/{id}/rerun", start, s.rerun),
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
	// Find is what is searched for in the log; NotFound says that there is no such text.
	Find     string
	NotFound bool
	// NextMatch leads to the next place that has it.
	NextMatch string
	// Copies are texts that people take elsewhere.
	Copies []origin
}

// window is the stretch of a log that a page carries.
type window struct {
	// First and Last are the sequences of its ends; zero when it is empty.
	First, Last int64
	// Earlier is where the stretch before begins to be read from; zero at the start.
	Earlier int64
	// Later is the same for the stretch after; only pages about the past have it.
	Later int64
	// Follow says that the page continues with new events.
	Follow bool
}

func (s pages) runPage(r *page.Request) (page.Page, error) {
	run, err := s.Control.GetRun(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return page.Page{}, err
	}
	events, win, err := s.window(r, run)
	if err != nil {
		return page.Page{}, err
	}
	if win.Follow {
		catchUp(run, events)
	}
	data := runData{Window: win, Items: s.stretch(r.Caller, run, events, win)}
	if data.Find = r.URL.Query().Get("find"); data.Find != "" {
		data.NotFound = r.URL.Query().Get("none") != ""
		data.NextMatch = page.WithQuery(page.Under("runs", run.ID, "find"), url.Values{"q": {data.Find}, "after": {r.URL.Query().Get("at")}})
	}
	if data.runLive, err = s.runLive(r.Context(), r.Caller, run); err != nil {
		return page.Page{}, err
	}
	if data.Fixed, err = s.runFixed(r.Context(), r.Caller, run); err != nil {
		return page.Page{}, err
	}
	data.Copies = s.copies(run)
	p := page.Below("runs", run.Title, data)
	p.Mark, p.Icon = stateMark(run.State), stateKind(run.State)
	return p, nil
}

// maxCopied bounds the prompt that a page repeats for copying.
const maxCopied = 16 << 10

// copies are what people copy from a run to a shell, a ticket or another run.
func (s pages) copies(run *lineshaft.Run) []origin {
	list := []origin{
		{Label: "Run id", Name: run.ID},
		{Label: "Command", Name: "lineshaft runs logs -f " + run.ID},
		{Label: "Command to run it again", Name: "lineshaft runs rerun " + run.ID},
		{Label: "curl", Name: `curl -H "Authorization: Bearer $LINESHAFT_API_KEY" ` + s.BaseURL + "/api/v1/agent/runs/" + run.ID},
	}
	if run.Prompt != "" && len(run.Prompt) <= maxCopied {
		list = append(list, origin{Label: "Prompt", Name: run.Prompt})
	}
	return list
}

// window reads the newest stretch of a log, with ?before the stretch before that, and with ?at
// the stretch around an event.
func (s pages) window(r *page.Request, run *lineshaft.Run) ([]lineshaft.Event, window, error) {
	if text := r.FormValue("at"); text != "" {
		return s.windowAt(r, run, text)
	}
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
	read, err := s.Control.EventsBefore(r.Context(), r.Caller, run.ID, end+1, windowEvents)
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
	return events, win, err
}

// windowBefore is how many events are shown before the target of a link.
const windowBefore = 20

// windowAt reads the stretch that begins a little before an event.
func (s pages) windowAt(r *page.Request, run *lineshaft.Run, text string) ([]lineshaft.Event, window, error) {
	at, err := strconv.ParseInt(text, 10, 64)
	if err != nil || at < 1 {
		return nil, window{}, lineshaft.Invalid("at", "not a sequence number")
	}
	read, err := s.Control.Events(r.Context(), r.Caller, run.ID, max(0, min(at, run.LastSequence)-windowBefore-1), windowEvents)
	if err != nil {
		return nil, window{}, err
	}
	events, size := read.Events, 0
	for i, e := range events {
		if size += len(e.Data); size > windowBytes && e.Sequence > at {
			events = events[:i]
			break
		}
	}
	win := window{Follow: true}
	if len(events) > 0 {
		win.First, win.Last = events[0].Sequence, events[len(events)-1].Sequence
		win.Follow = win.Last >= run.LastSequence
	}
	if win.First > 1 {
		win.Earlier = win.First
	}
	if !win.Follow {
		win.Later = min(win.Last+windowEvents, run.LastSequence) + 1
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
func (s pages) runItems(r *page.Request) error {
	run, err := s.Control.GetRun(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	events, win, err := s.window(r, run)
	if err != nil {
		return err
	}
	return r.Fragment("run", "items", s.stretch(r.Caller, run, events, win))
}

// stretch makes the items of a window. A call without a result in an earlier window may
// have got it later: if its execution is over, the call is not shown as running.
func (s pages) stretch(c lineshaft.Caller, run *lineshaft.Run, events []lineshaft.Event, win window) []item {
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

// catchUp moves a run to the last state of its log, which was read after it: the
// page does not get again what it has of the log already.
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
