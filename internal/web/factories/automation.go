package factories

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func (s pages) automationRoutes() []page.Route {
	const all, one = "/factories/{factory}/automations", "/factories/{factory}/automations/{uid}"
	return append([]page.Route{
		page.Get("/automations", see, page.InTurn(page.ShowWith("automations", s.chooser, s.automationList))),
		page.Get("/automations/new", edit, page.With(s.chooser, s.chooseAutomationFactory)),
		page.Get(all+"/new", edit, page.ShowWith("automationedit", s.factoryOf, s.newAutomationPage)),
		page.Post(all, edit, s.saveAutomation),
		page.Post(all+"/draft", edit, s.draftAutomation),
		page.Get(one, see, page.ShowWith("automation", s.automationOf, s.automationPage)),
		page.Get(one+"/edit", edit, page.ShowWith("automationedit", s.automationOf, s.editAutomationPage)),
		page.Post(one, edit, s.saveAutomation),
		page.Post(one+"/enable", edit, s.enableAutomation),
		page.Post(one+"/run", edit, page.With(s.automationOf, s.runAutomation)),
	}, page.Removing(one+"/delete", edit, s.askDeleteAutomation, func(r *page.Request, uid string) error {
		return s.Control.DeleteAutomation(r.Context(), r.Caller, r.PathValue("factory"), uid)
	})...)
}

// triggerView is a trigger in words.
type triggerView struct {
	Head       string
	Conditions []condition
	// Fires are the next times of a schedule.
	Fires []time.Time
}

func viewTrigger(t lineshaft.Trigger, hooks []lineshaft.Webhook, fires int) triggerView {
	v := triggerView{Head: triggerHead(t, hooks), Conditions: triggerConditions(t)}
	if t.Schedule != nil {
		v.Fires, _ = trigger.TriggerFires(*t.Schedule, time.Now(), fires) // one that cannot be read has none
	}
	return v
}

type automationRow struct {
	lineshaft.Automation

	Factory  string
	Managed  bool
	Triggers []triggerView
	// Gone are the webhooks that it listens to and that are deleted.
	Gone []string
	// Last is its newest run, nil before the first, and Marks are the newest, which is their last.
	Last  *controlfactories.LastRun
	Marks []controlfactories.LastRun
}

// Address is the automation's page.
func (a automationRow) Address() string { return page.AutomationAddress(a.FactoryUID, a.UID) }

// Creator selects its runs.
func (a automationRow) Creator() string { return controlfactories.AutomationRuns(a.UID).Creator }

// Said is what the marks show, in words.
func (a automationRow) Said() string {
	counts := map[lineshaft.RunState]int{}
	for _, run := range a.Marks {
		counts[run.State]++
	}
	var words []string
	for _, state := range slices.Backward(lineshaft.RunStates()) {
		if n := counts[state]; n > 0 {
			words = append(words, strconv.Itoa(n)+" "+strings.ToLower(page.StateName(state)))
		}
	}
	return "Last " + page.Plural(len(a.Marks), "run", "runs") + ": " + strings.Join(words, ", ")
}

// automationRows adds what a list shows of automations.
func (s pages) automationRows(r *page.Request, list []lineshaft.Automation, factories []lineshaft.Factory) ([]automationRow, error) {
	known := map[string]lineshaft.Factory{}
	for _, f := range factories {
		known[f.UID] = f
	}
	last, err := s.Control.LastRuns(r.Context(), r.Caller, list)
	if err != nil {
		return nil, err
	}
	var rows []automationRow
	heard := map[string][]lineshaft.Webhook{} // by factory
	for _, a := range list {
		f := known[a.FactoryUID]
		row := automationRow{Automation: a, Factory: f.Name, Managed: managed(f)}
		hooks, read := heard[a.FactoryUID]
		if !read {
			if hooks, err = s.Control.ListWebhooks(r.Context(), r.Caller, a.FactoryUID); err != nil {
				return nil, err
			}
			heard[a.FactoryUID] = hooks
		}
		row.Triggers, row.Gone = viewTriggers(a.Triggers, hooks, 1)
		if runs := last[a.UID]; len(runs) > 0 {
			row.Last, row.Marks = &runs[0], slices.Clone(runs)
			slices.Reverse(row.Marks)
		}
		rows = append(rows, row)
	}
	return rows, nil
}

// viewTriggers are triggers in words, and the webhooks that they listen to and that are deleted.
func viewTriggers(triggers []lineshaft.Trigger, hooks []lineshaft.Webhook, fires int) (views []triggerView, gone []string) {
	for _, t := range triggers {
		views, gone = append(views, viewTrigger(t, hooks, fires)), append(gone, trigger.GoneWebhooks(t, hooks)...)
	}
	return views, gone
}

type automationListData struct {
	factoryChooser
	page.Pager

	Rows []automationRow
}

