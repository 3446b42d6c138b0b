package web

import (
	"cmp"
	"context"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// agentsPerPage is how many agents a page of the list has.
const agentsPerPage = 100

func (s *server) agentRoutes() []route {
	return []route{
		{"GET /agents", readFactories, s.inTurn(s.agentList)},
		{"GET /agents/new", manageFactories, s.newAgentPage},
		{"POST /agents", manageFactories, s.createAgent},
		{"GET /agents/{uid}", readFactories, s.agentPage},
		{"GET /agents/{uid}/edit", manageFactories, s.editAgentPage},
		{"POST /agents/{uid}", manageFactories, s.saveAgent},
		{"GET /agents/{uid}/delete", manageFactories, s.deleteAgentPage},
		{"POST /agents/{uid}/delete", manageFactories, s.deleteAgent},
	}
}

type agentListData struct {
	factoryChooser

	Agents      []lineshaft.Agent
	Next, First string
}

func (s *server) agentList(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	chooser, err := s.chooser(r, c)
	if err != nil {
		return err
	}
	found, err := s.Control.ListAgents(r.Context(), c, chooser.Chosen, agentsPerPage, r.URL.Query().Get("cursor"))
	if err != nil {
		return err
	}
	data := agentListData{chooser, found.Items, pageAddress(r, found.Next), firstAddress(r)}
	return s.render(w, r, c, "agents", page{Title: "Agents", Section: "agents", Data: data})
}

type agentData struct {
	*lineshaft.Agent

	// Factory is nil for an agent of the whole team.
	Factory *lineshaft.Factory
	Managed bool
	Runs    []lineshaft.Run
	// UsedBy are the automations that give it work.
	UsedBy []lineshaft.Automation
}

func (s *server) shownAgent(r *http.Request, c lineshaft.Caller) (agentData, error) {
	a, err := s.Control.GetAgent(r.Context(), c, r.PathValue("uid"))
	if err != nil {
		return agentData{}, err
	}
	data := agentData{Agent: a, Managed: true}
	if a.FactoryUID == "" {
		return data, nil
	}
	data.Factory, err = s.Control.GetFactory(r.Context(), c, a.FactoryUID)
	if err == nil {
		data.Managed = data.Factory.Mode == lineshaft.ModeManaged
	}
	return data, err
}

func (s *server) agentPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data, err := s.shownAgent(r, c)
	if err != nil {
		return err
	}
	if data.UsedBy, err = s.agentUses(r.Context(), c, data); err != nil {
		return err
	}
	if data.Runs, err = s.recentRuns(r.Context(), c, lineshaft.RunFilter{Executor: data.UID}); err != nil {
		return err
	}
	return s.render(w, r, c, "agent", page{Title: data.Name, Section: "agents", Crumbs: []crumb{{"Agents", "/agents"}}, Data: data})
}

// agentUses are the automations whose runs go to an agent.
func (s *server) agentUses(ctx context.Context, c lineshaft.Caller, data agentData) ([]lineshaft.Automation, error) {
	if data.Factory == nil {
		return nil, nil
	}
	found, err := s.Control.ListAutomations(ctx, c, data.FactoryUID, chooserMost, "")
	if err != nil {
		return nil, err
	}
	return slices.DeleteFunc(found.Items, func(a lineshaft.Automation) bool {
		return a.Agent != data.Name && (a.Agent != "" || data.Factory.Foreman != data.Name)
	}), nil
}

// recentRuns are the newest runs that a filter selects.
func (s *server) recentRuns(ctx context.Context, c lineshaft.Caller, f lineshaft.RunFilter) ([]lineshaft.Run, error) {
	found, err := s.Control.ListRuns(ctx, c, lineshaft.RunQuery{Filter: f, Sort: lineshaft.SortCreated, Limit: 10})
	return found.Runs, err
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
}

func (s *server) newAgentForm(r *http.Request, c lineshaft.Caller, a lineshaft.Agent) (agentForm, error) {
	form := agentForm{
		Agent: a, Types: lineshaft.AgentTypes(), Policies: lineshaft.Policies(),
		Skills: strings.Join(a.Config.Skills, "\n"), Secrets: strings.Join(a.Config.Secrets, " "),
	}
	if a.Config.Harness != nil {
		form.Harness, form.Command = *a.Config.Harness, strings.Join(a.Config.Harness.Command, "\n")
	}
	chooser, err := s.chooser(r, c)
	if err != nil {
		return form, err
	}
	form.Factories = chooser.Managed()
	form.Environments, err = s.Control.ListEnvironments(r.Context(), c, secrets.EnvironmentsByName)
	return form, err
}

