package web

import (
	"context"
	"errors"
	"net/http"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

// scheduleForm is a schedule as its form has it.
type scheduleForm struct {
	Schedule trigger.NewSchedule
	Agents   []option
	// Environments may be chosen; Kept names settings that the form does not have and
	// that stay as they are.
	Environments       []option
	Kept               []string
	Preview            firesData
	Action, Back, Verb string
}

// firesData is what is told of a timing while one types.
type firesData struct {
	Fires []fire
	Words string
	Wrong string
	// Empty says that nothing is written yet.
	Empty bool
}

func (s *server) newSchedulePage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	n := trigger.NewSchedule{Enabled: true, AgentUID: r.URL.Query().Get("agent")}
	p, err := s.scheduleForm(r, c, "", n)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "scheduleform", p)
}

func (s *server) editSchedulePage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	found, err := s.Control.GetSchedule(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	p, err := s.scheduleForm(r, c, found.ID, newScheduleOf(*found))
	if err != nil {
		return err
	}
	return s.render(w, r, c, "scheduleform", p)
}

func newScheduleOf(one lineshaft.Schedule) trigger.NewSchedule {
	return trigger.NewSchedule{
		Name: one.Name, Timing: one.Timing, Enabled: one.Enabled, Prompt: one.Prompt, AgentUID: one.AgentUID, Config: one.Config, Metadata: one.Metadata,
	}
}

// scheduleForm is the page of the form for a schedule, or for a new one.
func (s *server) scheduleForm(r *http.Request, c lineshaft.Caller, id string, n trigger.NewSchedule) (page, error) {
	form := scheduleForm{Schedule: n, Action: "/schedules", Back: "/schedules", Verb: "Create schedule", Kept: keptSettings(n.Config)}
	p := page{Title: "New schedule", Section: "schedules", Crumbs: []crumb{{"Schedules", "/schedules"}}}
	if id != "" {
		form.Action, form.Back, form.Verb = under("schedules", id), under("schedules", id), "Save"
		p.Title, p.Crumbs = "Edit schedule", append(p.Crumbs, crumb{n.Name, form.Back})
	}
	var err error
	if form.Agents, err = s.agentOptions(r.Context(), c); err != nil {
		return page{}, err
	}
	environments, err := s.Control.ListEnvironments(r.Context(), c, secrets.EnvironmentsByName)
	if err != nil {
		return page{}, err
	}
	for _, e := range environments {
		form.Environments = append(form.Environments, option{e.UID, e.Config.Name})
	}
	form.Agents = withChosen(form.Agents, n.AgentUID)
	form.Environments = withChosen(form.Environments, n.Config.EnvironmentID)
	if form.Preview, err = s.fires(r.Context(), c, n.Timing); err != nil {
		return page{}, err
	}
	p.Data = form
	return p, nil
}

// agentOptions are the agents by factory and name.
func (s *server) agentOptions(ctx context.Context, c lineshaft.Caller) ([]option, error) {
	agents, err := s.Control.ListAgents(ctx, c, "", base.MaxPage, "")
	if err != nil {
		return nil, err
	}
	factories, err := s.factoryNames(ctx, c)
	if err != nil {
		return nil, err
	}
	var options []option
	for _, agent := range agents.Items {
		name := agent.Name
		if factory := factories[agent.FactoryUID]; factory != "" {
			name = factory + " / " + name
		}
		options = append(options, option{agent.UID, name})
	}
	slices.SortFunc(options, func(a, b option) int { return strings.Compare(strings.ToLower(a.Name), strings.ToLower(b.Name)) })
	return options, nil
}

// withChosen keeps what is chosen among the options, though it may be gone.
func withChosen(options []option, value string) []option {
	if value == "" || slices.ContainsFunc(options, func(o option) bool { return o.Value == value }) {
		return options
	}
	return append(options, option{value, value + " (gone)"})
}

