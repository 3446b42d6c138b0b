package runs

import (
	"cmp"
	"maps"
	"math"
	"net/url"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// compareData is a run next to another one.
type compareData struct {
	Run, Other *lineshaft.Run
	// Why says what makes them comparable.
	Why string
	// Links lead to the other runs that it can be compared with.
	Links []compareLink
	Rows  []compareRow
	// Files are what either changed, Settings where their configurations differ.
	Files    []compareRow
	Settings []compareRow
	// Same counts the settings that are equal.
	Same int
	// SamePrompt says that both were asked the same.
	SamePrompt bool
	// Cut says that not all changes of a run were read.
	Cut bool
}

type compareLink struct {
	Name, Href string
	Here       bool
}

// compareRow is a value of both, and how the first differs from the second.
type compareRow struct {
	Name, Mine, Other, Change string
	Differs                   bool
}

// runComparePage shows the differences from the run before, from the last run that
// succeeded, or from any named run.
func (s pages) runComparePage(r *page.Request) (page.Page, error) {
	run, err := s.Control.GetRun(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return page.Page{}, err
	}
	data := compareData{Run: run}
	with := cmp.Or(r.URL.Query().Get("with"), "before")
	at := page.Under("runs", run.ID, "compare")
	for _, one := range []struct{ value, name string }{{"before", "Previous run"}, {"succeeded", "Last successful run"}} {
		data.Links = append(data.Links, compareLink{one.name, page.WithQuery(at, url.Values{"with": {one.value}}), with == one.value})
	}
	id := with
	if with == "before" || with == "succeeded" {
		if id, data.Why, err = s.runBefore(r, run, with == "succeeded"); err != nil {
			return page.Page{}, err
		}
	}
	if id != "" {
		if data.Other, err = s.Control.GetRun(r.Context(), r.Caller, id); err != nil {
			return page.Page{}, err
		}
		if err := s.compare(r, &data); err != nil {
			return page.Page{}, err
		}
	}
	p := page.Below("runs", run.Title, data)
	p.Mark, p.Icon = stateMark(run.State), stateKind(run.State)
	return p, nil
}

// runBefore finds the best run to compare with: the previous attempt, or the previous run
// of the same automation, schedule, name or person.
func (s pages) runBefore(r *page.Request, run *lineshaft.Run, succeeded bool) (id, why string, err error) {
	if run.RerunOf != "" && !succeeded {
		first, err := s.Control.GetRun(r.Context(), r.Caller, run.RerunOf)
		if err == nil {
			at := slices.IndexFunc(first.Reruns, func(one lineshaft.Rerun) bool { return one.Attempt == run.Attempt-1 })
			if at >= 0 {
				return first.Reruns[at].RunID, "the previous attempt", nil
			}
			return first.ID, "the previous attempt", nil
		}
		if lineshaft.CodeOf(err) != lineshaft.CodeNotFound {
			return "", "", err
		}
	}
	filter := lineshaft.RunFilter{CreatedBefore: run.CreatedAt}
	switch {
	case run.ScheduleID != "":
		filter.ScheduleID, why = run.ScheduleID, "of the same schedule"
	case run.Metadata[lineshaft.MetadataAutomation] != "":
		filter.Creator, why = run.Creator.UID, "of the same automation"
	case run.Config.Name != "":
		filter.Name, why = run.Config.Name, "of the same name"
	default:
		filter.Creator, why = run.Creator.UID, "of the same person"
	}
	if succeeded {
		filter.States = []lineshaft.RunState{lineshaft.Succeeded}
	}
	found, err := s.Control.ListRuns(r.Context(), r.Caller, lineshaft.RunQuery{Filter: filter, Sort: lineshaft.SortCreated, Limit: 1})
	if err != nil || len(found.Runs) == 0 {
		return "", "", err
	}
	return found.Runs[0].ID, why, nil
}

func (s pages) compare(r *page.Request, d *compareData) error {
	a, b := d.Run, d.Other
	row := func(name, mine, other, change string) {
		d.Rows = append(d.Rows, compareRow{name, mine, other, change, mine != other})
	}
	row("State", resultOf(a), resultOf(b), "")
	row("Waited", page.Took(waited(a)), page.Took(waited(b)), howMuchLonger(waited(a), waited(b)))
	row("Worked", page.Took(a.RunTime), page.Took(b.RunTime), howMuchLonger(a.RunTime, b.RunTime))
	row("Cost", page.Dollars(a.Usage.CostMicros), page.Dollars(b.Usage.CostMicros), percentMore(a.Usage.CostMicros, b.Usage.CostMicros))
	row("Tokens", page.Count(a.Usage.Total()), page.Count(b.Usage.Total()), percentMore(a.Usage.Total(), b.Usage.Total()))
	row("Events in the log", page.Count(a.LastSequence), page.Count(b.LastSequence), "")
	d.SamePrompt = a.Prompt == b.Prompt
	if err := s.compareChanges(r, d); err != nil {
		return err
	}
	return s.compareSettings(r, d)
}

func resultOf(run *lineshaft.Run) string {
	text := page.StateName(run.State)
	if code := run.Status.ErrorCode; code != "" {
		text += " (" + string(code) + ")"
	}
	return text
}

func waited(run *lineshaft.Run) time.Duration {
	if run.StartedAt.IsZero() {
		return 0
	}
	return run.StartedAt.Sub(run.CreatedAt)
}

func howMuchLonger(a, b time.Duration) string {
	if a <= 0 || b <= 0 || a == b {
		return ""
	}
	if a > b {
		return page.Took(a-b) + " longer"
	}
	return page.Took(b-a) + " shorter"
}

func percentMore(a, b int64) string {
	if b == 0 || a == b {
		return ""
	}
	percent := math.Round(100 * float64(a-b) / float64(b))
	sign := ""
	if percent > 0 {
		sign = "+"
	}
	return sign + page.Count(int64(percent)) + "%"
}

// compareChanges lists the files that either run has edited.
func (s pages) compareChanges(r *page.Request, d *compareData) error {
	lines := map[string][2]string{}
	for i, run := range []*lineshaft.Run{d.Run, d.Other} {
		changed, err := s.changesOf(r, run)
		if err != nil {
			return err
		}
		d.Cut = d.Cut || changed.Cut
		for _, f := range changed.Files {
			both := lines[f.Path]
			both[i] = "+" + page.Count(f.Added) + " −" + page.Count(f.Removed)
			lines[f.Path] = both
		}
		total := "none"
		if n := len(changed.Files); n > 0 {
			total = page.Plural(n, "file", "files") + ", +" + page.Count(changed.Added) + " −" + page.Count(changed.Removed)
		}
		if i == 0 {
			d.Rows = append(d.Rows, compareRow{Name: "Changes", Mine: total})
			continue
		}
		last := &d.Rows[len(d.Rows)-1]
		last.Other, last.Differs = total, last.Mine != total
	}
	for _, path := range slices.Sorted(maps.Keys(lines)) {
		both := lines[path]
		d.Files = append(d.Files, compareRow{Name: path, Mine: both[0], Other: both[1], Differs: both[0] != both[1]})
	}
	return nil
}

// compareSettings lists where the configurations differ, as far as readers may see them.
func (s pages) compareSettings(r *page.Request, d *compareData) error {
	values := map[string][2]string{}
	for i, run := range []*lineshaft.Run{d.Run, d.Other} {
		from, err := s.Control.ExplainRun(r.Context(), r.Caller, run.ID)
		if err != nil {
			return err
		}
		list, err := settings(run.Config, from)
		if err != nil {
			return err
		}
		for _, one := range list {
			both := values[one.Name]
			both[i] = one.Value
			values[one.Name] = both
		}
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		both := values[name]
		if both[0] == both[1] {
			d.Same++
			continue
		}
		d.Settings = append(d.Settings, compareRow{Name: name, Mine: both[0], Other: both[1], Differs: true})
	}
	return nil
}
