package factories

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

// revisionRoutes need more than permission to read: definitions are sources, with what the pages
// leave out of them.
func (s pages) revisionRoutes() []page.Route {
	const all = "/factories/{factory}/revisions"
	return []page.Route{
		page.Get(all, edit, page.InTurn(page.ShowWith("revisions", s.factoryOf, s.revisionList))),
		page.Get(all+"/{number}", edit, page.InTurn(page.ShowOf("revision", s.revisionOf, revisionPage))),
		page.Get(all+"/{number}/rollback", edit, page.InTurn(page.ShowWith("rollback", s.revisionOf, s.rollbackPage))),
		page.Post(all+"/{number}/rollback", edit, page.With(revisionNumber, s.rollback)),
		page.Get("/factories/{factory}/export", edit, page.InTurn(s.exportFactory)),
	}
}

type revisionListData struct {
	page.Pager

	Factory   *lineshaft.Factory
	Revisions []lineshaft.Revision
}

func (s pages) revisionList(r *page.Request, f *lineshaft.Factory) (p page.Page, err error) {
	found, err := s.Control.ListRevisions(r.Context(), r.Caller, f.UID, listPage, r.Cursor())
	return within(f, "History", revisionListData{r.Pager(found.Next), f, found.Revisions}), err
}

func revisionNumber(r *page.Request) (int64, error) {
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil {
		return 0, lineshaft.NotFound("revision", r.PathValue("number"))
	}
	return number, nil
}

// fileChange is a file of a revision next to the previous one.
type fileChange struct {
	Path string
	// Kind is added, changed, removed or empty: as before.
	Kind  string
	Lines []page.DiffLine
}

type revisionData struct {
	Factory *lineshaft.Factory
	lineshaft.Revision

	Managed bool
	// Newest is set for what is in force.
	Newest bool
	Files  []fileChange
	Same   int
	Plan   *factories.Plan
	// Problem is why it cannot be rolled back to; Fixs are the steps that help.
	Problem string
	Fixs    []mendStep
	// texts are its files.
	texts map[string]string
}

// mendStep is one thing that prevents a roll-back.
type mendStep struct {
	lineshaft.FileProblem

	// Secret is the name of the secret that is missing, if that is what it is.
	Secret string
}

func mendSteps(problems []lineshaft.FileProblem) []mendStep {
	var list []mendStep
	for _, p := range problems {
		name, missing := strings.CutPrefix(p.Message, "there is no secret ")
		if !missing {
			name = ""
		}
		list = append(list, mendStep{p, name})
	}
	return list
}

// revisionOf reads a revision with what it changed.
func (s pages) revisionOf(r *page.Request) (revisionData, error) {
	f, err := s.factoryOf(r)
	if err != nil {
		return revisionData{}, err
	}
	number, err := revisionNumber(r)
	if err != nil {
		return revisionData{}, err
	}
	found, err := s.Control.GetRevision(r.Context(), r.Caller, f.UID, number)
	if err != nil {
		return revisionData{}, err
	}
	data := revisionData{Factory: f, Revision: found.Revision, texts: found.Texts, Managed: managed(*f)}
	before, err := s.revisionBefore(r, f.UID, number, &data.Newest)
	if err != nil {
		return data, err
	}
	for _, path := range allPaths(before, found.Texts) {
		was, had := before[path]
		is, has := found.Texts[path]
		change := fileChange{Path: path, Kind: "changed"}
		switch {
		case !had:
			change.Kind = "added"
		case !has:
			change.Kind = "removed"
		case was == is:
			data.Same++
			continue
		}
		change.Lines = page.CompareTexts(was, is)
		data.Files = append(data.Files, change)
	}
	return data, nil
}

// revisionBefore reads the files of the revision before a given one, and notes whether the latter
// is the newest. Numbers have gaps, so the list is asked.
func (s pages) revisionBefore(r *page.Request, factoryUID string, number int64, newest *bool) (map[string]string, error) {
	for cursor, first := "", true; ; first = false {
		list, err := s.Control.ListRevisions(r.Context(), r.Caller, factoryUID, 100, cursor)
		if err != nil {
			return nil, err
		}
		for i, one := range list.Revisions {
			if first && i == 0 {
				*newest = one.Number == number
			}
			if one.Number < number {
				before, err := s.Control.GetRevision(r.Context(), r.Caller, factoryUID, one.Number)
				return before.Texts, err
			}
		}
		if cursor = list.Next; cursor == "" {
			return nil, nil
		}
	}
}

func allPaths(a, b map[string]string) []string {
	return slices.Compact(slices.Sorted(slices.Values(slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b))))))
}

func revisionPage(data revisionData) page.Page {
	return data.page(fmt.Sprintf("Revision %d", data.Number))
}

func (d revisionData) page(title string) page.Page {
	crumbs := factoryCrumbs(d.Factory).To("History", page.FactoryAddress(d.Factory.UID)+"/revisions")
	return page.Page{Title: title, Section: "factories", Crumbs: crumbs, Data: d}
}

func (s pages) rollbackPage(r *page.Request, data revisionData) (p page.Page, err error) {
	plan, err := s.Control.PlanDefinition(r.Context(), r.Caller, data.Factory.UID, data.texts)
	if told, ok := errors.AsType[*lineshaft.Error](err); ok && told.Code == lineshaft.CodeInvalidRequest {
		data.Problem, data.Fixs = told.Message, mendSteps(told.Problems)
	} else if err != nil {
		return p, err
	}
	data.Plan = &plan
	return data.page("Roll back"), nil
}

func (s pages) rollback(r *page.Request, number int64) error {
	uid := r.PathValue("factory")
	applied, err := s.Control.RollbackDefinition(r.Context(), r.Caller, uid, number)
	if err != nil {
		return err
	}
	notice := fmt.Sprintf("The factory is back at revision %d. That is revision %d now.", number, applied.Revision)
	if !applied.Changed {
		notice = fmt.Sprintf("The factory already matched revision %d.", number)
	}
	return r.Done(page.FactoryAddress(uid), notice)
}

func (s pages) exportFactory(r *page.Request) error {
	found, err := s.Control.ExportDefinition(r.Context(), r.Caller, r.PathValue("factory"))
	if err != nil {
		return err
	}
	archive, err := tarOf(found.Files)
	if err != nil {
		return err
	}
	page.AsAttachment(r.W, "application/gzip", fmt.Sprintf("factory-%d.tar.gz", found.Revision))
	_, _ = r.W.Write(archive) // a reader that went away is nobody's error
	return nil
}

func tarOf(files map[string]string) ([]byte, error) {
	var packed bytes.Buffer
	zip := gzip.NewWriter(&packed)
	out := tar.NewWriter(zip)
	for _, path := range slices.Sorted(maps.Keys(files)) {
		if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: path, Mode: 0o644, Size: int64(len(files[path]))}); err != nil {
			return nil, fmt.Errorf("pack definition: %w", err)
		}
		if _, err := io.WriteString(out, files[path]); err != nil {
			return nil, fmt.Errorf("pack definition: %w", err)
		}
	}
	if err := errors.Join(out.Close(), zip.Close()); err != nil {
		return nil, fmt.Errorf("pack definition: %w", err)
	}
	return packed.Bytes(), nil
}