// keptSettings names what the form does not have of a configuration.
func keptSettings(config lineshaft.AgentConfig) []string {
	var kept []string
	for name, there := range map[string]bool{
		"skills": len(config.Skills) > 0, "secrets": len(config.Secrets) > 0, "tool servers": len(config.MCPServers) > 0, "base prompt": config.BasePrompt != "",
		"harness": config.Harness != nil, "budget": config.Budget != nil, "concurrency": config.Concurrency != nil, "runner": config.RunnerID != "",
		"limits of time": config.TimeoutMinutes != nil || config.StallMinutes != nil || config.QueueTimeoutMinutes != nil || config.IdleTimeoutMinutes != nil,
		"attempts":       config.MaxAttempts != nil, "name": config.Name != "",
	} {
		if there {
			kept = append(kept, name)
		}
	}
	slices.Sort(kept)
	return kept
}

func (s *server) previewFires(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	query := r.URL.Query()
	data, err := s.fires(r.Context(), c, lineshaft.Timing{Cron: query.Get("cron"), Timezone: strings.TrimSpace(query.Get("timezone"))})
	if err != nil {
		return err
	}
	return s.fragment(w, r, "scheduleform", "fires", data)
}

// fires tells when a timing would fire, or what is wrong with it.
func (s *server) fires(ctx context.Context, c lineshaft.Caller, timing lineshaft.Timing) (firesData, error) {
	if strings.TrimSpace(timing.Cron) == "" {
		return firesData{Empty: true}, nil
	}
	times, err := s.Control.PreviewFires(ctx, c, lineshaft.Timing{Cron: timing.Cron, Timezone: timing.Timezone}, shownFires)
	if told, ok := errors.AsType[*lineshaft.Error](err); ok && told.Code == lineshaft.CodeInvalidRequest {
		return firesData{Wrong: told.Message}, nil
	}
	return firesData{Fires: firesOf(times), Words: cronWords(timing.Cron)}, err
}

func (s *server) createSchedule(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	n := readSchedule(r, trigger.NewSchedule{})
	made, err := s.Control.CreateSchedule(r.Context(), c, n)
	if err != nil {
		return s.scheduleAgain(w, r, c, "", n, err)
	}
	return s.done(w, r, under("schedules", made.ID), "The schedule is created.")
}

func (s *server) updateSchedule(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	found, err := s.Control.GetSchedule(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	n := readSchedule(r, newScheduleOf(*found))
	if _, err := s.Control.UpdateSchedule(r.Context(), c, found.ID, n); err != nil {
		return s.scheduleAgain(w, r, c, found.ID, n, err)
	}
	return s.done(w, r, under("schedules", found.ID), "The schedule is changed.")
}

// readSchedule writes the form into a schedule; what the form does not have stays.
func readSchedule(r *http.Request, n trigger.NewSchedule) trigger.NewSchedule {
	text := func(name string) string { return strings.TrimSpace(r.PostFormValue(name)) }
	n.Name, n.AgentUID, n.Enabled = text("name"), text("agent"), r.PostFormValue("enabled") != ""
	n.Prompt = strings.ReplaceAll(r.PostFormValue("prompt"), "\r\n", "\n")
	n.Timing = lineshaft.Timing{Cron: text("cron"), Timezone: text("timezone"), Overlap: lineshaft.Overlap(text("overlap"))}
	n.Config.EnvironmentID, n.Config.WorkerHost, n.Config.ModelID = text("environment"), text("worker"), text("model")
	return n
}

func (s *server) scheduleAgain(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, id string, n trigger.NewSchedule, wrong error) error {
	p, err := s.scheduleForm(r, c, id, n)
	if err != nil {
		return err
	}
	return s.renderAgain(w, r, c, "scheduleform", p, scheduleFault(wrong))
}

// scheduleFault names the field of an error as the form does.
func scheduleFault(err error) error {
	told, ok := errors.AsType[*lineshaft.Error](err)
	if !ok {
		return err
	}
	blamed := *told
	labels := map[string]string{
		"name": "Name", "prompt": "Prompt", "cron_schedule": "When", "timezone": "Time zone", "overlap": "While the last run is live",
		"agent_uid": "Agent", "agent_config.environment_id": "Environment", "agent_config.worker_host": "Worker", "agent_config.model_id": "Model",
	}
	if label := labels[told.Field]; label != "" {
		blamed.Field = label
	}
	return &blamed
}
