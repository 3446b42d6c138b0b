package factories

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func (s pages) factoryRoutes() []page.Route {
	return append([]page.Route{
		page.Get("/factories", see, page.Show("factories", s.factoryList)),
		page.Post("/factories", edit, s.createFactory),
		page.Get("/factories/new", edit, s.newFactoryPage),
		page.Get("/factories/{factory}", see, page.ShowWith("factory", s.factoryOf, s.factoryPage)),
		page.Get("/factories/{factory}/edit", edit, page.ShowOf("factoryedit", s.factoryOf, editFactoryPage)),
		page.Post("/factories/{factory}", edit, page.With(s.factoryOf, s.saveFactory)),
		page.Post("/factories/{factory}/pause", edit, s.pauseFactory),
	}, page.Removing("/factories/{factory}/delete", edit, s.askDeleteFactory, func(r *page.Request, id string) error {
		return s.Control.DeleteFactory(r.Context(), r.Caller, id)
	})...)
}

type factoryRow struct {
	lineshaft.Factory

	Parts factories.PartCounts
	// Spent is what its runs consumed today.
	Spent lineshaft.Spending
	// Live and Failed are its runs that have not ended, and those that failed lately.
	Live, Failed runCount
}

// runCount is a number of runs with the list of them.
type runCount struct {
	N    int
	Href string
}

// Text is the number, which is not counted to the end.
func (c runCount) Text() string {
	if c.N >= factories.MaxRunCount {
		return page.Count(factories.MaxRunCount) + "+"
	}
	return page.Count(c.N)
}

// countRuns counts the runs of factories that a filter selects.
func (s pages) countRuns(r *page.Request, list []lineshaft.Factory, f lineshaft.RunFilter) (map[string]runCount, error) {
	counts, err := s.Control.CountRuns(r.Context(), r.Caller, list, f)
	query, found := url.Values{"sort": {"updated"}}, map[string]runCount{}
	for _, state := range f.States {
		query.Add("state", string(state))
	}
	if !f.UpdatedAfter.IsZero() {
		query.Set("since", f.UpdatedAfter.UTC().Format(time.RFC3339))
	}
	for uid, n := range counts {
		query.Set("factory", uid)
		found[uid] = runCount{n, page.WithQuery("/runs", query)}
	}
	return found, err
}

type factoryListData struct {
	page.Pager

	Rows   []factoryRow
	Search string
}

// Followed says that a factory on this page follows a repository.
func (d factoryListData) Followed() bool {
	return slices.ContainsFunc(d.Rows, func(row factoryRow) bool { return row.Repository != nil })
}

func (s pages) factoryList(r *page.Request) (p page.Page, err error) {
	query := r.URL.Query()
	found, err := s.Control.ListFactories(r.Context(), r.Caller, factories.FactoryQuery{
		Search: query.Get("search"), Limit: listPage, Cursor: query.Get("cursor"),
	})
	if err != nil {
		return p, err
	}
	counts, err := s.Control.CountParts(r.Context(), r.Caller, found.Factories)
	data := factoryListData{Search: query.Get("search"), Pager: r.Pager(found.Next)}
	if err != nil {
		return p, err
	}
	unended := slices.DeleteFunc(lineshaft.RunStates(), lineshaft.RunState.Terminal)
	live, err := s.countRuns(r, found.Factories, lineshaft.RunFilter{States: unended})
	if err != nil {
		return p, err
	}
	failed, err := s.countRuns(r, found.Factories, lineshaft.RunFilter{
		States: []lineshaft.RunState{lineshaft.Failed, lineshaft.Errored}, UpdatedAfter: time.Now().Add(-24 * time.Hour).Truncate(time.Minute),
	})
	if err != nil {
		return p, err
	}
	spent, err := s.Control.SpentToday(r.Context(), r.Caller, found.Factories)
	for _, f := range found.Factories {
		data.Rows = append(data.Rows, factoryRow{f, counts[f.UID], spent[f.UID], live[f.UID], failed[f.UID]})
	}
	return page.Of("factories", data), err
}

// factoryForm is a factory as a form has it.
type factoryForm struct {
	UID, Name, Alias, Description string
	// MaxCost and MaxTokens are its budget of a day, as people write them.
	MaxCost, MaxTokens string
	// URL is set when a factory is to follow a repository.
	URL, Branch, Path string
}

func readFactoryForm(r *page.Request) factoryForm {
	value := r.PostFormValue
	return factoryForm{
		UID: r.PathValue("factory"), Name: value("name"), Alias: value("alias"), Description: value("description"),
		URL: value("url"), Branch: value("branch"), Path: value("path"),
		MaxCost: strings.TrimSpace(value("max_cost")), MaxTokens: strings.TrimSpace(value("max_tokens")),
	}
}