func (s pages) automationList(r *page.Request, chooser factoryChooser) (p page.Page, err error) {
	var found controlfactories.AutomationPage
	if chooser.Chosen == "" {
		found, err = s.Control.AllAutomations(r.Context(), r.Caller, listPage, r.Cursor())
	} else {
		found, err = s.Control.ListAutomations(r.Context(), r.Caller, chooser.Chosen, listPage, r.Cursor())
	}
	if err != nil {
		return p, err
	}
	rows, err := s.automationRows(r, found.Items, chooser.Factories)
	return page.Of("automations", automationListData{chooser, r.Pager(found.Next), rows}), err
}

// chooseAutomationFactory leads to the editor of the factory that is chosen, or asks which.
func (s pages) chooseAutomationFactory(r *page.Request, chooser factoryChooser) error {
	managed := chooser.Managed()
	if chooser.Chosen == "" && len(managed) == 1 {
		chooser.Chosen = managed[0].UID
	}
	if chooser.Chosen == "" {
		return r.Render("automationnew", page.Below("automations", "New automation", managed))
	}
	http.Redirect(r.W, r.Request, page.FactoryAddress(chooser.Chosen)+"/automations/new", http.StatusSeeOther)
	return nil
}

type automationData struct {
	*lineshaft.Automation

	Factory  *lineshaft.Factory
	Managed  bool
	AgentUID string
	// NotByHand says why people cannot start what it starts, Timed that only times start it.
	NotByHand string
	Timed     bool
	Facts     []fact
	Triggers  []triggerView
	// Gone are the webhooks that it listens to and that are deleted.
	Gone []string
	Runs []lineshaft.Run
	// Past are deliveries that it can be tried on, Trial the result.
	Past  []pastDelivery
	Trial *trial
}

// automationOf is an automation with its factory.
type automationOf struct {
	Factory    *lineshaft.Factory
	Automation *lineshaft.Automation
}

func (s pages) automationOf(r *page.Request) (automationOf, error) {
	f, err := s.factoryOf(r)
	if err != nil {
		return automationOf{}, err
	}
	a, err := s.Control.GetAutomation(r.Context(), r.Caller, f.UID, r.PathValue("uid"))
	return automationOf{f, a}, err
}

func (s pages) automationPage(r *page.Request, of automationOf) (p page.Page, err error) {
	ctx, f, a := r.Context(), of.Factory, of.Automation
	data := automationData{Automation: a, Factory: f, Managed: managed(*f), Facts: facts(a)}
	if data.AgentUID, err = s.agentOf(r, of); err != nil {
		return p, err
	}
	data.NotByHand, data.Timed = notByHand(r.Caller, a.Config, f.UID), allOnSchedule(a.Triggers)
	if data.Runs, err = s.RecentRuns(ctx, r.Caller, controlfactories.AutomationRuns(a.UID)); err != nil {
		return p, err
	}
	hooks, err := s.Control.ListWebhooks(ctx, r.Caller, f.UID)
	if err != nil {
		return p, err
	}
	data.Triggers, data.Gone = viewTriggers(a.Triggers, hooks, 5)
	if data.Past, err = s.pastDeliveries(r, f.UID, listening(a.Triggers, hooks)); err != nil {
		return p, err
	}
	if id := r.URL.Query().Get("delivery"); id != "" {
		data.Trial = s.try(r, f.UID, a.Triggers, hooks, trialSubject{Delivery: id})
	}
	return page.Page{Title: a.Name, Section: "automations", Crumbs: automationCrumbs(f), Data: data}, nil
}

func automationCrumbs(f *lineshaft.Factory) page.Crumbs {
	return page.Way("automations").To(f.Name, page.FactoryAddress(f.UID))
}

func (s pages) enableAutomation(r *page.Request) error {
	enabled := r.PostFormValue("enabled") == "true"
	a, err := s.Control.UpdateAutomation(r.Context(), r.Caller, r.PathValue("factory"), r.PathValue("uid"), controlfactories.AutomationChange{Enabled: &enabled})
	if err != nil {
		return err
	}
	notice := a.Name + " is disabled. It starts nothing until it is enabled again."
	if enabled {
		notice = a.Name + " is enabled."
	}
	to := page.AutomationAddress(a.FactoryUID, a.UID)
	if r.PostFormValue("from") == "list" {
		to = "/automations"
	}
	return r.Done(to, notice)
}

func (s pages) askDeleteAutomation(r *page.Request) (page.Removal, error) {
	of, err := s.automationOf(r)
	if err != nil {
		return page.Removal{}, err
	}
	f, a := of.Factory, of.Automation
	at := page.AutomationAddress(f.UID, a.UID)
	ask := page.Removal{
		Section: "automations", Crumbs: automationCrumbs(f).To(a.Name, at), ID: a.UID, Kind: "automation", Name: a.Name, Verb: "Delete", Back: at,
		Effects: []string{"Its runs stay, and so do its webhooks."}, Done: "The automation is deleted. Its runs stay.",
	}
	hooks, err := s.Control.ListWebhooks(r.Context(), r.Caller, f.UID)
	for _, t := range a.Triggers {
		ask.Gone = append(ask.Gone, "no longer starts runs: "+triggerHead(t, hooks))
	}
	return ask, err
}
