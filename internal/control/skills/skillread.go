package skills

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/skill"
)

const (
	// headLife is how long it is remembered which commit is a repository's newest.
	headLife = time.Minute
	// keptSkillBytes bounds the skills of repositories that are kept in memory.
	keptSkillBytes = 32 << 20
	// maxSkillFiles and maxSkillTree bound what is read of one repository.
	maxSkillFiles = 2000
	maxSkillTree  = 16 << 20
)

// Reader reads the skills of repositories, and remembers them by commit. Its
// zero value is ready.
type Reader struct {
	mu      sync.Mutex
	heads   map[lineshaft.Repository]skillHead
	trees   map[treeKey]*keptTree
	size    int
	flights map[treeKey]*skillFlight
	waits   map[lineshaft.Repository]backOff
	// silent is the repository that did not answer for a run that waits.
	silent map[string]lineshaft.Repository
}

// skillHead is the newest commit of a repository, as of a time.
type skillHead struct {
	commit string
	until  time.Time
}

// treeKey names what was read: the skills of a commit, and with also a file that is
// not called as skills are.
type treeKey struct {
	repository lineshaft.Repository
	commit     string
	also       string
}

type keptTree struct {
	tree skill.Tree
	size int
	used time.Time
}

// skillFlight is a reading that others may wait for.
type skillFlight struct {
	done   chan struct{}
	tree   skill.Tree
	commit string
	err    error
	// gaveUp says that the reader would not wait any longer.
	gaveUp bool
}

// backOff says when a repository that did not answer is tried again.
type backOff struct {
	failures int
	until    time.Time
}

// ReadSkill reads the skill that a reference with an owner means, of the newest commit.
// A definitely missing skill is a CodeNotFound or CodeInvalidRequest.
func (s *Skills) ReadSkill(ctx context.Context, ref lineshaft.SkillRef) (lineshaft.Skill, error) {
	if s.Cfg.Git == nil {
		return lineshaft.Skill{}, noForge()
	}
	also := ""
	if ref.IsPath() && path.Base(ref.Target) != lineshaft.SkillFile {
		also = ref.Target
	}
	tree, commit, err := s.skillTree(ctx, ref.Repository, also)
	if err != nil {
		return lineshaft.Skill{}, err
	}
	found, err := skill.Find(tree, ref)
	found.Commit = commit
	return found, err
}

func noForge() error {
	return lineshaft.NotSupported("", "this server has no forge to read skills from; start it with --forge-url")
}

// skillTree reads the skills of a repository's newest commit. Callers that ask for the
// same at the same time share the first one's reading: when that gives up, another
// takes over.
func (s *Skills) skillTree(ctx context.Context, r lineshaft.Repository, also string) (skill.Tree, string, error) {
	key := treeKey{repository: r, also: also}
	for {
		flight, leads := s.Reader.enter(key)
		if !leads {
			select {
			case <-ctx.Done():
				return skill.Tree{}, "", Unanswered(r, ctx.Err())
			case <-flight.done:
			}
			if flight.gaveUp {
				continue // its patience is not ours
			}
			return flight.tree, flight.commit, flight.err
		}
		flight.tree, flight.commit, flight.err = s.fetchTree(ctx, r, also)
		flight.gaveUp = flight.err != nil && ctx.Err() != nil
		s.Reader.leave(key, flight)
		return flight.tree, flight.commit, flight.err
	}
}

// enter joins the reading of a tree, or begins it.
func (k *Reader) enter(key treeKey) (flight *skillFlight, leads bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if flight = k.flights[key]; flight != nil {
		return flight, false
	}
	if k.flights == nil {
		k.flights = map[treeKey]*skillFlight{}
	}
	flight = &skillFlight{done: make(chan struct{})}
	k.flights[key] = flight
	return flight, true
}

func (k *Reader) leave(key treeKey, flight *skillFlight) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.flights, key)
	close(flight.done)
}