// maxDollars is the largest amount that a budget may have.
const maxDollars = 1e9

// readBudget reads a budget; empty fields mean no limit.
func readBudget(cost, tokens string) (b lineshaft.Budget, err error) {
	if cost != "" {
		dollars, err := strconv.ParseFloat(strings.TrimPrefix(cost, "$"), 64)
		if err != nil || math.IsNaN(dollars) || dollars < 0 || dollars > maxDollars {
			return b, lineshaft.Invalid("max_cost", "write an amount in US dollars up to 1,000,000,000, such as 25 or 2.50, or leave it empty")
		}
		if b.MaxCostMicros = int64(math.Round(dollars * 1e6)); b.MaxCostMicros == 0 && dollars > 0 {
			return b, lineshaft.Invalid("max_cost", "is less than 0.000001 US dollars, the smallest amount; leave it empty for no limit")
		}
	}
	if tokens != "" {
		if b.MaxTokens, err = strconv.ParseInt(tokens, 10, 64); err != nil || b.MaxTokens < 0 {
			return b, lineshaft.Invalid("max_tokens", "write a whole number, or leave it empty")
		}
	}
	return b, nil
}

// budgetFields are a budget as the form has it.
func budgetFields(b lineshaft.Budget) (cost, tokens string) {
	if b.MaxCostMicros > 0 {
		cost = strconv.FormatFloat(float64(b.MaxCostMicros)/1e6, 'f', -1, 64)
	}
	if b.MaxTokens > 0 {
		tokens = strconv.FormatInt(b.MaxTokens, 10)
	}
	return cost, tokens
}

func (f factoryForm) source() *lineshaft.GitSource {
	return &lineshaft.GitSource{URL: f.URL, Branch: f.Branch, Path: f.Path}
}

func newFactory(f factoryForm) page.Page { return page.Below("factories", "New factory", f) }

func (s pages) newFactoryPage(r *page.Request) error {
	return r.Render("factoryedit", newFactory(factoryForm{}))
}

func (s pages) createFactory(r *page.Request) error {
	form := readFactoryForm(r)
	asked := factories.NewFactory{Name: form.Name, Alias: form.Alias, Description: form.Description}
	if form.URL != "" {
		asked.Repository = form.source()
	}
	made, err := s.Control.CreateFactory(r.Context(), r.Caller, asked)
	if err != nil {
		return r.Again("factoryedit", newFactory(form), err)
	}
	return r.Done(page.FactoryAddress(made.UID), "The factory is created. It has one agent, its foreman.")
}

// within is a page below that of a factory.
func within(f *lineshaft.Factory, title string, data any) page.Page {
	return page.Page{Title: title, Section: "factories", Crumbs: factoryCrumbs(f), Data: data}
}

func factoryCrumbs(f *lineshaft.Factory) page.Crumbs {
	return page.Way("factories").To(f.Name, page.FactoryAddress(f.UID))
}

func (s pages) factoryOf(r *page.Request) (*lineshaft.Factory, error) {
	return s.Control.GetFactory(r.Context(), r.Caller, r.PathValue("factory"))
}

type factoryData struct {
	*lineshaft.Factory

	Managed     bool
	Agents      []lineshaft.Agent
	Automations []automationRow
	// More and MoreAgents say that there are others than the shown ones.
	More, MoreAgents bool
	Webhooks         []lineshaft.Webhook
	Schedules        []lineshaft.Schedule
	Revisions        []lineshaft.Revision
}

func (s pages) factoryPage(r *page.Request, f *lineshaft.Factory) (p page.Page, err error) {
	ctx := r.Context()
	data := factoryData{Factory: f, Managed: managed(*f)}
	agents, err := s.Control.ListAgents(ctx, r.Caller, f.UID, longPage, "")
	if err != nil {
		return p, err
	}
	data.Agents, data.MoreAgents = agents.Items, agents.Next != ""
	automations, err := s.Control.ListAutomations(ctx, r.Caller, f.UID, listPage, "")
	if err != nil {
		return p, err
	}
	data.More = automations.Next != ""
	if data.Automations, err = s.automationRows(r, automations.Items, nil); err != nil {
		return p, err
	}
	if data.Webhooks, err = s.Control.ListWebhooks(ctx, r.Caller, f.UID); err != nil {
		return p, err
	}
	schedules, err := s.Control.ListSchedules(ctx, r.Caller, f.UID, longPage, "")
	if err != nil {
		return p, err
	}
	data.Schedules = schedules.Items
	if r.Caller.Role.May(edit) {
		revisions, err := s.Control.ListRevisions(ctx, r.Caller, f.UID, 5, "")
		if err != nil {
			return p, err
		}
		data.Revisions = revisions.Revisions
	}
	return page.Below("factories", f.Name, data), nil
}

