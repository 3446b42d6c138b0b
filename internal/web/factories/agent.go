package factories

import (
	"cmp"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func (s pages) agentRoutes() []page.Route {
	return append([]page.Route{
		page.Get("/agents", see, page.InTurn(page.Show("agents", s.agentList))),
		page.Get("/agents/new", edit, page.Show("agentedit", s.newAgentPage)),
		page.Post("/agents", edit, s.createAgent),
		page.Get("/agents/{uid}", see, page.ShowWith("agent", s.shownAgent, s.agentPage)),
		page.Get("/agents/{uid}/edit", edit, page.ShowOf("agentedit", s.storedAgentForm, agentFormPage)),
		page.Post("/agents/{uid}", edit, page.With(s.storedAgentForm, s.saveAgent)),
	}, page.Removing("/agents/{uid}/delete", edit, s.askDeleteAgent, func(r *page.Request, id string) error {
		return s.Control.DeleteAgent(r.Context(), r.Caller, id)
	})...)
}

type agentListData struct {
	factoryChooser
	page.Pager

	Agents []lineshaft.Agent
}

func (s pages) agentList(r *page.Request) (p page.Page, err error) {
	chooser, err := s.chooser(r)
	if err != nil {
		return p, err
	}
	found, err := s.Control.ListAgents(r.Context(), r.Caller, chooser.Chosen, longPage, r.Cursor())
	return page.Of("agents", agentListData{chooser, r.Pager(found.Next), found.Items}), err
}

type agentData struct {
	*lineshaft.Agent

	// Factory is nil for an agent of the whole team.
	Factory *lineshaft.Factory
	Managed bool
	Runs    []lineshaft.Run
	// UsedBy are the automations that give it work.
	UsedBy []lineshaft.Automation
	// More says that the factory has more automations than were looked at.
	More bool
	// Environment is the name of its environment.
	Environment string
}

func (s pages) shownAgent(r *page.Request) (agentData, error) {
	a, err := s.Control.GetAgent(r.Context(), r.Caller, r.PathValue("uid"))
	if err != nil {
		return agentData{}, err
	}
	data := agentData{Agent: a, Managed: true}
	if a.FactoryUID == "" {
		return data, nil
	}
	data.Factory, err = s.Control.GetFactory(r.Context(), r.Caller, a.FactoryUID)
	if err == nil {
		data.Managed = managed(*data.Factory)
	}
	return data, err
}

func (s pages) agentPage(r *page.Request, data agentData) (p page.Page, err error) {
	if data.UsedBy, data.More, err = s.agentUses(r, data); err != nil {
		return p, err
	}
	data.Environment = s.environmentName(r, data.Config.EnvironmentID)
	data.Runs, err = s.RecentRuns(r.Context(), r.Caller, lineshaft.RunFilter{Executor: data.UID})
	p = page.Below("agents", data.Name, data)
	p.Crumbs = data.way()
	return p, err
}

// way leads to the page of an agent, by its factory if it has one.
func (d agentData) way() page.Crumbs {
	if d.Factory == nil {
		return page.Way("agents")
	}
	return page.Way("agents").To(d.Factory.Name, page.FactoryAddress(d.FactoryUID))
}

// environmentName is empty for one that is gone, or that the reader may not see.
func (s pages) environmentName(r *page.Request, uid string) string {
	if uid == "" {
		return ""
	}
	found, err := s.Control.GetEnvironment(r.Context(), r.Caller, uid)
	if err != nil {
		return ""
	}
	return found.Config.Name
}

// agentUses finds who gives an agent work among the first automations of its factory; more says that there are others.
func (s pages) agentUses(r *page.Request, data agentData) (uses []lineshaft.Automation, more bool, err error) {
	if data.Factory == nil {
		return nil, false, nil
	}
	found, err := s.Control.ListAutomations(r.Context(), r.Caller, data.FactoryUID, longPage, "")
	return slices.DeleteFunc(found.Items, func(a lineshaft.Automation) bool {
		return a.Agent != data.Name && (a.Agent != "" || data.Factory.Foreman != data.Name)
	}), found.Next != "", err
}

// agentForm is an agent as a form has it.
type agentForm struct {
	lineshaft.Agent

	Factories    []lineshaft.Factory
	Environments []lineshaft.EnvironmentDetail
	Types        []lineshaft.AgentType
	Policies     []string
	// Skills, Secrets and Command are as they were typed.
	Skills, Secrets, Command string
	Harness                  lineshaft.HarnessConfig
	// Offered is what its fields offer while one types.
	Offered page.Suggestions
	Tools   toolForms
	// way leads to the page of the agent, whose name is still stored.
	way    page.Crumbs
	stored string
}

func (s pages) newAgentForm(r *page.Request, a lineshaft.Agent) (agentForm, error) {
	form := agentForm{
		Agent: a, stored: a.Name, Types: lineshaft.AgentTypes(), Policies: lineshaft.Policies(),
		Skills: strings.Join(a.Config.Skills, "\n"), Secrets: strings.Join(a.Config.Secrets, " "),
	}
	form.Tools = showTools(a.Config.MCPServers, form.address(), "Without any, its factory's are used.")
	if a.Config.Harness != nil {
		form.Harness, form.Command = *a.Config.Harness, strings.Join(a.Config.Harness.Command, "\n")
	}
	chooser, err := s.chooser(r)
	if err != nil {
		return form, err
	}
	form.Factories = chooser.Managed()
	form.Offered = s.Suggestions(r)
	form.Environments, err = s.Control.ListEnvironments(r.Context(), r.Caller, secrets.EnvironmentsByName)
	return form, err
}

// address is where the form goes.
func (f *agentForm) address() string {
	if f.UID == "" {
		return "/agents"
	}
	return page.Under("agents", f.UID)
}

// read takes what was typed. The tool servers are read when they are asked for.
func (f *agentForm) read(r *page.Request) {
	f.Tools.read(r)
	value := r.PostFormValue
	f.Name, f.Type, f.Description, f.Prompt = value("name"), lineshaft.AgentType(value("agent_type")), value("description"), page.FormText(value("prompt"))
	f.Config.ModelID, f.Config.EnvironmentID, f.Config.WorkerHost = value("model_id"), value("environment_id"), value("worker_host")
	if r.PostForm.Has("runner_id") { // pages of an earlier version do not have it
		f.Config.RunnerID = r.Text("runner_id")
	}
	f.Skills, f.Secrets, f.Command = value("skills"), value("secrets"), value("command")
	none := f.Config.Secrets != nil && len(f.Config.Secrets) == 0 // said in the definition; an empty field leaves it so
	f.Config.Skills, f.Config.Secrets = page.NonEmptyLines(f.Skills), page.Words(f.Secrets)
	if none && len(f.Config.Secrets) == 0 {
		f.Config.Secrets = nil
	}
	f.Harness = lineshaft.HarnessConfig{
		Type: value("harness"), ModelID: value("harness_model"), ReasoningLevel: value("reasoning"), Mode: f.Harness.Mode,
		Permissions: value("permissions"), Command: page.NonEmptyLines(f.Command), Auth: f.Harness.Auth,
	}
	if !slices.Contains(lineshaft.KeyedHarnesses(), cmp.Or(f.Harness.Type, lineshaft.KeyedHarnesses()[0])) {
		f.Harness.Auth = nil // the page does not show it, and this agent could not have it
	}
	if f.Harness.Type == "" {
		f.Harness.Mode = ""
	}
	f.Config.Harness = nil
	if !f.Harness.IsZero() {
		f.Config.Harness = &f.Harness
	}
}

func agentFormPage(form agentForm) page.Page {
	if form.UID == "" {
		return page.Below("agents", "New agent", form)
	}
	p := page.Below("agents", "Edit agent", form)
	p.Crumbs = form.way.To(form.stored, page.Under("agents", form.UID))
	return p
}

func (s pages) newAgentPage(r *page.Request) (page.Page, error) {
	form, err := s.newAgentForm(r, lineshaft.Agent{Type: lineshaft.AgentCustom, FactoryUID: r.URL.Query().Get("factory")})
	if form.FactoryUID == "" && len(form.Factories) == 1 {
		form.FactoryUID = form.Factories[0].UID
	}
	return agentFormPage(form), err
}

func (s pages) createAgent(r *page.Request) error {
	form, err := s.newAgentForm(r, lineshaft.Agent{FactoryUID: r.PostFormValue("factory_uid")})
	if err != nil {
		return err
	}
	form.read(r)
	if form.Tools.change(r.PostFormValue("do")) {
		return r.Render("agentedit", agentFormPage(form))
	}
	made := &form.Agent
	if made.Config.MCPServers, err = form.Tools.servers(); err == nil {
		made, err = s.Control.CreateAgent(r.Context(), r.Caller, form.Agent)
	}
	if err != nil {
		form.Tools.blame(err)
		return r.Again("agentedit", agentFormPage(form), err)
	}
	return r.Done(page.Under("agents", made.UID), "The agent is created.")
}

func (s pages) storedAgentForm(r *page.Request) (agentForm, error) {
	data, err := s.shownAgent(r)
	if err != nil {
		return agentForm{}, err
	}
	form, err := s.newAgentForm(r, *data.Agent)
	form.way = data.way()
	return form, err
}

func (s pages) saveAgent(r *page.Request, form agentForm) error {
	form.read(r)
	if form.Tools.change(r.PostFormValue("do")) {
		return r.Render("agentedit", agentFormPage(form))
	}
	servers, err := form.Tools.servers()
	if len(servers) == 0 && form.Tools.None() {
		servers = nil // it goes on saying so
	}
	if err == nil {
		_, err = s.Control.UpdateAgent(r.Context(), r.Caller, form.UID, factories.AgentChange{
			Name: &form.Name, Type: &form.Type, Description: &form.Description, Prompt: &form.Prompt, ModelID: &form.Config.ModelID,
			EnvironmentID: &form.Config.EnvironmentID, WorkerHost: &form.Config.WorkerHost, RunnerID: &form.Config.RunnerID,
			Harness: &form.Harness, Secrets: form.Config.Secrets, Skills: form.Config.Skills, MCPServers: servers,
		})
	}
	if err != nil {
		form.Tools.blame(err)
		return r.Again("agentedit", agentFormPage(form), err)
	}
	return r.Done(page.Under("agents", form.UID), "The agent is changed. Runs in progress continue with the old settings.")
}

func (s pages) askDeleteAgent(r *page.Request) (page.Removal, error) {
	data, err := s.shownAgent(r)
	if err != nil {
		return page.Removal{}, err
	}
	at := page.Under("agents", data.UID)
	ask := page.Removal{
		Section: "agents", Crumbs: data.way().To(data.Name, at), ID: data.UID, Kind: "agent", Name: data.Name, Verb: "Delete", Back: at,
		Effects: []string{"Its runs stay."}, Done: "The agent is deleted. Its runs stay.",
	}
	uses, more, err := s.agentUses(r, data)
	ask.Uses.More = more
	for _, a := range uses {
		ask.Uses.Named = append(ask.Uses.Named, secrets.Use{
			Kind: "automation", UID: a.UID, FactoryUID: a.FactoryUID, Text: "automation " + a.Name,
		})
	}
	return ask, err
}
