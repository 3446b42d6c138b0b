package web

import (
	"net/http"
	"net/url"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

const (
	readFactories   = lineshaft.PermissionFactoriesRead
	manageFactories = lineshaft.PermissionFactoriesManage
	// listPage is how many rows a page of a list has.
	listPage = 25
	// chooserMost is how many factories a chooser offers.
	chooserMost = 100
)

func (s *server) factoryRoutes() []route {
	return append([]route{
		{"GET /factories", readFactories, s.factoryList},
		{"POST /factories", manageFactories, s.createFactory},
		{"GET /factories/new", manageFactories, s.newFactoryPage},
		{"GET /factories/{factory}", readFactories, s.factoryPage},
		{"GET /factories/{factory}/edit", manageFactories, s.editFactoryPage},
		{"POST /factories/{factory}", manageFactories, s.saveFactory},
		{"POST /factories/{factory}/pause", manageFactories, s.pauseFactory},
		{"GET /factories/{factory}/delete", manageFactories, s.deleteFactoryPage},
		{"POST /factories/{factory}/delete", manageFactories, s.deleteFactory},
	}, append(s.factoryRepositoryRoutes(), s.factoryRevisionRoutes()...)...)
}

type factoryRow struct {
	lineshaft.Factory

	Parts factories.PartCounts
}

type factoryListData struct {
	Rows        []factoryRow
	Search      string
	Next, First string
}

func (s *server) factoryList(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	query := r.URL.Query()
	found, err := s.Control.ListFactories(r.Context(), c, factories.FactoryQuery{Search: query.Get("search"), Limit: listPage, Cursor: query.Get("cursor")})
	if err != nil {
		return err
	}
	counts, err := s.Control.CountParts(r.Context(), c, found.Factories)
	if err != nil {
		return err
	}
	data := factoryListData{Search: query.Get("search"), Next: pageAddress(r, found.Next), First: firstAddress(r)}
	for _, f := range found.Factories {
		data.Rows = append(data.Rows, factoryRow{f, counts[f.UID]})
	}
	return s.render(w, r, c, "factories", page{Title: "Factories", Section: "factories", Data: data})
}

// factoryForm is a factory as a form has it.
type factoryForm struct {
	UID, Name, Alias, Description string
	// Follow is set when a new factory is to follow a repository.
	URL, Branch, Path string
}

func readFactoryForm(r *http.Request) factoryForm {
	return factoryForm{
		UID: r.PathValue("factory"), Name: r.PostFormValue("name"), Alias: r.PostFormValue("alias"), Description: r.PostFormValue("description"),
		URL: r.PostFormValue("url"), Branch: r.PostFormValue("branch"), Path: r.PostFormValue("path"),
	}
}

func (f factoryForm) source() *lineshaft.GitSource {
	if f.URL == "" {
		return nil
	}
	return &lineshaft.GitSource{URL: f.URL, Branch: f.Branch, Path: f.Path}
}

func newFactory(f factoryForm) page {
	return page{Title: "New factory", Section: "factories", Crumbs: []crumb{{"Factories", "/factories"}}, Data: f}
}

func (s *server) newFactoryPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	return s.render(w, r, c, "factoryedit", newFactory(factoryForm{}))
}

func (s *server) createFactory(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	form := readFactoryForm(r)
	made, err := s.Control.CreateFactory(r.Context(), c, factories.NewFactory{Name: form.Name, Alias: form.Alias, Description: form.Description, Repository: form.source()})
	if err != nil {
		return s.renderAgain(w, r, c, "factoryedit", newFactory(form), err)
	}
	return s.done(w, r, factoryAddress(made.UID), "The factory is created. It has one agent, its foreman.")
}

func factoryAddress(uid string) string { return "/factories/" + url.PathEscape(uid) }

func factoryCrumbs(f *lineshaft.Factory) []crumb {
	return []crumb{{"Factories", "/factories"}, {f.Name, factoryAddress(f.UID)}}
}

// factoryOf reads the factory that the address names.
func (s *server) factoryOf(r *http.Request, c lineshaft.Caller) (*lineshaft.Factory, error) {
	return s.Control.GetFactory(r.Context(), c, r.PathValue("factory"))
}

type factoryData struct {
	*lineshaft.Factory

	Managed     bool
	Agents      []lineshaft.Agent
	Automations []automationRow
	// More and MoreAgents say that there are others than those that are shown.
	More, MoreAgents bool
	Webhooks         []lineshaft.Webhook
	Schedules        []lineshaft.Schedule
	Revisions        []lineshaft.Revision
}