// read takes what was typed.
func (f *agentForm) read(r *http.Request) {
	value := r.PostFormValue
	f.Name, f.Type, f.Description, f.Prompt = value("name"), lineshaft.AgentType(value("agent_type")), value("description"), formText(value("prompt"))
	f.Config.ModelID, f.Config.EnvironmentID, f.Config.WorkerHost = value("model_id"), value("environment_id"), value("worker_host")
	f.Skills, f.Secrets, f.Command = value("skills"), value("secrets"), value("command")
	none := f.Config.Secrets != nil && len(f.Config.Secrets) == 0 // said in the definition; an empty field leaves it so
	f.Config.Skills, f.Config.Secrets = nonEmptyLines(f.Skills), strings.FieldsFunc(f.Secrets, separates)
	if none && len(f.Config.Secrets) == 0 {
		f.Config.Secrets = nil
	}
	f.Harness = lineshaft.HarnessConfig{
		Type: value("harness"), ModelID: value("harness_model"), ReasoningLevel: value("reasoning"), Mode: f.Harness.Mode,
		Permissions: value("permissions"), Command: nonEmptyLines(f.Command), Auth: f.Harness.Auth,
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

// formText undoes what browsers do to the line ends of a text.
func formText(text string) string { return strings.ReplaceAll(text, "\r\n", "\n") }

// nonEmptyLines is never nil: an empty list takes away what was there.
func nonEmptyLines(text string) []string {
	lines := []string{}
	for line := range strings.SplitSeq(formText(text), "\n") {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}

func separates(r rune) bool { return r == ',' || r == ' ' || r == '\n' || r == '\r' || r == '\t' }

func agentFormPage(form agentForm) page {
	p := page{Title: "New agent", Section: "agents", Crumbs: []crumb{{"Agents", "/agents"}}, Data: form}
	if form.UID != "" {
		p.Title, p.Crumbs = "Edit agent", append(p.Crumbs, crumb{form.Agent.Name, agentAddress(form.UID)})
	}
	return p
}

func agentAddress(uid string) string { return "/agents/" + url.PathEscape(uid) }

func (s *server) newAgentPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	form, err := s.newAgentForm(r, c, lineshaft.Agent{Type: lineshaft.AgentCustom, FactoryUID: r.URL.Query().Get("factory")})
	if err != nil {
		return err
	}
	if form.FactoryUID == "" && len(form.Factories) == 1 {
		form.FactoryUID = form.Factories[0].UID
	}
	return s.render(w, r, c, "agentedit", agentFormPage(form))
}

func (s *server) createAgent(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	form, err := s.newAgentForm(r, c, lineshaft.Agent{FactoryUID: r.PostFormValue("factory_uid")})
	if err != nil {
		return err
	}
	form.read(r)
	made, err := s.Control.CreateAgent(r.Context(), c, lineshaft.Agent{
		FactoryUID: form.FactoryUID, Name: form.Name, Type: form.Type, Description: form.Description, Prompt: form.Prompt, Config: form.Config,
	})
	if err != nil {
		return s.renderAgain(w, r, c, "agentedit", agentFormPage(form), err)
	}
	return s.done(w, r, agentAddress(made.UID), "The agent is created.")
}

func (s *server) editAgentPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data, err := s.shownAgent(r, c)
	if err != nil {
		return err
	}
	form, err := s.newAgentForm(r, c, *data.Agent)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "agentedit", agentFormPage(form))
}

func (s *server) saveAgent(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data, err := s.shownAgent(r, c)
	if err != nil {
		return err
	}
	form, err := s.newAgentForm(r, c, *data.Agent)
	if err != nil {
		return err
	}
	p := agentFormPage(form) // its crumbs bear the name that is stored
	form.read(r)
	p.Data = form
	_, err = s.Control.UpdateAgent(r.Context(), c, form.UID, factories.AgentChange{
		Name: &form.Name, Type: &form.Type, Description: &form.Description, Prompt: &form.Prompt, ModelID: &form.Config.ModelID,
		EnvironmentID: &form.Config.EnvironmentID, WorkerHost: &form.Config.WorkerHost, Harness: &form.Harness,
		Secrets: form.Config.Secrets, Skills: form.Config.Skills,
	})
	if err != nil {
		return s.renderAgain(w, r, c, "agentedit", p, err)
	}
	return s.done(w, r, agentAddress(form.UID), "The agent is changed. Runs that are under way go on as they began.")
}

func (s *server) deleteAgentPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	return s.askDeleteAgent(w, r, c, nil)
}

func (s *server) askDeleteAgent(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, wrong error) error {
	data, err := s.shownAgent(r, c)
	if err != nil {
		return err
	}
	at := agentAddress(data.UID)
	ask := removal{Kind: "agent", Name: data.Name, Verb: "Delete", Effects: []string{"Its runs stay."}, Action: at + "/delete", Back: at}
	uses, err := s.agentUses(r.Context(), c, data)
	if err != nil {
		return err
	}
	for _, a := range uses {
		ask.Uses.Named = append(ask.Uses.Named, "automation "+a.Name)
	}
	return s.askRemoval(w, r, c, "agents", []crumb{{"Agents", "/agents"}, {data.Name, at}}, ask, wrong)
}

func (s *server) deleteAgent(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	if err := s.Control.DeleteAgent(r.Context(), c, r.PathValue("uid")); err != nil {
		if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
			return s.askDeleteAgent(w, r, c, err)
		}
		return err
	}
	return s.done(w, r, "/agents", "The agent is deleted. Its runs stay.")
}
