package runs

import (
	"net/url"
	"strings"

	"github.com/lineshaft/lineshaft"
	controlruns "github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// someRuns is how many of the runs that a filter selects the page names before they
// are cancelled.
const someRuns = 10

// cancelData is what is asked before runs are cancelled.
type cancelData struct {
	// Words describe the filter; empty when runs were picked one by one.
	Words string
	// Values go with the form.
	Values url.Values
	// Rows are the runs, or the first of them.
	Rows []runRow
	// Cut says that there are more than Rows.
	Cut bool
	// Count says how many there are.
	Count string
	// Ended counts those of the picked ones that have ended.
	Ended int
	Back  string
}

// BackQuery is what the form says about where to go afterwards.
func (d cancelData) BackQuery() string {
	_, query, _ := strings.Cut(d.Back, "?")
	return query
}

// cancelRunsPage asks whether to cancel the picked runs, or all that match.
func (s pages) cancelRunsPage(r *page.Request) (p page.Page, err error) {
	given := r.URL.Query()
	var data cancelData
	if given.Get("match") != "" {
		data, err = s.matchingRuns(r, given)
	} else {
		data, err = s.pickedRuns(r, given["id"])
		data.Back = backToRuns(given.Get("back"))
	}
	return page.Page{Title: "Cancel runs", Section: "runs", Crumbs: page.Crumbs{}.To("Runs", data.Back), Data: data}, err
}

// backToRuns is the list that the reader came from, and nothing else.
func backToRuns(query string) string {
	given, err := url.ParseQuery(query)
	if err != nil {
		return "/runs"
	}
	view, err := parseRunView(given)
	if err != nil {
		return "/runs"
	}
	return page.WithQuery("/runs", view.Values)
}

func (s pages) pickedRuns(r *page.Request, ids []string) (cancelData, error) {
	if len(ids) == 0 {
		return cancelData{}, lineshaft.Invalid("id", "no run is selected; go back and pick some")
	}
	runs, err := s.Control.RunsByID(r.Context(), r.Caller, ids)
	if err != nil {
		return cancelData{}, err
	}
	data := cancelData{Values: url.Values{}}
	var live []lineshaft.Run
	for i := range runs {
		switch {
		case !controlruns.MayChange(r.Caller, &runs[i]):
			return cancelData{}, lineshaft.Denied("run %s is not yours; a manager may cancel it", runs[i].ID)
		case runs[i].State.Terminal():
			data.Ended++
		default:
			live = append(live, runs[i])
			data.Values.Add("id", runs[i].ID)
		}
	}
	if len(runs) == 0 {
		return cancelData{}, lineshaft.NotFound("run", ids[0])
	}
	data.Rows, data.Count = rowsOf(r.Caller, live, nil), page.Plural(len(live), "run", "runs")
	return data, nil
}

func (s pages) matchingRuns(r *page.Request, given url.Values) (cancelData, error) {
	if !r.Caller.Role.May(lineshaft.PermissionRunsManage) {
		return cancelData{}, lineshaft.Denied("only a manager may cancel all runs that match; pick your own instead")
	}
	view, err := parseRunView(given)
	if err != nil {
		return cancelData{}, err
	}
	options, err := s.runOptions(r)
	if err != nil {
		return cancelData{}, err
	}
	data := cancelData{Words: view.words(options.names), Values: view.Values, Back: page.WithQuery("/runs", view.Values), Count: "No run"}
	query := view.Query
	query.Cursor, query.Limit, query.Filter.States = "", runsPerPage, liveStates(query.Filter.States)
	if len(query.Filter.States) > 0 {
		found, err := s.Control.ListRuns(r.Context(), r.Caller, query)
		if err != nil {
			return cancelData{}, err
		}
		data.Count = page.Plural(len(found.Runs), "run", "runs")
		if found.Next != "" {
			data.Count = page.Plural(max(len(found.Runs), 1), "run", "runs") + " or more"
		}
		data.Cut = found.Next != "" || len(found.Runs) > someRuns
		data.Rows = rowsOf(r.Caller, found.Runs[:min(len(found.Runs), someRuns)], options.names["factory"])
	}
	data.Values = url.Values{"match": {"1"}}
	for name, values := range view.Values {
		if name != "cursor" && name != "sort" {
			data.Values[name] = values
		}
	}
	return data, nil
}

// liveStates are those of the states, or of all, that can be left by cancelling.
func liveStates(states []lineshaft.RunState) []lineshaft.RunState {
	if states == nil { // none at all is another thing
		states = lineshaft.RunStates()
	}
	live := []lineshaft.RunState{}
	for _, state := range states {
		if !state.Terminal() {
			live = append(live, state)
		}
	}
	return live
}

func (s pages) cancelRuns(r *page.Request) error {
	if r.PostForm.Get("match") == "" {
		return s.cancelPicked(r)
	}
	view, err := parseRunView(r.PostForm)
	if err != nil {
		return err
	}
	cancelled, err := s.Control.CancelMatching(r.Context(), r.Caller, view.Query.Filter)
	if err != nil {
		return err
	}
	return r.Done(page.WithQuery("/runs", view.Values), cancelledNotice(len(cancelled), 0))
}

// cancelPicked cancels runs one by one. Who may not cancel one of them cancels none.
func (s pages) cancelPicked(r *page.Request) error {
	picked, err := s.pickedRuns(r, r.PostForm["id"])
	if err != nil {
		return err
	}
	done, ended := 0, picked.Ended
	for _, run := range picked.Rows {
		_, err := s.Control.Cancel(r.Context(), r.Caller, run.ID, false, nil)
		if code := lineshaft.CodeOf(err); err != nil && (code == lineshaft.CodeInvalidRequest || code == lineshaft.CodeNotFound) {
			ended++ // while the question stood
			continue
		}
		if err != nil {
			return err
		}
		done++
	}
	return r.Done(backToRuns(r.PostForm.Get("back")), cancelledNotice(done, ended))
}

func cancelledNotice(done, ended int) string {
	text := page.Plural(done, "run was", "runs were") + " cancelled."
	if done == 0 {
		text = "No run was cancelled."
	}
	if ended > 0 {
		text += " " + page.Plural(ended, "run", "runs") + " had ended already."
	}
	return text
}
