package factories

import (
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// shownFires is how many of the next times are shown.
const shownFires = 3

func (s pages) scheduleRoutes() []page.Route {
	return append([]page.Route{
		page.Get("/schedules", see, page.InTurn(page.Show("schedules", s.schedulesPage))),
		page.Get("/schedules/new", edit, page.Show("scheduleform", s.newSchedulePage)),
		page.Get("/schedules/fires", see, s.previewFires),
		page.Post("/schedules", edit, s.createSchedule),
		page.Get("/schedules/{id}", see, page.ShowWith("schedule", s.scheduleOf, s.schedulePage)),
		page.Get("/schedules/{id}/edit", edit, page.Show("scheduleform", s.editSchedulePage)),
		page.Post("/schedules/{id}", edit, page.With(s.scheduleOf, s.updateSchedule)),
		page.Post("/schedules/{id}/run", edit, page.With(s.scheduleOf, s.runSchedule)),
		page.Post("/schedules/{id}/pause", edit, s.enableSchedule(false, "The schedule is paused.")),
		page.Post("/schedules/{id}/resume", edit, s.enableSchedule(true, "The schedule is on. Missed runs are not caught up on.")),
	}, page.Removing("/schedules/{id}/delete", edit, s.askDeleteSchedule, func(r *page.Request, id string) error {
		return s.Control.DeleteSchedule(r.Context(), r.Caller, id)
	})...)
}

func (s pages) scheduleOf(r *page.Request) (*lineshaft.Schedule, error) {
	return s.Control.GetSchedule(r.Context(), r.Caller, r.PathValue("id"))
}

// fire is a time at which a schedule fires, by its own clock and by UTC's.
type fire struct {
	At         time.Time
	Local, UTC string
	// Short is UTC without the day, where that is the same.
	Short string
}

func firesOf(times []time.Time) []fire {
	var list []fire
	for _, at := range times {
		one := fire{At: at, UTC: at.UTC().Format("2006-01-02 15:04 UTC")}
		if at.Location() != time.UTC {
			one.Local, one.Short = at.Format("Mon 2006-01-02 15:04 MST"), at.UTC().Format("15:04 UTC")
			if at.Day() != at.UTC().Day() {
				one.Short = at.UTC().Format("Mon 15:04 UTC")
			}
		} else {
			one.UTC = at.Format("Mon 2006-01-02 15:04 UTC")
		}
		list = append(list, one)
	}
	return list
}

// scheduleRow is a schedule of its own, or of an automation.
type scheduleRow struct {
	ID, Name, Href string
	// Factory is that of the automation.
	Factory, FactoryUID string
	Timing              lineshaft.Timing
	Words               string
	Enabled             bool
	Fires               []fire
	LastRun             time.Time
	Run                 *trigger.ScheduledRun
	Problem             string
}

type schedulesData struct {
	page.Pager

	Schedules   []scheduleRow
	Automations []scheduleRow
}

func (s pages) schedulesPage(r *page.Request) (p page.Page, err error) {
	found, err := s.Control.ListSchedules(r.Context(), r.Caller, "", longPage, r.Cursor())
	if err != nil {
		return p, err
	}
	data := schedulesData{Pager: r.Pager(found.Next)}
	for _, one := range found.Items {
		data.Schedules = append(data.Schedules, rowOfSchedule(one))
	}
	if data.First == "" {
		timed, err := s.Control.ListTimed(r.Context(), r.Caller)
		if err != nil {
			return p, err
		}
		for _, one := range timed {
			data.Automations = append(data.Automations, rowOfTimed(one))
		}
	}
	if err := s.addRuns(r, data.Schedules, data.Automations); err != nil {
		return p, err
	}
	return page.Of("schedules", data), nil
}

func rowOfSchedule(one lineshaft.Schedule) scheduleRow {
	return scheduleRow{
		ID: one.ID, Name: one.Name, Href: page.Under("schedules", one.ID), Timing: one.Timing, Words: cronWords(one.Timing.Cron), Enabled: one.Enabled,
		Fires: firesOf(trigger.NextFires(one.Timing, one.NextRun, shownFires)), LastRun: one.LastRun, Problem: one.LastError,
	}
}

func rowOfTimed(one trigger.TimedAutomation) scheduleRow {
	row := scheduleRow{
		ID: one.RunsID(), Name: one.Automation, Href: page.AutomationAddress(one.FactoryUID, one.AutomationUID),
		Factory: one.Factory, FactoryUID: one.FactoryUID, Timing: one.Timing, Words: cronWords(one.Timing.Cron), Enabled: !one.Paused,
		Fires: firesOf(trigger.NextFires(one.Timing, one.NextRun, shownFires)),
	}
	if one.Paused {
		row.Problem = "The factory is paused."
	}
	return row
}

// addRuns puts the newest run of each schedule into its row.
func (s pages) addRuns(r *page.Request, lists ...[]scheduleRow) error {
	var ids []string
	for _, row := range slices.Concat(lists...) {
		ids = append(ids, row.ID)
	}
	slices.Sort(ids) // an automation may have several schedules
	runs, err := s.Control.NewestScheduled(r.Context(), r.Caller, slices.Compact(ids))
	if err != nil {
		return err
	}
	for _, list := range lists {
		for i := range list {
			if run, ok := runs[list[i].ID]; ok {
				list[i].Run, list[i].LastRun = &run, run.CreatedAt
			}
		}
	}
	return nil
}

type scheduleData struct {
	Row      scheduleRow
	Schedule *lineshaft.Schedule
	Agent    string
	// Environment is the name of its environment.
	Environment string
	Runs        []lineshaft.Run
	// NotByHand says why people cannot start what it starts.
	NotByHand string
}

func (s pages) schedulePage(r *page.Request, found *lineshaft.Schedule) (p page.Page, err error) {
	runs, err := s.RecentRuns(r.Context(), r.Caller, lineshaft.RunFilter{ScheduleID: found.ID})
	if err != nil {
		return p, err
	}
	data := scheduleData{Row: rowOfSchedule(*found), Schedule: found, Runs: runs, Agent: found.AgentUID}
	data.NotByHand = notByHand(r.Caller, found.Config, found.FactoryUID)
	data.Environment = s.environmentName(r, found.Config.EnvironmentID)
	if agent, err := s.Control.GetAgent(r.Context(), r.Caller, found.AgentUID); err == nil {
		data.Agent = agent.Name
	}
	return page.Below("schedules", found.Name, data), nil
}

func (s pages) enableSchedule(enabled bool, notice string) page.Handler {
	return func(r *page.Request) error {
		id := r.PathValue("id")
		if _, err := s.Control.SetScheduleEnabled(r.Context(), r.Caller, id, enabled); err != nil {
			return err
		}
		if r.PostFormValue("back") == "list" {
			return r.Done("/schedules", notice)
		}
		return r.Done(page.Under("schedules", id), notice)
	}
}

func (s pages) askDeleteSchedule(r *page.Request) (page.Removal, error) {
	found, err := s.scheduleOf(r)
	if err != nil {
		return page.Removal{}, err
	}
	at := page.Under("schedules", found.ID)
	return page.Removal{
		Section: "schedules", Crumbs: page.Way("schedules").To(found.Name, at), Kind: "schedule", Name: found.Name, Verb: "Delete", Back: at,
		ID: found.ID, Done: "The schedule is deleted.",
		Effects: []string{"It starts no more runs. To stop it for a while, pause it instead.", "The runs it started stay."},
	}, nil
}
