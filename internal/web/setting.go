package web

import (
	"context"
	"net/http"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/overview"
)

// examineWithin bounds an examination that somebody waits for.
const examineWithin = 30 * time.Second

func (s *server) settingRoutes() []route {
	return []route{
		{"GET /settings", lineshaft.PermissionKeys, s.settingsPage},
		{"GET /settings/doctor", lineshaft.PermissionKeys, s.doctorPage},
	}
}

type settingsData struct {
	State overview.ServerState
	// Given are the settings that somebody has chosen, Defaults all others.
	Given, Defaults []Setting
	BaseURL         string
	WebhookBaseURL  string
	Provider        string
	Examined        bool
	Checks          []Check
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

func (s *server) settingsData(ctx context.Context, c lineshaft.Caller) (settingsData, error) {
	state, err := s.Control.ServerState(ctx, c)
	if err != nil {
		return settingsData{}, err
	}
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
	return data, nil
}

func (s *server) settingsPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data, err := s.settingsData(r.Context(), c)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "settings", page{Title: "Settings", Section: "settings", Data: data})
}

// doctorPage examines the machine: for a part of the page, or without JavaScript for
// the whole of it. One examination runs at a time, as each starts programs.
func (s *server) doctorPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data, err := s.settingsData(r.Context(), c)
	if err != nil {
		return err
	}
	if s.Examine == nil {
		return lineshaft.NotFound("page", r.URL.Path)
	}
	ctx, cancel := context.WithTimeout(r.Context(), examineWithin)
	defer cancel()
	select {
	case s.examining <- struct{}{}:
		defer func() { <-s.examining }()
	case <-ctx.Done():
		return &lineshaft.Error{Code: lineshaft.CodeUnavailable, Message: "somebody else has these checks running; try again in a minute"}
	}
	data.Examined, data.Checks = true, s.Examine(ctx)
	worst := []string{"problem", "warning", "ok"}
	slices.SortStableFunc(data.Checks, func(a, b Check) int { return slices.Index(worst, a.State) - slices.Index(worst, b.State) })
	if r.Header.Get("Hx-Request") == "true" {
		return s.fragment(w, r, "settings", "doctor", data)
	}
	return s.render(w, r, c, "settings", page{Title: "Settings", Section: "settings", Data: data})
}
