package factories

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/store"
)

// RevisionNote says how a definition came to be.
type RevisionNote struct {
	Source lineshaft.RevisionSource
	// Comment is what people wrote about it, or what was done.
	Comment string
	// Commit is that of the repository.
	Commit string
	// ifRevision, unless 0, is the revision that the definition was made for: if it is
	// no longer the newest, nothing is done.
	ifRevision int64
	// guard, unless nil, is asked in the transaction whether it may still be done.
	guard func(ctx context.Context, tx *store.Tx) error
}

// RevisionPage is a page of a factory's revisions, newest first.
type RevisionPage struct {
	Revisions []lineshaft.Revision
	Next      string
}

// RevisionDetail is one revision with its texts.
type RevisionDetail struct {
	lineshaft.Revision

	Texts definition.Files
}

// lastFolder reads the newest revision of a factory with its texts; nil for a factory
// that was not changed since revisions are kept.
func lastFolder(ctx context.Context, r revisionReader, uid string) (*lineshaft.Revision, definition.Files, error) {
	last, err := r.LastRevision(ctx, uid)
	if err != nil || last == nil {
		return nil, nil, err
	}
	texts, err := r.RevisionTexts(ctx, last)
	return last, texts, err
}

// revisionReader reads revisions, in a transaction or outside of one.
type revisionReader interface {
	LastRevision(ctx context.Context, factoryUID string) (*lineshaft.Revision, error)
	RevisionTexts(ctx context.Context, v *lineshaft.Revision) (map[string]string, error)
}

// writtenFolder is the newest revision of a factory, read ahead of a change: reading
// and parsing a large folder takes longer than others may be kept waiting.
type writtenFolder struct {
	last  *lineshaft.Revision // nil for a factory that has none
	texts definition.Files
	kept  *definition.Kept
}

func readFolder(ctx context.Context, r revisionReader, uid string) (*writtenFolder, error) {
	last, texts, err := lastFolder(ctx, r, uid)
	if err != nil {
		return nil, err
	}
	return &writtenFolder{last: last, texts: texts, kept: definition.Keep(texts)}, nil
}

// noFolder is for a factory that is just made.
func noFolder() *writtenFolder { return &writtenFolder{kept: definition.Keep(nil)} }

// current reads the folder again if there is a newer revision by now.
func (w *writtenFolder) current(ctx context.Context, tx *store.Tx, uid string) (*writtenFolder, error) {
	last, err := tx.LastRevision(ctx, uid)
	if err != nil {
		return nil, err
	}
	if last == nil && w.last == nil || last != nil && w.last != nil && last.Number == w.last.Number {
		return w, nil
	}
	return readFolder(ctx, tx, uid)
}

// recordEdit makes a revision of what a change did to the folder of a factory. What
// the folder does not show, such as a pause or a new credential, makes none.
func (s *Factories) recordEdit(ctx context.Context, tx *store.Tx, c lineshaft.Caller, uid string, ahead *writtenFolder) error {
	f, err := tx.GetFactory(ctx, uid)
	if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
		return nil // the change was to delete it
	}
	if err != nil {
		return err
	}
	parts, err := readParts(ctx, tx, f)
	if err != nil {
		return err
	}
	was, err := ahead.current(ctx, tx, uid)
	if err != nil {
		return err
	}
	files := was.kept.Render(parts.definition())
	if was.last != nil && maps.Equal(files, was.texts) {
		return nil
	}
	if err := checkGrowth(f, was.texts, files); err != nil {
		return err
	}
	return s.recordRevision(ctx, tx, c, f, was.last, files, RevisionNote{Source: lineshaft.RevisionEdit, Comment: tellFiles(was.texts, files)})
}