// fetchTree asks memory, then the forge.
func (s *Skills) fetchTree(ctx context.Context, r lineshaft.Repository, also string) (skill.Tree, string, error) {
	url := s.Cfg.Git.URL(r)
	commit, known := s.Reader.head(r, s.Store.Now())
	if !known {
		var err error
		if commit, err = s.Cfg.Git.Head(ctx, url, ""); err != nil {
			return skill.Tree{}, "", repositoryError(ctx, r, err)
		}
		s.Reader.keepHead(r, skillHead{commit, s.Store.Now().Add(headLife)})
	}
	key := treeKey{r, commit, also}
	if tree, ok := s.Reader.tree(key, s.Store.Now()); ok {
		return tree, commit, nil
	}
	var tree skill.Tree
	keep := skillKeep{also: also}
	files, err := s.Cfg.Git.Tree(ctx, url, commit, keep.want)
	if err != nil {
		s.Reader.forget(r) // the commit may be gone
		if lineshaft.CodeOf(err) == lineshaft.CodeNotFound {
			err = lineshaft.Unavailable(err, "commit %s of repository %s is gone", commit, r)
		}
		return skill.Tree{}, "", repositoryError(ctx, r, err)
	}
	tree.Files, tree.TooLarge = files, keep.tooLarge
	s.Reader.keepTree(key, tree, s.Store.Now())
	return tree, commit, nil
}

// skillKeep chooses the files to read of a repository.
type skillKeep struct {
	also     string
	files    int
	bytes    int64
	tooLarge []string
}

func (k *skillKeep) want(at string, size int64) bool {
	if path.Base(at) != lineshaft.SkillFile && at != k.also {
		return false
	}
	if size > lineshaft.MaxSkillBytes {
		k.tooLarge = append(k.tooLarge, at)
		return false
	}
	if k.files >= maxSkillFiles || k.bytes+size > maxSkillTree {
		return false
	}
	k.files++
	k.bytes += size
	return true
}

// repositoryError is what may be said about a repository that was not read.
func repositoryError(ctx context.Context, r lineshaft.Repository, err error) error {
	switch code := lineshaft.CodeOf(err); {
	case code == lineshaft.CodeNotFound:
		return &lineshaft.Error{
			Code: lineshaft.CodeNotFound, Cause: err,
			Message: fmt.Sprintf("the forge has no repository %s; check its name, and that this server may read it", r),
		}
	case Definite(err):
		return err
	}
	return Unanswered(r, errors.Join(err, ctx.Err()))
}

// Unanswered says that a repository could not be read.
func Unanswered(r lineshaft.Repository, cause error) error {
	return lineshaft.Unavailable(cause, "repository %s cannot be read now: the forge does not answer", r)
}

func (k *Reader) head(r lineshaft.Repository, now time.Time) (commit string, ok bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	head, ok := k.heads[r]
	return head.commit, ok && now.Before(head.until)
}

// maxHeads bounds the repositories that are remembered.
const maxHeads = 10_000

func (k *Reader) keepHead(r lineshaft.Repository, head skillHead) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.heads == nil || len(k.heads) >= maxHeads {
		k.heads = map[lineshaft.Repository]skillHead{}
	}
	k.heads[r] = head
}

// forget makes the next reader ask the forge for the newest commit.
func (k *Reader) forget(r lineshaft.Repository) {
	k.mu.Lock()
	defer k.mu.Unlock()
	delete(k.heads, r)
}

func (k *Reader) tree(key treeKey, now time.Time) (skill.Tree, bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	kept := k.trees[key]
	if kept == nil {
		return skill.Tree{}, false
	}
	kept.used = now
	return kept.tree, true
}

