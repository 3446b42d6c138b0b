package factories

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"path"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/definition"
	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// repositoryLease is when a look that gives no sign of life is over and another node
	// looks.
	repositoryLease = 30 * time.Second
	// maxStoredProblems bounds the row; nobody fixes more at once.
	maxStoredProblems = 200
)

// look is one look at a repository, held by a claim: the holder of another claim has
// begun later, and knows better.
type look struct {
	s      *Factories
	claim  string
	status lineshaft.GitStatus
	// force applies also what is in force already.
	force bool
}

// errOvertaken ends a look whose claim another one has taken.
var errOvertaken = errors.New("another look has begun")

// take claims the repository of a factory, or any one that is due; nil for none.
func (s *Factories) take(ctx context.Context, tx *store.Tx, factoryUID string) (*look, error) {
	claim, _ := s.Store.NewID()
	take := func() (*lineshaft.GitStatus, error) { return tx.ClaimRepository(ctx, claim, repositoryLease) }
	if factoryUID != "" {
		take = func() (*lineshaft.GitStatus, error) {
			return tx.TakeRepository(ctx, factoryUID, claim, repositoryLease)
		}
	}
	status, err := take()
	if err != nil || status == nil {
		return nil, err
	}
	return &look{s: s, claim: claim, status: *status}, nil
}

// do looks, applies what is new and notes the result. Nothing of that is done in one
// transaction with git at work; the claim holds it together.
func (l *look) do(ctx context.Context) error {
	working, stop := l.extend(ctx)
	before := l.status
	err := l.examine(working)
	stop()
	if overtaken := context.Cause(working); err != nil && errors.Is(overtaken, errOvertaken) {
		err = errOvertaken
	}
	if err == nil {
		err = l.note(ctx)
	}
	if errors.Is(err, errOvertaken) {
		return nil // it has been, or will be, done by the other
	}
	if err != nil {
		return errors.Join(err, l.release(ctx))
	}
	l.tell(ctx, before)
	return nil
}

// extend keeps the claim in force while ctx lasts, and ends it when that cannot be done.
func (l *look) extend(ctx context.Context) (context.Context, func()) {
	ctx, cancel := context.WithCancelCause(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		tick := time.NewTicker(repositoryLease / 3)
		defer tick.Stop()
		for {
			select {
			case <-ctx.Done():
				return
			case <-tick.C:
			}
			held := true
			err := l.s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
				held, err = tx.ExtendRepository(ctx, l.status.FactoryUID, l.claim, repositoryLease)
				return err
			})
			if err == nil && !held {
				cancel(errOvertaken)
			}
		}
	}()
	return ctx, func() {
		cancel(nil)
		<-ended
	}
}

// examine finds out what the repository has and puts it in force. Mistakes of the
// repository are in the status; an error is the server's own.
func (l *look) examine(ctx context.Context) error {
	status := &l.status
	status.CheckedAt = l.s.Store.Now()
	commit, err := l.s.Cfg.Git.Head(ctx, status.Source.URL, status.Source.Branch)
	if err != nil {
		return l.fault(ctx, err)
	}
	if commit == status.Applied && !l.force {
		status.Seen, status.Problems, status.Fault = commit, nil, ""
		return nil
	}
	files, problems, err := l.files(ctx, commit)
	if err != nil {
		return l.fault(ctx, err)
	}
	status.Seen, status.Fault = commit, ""
	if len(problems) == 0 {
		problems, err = l.apply(ctx, commit, files)
	}
	if err != nil {
		return err
	}
	if status.Problems = problems[:min(len(problems), maxStoredProblems)]; len(problems) == 0 {
		status.Applied = commit
	}
	return nil
}

// fault notes that the repository could not be read. Looks that were called off are not
// the repository's fault.
func (l *look) fault(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	public, ok := asPublic(err)
	if !ok {
		l.s.Log.WarnContext(ctx, "read repository", "factory", l.status.FactoryUID, "err", err)
		l.status.Fault = "the repository could not be read; the log of the server says why"
		return nil
	}
	l.status.Fault = public.Message
	return nil
}

// asPublic finds the part of an error that people may see.
func asPublic(err error) (*lineshaft.Error, bool) {
	public, ok := errors.AsType[*lineshaft.Error](err)
	return public, ok && public.Code != lineshaft.CodeInternal
}

