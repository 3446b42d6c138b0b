package web

import (
	"net/http"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
)

const (
	// schedulesPerPage is how many schedules a page of the list has.
	schedulesPerPage = 100
	// shownFires is how many of the next times are told.
	shownFires = 3
)

func (s *server) scheduleRoutes() []route {
	const see, edit = lineshaft.PermissionFactoriesRead, lineshaft.PermissionFactoriesManage
	return []route{
		{"GET /schedules", see, s.inTurn(s.schedulesPage)},
		{"GET /schedules/new", edit, s.newSchedulePage},
		{"GET /schedules/fires", see, s.previewFires},
		{"POST /schedules", edit, s.createSchedule},
		{"GET /schedules/{id}", see, s.schedulePage},
		{"GET /schedules/{id}/edit", edit, s.editSchedulePage},
		{"POST /schedules/{id}", edit, s.updateSchedule},
		{"POST /schedules/{id}/pause", edit, s.pauseSchedule},
		{"POST /schedules/{id}/resume", edit, s.resumeSchedule},
		{"GET /schedules/{id}/delete", edit, s.askDeleteSchedule},
		{"POST /schedules/{id}/delete", edit, s.deleteSchedule},
	}
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
	Schedules   []scheduleRow
	Automations []scheduleRow
	Next, First string
}

func (s *server) schedulesPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	found, err := s.Control.ListSchedules(r.Context(), c, "", schedulesPerPage, r.URL.Query().Get("cursor"))
	if err != nil {
		return err
	}
	data := schedulesData{Next: pageAddress(r, found.Next), First: firstAddress(r)}
	for _, one := range found.Items {
		data.Schedules = append(data.Schedules, rowOfSchedule(one))
	}
	if data.First == "" {
		timed, err := s.Control.ListTimed(r.Context(), c)
		if err != nil {
			return err
		}
		for _, one := range timed {
			data.Automations = append(data.Automations, rowOfTimed(one))
		}
	}
	if err := s.addRuns(r, c, data.Schedules, data.Automations); err != nil {
		return err
	}
	return s.render(w, r, c, "schedules", page{Title: "Schedules", Section: "schedules", Data: data})
}

func rowOfSchedule(one lineshaft.Schedule) scheduleRow {
	return scheduleRow{
		ID: one.ID, Name: one.Name, Href: under("schedules", one.ID), Timing: one.Timing, Words: cronWords(one.Timing.Cron), Enabled: one.Enabled,
		Fires: firesOf(trigger.NextFires(one.Timing, one.NextRun, shownFires)), LastRun: one.LastRun, Problem: one.LastError,
	}
}

func rowOfTimed(one trigger.TimedAutomation) scheduleRow {
	row := scheduleRow{
		ID: one.RunsID(), Name: one.Automation, Href: automationAddress(one.FactoryUID, one.AutomationUID),
		Factory: one.Factory, FactoryUID: one.FactoryUID, Timing: one.Timing, Words: cronWords(one.Timing.Cron), Enabled: !one.Paused,
		Fires: firesOf(trigger.NextFires(one.Timing, one.NextRun, shownFires)),
	}
	if one.Paused {
		row.Problem = "The factory is paused."
	}
	return row
}

// addRuns puts the newest run of each schedule into its row.
func (s *server) addRuns(r *http.Request, c lineshaft.Caller, lists ...[]scheduleRow) error {
	var ids []string
	for _, row := range slices.Concat(lists...) {
		ids = append(ids, row.ID)
	}
	slices.Sort(ids) // an automation may have several schedules
	runs, err := s.Control.NewestScheduled(r.Context(), c, slices.Compact(ids))
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
	Runs     []lineshaft.Run
}

func (s *server) schedulePage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	found, err := s.Control.GetSchedule(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	runs, err := s.Control.ListRuns(r.Context(), c, lineshaft.RunQuery{
		Filter: lineshaft.RunFilter{ScheduleID: found.ID}, Sort: lineshaft.SortCreated, Limit: recentRuns,
	})
	if err != nil {
		return err
	}
	data := scheduleData{Row: rowOfSchedule(*found), Schedule: found, Runs: runs.Runs, Agent: found.AgentUID}
	if agent, err := s.Control.GetAgent(r.Context(), c, found.AgentUID); err == nil {
		data.Agent = agent.Name
	}
	return s.render(w, r, c, "schedule", page{Title: found.Name, Section: "schedules", Crumbs: []crumb{{"Schedules", "/schedules"}}, Data: data})
}

func (s *server) pauseSchedule(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	return s.enableSchedule(w, r, c, false, "The schedule is paused.")
}

func (s *server) resumeSchedule(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	return s.enableSchedule(w, r, c, true, "The schedule is on. What it missed is not made up.")
}

func (s *server) enableSchedule(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, enabled bool, notice string) error {
	id := r.PathValue("id")
	if _, err := s.Control.SetScheduleEnabled(r.Context(), c, id, enabled); err != nil {
		return err
	}
	if r.PostFormValue("back") == "list" {
		return s.done(w, r, "/schedules", notice)
	}
	return s.done(w, r, under("schedules", id), notice)
}

func (s *server) askDeleteSchedule(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	found, err := s.Control.GetSchedule(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	back := under("schedules", found.ID)
	return s.askRemoval(w, r, c, "schedules", []crumb{{"Schedules", "/schedules"}, {found.Name, back}}, removal{
		Kind: "schedule", Name: found.Name, Verb: "Delete", Action: back + "/delete", Back: back,
		Effects: []string{"It starts no more runs. To stop it for a while, pause it instead.", "The runs that it has started stay."},
	}, nil)
}

func (s *server) deleteSchedule(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	if err := s.Control.DeleteSchedule(r.Context(), c, r.PathValue("id")); err != nil {
		return err
	}
	return s.done(w, r, "/schedules", "The schedule is deleted.")
}
