package skills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/skill"
)

// listTime is how long the list of skills waits for one repository.
const listTime = 10 * time.Second

// SkillQuery says which skills are listed.
type SkillQuery struct {
	// Repository is owner/name; empty are those of all environments and factories.
	Repository string
	// Refresh asks the forge again instead of trusting what was read in the last minute.
	Refresh bool
	// Malformed also lists files that are not skills, with their mistake.
	Malformed bool
	// ByLastRun puts what was used last first.
	ByLastRun bool
}

// ListedSkill is a skill of a repository.
type ListedSkill struct {
	lineshaft.Skill
	Repository lineshaft.Repository
	// Problem is why a malformed one cannot be used.
	Problem string
	// Environments are those that have the repository.
	Environments []lineshaft.Environment
	// LastRun is when the newest run with it was made, of those that the caller may
	// see; zero is none.
	LastRun time.Time

	specs []string // what it is asked for with
}

// ListSkills reads the skills of repositories (F-8). A repository that does not
// answer is left out, unless it is the one that was asked for.
func (s *Skills) ListSkills(ctx context.Context, c lineshaft.Caller, q SkillQuery) ([]ListedSkill, error) {
	if err := c.Need(lineshaft.PermissionRunsRead); err != nil {
		return nil, err
	}
	known, environments, err := s.knownRepositories(ctx, c)
	if err != nil {
		return nil, err
	}
	var wanted lineshaft.Repository
	if q.Repository != "" {
		if wanted, err = lineshaft.ParseRepository(q.Repository); err != nil {
			return nil, blameField(err, "repo")
		}
		// The forge may show this server more than it shows everyone.
		if !slices.Contains(known, wanted) && (c.Role == lineshaft.RoleRun || !c.Role.May(lineshaft.PermissionRunsStart)) {
			return nil, lineshaft.Denied("no environment or factory that your key may see has repository %s", wanted)
		}
		known = []lineshaft.Repository{wanted}
	}
	if s.Cfg.Git == nil {
		if q.Repository != "" {
			return nil, blameField(noForge(), "repo")
		}
		return nil, nil
	}
	trees, err := s.readTrees(ctx, known, q)
	if err != nil {
		return nil, blameField(err, "repo")
	}
	var list []ListedSkill
	for i, r := range known {
		list = append(list, listTree(trees[i], r, environments, q.Malformed)...)
	}
	return list, s.addLastRuns(ctx, c, q, list)
}

// knownRepositories are those of environments and of the factories a caller may see,
// with these environments. An agent knows the repositories of its own run.
func (s *Skills) knownRepositories(ctx context.Context, c lineshaft.Caller) ([]lineshaft.Repository, []lineshaft.Environment, error) {
	if c.Role == lineshaft.RoleRun {
		run, err := s.Store.GetRun(ctx, c.RunID)
		if err != nil {
			return nil, nil, err
		}
		own, err := scopeRepositories(ctx, s.Store, SkillScope{Environment: run.Config.EnvironmentID, Factory: run.FactoryUID})
		return own, nil, err
	}
	environments, err := s.Store.ListEnvironments(ctx)
	if err != nil {
		return nil, nil, err
	}
	var known []lineshaft.Repository
	add := func(list []lineshaft.Repository) {
		for _, r := range list {
			if !slices.Contains(known, r) {
				known = append(known, r)
			}
		}
	}
	for _, e := range environments {
		add(e.Config.Repositories)
	}
	for after := ""; ; {
		factories, err := s.Store.ListFactories(ctx, after, base.SweepBatch)
		if err != nil {
			return nil, nil, err
		}
		for _, f := range factories {
			after = f.UID
			if c.MaySeeFactory(f.UID) {
				add(f.Repositories)
			}
		}
		if len(factories) < base.SweepBatch {
			return known, environments, nil
		}
	}
}

// readTree is what was read of a repository.
type readTree struct {
	tree   skill.Tree
	commit string
}

// readTrees reads repositories, several at once.
func (s *Skills) readTrees(ctx context.Context, repositories []lineshaft.Repository, q SkillQuery) ([]readTree, error) {
	trees, errs := make([]readTree, len(repositories)), make([]error, len(repositories))
	var group sync.WaitGroup
	slots := make(chan struct{}, SkillsAtOnce)
	for i, r := range repositories {
		slots <- struct{}{}
		group.Go(func() {
			defer func() { <-slots }()
			if q.Refresh {
				s.Reader.forget(r)
			}
			ctx, cancel := context.WithTimeout(ctx, listTime)
			defer cancel()
			trees[i].tree, trees[i].commit, errs[i] = s.skillTree(ctx, r, "")
		})
	}
	group.Wait()
	for i, err := range errs {
		switch {
		case err == nil:
		case q.Repository != "":
			return nil, err
		default:
			s.Log.WarnContext(ctx, "skills of a repository are not listed", "repository", repositories[i].String(), "err", err, "cause", errors.Unwrap(err))
		}
	}
	return trees, ctx.Err()
}

func listTree(read readTree, r lineshaft.Repository, environments []lineshaft.Environment, malformed bool) []ListedSkill {
	var list []ListedSkill
	var having []lineshaft.Environment
	for _, e := range environments {
		if slices.Contains(e.Config.Repositories, r) {
			having = append(having, e)
		}
	}
	for _, found := range skill.List(read.tree) {
		one := ListedSkill{Skill: found.Skill, Repository: r, Environments: having}
		one.Path, one.Commit = found.Path, read.commit
		one.Spec = lineshaft.SkillRef{Repository: r, Target: found.Path}.String()
		one.specs = []string{one.Spec}
		if found.First {
			one.specs = append(one.specs, lineshaft.SkillRef{Repository: r, Target: found.Folder}.String())
		}
		if found.Err != nil {
			if !malformed {
				continue
			}
			one.Name, one.Problem = found.Folder, found.Err.Error()
		}
		list = append(list, one)
	}
	return list
}

// addLastRuns looks when each skill was last used, by its path or by its name, and
// sorts the list.
func (s *Skills) addLastRuns(ctx context.Context, c lineshaft.Caller, q SkillQuery, list []ListedSkill) error {
	var specs []string
	for _, one := range list {
		specs = append(specs, one.specs...)
	}
	if filter, ok := ScopeFilter(c, lineshaft.RunFilter{}); ok {
		newest, err := s.Store.NewestOfSkills(ctx, filter, specs)
		if err != nil {
			return err
		}
		for i := range list {
			for _, spec := range list[i].specs {
				if at := newest[spec]; at.After(list[i].LastRun) {
					list[i].LastRun = at
				}
			}
		}
	}
	slices.SortStableFunc(list, func(a, b ListedSkill) int { return q.compare(q.keyOf(&a), q.keyOf(&b)) })
	return nil
}

// skillKey is a place in the list of skills.
type skillKey struct {
	LastRun    time.Time
	Name, Spec string
}

func (q SkillQuery) keyOf(one *ListedSkill) skillKey {
	key := skillKey{Name: one.Name, Spec: one.Spec}
	if q.ByLastRun {
		key.LastRun = one.LastRun
	}
	return key
}

func (SkillQuery) compare(a, b skillKey) int {
	return cmp.Or(b.LastRun.Compare(a.LastRun), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Spec, b.Spec))
}

// Page makes a page of the list of skills.
func (q SkillQuery) Page(list []ListedSkill, limit int, cursor string) (base.Page[ListedSkill], error) {
	return base.PageOf(list, fmt.Sprintf("skills\x00%s\x00%v\x00%v", q.Repository, q.Malformed, q.ByLastRun), cursor, limit, q.keyOf, q.compare)
}