// apply puts a definition in force, unless another look has begun meanwhile. Mistakes
// are returned as problems, with their places in the repository.
func (l *look) apply(ctx context.Context, commit string, files definition.Files) ([]lineshaft.FileProblem, error) {
	uid := l.status.FactoryUID
	done, err := l.s.ApplyFiles(ctx, follower(), uid, files, RevisionNote{
		Source: lineshaft.RevisionRepository, Commit: commit, Comment: "from " + sourceText(l.status.Source),
		guard: func(ctx context.Context, tx *store.Tx) error {
			held, err := tx.HoldRepository(ctx, uid, l.claim)
			if err == nil && !held {
				err = errOvertaken
			}
			return err
		},
	})
	if err == nil {
		if done.Changed || l.status.Applied != commit {
			l.status.AppliedAt = l.s.Store.Now()
		}
		return nil, nil
	}
	public, ok := asPublic(err)
	if !ok || public.Code == lineshaft.CodeUnavailable || ctx.Err() != nil {
		return nil, err
	}
	problems := public.Problems
	if len(problems) == 0 { // such as an alias that another factory has
		problems = []lineshaft.FileProblem{{File: "factory.yaml", Message: public.Message}}
	}
	placed := make([]lineshaft.FileProblem, len(problems))
	for i, p := range problems {
		p.File = path.Join(l.status.Source.Path, p.File)
		placed[i] = p
	}
	return placed, nil
}

// follower is who applies what is in a repository. It may name the team's secrets, as
// anyone who links a repository may.
func follower() lineshaft.Caller {
	return lineshaft.Caller{
		Principal: lineshaft.Principal{UID: base.RepositoryPrincipalUID, Type: lineshaft.ServiceAccount, DisplayName: "Repository"}, Role: lineshaft.RoleManager,
	}
}

// note ends the claim with what was seen.
func (l *look) note(ctx context.Context) error {
	held := false
	err := l.s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		held, err = tx.NoteRepository(ctx, l.claim, l.status, l.s.repositoryPause())
		return err
	})
	if err == nil && !held {
		return errOvertaken
	}
	return err
}

// release lets others look at once, when this node stops in the middle.
func (l *look) release(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), 5*time.Second)
	defer cancel()
	return l.s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) error {
		return tx.ReleaseRepository(ctx, l.status.FactoryUID, l.claim)
	})
}

// tell logs a look that found something.
func (l *look) tell(ctx context.Context, before lineshaft.GitStatus) {
	now := l.status
	if now.Seen == before.Seen && now.Applied == before.Applied && now.Fault == before.Fault && len(now.Problems) == len(before.Problems) {
		return
	}
	level := slog.LevelInfo
	if now.Fault != "" || len(now.Problems) > 0 {
		level = slog.LevelWarn
	}
	l.s.Log.LogAttrs(ctx, level, "repository", slog.String("factory", now.FactoryUID), slog.String("seen", now.Seen), slog.String("applied", now.Applied),
		slog.Int("problems", len(now.Problems)), slog.String("fault", now.Fault))
}

// maxDefinitionFile is more than any file of a definition may have: a larger file is
// reported by its size and not read.
const maxDefinitionFile = 4 << 20

// files reads the folder of the definition.
func (l *look) files(ctx context.Context, commit string) (definition.Files, []lineshaft.FileProblem, error) {
	folder := l.status.Source.Path
	var problems []lineshaft.FileProblem
	found, err := l.s.Cfg.Git.Tree(ctx, l.status.Source.URL, commit, func(name string, size int64) bool {
		inside, ok := inFolder(folder, name)
		if !ok || folder == "" && !ofDefinition(inside) {
			return false
		}
		if size > maxDefinitionFile {
			if ofDefinition(inside) {
				problems = append(problems, lineshaft.FileProblem{File: name, Message: fmt.Sprintf("the file has %d bytes", size), Hint: "make it shorter, or keep it elsewhere"})
			}
			return false
		}
		return true
	})
	if err != nil {
		return nil, nil, err
	}
	files := definition.Files{}
	for name, text := range found {
		if inside, _ := inFolder(folder, name); utf8.ValidString(text) || ofDefinition(inside) {
			files[inside] = text
		}
	}
	if len(files) == 0 && len(problems) == 0 {
		problems = append(problems, l.nothing())
	}
	return files, problems, nil
}

func (l *look) nothing() lineshaft.FileProblem {
	where := "the repository"
	if l.status.Source.Path != "" {
		where = "folder " + l.status.Source.Path
	}
	return lineshaft.FileProblem{
		File: path.Join(l.status.Source.Path, "factory.yaml"), Message: where + " has no definition of a factory",
		Hint: "push a factory.yaml there, or name the folder that has one",
	}
}

// ofDefinition distinguishes files of a definition from others that a repository may
// have beside one at its root.
func ofDefinition(name string) bool {
	top, _, nested := strings.Cut(name, "/")
	if !nested {
		return strings.HasSuffix(name, ".yaml") && strings.HasPrefix(name, "factory") || name == "factory.yml"
	}
	switch top {
	case "agents", "automations", "webhooks", "runners", "skills", "benchmarks", "scorers":
		return true
	}
	return false
}

// inFolder removes the folder of a definition from a path; false for a path elsewhere.
func inFolder(folder, path string) (string, bool) {
	if folder == "" {
		return path, true
	}
	return strings.CutPrefix(path, folder+"/")
}
