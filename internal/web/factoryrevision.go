package web

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// factoryRevisionRoutes need more than looking does: definitions are sources, with what
// the pages leave out of them.
func (s *server) factoryRevisionRoutes() []route {
	return []route{
		{"GET /factories/{factory}/revisions", manageFactories, s.inTurn(s.revisionList)},
		{"GET /factories/{factory}/revisions/{number}", manageFactories, s.inTurn(s.revisionPage)},
		{"GET /factories/{factory}/revisions/{number}/rollback", manageFactories, s.inTurn(s.rollbackPage)},
		{"POST /factories/{factory}/revisions/{number}/rollback", manageFactories, s.rollback},
		{"GET /factories/{factory}/export", manageFactories, s.inTurn(s.exportFactory)},
	}
}

type revisionListData struct {
	Factory     *lineshaft.Factory
	Revisions   []lineshaft.Revision
	Next, First string
}

func (s *server) revisionList(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	f, err := s.factoryOf(r, c)
	if err != nil {
		return err
	}
	found, err := s.Control.ListRevisions(r.Context(), c, f.UID, listPage, r.URL.Query().Get("cursor"))
	if err != nil {
		return err
	}
	return s.render(w, r, c, "revisions", page{Title: "History", Section: "factories", Crumbs: factoryCrumbs(f), Data: revisionListData{
		Factory: f, Revisions: found.Revisions, Next: pageAddress(r, found.Next), First: firstAddress(r),
	}})
}

// fileChange is a file of a revision beside the one before.
type fileChange struct {
	Path string
	// Kind is added, changed, removed or empty: as before.
	Kind  string
	Lines []diffLine
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
	// Problem is why it cannot be rolled back to; Mends are the steps that help.
	Problem string
	Mends   []mendStep
}

// mendStep is one thing that stands against a roll-back.
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
func (s *server) revisionOf(r *http.Request, c lineshaft.Caller) (revisionData, error) {
	f, err := s.factoryOf(r, c)
	if err != nil {
		return revisionData{}, err
	}
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil {
		return revisionData{}, lineshaft.NotFound("revision", r.PathValue("number"))
	}
	found, err := s.Control.GetRevision(r.Context(), c, f.UID, number)
	if err != nil {
		return revisionData{}, err
	}
	data := revisionData{Factory: f, Revision: found.Revision, Managed: f.Mode == lineshaft.ModeManaged}
	before, err := s.revisionBefore(r, c, f.UID, number, &data.Newest)
	if err != nil {
		return data, err
	}
	for _, path := range slices.Sorted(maps.Keys(allPaths(before, found.Texts))) {
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
		change.Lines = compareTexts(was, is)
		data.Files = append(data.Files, change)
	}
	return data, nil
}

// revisionBefore reads the files of the revision before one, and notes whether that one
// is the newest. Numbers have gaps, so the list is asked.
func (s *server) revisionBefore(r *http.Request, c lineshaft.Caller, factoryUID string, number int64, newest *bool) (map[string]string, error) {
	for cursor, first := "", true; ; first = false {
		list, err := s.Control.ListRevisions(r.Context(), c, factoryUID, 100, cursor)
		if err != nil {
			return nil, err
		}
		for i, one := range list.Revisions {
			if first && i == 0 {
				*newest = one.Number == number
			}
			if one.Number < number {
				before, err := s.Control.GetRevision(r.Context(), c, factoryUID, one.Number)
				return before.Texts, err
			}
		}
		if cursor = list.Next; cursor == "" {
			return nil, nil
		}
	}
}

func allPaths(a, b map[string]string) map[string]string {
	all := maps.Clone(b)
	if all == nil {
		all = map[string]string{}
	}
	maps.Copy(all, a)
	return all
}

func (s *server) revisionPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data, err := s.revisionOf(r, c)
	if err != nil {
		return err
	}
	return s.render(w, r, c, "revision", page{Title: fmt.Sprintf("Revision %d", data.Number), Section: "factories", Crumbs: revisionCrumbs(data.Factory), Data: data})
}

func revisionCrumbs(f *lineshaft.Factory) []crumb {
	return append(factoryCrumbs(f), crumb{"History", factoryAddress(f.UID) + "/revisions"})
}

func (s *server) rollbackPage(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	data, err := s.revisionOf(r, c)
	if err != nil {
		return err
	}
	files, err := s.Control.GetRevision(r.Context(), c, data.Factory.UID, data.Number)
	if err != nil {
		return err
	}
	plan, err := s.Control.PlanDefinition(r.Context(), c, data.Factory.UID, files.Texts)
	if told, ok := errors.AsType[*lineshaft.Error](err); ok && told.Code == lineshaft.CodeInvalidRequest {
		data.Problem, data.Mends = told.Message, mendSteps(told.Problems)
	} else if err != nil {
		return err
	}
	data.Plan = &plan
	return s.render(w, r, c, "rollback", page{Title: "Roll back", Section: "factories", Crumbs: revisionCrumbs(data.Factory), Data: data})
}

func (s *server) rollback(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	number, err := strconv.ParseInt(r.PathValue("number"), 10, 64)
	if err != nil {
		return lineshaft.NotFound("revision", r.PathValue("number"))
	}
	uid := r.PathValue("factory")
	applied, err := s.Control.RollbackDefinition(r.Context(), c, uid, number)
	if err != nil {
		return err
	}
	notice := fmt.Sprintf("The factory is as in revision %d again. That is revision %d now.", number, applied.Revision)
	if !applied.Changed {
		notice = fmt.Sprintf("The factory was as in revision %d already.", number)
	}
	return s.done(w, r, factoryAddress(uid), notice)
}

// exportFactory sends the definition as a folder.
func (s *server) exportFactory(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	found, err := s.Control.ExportDefinition(r.Context(), c, r.PathValue("factory"))
	if err != nil {
		return err
	}
	archive, err := tarOf(found.Files)
	if err != nil {
		return err
	}
	asAttachment(w, "application/gzip", fmt.Sprintf("factory-%d.tar.gz", found.Revision))
	_, _ = w.Write(archive) // a reader that went away is nobody's error
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
