package platform

import (
	"context"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// examineWithin bounds an examination that a person waits for.
const examineWithin = 30 * time.Second

func (s pages) settingRoutes() []page.Route {
	return []page.Route{
		page.Get("/settings", lineshaft.PermissionKeys, page.Show("settings", s.settingsPage)),
		page.Get("/settings/doctor", lineshaft.PermissionKeys, page.With(s.settingsData, s.doctorPage)),
	}
}

type settingsData struct {
	State overview.ServerState
	// Given are the settings that were chosen, Defaults all others.
	Given, Defaults []page.Setting
	BaseURL         string
	WebhookBaseURL  string
	Provider        string
	Examined        bool
	Checks          []page.Check
}

// Problems are the parts of the server that do not work.
func (d settingsData) Problems() []base.Part {
	var broken []base.Part
	for _, part := range d.State.Parts {
		if part.Problem != "" {
			broken = append(broken, part)
		}
	}
	return broken
}

func (s pages) settingsData(r *page.Request) (settingsData, error) {
	state, err := s.Control.ServerState(r.Context(), r.Caller)
	data := settingsData{State: state, BaseURL: s.BaseURL, WebhookBaseURL: s.WebhookBaseURL}
	if s.Identity != nil {
		data.Provider = s.Identity.Name()
	}
	for _, setting := range s.Settings {
		if setting.Origin == "default" {
			data.Defaults = append(data.Defaults, setting)
		} else {
			data.Given = append(data.Given, setting)
		}
	}
	return data, err
}

func (s pages) settingsPage(r *page.Request) (page.Page, error) {
	data, err := s.settingsData(r)
	return page.Of("settings", data), err
}

func checkKind(state string) string {
	return map[string]string{"ok": "good", "warning": "warn", "problem": "bad"}[state]
}

// doctorPage examines the machine: for a part of the page, or without JavaScript for
// all of it. One examination runs at a time, as each starts programs.
func (s pages) doctorPage(r *page.Request, data settingsData) error {
	if s.Examine == nil {
		return lineshaft.NotFound("page", r.URL.Path)
	}
	ctx, cancel := context.WithTimeout(r.Context(), examineWithin)
	defer cancel()
	select {
	case s.examining <- struct{}{}:
		defer func() { <-s.examining }()
	case <-ctx.Done():
		return &lineshaft.Error{Code: lineshaft.CodeUnavailable, Message: "someone else has these checks running; try again in a minute"}
	}
	data.Examined, data.Checks = true, s.Examine(ctx)
	worst := []string{"problem", "warning", "ok"}
	slices.SortStableFunc(data.Checks, func(a, b page.Check) int { return slices.Index(worst, a.State) - slices.Index(worst, b.State) })
	if r.Asked() {
		return r.Fragment("settings", "doctor", data)
	}
	return r.Render("settings", page.Of("settings", data))
}
