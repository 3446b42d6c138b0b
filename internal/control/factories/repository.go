package factories

import (
	"context"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
	"github.com/lineshaft/lineshaft/internal/stream"
)

var errNoGit = lineshaft.NotSupported("repository", "this server follows no repositories; leave it out and edit the factory here")

// checkSource says whether this server can follow a repository, and for this caller.
func (s *Factories) checkSource(c lineshaft.Caller, source lineshaft.GitSource) error {
	if s.Cfg.Git == nil {
		return errNoGit
	}
	if len(c.FactoryUIDs) > 0 {
		return lineshaft.Denied("your key is limited to factories, but a repository may name secrets of the whole team; link it with a key without such a limit")
	}
	if err := source.Validate("repository"); err != nil {
		return err
	}
	checker, ok := s.Cfg.Git.(interface{ Check(url string) error })
	if !ok {
		return nil
	}
	if err := checker.Check(source.URL); err != nil {
		if wrong, ok := asPublic(err); ok {
			return lineshaft.Invalid("repository.url", "%s", wrong.Message)
		}
		return err
	}
	return nil
}

// linked makes a factory follow a repository, in a transaction that has it locked.
func linked(ctx context.Context, tx *store.Tx, f *lineshaft.Factory, source lineshaft.GitSource) error {
	if err := tx.PutRepository(ctx, f.UID, source); err != nil {
		return err
	}
	f.Mode, f.Repository = lineshaft.ModeRepository, &lineshaft.GitStatus{FactoryUID: f.UID, Source: source}
	tx.Wake(stream.RepositoriesTopic)
	return tx.SetFactoryMode(ctx, f.UID, f.Mode)
}

// unlinked makes a factory a managed one again. What was last applied stays.
func unlinked(ctx context.Context, tx *store.Tx, f *lineshaft.Factory) error {
	if err := tx.DeleteRepository(ctx, f.UID); err != nil {
		return err
	}
	f.Mode, f.Repository = lineshaft.ModeManaged, nil
	return tx.SetFactoryMode(ctx, f.UID, f.Mode)
}

// WithRepositories fills in how far factories have followed their repositories. They are
// read again after that: once the commit is reported as in force, what it changed must be
// visible.
func (s *Factories) WithRepositories(ctx context.Context, factories ...*lineshaft.Factory) error {
	var uids []string
	for _, f := range factories {
		if f.Mode == lineshaft.ModeRepository {
			uids = append(uids, f.UID)
		}
	}
	found, err := s.Store.Repositories(ctx, uids...)
	if err != nil {
		return err
	}
	fresh, err := s.Store.Factories(ctx, uids...)
	if err != nil {
		return err
	}
	for _, f := range factories {
		if now, ok := fresh[f.UID]; ok {
			*f = now
		}
		if status, ok := found[f.UID]; ok && f.Mode == lineshaft.ModeRepository {
			f.Repository = &status
		}
	}
	return nil
}

func sourceText(g lineshaft.GitSource) string {
	text := g.URL
	if g.Branch != "" {
		text += ", branch " + g.Branch
	}
	if g.Path != "" {
		text += ", folder " + g.Path
	}
	return text
}

func sourceDetail(g *lineshaft.GitSource) map[string]string {
	if g == nil {
		return map[string]string{"repository": "none"}
	}
	return map[string]string{"repository": sourceText(*g)}
}

// SyncRepository checks the repository of a factory now and puts its content in force,
// also when its commit has been tried before: secrets may exist by now. The answer is
// the result.
func (s *Factories) SyncRepository(ctx context.Context, c lineshaft.Caller, uid string) (*lineshaft.Factory, error) {
	if err := c.Need(lineshaft.PermissionFactoriesManage); err != nil {
		return nil, err
	}
	f, err := s.VisibleFactory(ctx, c, uid)
	if err != nil {
		return nil, err
	}
	if f.Mode != lineshaft.ModeRepository {
		return nil, lineshaft.Conflict("factory %q follows no repository; link one with PATCH {\"repository\": {\"url\": \"…\"}}, or apply a folder", f.Name)
	}
	if s.Cfg.Git == nil {
		return nil, errNoGit
	}
	var l *look
	err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
		if l, err = s.take(ctx, tx, uid); err != nil || l == nil {
			return err
		}
		return s.Audit(ctx, tx, c, "factory.sync", "factory", uid, nil)
	})
	if err != nil {
		return nil, err
	}
	if l != nil {
		l.force = true
		if err := l.do(ctx); err != nil {
			return nil, err
		}
	}
	return s.GetFactory(ctx, c, uid)
}

// SyncRepositories looks at the repositories that are due, one after the other, and
// says how many there were. Several may do so at the same time.
func (s *Factories) SyncRepositories(ctx context.Context) (int, error) {
	if s.Cfg.Git == nil {
		return 0, nil
	}
	for n := 0; ; n++ {
		// Read first, since a claim waits its turn among writers.
		due, err := s.Store.RepositoryDue(ctx)
		if err != nil || !due {
			return n, err
		}
		var l *look
		err = s.Store.Write(ctx, func(ctx context.Context, tx *store.Tx) (err error) {
			l, err = s.take(ctx, tx, "")
			return err
		})
		if err != nil || l == nil {
			return n, err
		}
		if err := l.do(ctx); err != nil {
			return n, err
		}
	}
}

// looksAtOnce is how many repositories a node reads at the same time: a forge that
// does not answer must not hold up the others.
const looksAtOnce = 4

// FollowRepositories keeps factories in step with their repositories until ctx ends.
func (s *Factories) FollowRepositories(ctx context.Context) {
	done := make(chan struct{})
	for range looksAtOnce {
		go func() {
			defer func() { done <- struct{}{} }()
			s.followRepositories(ctx)
		}()
	}
	for range looksAtOnce {
		<-done
	}
}

func (s *Factories) followRepositories(ctx context.Context) {
	sub := s.Hub.Subscribe(stream.RepositoriesTopic)
	defer sub.Close()
	s.Loop(ctx, "follow repositories", sub.C, nil, func(ctx context.Context) (time.Duration, error) {
		_, err := s.SyncRepositories(ctx)
		return s.repositoryTick(), err
	})
}

// repositoryTick is how often to look for repositories that are due. The pause between
// two checks is shorter by that much, so that a push is seen within the poll interval.
func (s *Factories) repositoryTick() time.Duration {
	return min(s.Cfg.RepositoryPoll/10+time.Millisecond, 5*time.Second)
}

func (s *Factories) repositoryPause() time.Duration {
	return max(s.Cfg.RepositoryPoll-s.repositoryTick(), 0)
}