func editFactoryPage(f *lineshaft.Factory) page.Page {
	form := factoryForm{UID: f.UID, Name: f.Name, Alias: f.Alias, Description: f.Description}
	form.MaxCost, form.MaxTokens = budgetFields(f.DailyBudget)
	return within(f, "Edit factory", form)
}

func (s pages) saveFactory(r *page.Request, f *lineshaft.Factory) error {
	form := readFactoryForm(r)
	budget, err := readBudget(form.MaxCost, form.MaxTokens)
	if err == nil {
		change := factories.FactoryChange{Name: &form.Name, Alias: &form.Alias, Description: &form.Description}
		if budget != f.DailyBudget {
			change.DailyBudget = &budget
		}
		_, err = s.Control.UpdateFactory(r.Context(), r.Caller, f.UID, change)
	}
	if err != nil {
		return r.Again("factoryedit", within(f, "Edit factory", form), err)
	}
	return r.Done(page.FactoryAddress(f.UID), "The factory is changed.")
}

func (s pages) pauseFactory(r *page.Request) error {
	paused := r.PostFormValue("paused") == "true"
	f, err := s.Control.UpdateFactory(r.Context(), r.Caller, r.PathValue("factory"), factories.FactoryChange{Paused: &paused})
	if err != nil {
		return err
	}
	notice := "The factory is running again. Deliveries that came while it was paused are not replayed: redeliver them if needed."
	if paused {
		notice = "The factory is paused. Deliveries are accepted and logged, but start nothing."
	}
	return r.Done(page.FactoryAddress(f.UID), notice)
}

func (s pages) askDeleteFactory(r *page.Request) (page.Removal, error) {
	f, err := s.factoryOf(r)
	if err != nil {
		return page.Removal{}, err
	}
	ask := page.Removal{
		Section: "factories", Crumbs: factoryCrumbs(f), ID: f.UID, Kind: "factory", Name: f.Name, Verb: "Delete", Back: page.FactoryAddress(f.UID),
		Effects: []string{"Its runs and the log of its deliveries stay."}, Done: "The factory is deleted. Its runs stay.",
	}
	agents, err := s.Control.ListAgents(r.Context(), r.Caller, f.UID, longPage, "")
	if err != nil {
		return ask, err
	}
	for _, a := range agents.Items {
		ask.Gone = append(ask.Gone, "agent "+a.Name)
	}
	if agents.Next != "" {
		ask.Gone = append(ask.Gone, "and its other agents")
	}
	automations, err := s.Control.ListAutomations(r.Context(), r.Caller, f.UID, longPage, "")
	if err != nil {
		return ask, err
	}
	for _, a := range automations.Items {
		ask.Gone = append(ask.Gone, "automation "+a.Name)
	}
	if automations.Next != "" {
		ask.Gone = append(ask.Gone, "and its other automations")
	}
	hooks, err := s.Control.ListWebhooks(r.Context(), r.Caller, f.UID)
	for _, h := range hooks {
		ask.Gone = append(ask.Gone, "webhook "+h.Name+": its senders get 404")
	}
	return ask, err
}

// managed says that a factory is edited here.
func managed(f lineshaft.Factory) bool { return f.Mode == lineshaft.ModeManaged }

// factoryChooser is for lists of the parts of one factory or all.
type factoryChooser struct {
	Factories []lineshaft.Factory
	Chosen    string
}

// Names are the factories' names by uid.
func (f factoryChooser) Names() map[string]string {
	names := map[string]string{}
	for _, one := range f.Factories {
		names[one.UID] = one.Name
	}
	return names
}

// Managed are the factories that are edited here.
func (f factoryChooser) Managed() []lineshaft.Factory {
	return slices.DeleteFunc(slices.Clone(f.Factories), func(one lineshaft.Factory) bool { return !managed(one) })
}

func (s pages) chooser(r *page.Request) (factoryChooser, error) {
	found, err := s.Control.ListFactories(r.Context(), r.Caller, factories.FactoryQuery{Limit: longPage})
	return factoryChooser{Factories: found.Factories, Chosen: r.URL.Query().Get("factory")}, err
}
