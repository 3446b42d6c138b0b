package factories

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/store"
)

// errUnchanged takes back a change that would have changed nothing.
var errUnchanged = errors.New("nothing to change")

// Definition is a factory as a folder.
type Definition struct {
	// Revision is that of the definition, not of the factory: it stays while only
	// things change that no folder shows.
	Revision int64
	Files    definition.Files
}

// Validation is what can be said about a folder.
type Validation struct {
	Problems []lineshaft.FileProblem
	// Unused are files that are accepted and not used.
	Unused []string
	// Notices are not mistakes but should be known, such as keys without effect.
	Notices []lineshaft.FileProblem
}

// Application asks for a folder to be put in force.
type Application struct {
	Files   definition.Files
	Comment string
	// IfRevision, unless 0, refuses if the definition is of another revision by now.
	IfRevision int64
}

// Applied says what an apply did.
type Applied struct {
	// Revision is that of the definition in force.
	Revision int64
	// Changed is false when everything was like that already.
	Changed bool
	Changes []definition.Change
	Unused  []string
	Notices []lineshaft.FileProblem
}

// Plan is what an apply would do.
type Plan struct {
	// Revision is that of the definition in force.
	Revision  int64
	Changes   []definition.Change
	Backtests []Backtest
	Unused    []string
	Notices   []lineshaft.FileProblem
}

// CheckedDefinition is what can be said about a folder without a server.
type CheckedDefinition struct {
	Validation
	// Offline are the problems that the published format finds without a server.
	Offline []lineshaft.FileProblem
	// Deferred is what is only looked up when the definition is applied.
	Deferred []definition.Deferred
}

// CheckDefinition checks a folder on its own, as the published format does.
func CheckDefinition(files definition.Files) CheckedDefinition {
	d, problems := definition.Parse(files)
	c := CheckedDefinition{Validation: Validation{Problems: problems, Unused: d.Unused, Notices: d.Notices}, Deferred: d.Deferred()}
	for _, p := range problems {
		if !slices.Contains(d.AtApply, p) {
			c.Offline = append(c.Offline, p)
		}
	}
	return c
}

// ValidateDefinition checks a folder on its own and against the server, as applying it
// to the factory would.
func (s *Factories) ValidateDefinition(ctx context.Context, c lineshaft.Caller, factoryUID string, files definition.Files) (Validation, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return Validation{}, err
	}
	if _, err := s.VisibleFactory(ctx, c, factoryUID); err != nil {
		return Validation{}, err
	}
	d, problems := definition.Parse(files)
	v := Validation{Unused: d.Unused, Notices: d.Notices}
	_, err := s.plan(ctx, c, factoryUID, d, problems)
	if wrong, ok := errors.AsType[*lineshaft.Error](err); ok && len(wrong.Problems) > 0 {
		v.Problems = wrong.Problems
		return v, nil
	}
	return v, err
}

// ApplyDefinition makes a managed factory what a folder says, all or nothing.
func (s *Factories) ApplyDefinition(ctx context.Context, c lineshaft.Caller, factoryUID string, a Application) (Applied, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return Applied{}, err
	}
	return s.ApplyFiles(ctx, c, factoryUID, a.Files, RevisionNote{Source: lineshaft.RevisionApply, Comment: a.Comment, ifRevision: a.IfRevision})
}

// ExportDefinition writes a factory as a folder. Files that were applied and still
// say the same are what was applied, byte for byte.
func (s *Factories) ExportDefinition(ctx context.Context, c lineshaft.Caller, factoryUID string) (Definition, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return Definition{}, err
	}
	if _, err := s.VisibleFactory(ctx, c, factoryUID); err != nil {
		return Definition{}, err
	}
	var (
		parts *factoryParts
		last  *lineshaft.Revision
		texts definition.Files
	)
	err := s.readUnchanged(ctx, factoryUID, func(f *lineshaft.Factory) (err error) {
		if parts, err = readParts(ctx, s.Store, f); err != nil {
			return err
		}
		last, texts, err = lastFolder(ctx, s.Store, factoryUID)
		return err
	})
	if err != nil {
		return Definition{}, err
	}
	return Definition{Revision: definitionRevision(last, parts.factory.Revision), Files: parts.folder(texts)}, nil
}

