package web

import (
	"context"
	"net/http"
	"net/url"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	controlfactories "github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

func (s *server) automationRoutes() []route {
	return []route{
		{"GET /automations", readFactories, s.inTurn(s.automationList)},
		{"GET /automations/new", manageFactories, s.chooseAutomationFactory},
		{"GET /factories/{factory}/automations/new", manageFactories, s.newAutomationPage},
		{"POST /factories/{factory}/automations", manageFactories, s.createAutomation},
		{"POST /factories/{factory}/automations/draft", manageFactories, s.draftAutomation},
		{"GET /factories/{factory}/automations/{uid}", readFactories, s.automationPage},
		{"GET /factories/{factory}/automations/{uid}/edit", manageFactories, s.editAutomationPage},
		{"POST /factories/{factory}/automations/{uid}", manageFactories, s.saveAutomation},
		{"POST /factories/{factory}/automations/{uid}/enable", manageFactories, s.enableAutomation},
		{"GET /factories/{factory}/automations/{uid}/delete", manageFactories, s.deleteAutomationPage},
		{"POST /factories/{factory}/automations/{uid}/delete", manageFactories, s.deleteAutomation},
	}
}

// triggerView is a trigger in words.
type triggerView struct {
	Head       string
	Conditions []condition
	// Fires are the next times of a schedule.
	Fires []time.Time
}

func viewTrigger(t lineshaft.Trigger, fires int) triggerView {
	v := triggerView{Head: triggerHead(t), Conditions: triggerConditions(t)}
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
	// Last is its newest run; nil before the first.
	Last *lineshaft.Run
}

// Address is the automation's page.
func (a automationRow) Address() string { return automationAddress(a.FactoryUID, a.UID) }

func automationAddress(factoryUID, uid string) string {
	return factoryAddress(factoryUID) + "/automations/" + url.PathEscape(uid)
}

// automationRows adds what a list shows of automations.
func (s *server) automationRows(ctx context.Context, c lineshaft.Caller, list []lineshaft.Automation, factories []lineshaft.Factory) ([]automationRow, error) {
	known := map[string]lineshaft.Factory{}
	for _, f := range factories {
		known[f.UID] = f
	}
	last, err := s.Control.LastRuns(ctx, c, list)
	if err != nil {
		return nil, err
	}
	var rows []automationRow
	heard := map[string][]lineshaft.Webhook{} // by factory
	for _, a := range list {
		row := automationRow{Automation: a, Factory: known[a.FactoryUID].Name, Managed: known[a.FactoryUID].Mode == lineshaft.ModeManaged}
		hooks, read := heard[a.FactoryUID]
		if !read {
			var err error
			if hooks, err = s.Control.ListWebhooks(ctx, c, a.FactoryUID); err != nil {
				return nil, err
			}
			heard[a.FactoryUID] = hooks
		}
		for _, t := range a.Triggers {
			row.Triggers = append(row.Triggers, viewTrigger(t, 1))
			row.Gone = append(row.Gone, trigger.GoneWebhooks(t, hooks)...)
		}
		if run, ok := last[a.UID]; ok {
			row.Last = &run
		}
		rows = append(rows, row)
	}
	return rows, nil
}

type automationListData struct {
	factoryChooser

	Rows        []automationRow
	Next, First string
}

func (s *server) automationList(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	chooser, err := s.chooser(r, c)
	if err != nil {
		return err
	}
	cursor := r.URL.Query().Get("cursor")
	var found controlfactories.AutomationPage
	if chooser.Chosen == "" {
		found, err = s.Control.AllAutomations(r.Context(), c, listPage, cursor)
	} else {
		found, err = s.Control.ListAutomations(r.Context(), c, chooser.Chosen, listPage, cursor)
	}
	if err != nil {
		return err
	}
	data := automationListData{factoryChooser: chooser, Next: pageAddress(r, found.Next), First: firstAddress(r)}
	if data.Rows, err = s.automationRows(r.Context(), c, found.Items, chooser.Factories); err != nil {
		return err
	}
	return s.render(w, r, c, "automations", page{Title: "Automations", Section: "automations", Data: data})
}

// chooseAutomationFactory leads to the editor of the factory that is chosen, or asks which.
func (s *server) chooseAutomationFactory(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	chooser, err := s.chooser(r, c)
	if err != nil {
		return err
	}
	managed := chooser.Managed()
	if chooser.Chosen == "" && len(managed) == 1 {
		chooser.Chosen = managed[0].UID
	}
	if chooser.Chosen != "" {
		http.Redirect(w, r, factoryAddress(chooser.Chosen)+"/automations/new", http.StatusSeeOther)
		return nil
	}
	return s.render(w, r, c, "automationnew", page{Title: "New automation", Section: "automations", Crumbs: []crumb{{"Automations", "/automations"}}, Data: managed})
}

type automationData struct {
	*lineshaft.Automation

	Factory  *lineshaft.Factory
	Managed  bool
	AgentUID string
	Triggers []triggerView
	// Gone are the webhooks that it listens to and that are deleted.
	Gone []string
	Runs []lineshaft.Run
	// Past are deliveries that it can be tried on, Trial what came of that.
	Past  []pastDelivery
	Trial *trial
}

func (s *server) automationOf(r *http.Request, c lineshaft.Caller) (*lineshaft.Factory, *lineshaft.Automation, error) {
	f, err := s.factoryOf(r, c)
	if err != nil {
		return nil, nil, err
	}
	a, err := s.Control.GetAutomation(r.Context(), c, f.UID, r.PathValue("uid"))
	return f, a, err
}

func (s *server) automationPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	f, a, err := s.automationOf(r, c)
	if err != nil {
		return err
	}
	ctx := r.Context()
	data := automationData{Automation: a, Factory: f, Managed: f.Mode == lineshaft.ModeManaged}
	for _, t := range a.Triggers {
		data.Triggers = append(data.Triggers, viewTrigger(t, 5))
	}
	agents, err := s.Control.ListAgents(ctx, c, f.UID, base.MaxPage, "")
	if err != nil {
		return err
	}
	for _, agent := range agents.Items {
		if agent.Name == a.Agent || a.Agent == "" && agent.Name == f.Foreman {
			data.AgentUID = agent.UID
		}
	}
	if data.Runs, err = s.recentRuns(ctx, c, controlfactories.AutomationRuns(a.UID)); err != nil {
		return err
	}
	hooks, err := s.Control.ListWebhooks(ctx, c, f.UID)
	if err != nil {
		return err
	}
	for _, t := range a.Triggers {
		data.Gone = append(data.Gone, trigger.GoneWebhooks(t, hooks)...)
	}
	if data.Past, err = s.pastDeliveries(ctx, c, f.UID, listening(a.Triggers, hooks)); err != nil {
		return err
	}
	if id := r.URL.Query().Get("delivery"); id != "" {
		data.Trial = s.try(ctx, c, f.UID, a.Triggers, trialSubject{Delivery: id})
	}
	return s.render(w, r, c, "automation", page{Title: a.Name, Section: "automations", Crumbs: automationCrumbs(f), Data: data})
}

