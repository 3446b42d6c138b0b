package web

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

func (s *server) factoryRepositoryRoutes() []route {
	return []route{
		{"GET /factories/{factory}/repository", manageFactories, s.repositoryPage},
		{"POST /factories/{factory}/repository", manageFactories, s.linkRepository},
		{"GET /factories/{factory}/repository/unlink", manageFactories, s.unlinkRepositoryPage},
		{"POST /factories/{factory}/repository/unlink", manageFactories, s.unlinkRepository},
		{"POST /factories/{factory}/repository/sync", manageFactories, s.syncRepository},
	}
}

func repositoryForm(f *lineshaft.Factory, form factoryForm) page {
	title := "Follow a repository"
	if f.Repository != nil {
		title = "Change the repository"
	}
	return page{Title: title, Section: "factories", Crumbs: factoryCrumbs(f), Data: form}
}

func (s *server) repositoryPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	f, err := s.factoryOf(r, c)
	if err != nil {
		return err
	}
	form := factoryForm{UID: f.UID, Name: f.Name}
	if f.Repository != nil {
		form.URL, form.Branch, form.Path = f.Repository.Source.URL, f.Repository.Source.Branch, f.Repository.Source.Path
	}
	return s.render(w, r, c, "factoryrepository", repositoryForm(f, form))
}

func (s *server) linkRepository(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	f, err := s.factoryOf(r, c)
	if err != nil {
		return err
	}
	form := readFactoryForm(r)
	form.Name = f.Name
	_, err = s.Control.UpdateFactory(r.Context(), c, f.UID, factories.FactoryChange{Repository: &lineshaft.GitSource{URL: form.URL, Branch: form.Branch, Path: form.Path}})
	if err != nil {
		return s.renderAgain(w, r, c, "factoryrepository", repositoryForm(f, form), err)
	}
	return s.synced(w, r, c, f.UID)
}

func (s *server) unlinkRepositoryPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	f, err := s.factoryOf(r, c)
	if err != nil {
		return err
	}
	return s.askRemoval(w, r, c, "factories", factoryCrumbs(f), removal{
		Verb: "Stop following", Name: "the repository of " + f.Name,
		Effects: []string{"What is pushed to the repository is not put in force any more. What is in force now stays, and can be edited here."},
		Action:  factoryAddress(f.UID) + "/repository/unlink", Back: factoryAddress(f.UID),
	}, nil)
}

func (s *server) unlinkRepository(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	f, err := s.Control.UpdateFactory(r.Context(), c, r.PathValue("factory"), factories.FactoryChange{Unlink: true})
	if err != nil {
		return err
	}
	return s.done(w, r, factoryAddress(f.UID), "The factory follows no repository any more. Edit it here.")
}

func (s *server) syncRepository(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	return s.synced(w, r, c, r.PathValue("factory"))
}

// synced looks at the repository and says what became of it.
func (s *server) synced(w http.ResponseWriter, r *http.Request, c lineshaft.Caller, uid string) error {
	f, err := s.Control.SyncRepository(r.Context(), c, uid)
	if err != nil {
		return err
	}
	notice := "The repository was read, and what it says is in force."
	if status := f.Repository; status != nil && (status.Fault != "" || len(status.Problems) > 0 || status.Seen != status.Applied || status.Applied == "") {
		notice = "The repository was looked at, but its newest commit is not in force. See below why."
	}
	return s.done(w, r, factoryAddress(f.UID), notice)
}
