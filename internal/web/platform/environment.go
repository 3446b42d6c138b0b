package platform

import (
	"context"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func (s pages) environmentRoutes() []page.Route {
	return append([]page.Route{
		page.Get("/environments", see, page.InTurn(page.Show("environments", s.environmentsPage))),
		page.Get("/environments/new", edit, s.newEnvironmentPage),
		page.Post("/environments", edit, s.createEnvironment),
		page.Get("/environments/{uid}", see, page.InTurn(page.ShowWith("environment", s.environmentOf, s.environmentPage))),
		page.Get("/environments/{uid}/edit", edit, page.With(s.environmentOf, s.editEnvironmentPage)),
		page.Post("/environments/{uid}", edit, page.With(s.environmentOf, s.updateEnvironment)),
	}, page.Removing("/environments/{uid}/delete", edit, s.askDeleteEnvironment, func(r *page.Request, id string) error {
		return s.Control.DeleteEnvironment(r.Context(), r.Caller, id)
	})...)
}

type environmentsData struct {
	List          []lineshaft.EnvironmentDetail
	Name, Changed page.SortHead
}

func (s pages) environmentsPage(r *page.Request) (p page.Page, err error) {
	data := environmentsData{Name: page.SortHead{Name: "Name", Href: "/environments"}, Changed: page.SortHead{Name: "Changed", Href: "/environments?sort=changed"}}
	by := secrets.EnvironmentsByName
	if data.Name.Order = "ascending"; r.URL.Query().Get("sort") == "changed" {
		data.Name.Order, data.Changed.Order, by = "", "descending", secrets.EnvironmentsByUpdate
	}
	data.List, err = s.Control.ListEnvironments(r.Context(), r.Caller, by)
	return page.Of("environments", data), err
}

func (s pages) environmentOf(r *page.Request) (*lineshaft.EnvironmentDetail, error) {
	return s.Control.GetEnvironment(r.Context(), r.Caller, r.PathValue("uid"))
}

type environmentData struct {
	Environment *lineshaft.EnvironmentDetail
	Runs        []lineshaft.Run
	Starts      *lineshaft.EnvironmentStarts
	// Command starts a run in it.
	Command string
}

func (s pages) environmentPage(r *page.Request, found *lineshaft.EnvironmentDetail) (p page.Page, err error) {
	runs, err := s.RecentRuns(r.Context(), r.Caller, lineshaft.RunFilter{EnvironmentID: found.UID})
	if err != nil {
		return p, err
	}
	starts, err := s.Control.EnvironmentStarts(r.Context(), r.Caller, found.UID)
	command := page.RunCommand("--environment "+found.UID+" ", "Look around", "ls -la")
	data := environmentData{Environment: found, Runs: runs, Starts: starts, Command: command}
	return page.Below("environments", found.Config.Name, data), err
}

func (s pages) newEnvironmentPage(r *page.Request) error {
	return r.Render("environmentform", s.environmentForm(r, nil, formOfEnvironment(lineshaft.EnvironmentConfig{})))
}

func (s pages) editEnvironmentPage(r *page.Request, found *lineshaft.EnvironmentDetail) error {
	return r.Render("environmentform", s.environmentForm(r, found, formOfEnvironment(found.Config)))
}

// environmentForm is the page of the form for an environment, or for a new one.
func (s pages) environmentForm(r *page.Request, stored *lineshaft.EnvironmentDetail, form environmentForm) page.Page {
	form.SecretNames = s.SecretNames(r)
	p := page.Below("environments", "New environment", nil)
	form.Action, form.Back, form.Verb = "/environments", "/environments", "Create environment"
	if stored != nil {
		form.Action, form.Back, form.Verb = page.Under("environments", stored.UID), page.Under("environments", stored.UID), "Save"
		p.Title, p.Crumbs = "Edit environment", p.Crumbs.To(stored.Config.Name, form.Back)
	}
	p.Data = form
	return p
}

func (s pages) createEnvironment(r *page.Request) error {
	return s.saveEnvironment(r, nil, "The environment is created.", s.Control.CreateEnvironment)
}

func (s pages) updateEnvironment(r *page.Request, found *lineshaft.EnvironmentDetail) error {
	return s.saveEnvironment(r, found, "The environment is changed. Runs that begin from now on get it as it is.",
		func(ctx context.Context, c lineshaft.Caller, config lineshaft.EnvironmentConfig) (*lineshaft.EnvironmentDetail, error) {
			return s.Control.UpdateEnvironment(ctx, c, found.UID, config)
		})
}

func (s pages) saveEnvironment(r *page.Request, stored *lineshaft.EnvironmentDetail, notice string,
	save func(context.Context, lineshaft.Caller, lineshaft.EnvironmentConfig) (*lineshaft.EnvironmentDetail, error),
) error {
	form, asked := readEnvironmentForm(r)
	if asked { // for one row more or less; nothing is saved yet
		return r.Render("environmentform", s.environmentForm(r, stored, form))
	}
	config, err := form.config()
	if err == nil {
		var saved *lineshaft.EnvironmentDetail
		if saved, err = save(r.Context(), r.Caller, config); err == nil {
			return r.Done(page.Under("environments", saved.UID), notice)
		}
	}
	return r.Again("environmentform", s.environmentForm(r, stored, form), environmentFault(err))
}

func (s pages) askDeleteEnvironment(r *page.Request) (page.Removal, error) {
	found, err := s.environmentOf(r)
	if err != nil {
		return page.Removal{}, err
	}
	uses, err := s.Control.EnvironmentUses(r.Context(), r.Caller, found.UID)
	at, name := page.Under("environments", found.UID), found.Config.Name
	title := ""
	if uses.RunID != "" {
		if run, err := s.Control.GetRun(r.Context(), r.Caller, uses.RunID); err == nil { // else its id will do
			title = run.Title
		}
	}
	return page.Removal{
		Section: "environments", Crumbs: page.Way("environments").To(name, at), Kind: "environment", Name: name, Verb: "Delete", Uses: uses, RunTitle: title, Back: at,
		ID: found.UID, Done: "The environment is deleted.",
		Effects: []string{"No factory, agent, automation or schedule uses it, and no run is in it.", "Past runs keep their logs."},
	}, err
}