// definitionRevision is the number of the newest revision; the factory's own for one
// that has none yet.
func definitionRevision(last *lineshaft.Revision, factory int64) int64 {
	if last == nil {
		return factory
	}
	return last.Number
}

// DriftDefinition says how a factory differs from a folder: what applying it would
// change.
func (s *Factories) DriftDefinition(ctx context.Context, c lineshaft.Caller, factoryUID string, files definition.Files) (Plan, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return Plan{}, err
	}
	w, err := s.planFiles(ctx, c, factoryUID, files)
	if err != nil {
		return Plan{}, err
	}
	return w.told(), nil
}

// PlanDefinition says what applying a folder would change, and what the changed
// automations would make of the deliveries that are stored.
func (s *Factories) PlanDefinition(ctx context.Context, c lineshaft.Caller, factoryUID string, files definition.Files) (Plan, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return Plan{}, err
	}
	w, err := s.planFiles(ctx, c, factoryUID, files)
	if err != nil {
		return Plan{}, err
	}
	plan := w.told()
	plan.Backtests, err = s.backtest(ctx, w)
	return plan, err
}

// PlanNewFactory says what making a factory of a folder would do, and holds the folder
// against the server as applying it to that factory would.
func (s *Factories) PlanNewFactory(ctx context.Context, c lineshaft.Caller, files definition.Files) (Plan, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return Plan{}, err
	}
	if err := seesNewFactory(c); err != nil {
		return Plan{}, err
	}
	d, problems := definition.Parse(files)
	uid, _ := s.Store.NewID()
	none := lineshaft.Factory{UID: uid, Mode: lineshaft.ModeManaged, Revision: 1} // as LockFactory leaves it at its first change
	var w *work
	err := s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if w, err = s.prepare(ctx, tx, work{c: c, d: d, factory: &none, problems: problems, written: noFolder()}); err != nil {
			return err
		}
		return errUnchanged
	})
	if !errors.Is(err, errUnchanged) {
		return Plan{}, err
	}
	return w.told(), nil
}

func (s *Factories) planFiles(ctx context.Context, c lineshaft.Caller, factoryUID string, files definition.Files) (*work, error) {
	if _, err := s.VisibleFactory(ctx, c, factoryUID); err != nil {
		return nil, err
	}
	d, problems := definition.Parse(files)
	return s.plan(ctx, c, factoryUID, d, problems)
}

// plan does everything that an apply does but writing.
func (s *Factories) plan(ctx context.Context, c lineshaft.Caller, factoryUID string, d *definition.Definition, problems []lineshaft.FileProblem) (*work, error) {
	ahead, err := readFolder(ctx, s.Store, factoryUID)
	if err != nil {
		return nil, err
	}
	var w *work
	err = s.lockedFactory(ctx, c, factoryUID, func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
		if w, err = s.prepare(ctx, tx, work{c: c, d: d, factory: f, problems: problems, written: ahead}); err != nil {
			return err
		}
		return errUnchanged
	})
	return w, err
}

// mistakes is the error for a definition with problems; nil without any.
func mistakes(problems []lineshaft.FileProblem) error {
	if len(problems) == 0 {
		return nil
	}
	first, count := problems[0], "the definition has a mistake"
	if len(problems) > 1 {
		count = fmt.Sprintf("the definition has %d mistakes; the first", len(problems))
	}
	err := lineshaft.Invalid("", "%s: %s: %s", count, place(first), first.Message)
	err.Problems = problems
	return err
}

// place says where a problem is, as compilers do.
func place(p lineshaft.FileProblem) string {
	if p.Line == 0 {
		return p.File
	}
	return fmt.Sprintf("%s:%d:%d", p.File, p.Line, p.Column)
}