func (s *server) factoryPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	ctx := r.Context()
	f, err := s.factoryOf(r, c)
	if err != nil {
		return err
	}
	data := factoryData{Factory: f, Managed: f.Mode == lineshaft.ModeManaged}
	agents, err := s.Control.ListAgents(ctx, c, f.UID, agentsPerPage, "")
	if err != nil {
		return err
	}
	data.Agents, data.MoreAgents = agents.Items, agents.Next != ""
	automations, err := s.Control.ListAutomations(ctx, c, f.UID, listPage, "")
	if err != nil {
		return err
	}
	data.More = automations.Next != ""
	if data.Automations, err = s.automationRows(ctx, c, automations.Items, nil); err != nil {
		return err
	}
	if data.Webhooks, err = s.Control.ListWebhooks(ctx, c, f.UID); err != nil {
		return err
	}
	schedules, err := s.Control.ListSchedules(ctx, c, f.UID, schedulesPerPage, "")
	if err != nil {
		return err
	}
	data.Schedules = schedules.Items
	if c.Role.May(manageFactories) {
		revisions, err := s.Control.ListRevisions(ctx, c, f.UID, 5, "")
		if err != nil {
			return err
		}
		data.Revisions = revisions.Revisions
	}
	return s.render(w, r, c, "factory", page{Title: f.Name, Section: "factories", Crumbs: factoryCrumbs(f)[:1], Data: data})
}

func editFactory(f *lineshaft.Factory, form factoryForm) page {
	return page{Title: "Edit factory", Section: "factories", Crumbs: factoryCrumbs(f), Data: form}
}

func (s *server) editFactoryPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	f, err := s.factoryOf(r, c)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "factoryedit", editFactory(f, factoryForm{UID: f.UID, Name: f.Name, Alias: f.Alias, Description: f.Description}))
}

func (s *server) saveFactory(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	f, err := s.factoryOf(r, c)
	if err != nil {
		return err
	}
	form := readFactoryForm(r)
	_, err = s.Control.UpdateFactory(r.Context(), c, f.UID, factories.FactoryChange{Name: &form.Name, Alias: &form.Alias, Description: &form.Description})
	if err != nil {
		return s.renderAgain(w, r, c, "factoryedit", editFactory(f, form), err)
	}
	return s.done(w, r, factoryAddress(f.UID), "The factory is changed.")
}

func (s *server) pauseFactory(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	paused := r.PostFormValue("paused") == "true"
	f, err := s.Control.UpdateFactory(r.Context(), c, r.PathValue("factory"), factories.FactoryChange{Paused: &paused})
	if err != nil {
		return err
	}
	notice := "The factory goes on. Deliveries that came while it was paused are not made up for: redeliver what should have run."
	if paused {
		notice = "The factory is paused. Deliveries are accepted and logged, and start nothing."
	}
	return s.done(w, r, factoryAddress(f.UID), notice)
}

func (s *server) deleteFactoryPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	f, err := s.factoryOf(r, c)
	if err != nil {
		return err
	}
	ask := removal{
		Kind: "factory", Name: f.Name, Verb: "Delete", Effects: []string{"Its runs and the log of its deliveries stay."},
		Action: factoryAddress(f.UID) + "/delete", Back: factoryAddress(f.UID),
	}
	agents, err := s.Control.ListAgents(r.Context(), c, f.UID, chooserMost, "")
	if err != nil {
		return err
	}
	for _, a := range agents.Items {
		ask.Gone = append(ask.Gone, "agent "+a.Name)
	}
	if agents.Next != "" {
		ask.Gone = append(ask.Gone, "and its other agents")
	}
	automations, err := s.Control.ListAutomations(r.Context(), c, f.UID, chooserMost, "")
	if err != nil {
		return err
	}
	for _, a := range automations.Items {
		ask.Gone = append(ask.Gone, "automation "+a.Name)
	}
	if automations.Next != "" {
		ask.Gone = append(ask.Gone, "and its other automations")
	}
	hooks, err := s.Control.ListWebhooks(r.Context(), c, f.UID)
	if err != nil {
		return err
	}
	for _, h := range hooks {
		ask.Gone = append(ask.Gone, "webhook "+h.Name+": its senders get 404")
	}
	return s.askRemoval(w, r, c, "factories", factoryCrumbs(f), ask, nil)
}

func (s *server) deleteFactory(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	if err := s.Control.DeleteFactory(r.Context(), c, r.PathValue("factory")); err != nil {
		return err
	}
	return s.done(w, r, "/factories", "The factory is deleted. Its runs stay.")
}

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
	var list []lineshaft.Factory
	for _, one := range f.Factories {
		if one.Mode == lineshaft.ModeManaged {
			list = append(list, one)
		}
	}
	return list
}

func (s *server) chooser(r *http.Request, c lineshaft.Caller) (factoryChooser, error) {
	found, err := s.Control.ListFactories(r.Context(), c, factories.FactoryQuery{Limit: chooserMost})
	return factoryChooser{Factories: found.Factories, Chosen: r.URL.Query().Get("factory")}, err
}
