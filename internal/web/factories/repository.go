package factories

import (
	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

func (s pages) repositoryRoutes() []page.Route {
	const at = "/factories/{factory}/repository"
	return append([]page.Route{
		page.Get(at, edit, page.ShowOf("factoryrepository", s.factoryOf, repositoryPage)),
		page.Post(at, edit, page.With(s.factoryOf, s.linkRepository)),
		page.Post(at+"/sync", edit, func(r *page.Request) error { return s.synced(r, r.PathValue("factory")) }),
	}, page.Removing(at+"/unlink", edit, s.askUnlinkRepository, func(r *page.Request, uid string) error {
		_, err := s.Control.UpdateFactory(r.Context(), r.Caller, uid, factories.FactoryChange{Unlink: true})
		return err
	})...)
}

func repositoryForm(f *lineshaft.Factory, form factoryForm) page.Page {
	title := "Follow a repository"
	if f.Repository != nil {
		title = "Change the repository"
	}
	return within(f, title, form)
}

func repositoryPage(f *lineshaft.Factory) page.Page {
	form := factoryForm{UID: f.UID, Name: f.Name}
	if f.Repository != nil {
		form.URL, form.Branch, form.Path = f.Repository.Source.URL, f.Repository.Source.Branch, f.Repository.Source.Path
	}
	return repositoryForm(f, form)
}

func (s pages) linkRepository(r *page.Request, f *lineshaft.Factory) error {
	form := readFactoryForm(r)
	form.Name = f.Name
	_, err := s.Control.UpdateFactory(r.Context(), r.Caller, f.UID, factories.FactoryChange{Repository: form.source()})
	if err != nil {
		return r.Again("factoryrepository", repositoryForm(f, form), err)
	}
	return s.synced(r, f.UID)
}

func (s pages) askUnlinkRepository(r *page.Request) (page.Removal, error) {
	f, err := s.factoryOf(r)
	if err != nil {
		return page.Removal{}, err
	}
	return page.Removal{
		Section: "factories", Crumbs: factoryCrumbs(f), ID: f.UID, Verb: "Stop following", Name: "the repository of " + f.Name,
		Back: page.FactoryAddress(f.UID), To: page.FactoryAddress(f.UID), Done: "The factory no longer follows a repository. Edit it here.",
		Effects: []string{
			"Pushes to the repository are no longer applied. The current definition stays, and you can edit it here.",
		},
	}, nil
}

// synced looks at the repository and reports the result.
func (s pages) synced(r *page.Request, uid string) error {
	f, err := s.Control.SyncRepository(r.Context(), r.Caller, uid)
	if err != nil {
		return err
	}
	notice := "The repository was read, and its definition is applied."
	if status := f.Repository; status != nil &&
		(status.Fault != "" || len(status.Problems) > 0 || status.Seen != status.Applied || status.Applied == "") {
		notice = "The repository was read, but its newest commit was not applied. See below why."
	}
	return r.Done(page.FactoryAddress(f.UID), notice)
}
