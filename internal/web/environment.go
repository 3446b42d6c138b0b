package web

import (
	"context"
	"net/http"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/secrets"
)

// recentRuns is how many runs a page of something shows that they belong to.
const recentRuns = 10

func (s *server) environmentRoutes() []route {
	const see, edit = lineshaft.PermissionFactoriesRead, lineshaft.PermissionFactoriesManage
	return []route{
		{"GET /environments", see, s.inTurn(s.environmentsPage)},
		{"GET /environments/new", edit, s.newEnvironmentPage},
		{"POST /environments", edit, s.createEnvironment},
		{"GET /environments/{uid}", see, s.inTurn(s.environmentPage)},
		{"GET /environments/{uid}/edit", edit, s.editEnvironmentPage},
		{"POST /environments/{uid}", edit, s.updateEnvironment},
		{"GET /environments/{uid}/delete", edit, s.askDeleteEnvironment},
		{"POST /environments/{uid}/delete", edit, s.deleteEnvironment},
	}
}

func environmentCrumbs(way ...crumb) []crumb {
	return append([]crumb{{"Environments", "/environments"}}, way...)
}

func (s *server) environmentsPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	list, err := s.Control.ListEnvironments(r.Context(), c, secrets.EnvironmentsByName)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "environments", page{Title: "Environments", Section: "environments", Data: list})
}

type environmentData struct {
	Environment *lineshaft.EnvironmentDetail
	Runs        []lineshaft.Run
	// Command starts a run in it.
	Command string
}

func (s *server) environmentPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	found, err := s.Control.GetEnvironment(r.Context(), c, r.PathValue("uid"))
	if err != nil {
		return err
	}
	runs, err := s.Control.ListRuns(r.Context(), c, lineshaft.RunQuery{
		Filter: lineshaft.RunFilter{EnvironmentID: found.UID}, Sort: lineshaft.SortCreated, Limit: recentRuns,
	})
	if err != nil {
		return err
	}
	data := environmentData{Environment: found, Runs: runs.Runs, Command: runCommand("--environment "+found.UID+" ", "Look around", "ls -la")}
	return s.render(w, r, c, "environment", page{Title: found.Config.Name, Section: "environments", Crumbs: environmentCrumbs(), Data: data})
}

func (s *server) newEnvironmentPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	return s.render(w, r, c, "environmentform", s.environmentForm(r, c, nil, formOfEnvironment(lineshaft.EnvironmentConfig{})))
}

func (s *server) editEnvironmentPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	found, err := s.Control.GetEnvironment(r.Context(), c, r.PathValue("uid"))
	if err != nil {
		return err
	}
	return s.render(w, r, c, "environmentform", s.environmentForm(r, c, found, formOfEnvironment(found.Config)))
}

// environmentForm is the page of the form for an environment, or for a new one.
func (s *server) environmentForm(r *http.Request, c lineshaft.Caller, stored *lineshaft.EnvironmentDetail, form environmentForm) page {
	form.SecretNames = s.secretNames(r, c)
	p := page{Title: "New environment", Section: "environments", Crumbs: environmentCrumbs()}
	form.Action, form.Back, form.Verb = "/environments", "/environments", "Create environment"
	if stored != nil {
		form.Action, form.Back, form.Verb = under("environments", stored.UID), under("environments", stored.UID), "Save"
		p.Title, p.Crumbs = "Edit environment", environmentCrumbs(crumb{stored.Config.Name, form.Back})
	}
	p.Data = form
	return p
}

// secretNames are offered while one types, to readers who may know them.
func (s *server) secretNames(r *http.Request, c lineshaft.Caller) []string {
	if !c.Role.May(lineshaft.PermissionSecrets) || len(c.FactoryUIDs) > 0 {
		return nil
	}
	found, err := s.Control.ListSecrets(r.Context(), c, secretsPerPage, "")
	if err != nil {
		return nil // the form works without
	}
	var names []string
	for _, secret := range found.Items {
		if secret.Kind == lineshaft.SecretManaged {
			names = append(names, secret.Name)
		}
	}
	return names
}

func (s *server) createEnvironment(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	return s.saveEnvironment(w, r, c, nil, "The environment is created.", s.Control.CreateEnvironment)
}

func (s *server) updateEnvironment(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	found, err := s.Control.GetEnvironment(r.Context(), c, r.PathValue("uid"))
	if err != nil {
		return err
	}
	return s.saveEnvironment(w, r, c, found, "The environment is changed. Runs that begin from now on get it as it is.",
		func(ctx context.Context, c lineshaft.Caller, config lineshaft.EnvironmentConfig) (*lineshaft.EnvironmentDetail, error) {
			return s.Control.UpdateEnvironment(ctx, c, found.UID, config)
		})
}

func (s *server) saveEnvironment(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, stored *lineshaft.EnvironmentDetail, notice string,
	save func(context.Context, lineshaft.Caller, lineshaft.EnvironmentConfig) (*lineshaft.EnvironmentDetail, error),
) error {
	form, asked := readEnvironmentForm(r)
	if asked { // for one row more or less; nothing is saved yet
		return s.render(w, r, c, "environmentform", s.environmentForm(r, c, stored, form))
	}
	config, err := form.config()
	if err == nil {
		var saved *lineshaft.EnvironmentDetail
		if saved, err = save(r.Context(), c, config); err == nil {
			return s.done(w, r, under("environments", saved.UID), notice)
		}
	}
	return s.renderAgain(w, r, c, "environmentform", s.environmentForm(r, c, stored, form), environmentFault(err))
}

func (s *server) askDeleteEnvironment(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	return s.questionEnvironment(w, r, c, nil)
}

func (s *server) questionEnvironment(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, wrong error) error {
	found, err := s.Control.GetEnvironment(r.Context(), c, r.PathValue("uid"))
	if err != nil {
		return err
	}
	uses, err := s.Control.EnvironmentUses(r.Context(), c, found.UID)
	if err != nil {
		return err
	}
	back := under("environments", found.UID)
	return s.askRemoval(w, r, c, "environments", environmentCrumbs(crumb{found.Config.Name, back}), removal{
		Kind: "environment", Name: found.Config.Name, Verb: "Delete", Uses: uses, Action: back + "/delete", Back: back,
		Effects: []string{"No factory, agent, automation or schedule names it, and no run is in it.", "Runs that were in it stay as they are."},
	}, wrong)
}

func (s *server) deleteEnvironment(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	if err := s.Control.DeleteEnvironment(r.Context(), c, r.PathValue("uid")); err != nil {
		if lineshaft.CodeOf(err) == lineshaft.CodeConflict {
			return s.questionEnvironment(w, r, c, err)
		}
		return err
	}
	return s.done(w, r, "/environments", "The environment is deleted.")
}