func automationCrumbs(f *lineshaft.Factory) []crumb {
	return []crumb{{"Automations", "/automations"}, {f.Name, factoryAddress(f.UID)}}
}

func (s *server) enableAutomation(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	enabled := r.PostFormValue("enabled") == "true"
	a, err := s.Control.UpdateAutomation(r.Context(), c, r.PathValue("factory"), r.PathValue("uid"), controlfactories.AutomationChange{Enabled: &enabled})
	if err != nil {
		return err
	}
	notice := a.Name + " is disabled. It starts nothing until it is enabled again."
	if enabled {
		notice = a.Name + " is enabled."
	}
	to := automationAddress(a.FactoryUID, a.UID)
	if r.PostFormValue("from") == "list" {
		to = "/automations"
	}
	return s.done(w, r, to, notice)
}

func (s *server) deleteAutomationPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	f, a, err := s.automationOf(r, c)
	if err != nil {
		return err
	}
	at := automationAddress(f.UID, a.UID)
	ask := removal{Kind: "automation", Name: a.Name, Verb: "Delete", Effects: []string{"Its runs stay, and so do its webhooks."}, Action: at + "/delete", Back: at}
	for _, t := range a.Triggers {
		ask.Gone = append(ask.Gone, "starts nothing any more: "+triggerHead(t))
	}
	return s.askRemoval(w, r, c, "automations", append(automationCrumbs(f), crumb{a.Name, at}), ask, nil)
}

func (s *server) deleteAutomation(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	if err := s.Control.DeleteAutomation(r.Context(), c, r.PathValue("factory"), r.PathValue("uid")); err != nil {
		return err
	}
	return s.done(w, r, "/automations", "The automation is deleted. Its runs stay.")
}
