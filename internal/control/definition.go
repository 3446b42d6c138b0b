package control

import (
	"context"
	"errors"
	"fmt"

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
}

// Application asks for a folder to be put in force.
type Application struct {
	Files   definition.Files
	Comment string
	// IfRevision, unless 0, refuses if the definition is of another revision by now.
	IfRevision int64
}

// Applied tells what an apply did.
type Applied struct {
	// Revision is that of the definition in force.
	Revision int64
	// Changed is false when everything was like that already.
	Changed bool
	Changes []definition.Change
	Unused  []string
}

// Plan is what an apply would do.
type Plan struct {
	// Revision is that of the definition in force.
	Revision  int64
	Changes   []definition.Change
	Backtests []Backtest
	Unused    []string
}

// DefinitionProblems checks a folder by itself. It needs no store.
func DefinitionProblems(files definition.Files) Validation {
	d, problems := definition.Parse(files)
	v := Validation{Problems: problems}
	if d != nil {
		v.Unused = d.Unused
	}
	return v
}

// ValidateDefinition checks a folder by itself and against the server, as applying it
// to the factory would.
func (s *Service) ValidateDefinition(ctx context.Context, c lineshaft.Caller, factoryUID string, files definition.Files) (Validation, error) {
	if _, err := s.visibleFactory(ctx, c, factoryUID); err != nil {
		return Validation{}, err
	}
	v := DefinitionProblems(files)
	if len(v.Problems) > 0 {
		return v, nil
	}
	_, err := s.plan(ctx, c, factoryUID, files)
	if wrong, ok := errors.AsType[*lineshaft.Error](err); ok && len(wrong.Problems) > 0 {
		v.Problems = wrong.Problems
		return v, nil
	}
	return v, err
}

// ApplyDefinition makes a managed factory what a folder says, all or nothing.
func (s *Service) ApplyDefinition(ctx context.Context, c lineshaft.Caller, factoryUID string, a Application) (Applied, error) {
	return s.applyFiles(ctx, c, factoryUID, a.Files, revisionNote{Source: lineshaft.RevisionApply, Comment: a.Comment, ifRevision: a.IfRevision})
}

// ExportDefinition writes a factory as a folder. Files that were applied and still
// say the same are what was applied, byte for byte.
func (s *Service) ExportDefinition(ctx context.Context, c lineshaft.Caller, factoryUID string) (Definition, error) {
	if _, err := s.visibleFactory(ctx, c, factoryUID); err != nil {
		return Definition{}, err
	}
	parts, err := s.currentParts(ctx, factoryUID)
	if err != nil {
		return Definition{}, err
	}
	last, texts, err := lastFolder(ctx, s.store, factoryUID)
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

// DriftDefinition tells how a factory differs from a folder: what applying it would
// change.
func (s *Service) DriftDefinition(ctx context.Context, c lineshaft.Caller, factoryUID string, files definition.Files) (Plan, error) {
	w, err := s.plan(ctx, c, factoryUID, files)
	if err != nil {
		return Plan{}, err
	}
	return w.told(), nil
}

// PlanDefinition tells what applying a folder would change, and what the changed
// automations would make of the deliveries that are stored.
func (s *Service) PlanDefinition(ctx context.Context, c lineshaft.Caller, factoryUID string, files definition.Files) (Plan, error) {
	w, err := s.plan(ctx, c, factoryUID, files)
	if err != nil {
		return Plan{}, err
	}
	plan := w.told()
	plan.Backtests, err = s.backtest(ctx, w)
	return plan, err
}

// plan does everything that an apply does but writing.
func (s *Service) plan(ctx context.Context, c lineshaft.Caller, factoryUID string, files definition.Files) (*work, error) {
	d, err := s.parse(ctx, c, factoryUID, files)
	if err != nil {
		return nil, err
	}
	var w *work
	err = s.lockedFactory(ctx, c, factoryUID, func(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
		if w, err = s.prepare(ctx, tx, c, f, d); err != nil {
			return err
		}
		return errUnchanged
	})
	return w, err
}

// parse reads a folder for a factory that the caller sees.
func (s *Service) parse(ctx context.Context, c lineshaft.Caller, factoryUID string, files definition.Files) (*definition.Definition, error) {
	if _, err := s.visibleFactory(ctx, c, factoryUID); err != nil {
		return nil, err
	}
	d, problems := definition.Parse(files)
	return d, mistakes(problems)
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
