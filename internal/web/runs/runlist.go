package runs

import (
	"maps"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	controlruns "github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// runsPerPage is how many rows the list has at most, however many runs there are.
const runsPerPage = 50

func (s pages) runListRoutes() []page.Route {
	return []page.Route{
		page.Get("/runs", see, page.InTurn(s.runsPage)),
		page.Get("/runs/rows", see, page.InTurn(s.runRows)),
		page.Get("/runs/export", see, s.exportRuns),
		page.Get("/runs/live", see, s.runsLive),
		page.Get("/runs/new", start, page.Show("newrun", s.newRunPage)),
		page.Post("/runs", start, s.startRun),
		page.Get("/runs/cancel", start, page.InTurn(page.Show("runscancel", s.cancelRunsPage))),
		page.Post("/runs/cancel", start, s.cancelRuns),
	}
}

// runRow is a run as a row of the list shows it.
type runRow struct {
	*lineshaft.Run

	// Factory is its factory's name.
	Factory string
	// Picks says that the list has boxes to pick rows by; Pickable that this row has one.
	Picks, Pickable bool
	// Worked is how long an agent has worked on it; Since is set while one does.
	Worked time.Duration
	Since  time.Time
}

// Agent is who works on it, if that is not who asked for it.
func (r runRow) Agent() string {
	if r.AgentUID == "" {
		return r.Config.Name
	}
	return r.Executor.DisplayName
}

// Why is the status message where the state does not say it all.
func (r runRow) Why() string {
	if r.State == lineshaft.Succeeded || r.State == lineshaft.InProgress {
		return ""
	}
	return r.Status.Message
}

// runListData is what the list shows.
type runListData struct {
	View  runView
	Rows  []runRow
	Chips []filterChip
	// Next is the address of the next page.
	Next string
	// Cursor is the place in the stream of changes from which the page continues.
	Cursor string
	// MayPick says that there are boxes, MayCancelAll that the reader may cancel all that match, and Cancels that
	// runs of this list can be cancelled at all.
	MayPick, MayCancelAll, Cancels bool
	Presets                        []preset
	Options                        runOptions
	Creator                        string
	// Counts are how many runs are in each state that is not final, of a list of nothing else.
	Counts stateCounts
}

// stateCounts are numbers of runs as the chips of their states show them.
type stateCounts map[lineshaft.RunState]string

// mostCounted is how far runs in one state are counted for their chip.
const mostCounted = 100

// countStates counts runs that have not ended, unless the list has other filters than states: the numbers would
// not be its own. What is not counted has an empty text.
func (s pages) countStates(r *page.Request, count bool) (stateCounts, error) {
	counts := stateCounts{}
	for _, state := range lineshaft.RunStates() {
		counts[state] = ""
	}
	if !count {
		return counts, nil
	}
	found, err := s.Control.CountActive(r.Context(), r.Caller, mostCounted)
	for _, one := range found {
		if one.Count > 0 {
			counts[one.State] = page.Count(one.Count)
		}
		if one.Count == mostCounted {
			counts[one.State] += "+"
		}
	}
	return counts, err
}

// Live is the address of the changes to this list.
func (d runListData) Live() string {
	values := url.Values{}
	for name, list := range d.View.Values {
		values[name] = list
	}
	values.Del("cursor")
	values.Del("sort")
	return page.WithQuery("/runs/live", values)
}

// Export is the address of this list as a file, from its beginning.
func (d runListData) Export() string {
	values := maps.Clone(d.View.Values)
	values.Del("cursor")
	return page.WithQuery("/runs/export", values)
}

// First is the address of the first page, from a later one.
func (d runListData) First() string {
	if d.View.Get("cursor") == "" {
		return ""
	}
	return d.View.Address()
}

// Orders are the orders to choose from.
func (d runListData) Orders() []runOrder { return runOrders() }

// Onward says that the list does not go from newer runs to older ones.
func (d runListData) Onward() bool {
	return d.View.Query.Ascending || d.View.Query.Sort == lineshaft.SortTitle
}

// Unfiltered is the list of all runs, in the same order.
func (d runListData) Unfiltered() string { return runView{}.Address("sort", d.View.Get("sort")) }

// More says that a filter is set that the form keeps folded.
func (d runListData) More() bool {
	return slices.ContainsFunc([]string{
		"source", "factory", "agent", "automation", "webhook", "environment", "schedule", "host", "model", "error", "creator",
		"after", "before", "meta",
	}, func(name string) bool { return d.View.Get(name) != "" })
}

// Kept are values of filters that have no field in the form, or more
// values than it shows.
func (d runListData) Kept() []page.Option {
	var kept []page.Option
	for _, name := range []string{"skill", "ancestor", "since", "until"} {
		for _, value := range d.View.Values[name] {
			kept = append(kept, page.Option{Value: value, Name: name})
		}
	}
	for _, name := range []string{"source", "factory", "meta"} {
		for i, value := range d.View.Values[name] {
			if i > 0 {
				kept = append(kept, page.Option{Value: value, Name: name})
			}
		}
	}
	return kept
}

// CancelAll is the page that asks before it cancels what the filter selects.
func (d runListData) CancelAll() string {
	values := url.Values{"match": {"1"}}
	for name, list := range d.View.Values {
		if name != "cursor" && name != "sort" {
			values[name] = list
		}
	}
	return page.WithQuery("/runs/cancel", values)
}

func (s pages) runsPage(r *page.Request) error {
	given := r.URL.Query()
	view, err := parseRunView(given)
	if err != nil {
		return err
	}
	part := r.Asked()
	if address := page.WithQuery("/runs", view.Values); part {
		if !showsAlready(r, address) {
			r.W.Header().Set("Hx-Push-Url", address)
		}
	} else if given.Encode() != view.Values.Encode() { // the form also sends its empty fields
		http.Redirect(r.W, r.Request, address, http.StatusSeeOther)
		return nil
	}
	data, err := s.runList(r, view)
	if err != nil {
		return err
	}
	if part {
		return r.Fragment("runs", "list-again", data)
	}
	return r.Render("runs", page.Of("runs", data))
}

// showsAlready says that the page which asks is at this address: with a second entry in its
// history, the way back would lead to where the reader is.
func showsAlready(r *page.Request, address string) bool {
	current, err := url.Parse(r.Header.Get("Hx-Current-Url"))
	return err == nil && current.RequestURI() == address
}

func (s pages) runList(r *page.Request, view runView) (runListData, error) {
	// The place in the stream is read before the list: the stream then reports what
	// happens in between.
	changes, err := s.Control.FollowStates(r.Context(), r.Caller, lineshaft.RunFilter{}, "")
	if err != nil {
		return runListData{}, err
	}
	defer changes.Close()
	options, err := s.runOptions(r)
	if err != nil {
		return runListData{}, err
	}
	for noun, list := range map[string]*[]page.Option{
		"agent": &options.Agents, "automation": &options.Automations, "webhook": &options.Webhooks,
	} {
		if r.Asked() && view.Get(noun) == "" { // the form stays when only its list is read again
			continue
		}
		if *list, err = s.PartOptions(r, noun, options.names["factory"]); err != nil {
			return runListData{}, err
		}
		options.names[noun] = byValue(*list)
	}
	found, err := s.Control.ListRuns(r.Context(), r.Caller, view.Query)
	if err != nil {
		return runListData{}, err
	}
	data := runListData{
		View: view, Rows: rowsOf(r.Caller, found.Runs, options.names["factory"]), Cursor: changes.Cursor(), Options: options,
		MayPick: r.Caller.Role.May(lineshaft.PermissionRunsStart), MayCancelAll: r.Caller.Role.May(lineshaft.PermissionRunsManage),
		Cancels: len(liveStates(view.Query.Filter.States)) > 0, Presets: view.presets(r.Caller.Principal.UID, s.Now()),
	}
	if found.Next != "" {
		data.Next = view.Address("cursor", found.Next)
	}
	options.names["creator"] = creatorNames(r.Caller, found.Runs)
	data.Creator = options.names.text("creator", view.Get("creator"))
	data.Chips = view.chips(options.names)
	data.Counts, err = s.countStates(r, view.OnlyStates())
	return data, err
}

func rowsOf(c lineshaft.Caller, runs []lineshaft.Run, factories map[string]string) []runRow {
	picks := c.Role.May(lineshaft.PermissionRunsStart)
	rows := make([]runRow, len(runs))
	for i := range runs {
		run := &runs[i]
		rows[i] = runRow{Run: run, Factory: factories[run.FactoryUID], Picks: picks, Pickable: picks && !run.State.Terminal() && controlruns.MayChange(c, run), Worked: run.RunTime}
		if run.State == lineshaft.InProgress || run.State == lineshaft.Blocked {
			rows[i].Since = run.StartedAt
			rows[i].Worked = time.Since(run.StartedAt)
		}
	}
	return rows
}

// rowsAgain are rows that have changed, with the numbers at the states.
type rowsAgain struct {
	Rows   []runRow
	Counts stateCounts
}

// runRows reads rows again that have changed.
func (s pages) runRows(r *page.Request) error {
	runs, err := s.Control.RunsByID(r.Context(), r.Caller, r.URL.Query()["id"])
	if err != nil {
		return err
	}
	factories, err := s.FactoryNames(r.Context(), r.Caller)
	if err != nil {
		return err
	}
	counts, err := s.countStates(r, r.URL.Query().Get("counts") != "")
	if err != nil {
		return err
	}
	return r.Fragment("runs", "rows-again", rowsAgain{rowsOf(r.Caller, runs, factories), counts})
}