// keepTree remembers a tree, and drops those that were not used for longest.
func (k *Reader) keepTree(key treeKey, tree skill.Tree, now time.Time) {
	size := 256
	for at, text := range tree.Files {
		size += len(at) + len(text)
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.trees == nil {
		k.trees = map[treeKey]*keptTree{}
	}
	if old := k.trees[key]; old != nil {
		k.size -= old.size
	}
	k.trees[key] = &keptTree{tree: tree, size: size, used: now}
	k.size += size
	for k.size > keptSkillBytes && len(k.trees) > 1 {
		var oldest treeKey
		for candidate, kept := range k.trees {
			if candidate != key && (oldest == treeKey{} || kept.used.Before(k.trees[oldest].used)) {
				oldest = candidate
			}
		}
		k.size -= k.trees[oldest].size
		delete(k.trees, oldest)
	}
}

// MayTry says whether a repository that did not answer may be asked again.
func (k *Reader) MayTry(r lineshaft.Repository, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return !now.Before(k.waits[r].until)
}

// longestWait is the longest time between two tries of a repository.
const longestWait = time.Minute

// Tried notes how a try went: each failure doubles the wait.
func (k *Reader) Tried(r lineshaft.Repository, answered bool, now time.Time) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if answered {
		delete(k.waits, r)
		return
	}
	if k.waits == nil {
		k.waits = map[lineshaft.Repository]backOff{}
	}
	wait := k.waits[r]
	wait.until = now.Add(min(time.Second<<min(wait.failures, 10), longestWait))
	wait.failures++
	k.waits[r] = wait
}

// Block notes that a run waits for a repository that did not answer.
func (k *Reader) Block(runID string, r lineshaft.Repository) {
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.silent == nil {
		k.silent = map[string]lineshaft.Repository{}
	}
	k.silent[runID] = r
}

// Blocked says that the repository a run waits for is not to be asked yet.
func (k *Reader) Blocked(runID string, now time.Time) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	r, noted := k.silent[runID]
	return noted && now.Before(k.waits[r].until)
}

// ForgetBlocked forgets the runs that wait no more.
func (k *Reader) ForgetBlocked(waiting map[string]bool) {
	k.mu.Lock()
	defer k.mu.Unlock()
	maps.DeleteFunc(k.silent, func(runID string, _ lineshaft.Repository) bool { return !waiting[runID] })
}

// Definite says that an error about a skill will not go away by waiting.
func Definite(err error) bool {
	code := lineshaft.CodeOf(err)
	return code == lineshaft.CodeNotFound || code == lineshaft.CodeInvalidRequest || code == lineshaft.CodeNotSupported
}

// blameField says which field an error is about, unless it says so itself.
func blameField(err error, field string) error {
	return lineshaft.Rename(err, func(named string) string { return cmp.Or(named, field) })
}

// ScopeFilter narrows a filter to what the caller may see; false means nothing is left.
func ScopeFilter(c lineshaft.Caller, f lineshaft.RunFilter) (lineshaft.RunFilter, bool) {
	if c.Role == lineshaft.RoleRun {
		if f.AncestorRunID == "" {
			f.AncestorRunID = c.RunID // a given one was found visible, so it is below this run or the run itself
		}
		return f, true // what is below a run is all of its factory
	}
	if len(c.FactoryUIDs) == 0 {
		return f, true
	}
	if len(f.FactoryUIDs) == 0 {
		f.FactoryUIDs = c.FactoryUIDs
		return f, true
	}
	var allowed []string
	for _, uid := range f.FactoryUIDs {
		if slices.Contains(c.FactoryUIDs, uid) {
			allowed = append(allowed, uid)
		}
	}
	f.FactoryUIDs = allowed
	return f, len(allowed) > 0
}

// SkillsAtOnce is how many runs' skills are looked for at the same time.
const SkillsAtOnce = 8

func scopeRepositories(ctx context.Context, r skillPlaces, scope SkillScope) ([]lineshaft.Repository, error) {
	var known []lineshaft.Repository
	if scope.Environment != "" {
		e, err := r.GetEnvironment(ctx, scope.Environment)
		if base.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil {
			known = append(known, e.Config.Repositories...)
		}
	}
	if scope.Factory != "" {
		f, err := r.GetFactory(ctx, scope.Factory)
		if base.IgnoreNotFound(err) != nil {
			return nil, err
		}
		if err == nil {
			known = append(known, f.Repositories...)
		}
	}
	return known, nil
}

// SkillScope is where the skills of a run are looked for.
type SkillScope struct {
	Environment string
	Factory     string
	// Agent is the name of the agent, whose own skills come first.
	Agent string
}
