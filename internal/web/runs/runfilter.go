package runs

import (
	"net/url"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// runView is what the address of the run list says: which runs, in which order, and
// the place to begin.
type runView struct {
	// Values are those that say something, so that one view has one address.
	Values url.Values
	Query  lineshaft.RunQuery
}

// filterField is a filter of the run list: a name in the address, a word for people.
type filterField struct {
	name, label string
	// say describes the filter in a sentence about runs, with %s for its values.
	say string
	set func(f *lineshaft.RunFilter, values []string) error
}

func one(into func(f *lineshaft.RunFilter) *string) func(*lineshaft.RunFilter, []string) error {
	return func(f *lineshaft.RunFilter, values []string) error {
		*into(f) = values[0]
		return nil
	}
}

func many[T ~string](name string, known []T, into func(f *lineshaft.RunFilter) *[]T) func(*lineshaft.RunFilter, []string) error {
	return func(f *lineshaft.RunFilter, values []string) error {
		for _, value := range values {
			if !slices.Contains(known, T(value)) {
				return lineshaft.Invalid(name, "%q is not known; choose one from the list", value)
			}
			*into(f) = append(*into(f), T(value))
		}
		return nil
	}
}

func moment(name string, into func(f *lineshaft.RunFilter) *time.Time) func(*lineshaft.RunFilter, []string) error {
	return func(f *lineshaft.RunFilter, values []string) error {
		at, ok := parseMoment(values[0])
		if !ok {
			return lineshaft.Invalid(name, "%q is not a time; write it like 2026-01-31T18:00, in UTC", values[0])
		}
		*into(f) = at
		return nil
	}
}

// parseMoment reads a time as forms and programs write it; without a zone it is UTC.
func parseMoment(text string) (time.Time, bool) {
	for _, layout := range []string{time.RFC3339, "2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02"} {
		if at, err := time.Parse(layout, text); err == nil {
			return at.UTC(), true
		}
	}
	return time.Time{}, false
}

// tagged is a filter on what the server writes into the metadata of runs.
func tagged(key string) func(*lineshaft.RunFilter, []string) error {
	return func(f *lineshaft.RunFilter, values []string) error {
		putMetadata(f, key, values[0])
		return nil
	}
}

func putMetadata(f *lineshaft.RunFilter, key, value string) {
	if f.Metadata == nil {
		f.Metadata = map[string]string{}
	}
	if had, ok := f.Metadata[key]; ok && had != value {
		f.States = []lineshaft.RunState{} // no run has both
	}
	f.Metadata[key] = value
}

// setError selects runs with a code: those that failed, unless states are chosen. So the list follows
// the index of these states.
func setError(f *lineshaft.RunFilter, values []string) error {
	if f.ErrorCode = lineshaft.Code(values[0]); !slices.Contains(lineshaft.Codes(), f.ErrorCode) {
		return lineshaft.Invalid("error", "there is no error code %q; choose one from the list", values[0])
	}
	if f.States == nil {
		f.States = []lineshaft.RunState{lineshaft.Failed, lineshaft.Errored}
	}
	return nil
}

func setMetadata(f *lineshaft.RunFilter, values []string) error {
	for _, pair := range values {
		key, value, ok := strings.Cut(pair, "=")
		if !ok || key == "" {
			return lineshaft.Invalid("meta", "%q is not a key and a value; write it like team=web", pair)
		}
		putMetadata(f, key, value)
	}
	if len(f.Metadata) > lineshaft.MaxMetadataFilters {
		return lineshaft.Invalid("meta", "%d pairs are too many; at most %d are allowed", len(f.Metadata), lineshaft.MaxMetadataFilters)
	}
	return nil
}

// filterFields lists the filters in the order in which people read them.
func filterFields() []filterField {
	type filter = lineshaft.RunFilter
	return []filterField{
		{"state", "State", "that are %s", many("state", lineshaft.RunStates(), func(f *filter) *[]lineshaft.RunState { return &f.States })},
		{"q", "Words", "with the words %s", one(func(f *filter) *string { return &f.Query })},
		{"source", "Source", "started from %s", many("source", lineshaft.Sources(), func(f *filter) *[]lineshaft.Source { return &f.Sources })},
		{"factory", "Factory", "in the factory %s", func(f *filter, values []string) error {
			f.FactoryUIDs = values
			return nil
		}},
		{"agent", "Agent", "of the agent %s", one(func(f *filter) *string { return &f.Executor })},
		{"automation", "Automation", "of the automation %s", tagged(lineshaft.MetadataAutomation)},
		{"webhook", "Webhook", "of the webhook %s", tagged(lineshaft.MetadataWebhook)},
		{"environment", "Environment", "in the environment %s", one(func(f *filter) *string { return &f.EnvironmentID })},
		{"creator", "Creator", "started by %s", one(func(f *filter) *string { return &f.Creator })},
		{"host", "Worker", "on the worker %s", one(func(f *filter) *string { return &f.WorkerHost })},
		{"schedule", "Schedule", "of the schedule %s", one(func(f *filter) *string { return &f.ScheduleID })},
		{"model", "Model", "with the model %s", one(func(f *filter) *string { return &f.ModelID })},
		{"error", "Error code", "with the error code %s", setError},
		{"skill", "Skill", "with the skill %s", one(func(f *filter) *string { return &f.SkillSpec })},
		{"ancestor", "Below run", "below the run %s", one(func(f *filter) *string { return &f.AncestorRunID })},
		{"after", "Created from", "created at or after %s", moment("after", func(f *filter) *time.Time { return &f.CreatedAfter })},
		{"before", "Created before", "created before %s", moment("before", func(f *filter) *time.Time { return &f.CreatedBefore })},
		{"since", "Updated from", "updated at or after %s", moment("since", func(f *filter) *time.Time { return &f.UpdatedAfter })},
		{"until", "Updated before", "updated before %s", moment("until", func(f *filter) *time.Time { return &f.UpdatedBefore })},
		{"meta", "Metadata", "with %s", setMetadata},
	}
}

// parseRunView reads an address. What it does not know it leaves out.
func parseRunView(given url.Values) (runView, error) {
	v := runView{Values: url.Values{}, Query: lineshaft.RunQuery{Sort: lineshaft.SortCreated, Limit: runsPerPage}}
	for _, field := range filterFields() {
		if n := len(given[field.name]); n > lineshaft.MaxFilterValues {
			return v, lineshaft.Invalid(field.name, "%d values of one filter are too many; choose at most %d, or leave the filter out", n, lineshaft.MaxFilterValues)
		}
		var values []string
		for _, value := range given[field.name] {
			if value = strings.TrimSpace(value); value != "" && !slices.Contains(values, value) {
				values = append(values, value)
			}
		}
		if len(values) == 0 {
			continue
		}
		if slices.ContainsFunc(values, func(s string) bool { return strings.ContainsRune(s, 0) || len(s) > maxFilterValue }) {
			return v, lineshaft.Invalid(field.name, "this is too long, or not valid text")
		}
		if err := field.set(&v.Query.Filter, values); err != nil {
			return v, err
		}
		v.Values[field.name] = values
	}
	for _, order := range runOrders() {
		if order.Value != "" && order.Value == given.Get("sort") {
			v.Query.Sort, v.Query.Ascending = order.by, order.ascending
			v.Values.Set("sort", order.Value)
		}
	}
	if cursor := given.Get("cursor"); cursor != "" {
		v.Query.Cursor = cursor
		v.Values.Set("cursor", cursor)
	}
	return v, nil
}

// runOrder is an order of the list: its name in the address, and words for people.
type runOrder struct {
	page.Option

	by        lineshaft.RunSort
	ascending bool
}

// runOrders are those that walk an index of the store; the first needs no name.
func runOrders() []runOrder {
	return []runOrder{
		{page.Option{Value: "", Name: "Newest first"}, lineshaft.SortCreated, false},
		{page.Option{Value: "oldest", Name: "Oldest first"}, lineshaft.SortCreated, true},
		{page.Option{Value: "updated", Name: "Last updated first"}, lineshaft.SortUpdated, false},
		{page.Option{Value: "updated-asc", Name: "Longest unchanged first"}, lineshaft.SortUpdated, true},
		{page.Option{Value: "title", Name: "Title, A to Z"}, lineshaft.SortTitle, true},
		{page.Option{Value: "title-desc", Name: "Title, Z to A"}, lineshaft.SortTitle, false},
	}
}

// preset is a list that people come for, under its name.
type preset struct {
	Name, Title, Href string
	// Here says that it is the list that is shown, in whatever order.
	Here bool
	// sort is its own order, in which it ends where nothing else can follow.
	sort string
}

// presets are the lists that people come for most, in the order of this one.
func (v runView) presets(reader string, now time.Time) []preset {
	list := []preset{
		{Name: "Active", Title: "Runs that have not ended", Href: runView{Values: url.Values{"state": stateNames(liveStates(nil))}}.Address()},
		{Name: "Needs an answer", Title: "Runs that wait for someone's answer", Href: runView{}.Address("state", string(lineshaft.Blocked))},
		{
			Name: "Failed today", Title: "Failed runs that ended or changed since 00:00 UTC", sort: "updated",
			Href: runView{Values: url.Values{"state": stateNames([]lineshaft.RunState{lineshaft.Failed, lineshaft.Errored})}}.Address("since", now.UTC().Format(time.DateOnly), "sort", "updated"),
		},
		{Name: "Started by me", Title: "Runs that you have started", Href: runView{}.Address("creator", reader)},
	}
	for i := range list {
		list[i].Here = list[i].Href == v.Address("sort", list[i].sort)
	}
	return list
}

func stateNames(states []lineshaft.RunState) []string {
	names := make([]string, len(states))
	for i, state := range states {
		names[i] = string(state)
	}
	return names
}

// Head is the head of a column that leads to the list in its first order, and from there to its other one.
func (v runView) Head(name, first, other string) page.SortHead {
	head := page.SortHead{Name: name, Href: v.Address("sort", first)}
	switch v.Get("sort") {
	case first:
		head.Href = v.Address("sort", other)
	case other:
	default:
		return head
	}
	if head.Order = "descending"; v.Query.Ascending {
		head.Order = "ascending"
	}
	return head
}

// maxFilterValue bounds a value of a filter.
const maxFilterValue = 1000

// Address is the list with the given values instead of those of the same name; an empty
// value is left out. Any other view begins at its first page.
func (v runView) Address(pairs ...string) string {
	values := url.Values{}
	for name, list := range v.Values {
		values[name] = list
	}
	values.Del("cursor")
	for i := 0; i+1 < len(pairs); i += 2 {
		values.Del(pairs[i])
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return page.WithQuery("/runs", values)
}

// without is the list without one value of a filter.
func (v runView) without(name, value string) string {
	values := url.Values{}
	for other, list := range v.Values {
		if other == name {
			list = slices.DeleteFunc(slices.Clone(list), func(s string) bool { return s == value })
		}
		if len(list) > 0 && other != "cursor" {
			values[other] = list
		}
	}
	return page.WithQuery("/runs", values)
}

// Has says whether a filter has a value.
func (v runView) Has(name, value string) bool { return slices.Contains(v.Values[name], value) }

// Get is the first value of a filter.
func (v runView) Get(name string) string { return v.Values.Get(name) }

// Filtered says that the list does not show all runs.
func (v runView) Filtered() bool { return !v.Query.Filter.IsZero() }

// OnlyStates says that the list shows all runs of some states, or of all.
func (v runView) OnlyStates() bool {
	f := v.Query.Filter
	f.States = nil
	return f.IsZero()
}

// filterChip is a value of a filter that is set, and the list without it.
type filterChip struct{ Label, Text, Href string }

// chips shows the filters that are set, each with the way out of it. States and words
// are visible anyway.
func (v runView) chips(names filterNames) []filterChip {
	var chips []filterChip
	for _, field := range filterFields() {
		if field.name == "state" || field.name == "q" {
			continue
		}
		for _, value := range v.Values[field.name] {
			chips = append(chips, filterChip{field.label, names.text(field.name, value), v.without(field.name, value)})
		}
	}
	return chips
}

// words describes the filter in a sentence: "runs that are failed, started from API".
func (v runView) words(names filterNames) string {
	var parts []string
	for _, field := range filterFields() {
		var values []string
		for _, value := range v.Values[field.name] {
			values = append(values, names.text(field.name, value))
		}
		if len(values) > 0 {
			join := " or "
			if field.name == "meta" {
				join = " and "
			}
			parts = append(parts, strings.Replace(field.say, "%s", strings.Join(values, join), 1))
		}
	}
	if len(parts) == 0 {
		return "all runs"
	}
	return "runs " + strings.Join(parts, ", ")
}

// filterNames turns ids of filters into the names that people know.
type filterNames map[string]map[string]string

func (n filterNames) text(field, value string) string {
	switch field {
	case "state":
		return strings.ToLower(page.StateName(lineshaft.RunState(value)))
	case "source":
		return page.SourceName(lineshaft.Source(value))
	case "q":
		return "“" + value + "”"
	case "after", "before":
		if at, ok := parseMoment(value); ok {
			return at.Format("2006-01-02 15:04") + " UTC"
		}
	}
	if name := n[field][value]; name != "" {
		return name
	}
	return value
}

// Moment is a time filter as its field of the form wants it.
func (v runView) Moment(name string) string {
	at, ok := parseMoment(v.Get(name))
	if !ok {
		return ""
	}
	return at.Format("2006-01-02T15:04")
}