// checkGrowth refuses an edit after which the folder could not be applied again, and would be
// long to read for everyone (H-14). A folder that is too large already may become smaller.
func checkGrowth(f *lineshaft.Factory, before, after definition.Files) error {
	files, bytes := len(after), after.Bytes()
	if files > definition.MaxFiles && files > len(before) || bytes > definition.MaxBytes && bytes > before.Bytes() {
		return lineshaft.Conflict("the definition of factory %q would have %d files with %d bytes, and at most %d with %d are allowed; "+
			"first delete agents or automations, or shorten their prompts", f.Name, files, bytes, definition.MaxFiles, definition.MaxBytes)
	}
	return nil
}

// recordRevision writes a revision after last, which is nil for the first.
func (s *Factories) recordRevision(ctx context.Context, tx *store.Tx, c lineshaft.Caller, f *lineshaft.Factory, last *lineshaft.Revision, files definition.Files, as RevisionNote) error {
	_, err := tx.InsertRevision(ctx, last, lineshaft.Revision{
		FactoryUID: f.UID, Number: f.Revision, Source: as.Source, Actor: c.Principal, Comment: as.Comment, Commit: as.Commit, CreatedAt: s.Now(),
	}, files)
	return err
}

// tellFiles says in a line which files an edit touched.
func tellFiles(before, after definition.Files) string {
	const most = 5
	var told []string
	paths := maps.Clone(before)
	if paths == nil {
		paths = definition.Files{}
	}
	maps.Copy(paths, after)
	for _, path := range slices.Sorted(maps.Keys(paths)) {
		was, had := before[path]
		is, has := after[path]
		switch {
		case !had:
			told = append(told, "added "+path)
		case !has:
			told = append(told, "removed "+path)
		case was != is:
			told = append(told, "changed "+path)
		}
	}
	if len(told) > most {
		told = append(told[:most], fmt.Sprintf("and %d more", len(told)-most))
	}
	return strings.Join(told, ", ")
}

// ListRevisions reads a page of the revisions of a factory's definition, newest first.
func (s *Factories) ListRevisions(ctx context.Context, c lineshaft.Caller, factoryUID string, limit int, cursor string) (RevisionPage, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return RevisionPage{}, err
	}
	if _, err := s.VisibleFactory(ctx, c, factoryUID); err != nil {
		return RevisionPage{}, err
	}
	list, before := base.Fingerprint("revisions\x00"+factoryUID), int64(0)
	if cursor != "" {
		key, err := base.DecodeCursor[int64](list, cursor)
		if err != nil {
			return RevisionPage{}, err
		}
		before = *key
	}
	found, err := s.Store.ListRevisions(ctx, factoryUID, before, limit+1)
	if err != nil || len(found) <= limit {
		return RevisionPage{Revisions: found}, err
	}
	next, err := base.EncodeCursor(list, found[limit-1].Number)
	return RevisionPage{Revisions: found[:limit], Next: next}, err
}

// GetRevision reads one revision with its files.
func (s *Factories) GetRevision(ctx context.Context, c lineshaft.Caller, factoryUID string, number int64) (RevisionDetail, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return RevisionDetail{}, err
	}
	if _, err := s.VisibleFactory(ctx, c, factoryUID); err != nil {
		return RevisionDetail{}, err
	}
	found, err := s.Store.GetRevision(ctx, factoryUID, number)
	if err != nil {
		return RevisionDetail{}, err
	}
	texts, err := s.Store.RevisionTexts(ctx, found)
	return RevisionDetail{Revision: *found, Texts: texts}, err
}

// RollbackDefinition applies the files of an earlier revision again, as a new one.
func (s *Factories) RollbackDefinition(ctx context.Context, c lineshaft.Caller, factoryUID string, number int64) (Applied, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return Applied{}, err
	}
	to, err := s.GetRevision(ctx, c, factoryUID, number)
	if err != nil {
		return Applied{}, err
	}
	return s.ApplyFiles(ctx, c, factoryUID, to.Texts, RevisionNote{
		Source: lineshaft.RevisionRollback, Comment: fmt.Sprintf("back to revision %d", number), Commit: to.Commit,
	})
}
