package factories

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// scheduleForm is a schedule as its form has it.
type scheduleForm struct {
	Schedule trigger.NewSchedule
	Agents   []page.Option
	// Environments may be chosen; Kept names settings that the form does not have and
	// that stay as they are.
	Environments       []page.Option
	Offered            page.Suggestions
	Kept               []string
	Preview            firesData
	Action, Back, Verb string
}

// firesData is what is shown of a timing while one types.
type firesData struct {
	Fires []fire
	Words string
	Wrong string
	// Empty says that nothing is written yet.
	Empty bool
}

func (s pages) newSchedulePage(r *page.Request) (page.Page, error) {
	return s.scheduleForm(r, "", trigger.NewSchedule{Enabled: true, AgentUID: r.URL.Query().Get("agent")})
}

func (s pages) editSchedulePage(r *page.Request) (page.Page, error) {
	found, err := s.scheduleOf(r)
	if err != nil {
		return page.Page{}, err
	}
	return s.scheduleForm(r, found.ID, newScheduleOf(*found))
}

func newScheduleOf(one lineshaft.Schedule) trigger.NewSchedule {
	return trigger.NewSchedule{
		Name: one.Name, Timing: one.Timing, Enabled: one.Enabled, Prompt: one.Prompt, AgentUID: one.AgentUID, Config: one.Config, Metadata: one.Metadata,
	}
}

// scheduleForm is the page of the form for a schedule, or for a new one.
func (s pages) scheduleForm(r *page.Request, id string, n trigger.NewSchedule) (page.Page, error) {
	form := scheduleForm{Schedule: n, Action: "/schedules", Back: "/schedules", Verb: "Create schedule", Kept: keptSettings(n.Config)}
	p := page.Below("schedules", "New schedule", nil)
	if id != "" {
		form.Action, form.Back, form.Verb = page.Under("schedules", id), page.Under("schedules", id), "Save"
		p.Title, p.Crumbs = "Edit schedule", p.Crumbs.To(n.Name, form.Back)
	}
	names, err := s.FactoryNames(r.Context(), r.Caller)
	if err != nil {
		return p, err
	}
	if form.Agents, err = s.PartOptions(r, "agent", names); err != nil {
		return p, err
	}
	page.SortOptions(form.Agents)
	if form.Environments, err = s.EnvironmentOptions(r); err != nil {
		return p, err
	}
	form.Offered = s.Suggestions(r)
	form.Agents = page.WithChosen(form.Agents, n.AgentUID, n.AgentUID+" (gone)")
	form.Environments = page.WithChosen(form.Environments, n.Config.EnvironmentID, n.Config.EnvironmentID+" (gone)")
	form.Preview, err = s.fires(r.Context(), r.Caller, n.Timing)
	p.Data = form
	return p, err
}

// keptSettings names what the form does not have of a configuration.
func keptSettings(config lineshaft.AgentConfig) []string {
	var kept []string
	for name, there := range map[string]bool{
		"skills": len(config.Skills) > 0, "secrets": len(config.Secrets) > 0, "tool servers": len(config.MCPServers) > 0, "base prompt": config.BasePrompt != "",
		"harness": config.Harness != nil, "budget": config.Budget != nil, "concurrency": config.Concurrency != nil, "runner": config.RunnerID != "",
		"time limits": config.TimeoutMinutes != nil || config.StallMinutes != nil || config.QueueTimeoutMinutes != nil || config.IdleTimeoutMinutes != nil,
		"attempts":    config.MaxAttempts != nil, "name": config.Name != "",
	} {
		if there {
			kept = append(kept, name)
		}
	}
	slices.Sort(kept)
	return kept
}

func (s pages) previewFires(r *page.Request) error {
	query := r.URL.Query()
	data, err := s.fires(r.Context(), r.Caller, lineshaft.Timing{Cron: query.Get("cron"), Timezone: strings.TrimSpace(query.Get("timezone"))})
	if err != nil {
		return err
	}
	return r.Fragment("scheduleform", "fires", data)
}

// fires says when a timing would fire, or what is wrong with it.
func (s pages) fires(ctx context.Context, c lineshaft.Caller, timing lineshaft.Timing) (firesData, error) {
	if strings.TrimSpace(timing.Cron) == "" {
		return firesData{Empty: true}, nil
	}
	times, err := s.Control.PreviewFires(ctx, c, lineshaft.Timing{Cron: timing.Cron, Timezone: timing.Timezone}, shownFires)
	if told, ok := errors.AsType[*lineshaft.Error](err); ok && told.Code == lineshaft.CodeInvalidRequest {
		return firesData{Wrong: page.Capital(told.Message)}, nil
	}
	return firesData{Fires: firesOf(times), Words: cronWords(timing.Cron)}, err
}

func (s pages) createSchedule(r *page.Request) error {
	n := readSchedule(r, trigger.NewSchedule{})
	made, err := s.Control.CreateSchedule(r.Context(), r.Caller, n)
	if err != nil {
		return s.scheduleAgain(r, "", n, err)
	}
	return r.Done(page.Under("schedules", made.ID), "The schedule is created.")
}

func (s pages) updateSchedule(r *page.Request, found *lineshaft.Schedule) error {
	n := readSchedule(r, newScheduleOf(*found))
	if _, err := s.Control.UpdateSchedule(r.Context(), r.Caller, found.ID, n); err != nil {
		return s.scheduleAgain(r, found.ID, n, err)
	}
	return r.Done(page.Under("schedules", found.ID), "The schedule is changed.")
}

// readSchedule writes the form into a schedule; what the form does not have stays.
func readSchedule(r *page.Request, n trigger.NewSchedule) trigger.NewSchedule {
	n.Name, n.AgentUID, n.Enabled = r.Text("name"), r.Text("agent"), r.PostFormValue("enabled") != ""
	n.Prompt = page.FormText(r.PostFormValue("prompt"))
	n.Timing = lineshaft.Timing{Cron: r.Text("cron"), Timezone: r.Text("timezone"), Overlap: lineshaft.Overlap(r.Text("overlap"))}
	n.Config.EnvironmentID, n.Config.WorkerHost, n.Config.ModelID = r.Text("environment"), r.Text("worker"), r.Text("model")
	return n
}

func (s pages) scheduleAgain(r *page.Request, id string, n trigger.NewSchedule, wrong error) error {
	p, err := s.scheduleForm(r, id, n)
	if err != nil {
		return err
	}
	return r.Again("scheduleform", p, page.Blame(wrong, map[string]string{
		"name": "Name", "prompt": "Prompt", "cron_schedule": "When", "timezone": "Time zone", "overlap": "If the previous run is still going",
		"agent_uid": "Agent", "agent_config.environment_id": "Environment", "agent_config.worker_host": "Worker", "agent_config.model_id": "Model",
	}))
}
