package worker

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/prepared"
	"github.com/lineshaft/lineshaft/internal/workspace"
)

// Start is how an environment was made ready.
type Start string

// The ways to make an environment ready.
const (
	// StartWarm is a copy of one that was prepared before.
	StartWarm Start = "warm"
	// StartNewer is a copy of an older commit's, with the set-up on top.
	StartNewer Start = "newer"
	// StartCold is all of it.
	StartCold Start = "cold"
)

// system is implemented by sandboxes whose layers can be kept: an agent cannot reach them, finds
// its workspace at the same place whatever the run, and its programs can be told apart.
type system interface {
	System(ctx context.Context, image string) (string, error)
}

// viewer is implemented by sandboxes whose agents can work on top of a layer: they see what this
// process has mounted, as the user that it names.
type viewer interface {
	Owner(slot int) int
}

// openLayers opens the store of prepared environments, if the worker keeps any. Without it
// runs start cold.
func (w *Worker) openLayers(ctx context.Context) {
	dir := filepath.Join(w.config.DataDir, "prepared")
	if _, ok := w.config.Sandbox.(system); !ok || w.config.CacheBytes <= 0 {
		if err := prepared.Remove(ctx, dir); err != nil { // of an earlier process that kept some
			w.logger.WarnContext(ctx, "remove prepared environments", "err", err)
		}
		return
	}
	store, err := prepared.Open(ctx, prepared.Config{
		Dir: dir, MaxBytes: w.config.CacheBytes, MaxAge: w.config.CacheAge, Now: w.config.Now,
		Used: w.workspaces.Layers, Free: w.workspaces.Free,
		Warn: func(err error) { w.logger.WarnContext(w.life, "cannot keep prepared environment", "err", err) },
	})
	if err != nil {
		w.logger.ErrorContext(ctx, "cannot keep prepared environments: every run starts cold", "err", err)
		return
	}
	w.layers = store
	if views, ok := w.config.Sandbox.(viewer); ok && !w.config.NoOverlay {
		if how, why := prepared.Best(ctx, dir); how == prepared.Overlay {
			w.views = views
		} else {
			w.logger.InfoContext(ctx, "prepared environments are copied for each run", "how", how, "why", why)
		}
	}
}

// whyNoLayers says why no prepared environments are kept.
func (w *Worker) whyNoLayers() string {
	if w.config.CacheBytes <= 0 {
		return "this worker keeps nothing, because its --environment-cache is 0"
	}
	if _, isolates := w.config.Sandbox.(system); !isolates {
		return "a worker without isolation keeps no prepared environments"
	}
	return "this worker cannot keep prepared environments; its log says why"
}

// layerFor is a layer that a workspace is on top of, for the user of a slot.
// It is looked at as at any start: a disk or a person may have changed it meanwhile.
func (w *Worker) layerFor(ctx context.Context, id string, slot int) (l workspace.Layer, ok bool) {
	if w.layers == nil || w.views == nil {
		return l, false
	}
	found := w.layers.TakeID(id) // the state of the workspace holds it after that
	if found == nil {
		return l, false
	}
	defer found.Release()
	if err := found.Check(ctx); err != nil {
		w.logger.WarnContext(ctx, "put kept workspace on prepared environment", "layer", id, "err", err)
		return l, false
	}
	return w.below(found, slot), true
}

// below is a layer as the workspace of a slot sees it.
func (w *Worker) below(l *prepared.Layer, slot int) workspace.Layer {
	return workspace.Layer{ID: l.ID(), Dir: l.Tree(), Owner: w.views.Owner(slot), Bytes: l.Bytes, Commits: l.Commits()}
}

// Prepared is how many prepared environments are kept, and how many bytes they take.
func (w *Worker) Prepared() (layers int, bytes int64) {
	if w.layers == nil {
		return 0, 0
	}
	return w.layers.Usage()
}

// preparation makes one workspace ready.
type preparation struct {
	*execution
	repositories []lineshaft.Repository
	recipe       prepared.Recipe
	began        time.Time
	// kept names the layer that was made of the workspace.
	kept string
	// pins are commits to check out instead of the newest, by folder.
	pins map[string]string
	// below is the layer that the workspace is on top of, while it is in use.
	below *prepared.Layer
	// word says what was done with the files of base.
	word string
	// base is what it started on; zero for a cold start. Layer is its id.
	base  prepared.Facts
	layer string
	// filled is how long it took to give the workspace these files.
	filled time.Duration
}

// The steps of an environment, besides the ways to start.
const (
	stepKept     = "kept"
	stepUnkept   = "unkept"
	stepFiles    = "files"
	stepCheckout = "checkout"
	stepClone    = "clone"
	stepCommand  = "command"
	stepRefresh  = "refresh"
)

// showf puts a step of the environment into the log, for people, for the environment's page and
// for the time of the run.
func (e *execution) showf(step lineshaft.EnvironmentStep, format string, args ...any) {
	step.Worker, step.Layer, step.Name = e.worker.config.WorkerHost, layerName(step.Layer), e.mask().String(step.Name)
	level := "info"
	if step.Step == stepUnkept {
		level = "warning"
	}
	e.put(lineshaft.NoticeData{Level: level, Text: fmt.Sprintf(format, args...), Environment: &step})
}

// layerName is as much of a layer's id as distinguishes it from others.
func layerName(id string) string { return id[:min(len(id), 12)] }

// showCold says why a start is cold.
func (p *preparation) showCold(why string) {
	p.showf(lineshaft.EnvironmentStep{Step: string(StartCold), Reason: why}, "Cold start: %s.", why)
}

// showWarmf says that the start is on a layer, what that took and what it has saved.
func (p *preparation) showWarmf(start Start, took, saved time.Duration, format string, args ...any) {
	p.worker.config.SetUp(start, saved)
	p.showf(lineshaft.EnvironmentStep{
		Step: string(start), Layer: p.layer, Files: p.base.Entries, Bytes: p.base.Bytes,
		SavedSeconds: saved.Seconds(), TookSeconds: took.Seconds(),
	}, format, args...)
}

// showOlder says that the start is on the layer of an earlier commit.
func (p *preparation) showOlder() {
	p.showf(lineshaft.EnvironmentStep{
		Step: stepFiles, Layer: p.layer, Files: p.base.Entries, Bytes: p.base.Bytes, TookSeconds: p.filled.Seconds(),
	}, "Warm start on layer %s: the environment was prepared for an earlier commit %s ago; its %d files were %s in %s.",
		layerName(p.layer), p.age(), p.base.Entries, p.word, inSeconds(p.filled))
}

// age is how long ago the layer was prepared.
func (p *preparation) age() time.Duration {
	return p.worker.config.Now().Sub(p.base.Made).Truncate(time.Second)
}

func (e *execution) newPreparation() (*preparation, error) {
	job, config := e.job.Prepare, e.worker.config
	p := &preparation{execution: e, repositories: job.Repositories, began: time.Now()}
	for i, folder := range cloneFolders(job.Repositories) {
		if err := e.checkClone(job.Repositories[i], folder); err != nil {
			return nil, err
		}
		url := config.Git.URL(job.Repositories[i])
		p.recipe.Repositories = append(p.recipe.Repositories, prepared.Repository{URL: url, Folder: folder})
	}
	p.recipe.Environment, p.recipe.Commands, p.recipe.Secrets = job.Revision, job.SetupCommands, e.job.Secrets
	p.recipe.Image, p.recipe.Refresh = job.Image, job.RefreshCommands
	return p, nil
}

// run makes the workspace ready: from a layer if there is one, otherwise cold.
func (p *preparation) run(ctx context.Context) error {
	if len(p.recipe.Repositories)+len(p.recipe.Commands) == 0 {
		return nil // skills alone
	}
	if p.worker.layers == nil {
		p.showCold(p.worker.whyNoLayers())
		return p.cold(ctx)
	}
	if err := p.find(ctx); lineshaft.CodeOf(err) == lineshaft.CodeUnavailable && ctx.Err() == nil {
		p.warn(ctx, "find what a clone would give", err)
		p.showCold("the host did not say what it has")
		return p.cold(ctx) // which has more time, and says what is wrong
	} else if err != nil {
		return err
	}
	turn, err := p.await(ctx)
	if err != nil {
		return err
	}
	defer func() { turn.End(p.kept, ctx.Err() != nil) }()
	why, err := p.warm(ctx)
	if why == "" || err != nil {
		return err
	}
	p.base, p.began = prepared.Facts{}, time.Now()
	p.showCold(why)
	if err := errors.Join(p.workspace.Clear(ctx), p.workspace.Prepare()); err != nil {
		return err
	}
	if err := p.cold(ctx); err != nil {
		return err
	}
	cost := time.Since(p.began)
	p.worker.config.SetUp(StartCold, 0)
	p.tellf("The environment was prepared in %s.", inSeconds(cost))
	p.keep(ctx, prepared.Facts{Made: p.worker.config.Now(), Cost: cost})
	return nil
}

// find asks for the commits, with the run's own credentials: a run that cannot read a
// repository gets nothing of it that was prepared for others.
func (p *preparation) find(ctx context.Context) error {
	for i := range p.repositories {
		r := &p.recipe.Repositories[i]
		var err error
		r.Commit, r.Refs, _, err = p.worker.config.Git.Find(ctx, r.URL, string(p.job.Prepare.GitCredentials))
		if lineshaft.CodeOf(err) == lineshaft.CodeUnavailable {
			return err
		}
		if err != nil {
			return p.notCloned(ctx, p.repositories[i], err)
		}
	}
	return nil
}

// await waits while another run prepares the very same environment.
func (p *preparation) await(ctx context.Context) (*prepared.Turn, error) {
	key, err := p.key(ctx)
	if err != nil {
		return nil, nil //nolint:nilerr // warm says why
	}
	word := ""
	return p.worker.layers.Await(ctx, key, func() {
		p.tellf("Another run%s prepares the same environment; this one waits for it.", word)
		word = " still"
	})
}

// key is that of the recipe as it is now.
func (p *preparation) key(ctx context.Context) (prepared.Key, error) {
	config := p.worker.config
	of, ok := config.Sandbox.(system)
	if !ok {
		return prepared.Key{}, fmt.Errorf("the sandbox %s does not say what system it shows", config.Sandbox.Name())
	}
	shown, err := of.System(ctx, p.job.Prepare.Image)
	if err != nil {
		return prepared.Key{}, err
	}
	p.recipe.Machine = []string{
		runtime.GOOS + "/" + runtime.GOARCH, config.Version, config.Sandbox.Name(), string(config.Network),
		config.Path, p.guest("."), shown,
	}
	if config.Gateway != nil {
		p.recipe.Machine = append(p.recipe.Machine, config.Gateway.Reach()...)
	}
	return p.worker.layers.Key(p.recipe)
}

// cold clones and runs everything.
func (p *preparation) cold(ctx context.Context) error {
	for i := range p.recipe.Repositories {
		r := &p.recipe.Repositories[i]
		commit, err := p.clone(ctx, p.repositories[i], r.Folder)
		if err == nil {
			commit, err = p.pin(ctx, r.Folder, commit)
		}
		if err != nil {
			return err
		}
		r.Commit = commit
	}
	return p.commands(ctx, stepCommand, p.recipe.Commands)
}

func (p *preparation) commands(ctx context.Context, step string, commands []string) error {
	word := "Set-up command"
	if step == stepRefresh {
		word = "Refresh command"
	}
	for i, command := range commands {
		if err := p.setUpCommand(ctx, step, fmt.Sprintf("%s %d of %d", word, i+1, len(commands)), command); err != nil {
			return err
		}
	}
	return nil
}

// refresh runs what an environment has for newer commits: commands of its own, or all.
func (p *preparation) refresh(ctx context.Context) error {
	if len(p.recipe.Refresh) > 0 {
		return p.commands(ctx, stepRefresh, p.recipe.Refresh)
	}
	return p.commands(ctx, stepCommand, p.recipe.Commands)
}

// warm starts on a layer. The reason why it could not is for the log, and then the workspace may
// have anything in it; an error is the end of the run.
func (p *preparation) warm(ctx context.Context) (why string, err error) {
	key, err := p.key(ctx)
	if err != nil {
		p.warn(ctx, "find prepared environment", err)
		return "what it is prepared with cannot be told apart; the log of the worker says why", nil
	}
	layer := p.worker.layers.Take(key)
	if layer == nil && len(p.repositories) > 0 {
		layer = p.worker.layers.TakeNearest(key)
	}
	if layer == nil {
		return "nothing like it was prepared on this worker yet, or it was too long ago", nil
	}
	defer layer.Release()
	began := time.Now()
	if err = p.fill(ctx, layer); err == nil {
		err = p.workspace.Prepare()
	}
	switch {
	case err == nil:
		p.base, p.layer, p.filled = layer.Facts, layer.ID(), time.Since(began)
		return p.continueOn(ctx)
	case ctx.Err() != nil:
		return "", err
	}
	p.warn(ctx, "copy prepared environment", err)
	for _, known := range []error{prepared.ErrNoRoom, prepared.ErrDamaged} {
		if errors.Is(err, known) {
			return known.Error(), nil
		}
	}
	return "the prepared environment could not be copied; the log of the worker says why", nil
}

// fill gives the workspace the files of a layer: on top of it where that is possible, and
// otherwise a copy.
func (p *preparation) fill(ctx context.Context, layer *prepared.Layer) error {
	if err := p.workspace.Clear(ctx); err != nil {
		return err
	}
	if p.worker.views != nil {
		if err := layer.Check(ctx); err != nil {
			return err
		}
		p.word = "mounted"
		err := p.workspace.MountLayer(ctx, p.worker.below(layer, p.slot))
		if err == nil {
			p.below = layer
			return nil
		}
		p.warn(ctx, "put workspace on prepared environment", err)
	}
	p.word = "copied"
	return layer.CopyTo(ctx, p.workspace.Dir())
}

// continueOn brings the copy of a layer to where the repositories are now.
func (p *preparation) continueOn(ctx context.Context) (why string, err error) {
	if len(p.base.Repositories) != len(p.recipe.Repositories) {
		return prepared.ErrDamaged.Error(), nil
	}
	again := false // the commands must run again
	var moved []int
	for i, r := range p.recipe.Repositories {
		if old := p.base.Repositories[i]; old.Commit != r.Commit || old.Refs != r.Refs {
			moved = append(moved, i)
			again = again || old.Commit != r.Commit || !old.Plain
		}
	}
	if again {
		p.showOlder()
	}
	for _, i := range moved {
		if err := p.update(ctx, i); err != nil {
			if ctx.Err() != nil {
				return "", err
			}
			p.warn(ctx, "update prepared environment", err)
			return "the environment that was prepared for an earlier commit could not be brought to the newest one", nil
		}
		// The branch may have moved since the last look.
		if !again && p.recipe.Repositories[i].Commit != p.base.Repositories[i].Commit {
			again = true
			p.showOlder()
		}
	}
	if !again {
		p.showWarmf(StartWarm, p.filled, max(0, p.base.Cost-time.Since(p.began)),
			"Warm start on layer %s: the environment was prepared %s ago and took %s then; its %d files were %s in %s.",
			layerName(p.layer), p.age(), inSeconds(p.base.Cost), p.base.Entries, p.word, inSeconds(p.filled))
		return "", nil
	}
	if err := p.refresh(ctx); err != nil {
		if ctx.Err() != nil {
			return "", err
		}
		return "the commands did not succeed on top of what was prepared for an earlier commit", nil
	}
	took := time.Since(p.began)
	p.showWarmf(StartNewer, took, max(0, p.base.Cost-took), "The environment was prepared in %s.", inSeconds(took))
	p.keep(ctx, prepared.Facts{Made: p.base.Made, Cost: p.base.Cost})
	return "", nil
}

// update gives one repository of the copy the history that the host has now, and checks
// the commit out. That happens in the sandbox: git trusts what a set-up command has
// written there, and runs it.
func (p *preparation) update(ctx context.Context, i int) error {
	r, began := &p.recipe.Repositories[i], time.Now()
	fresh, err := p.workspace.FreshDir(ctx)
	if err != nil {
		return err
	}
	git, credentials := p.worker.config.Git, string(p.job.Prepare.GitCredentials)
	commit, take := "", p.workspace.TakeNewer
	if old := p.base.Repositories[i]; old.Plain && p.workspace.Whole(r.Folder) {
		if commit, err = git.CloneNewer(ctx, r.URL, fresh, credentials, old.Tips); err != nil {
			p.worker.logger.DebugContext(ctx, "a whole clone is taken", "run_id", p.job.RunID, "err", p.mask().String(err.Error()))
		}
	}
	if commit == "" {
		take = p.workspace.TakeHistory
		commit, err = git.CloneBare(ctx, r.URL, fresh, credentials)
	}
	if err == nil {
		err = take(ctx, r.Folder)
	}
	if err != nil {
		return err
	}
	r.Commit = commit
	if commit == p.base.Repositories[i].Commit {
		return nil
	}
	p.tellf("Checking out commit %s of %s.", commit, p.repositories[i])
	// The files of a copy are not the inodes that the index knows; their times are. Other than `git reset
	// --hard`, which does the same, this leaves no trace in .git of the commit that was there. Without its
	// folder, git would take a repository around this one if this one is none any more.
	const checkOut = "git --git-dir=.git -c core.checkStat=minimal -c core.trustctime=false read-tree --reset -u HEAD"
	exit, err := p.runScript(ctx, "cd "+quoted(r.Folder)+" && "+checkOut)
	if err == nil && !harness.Good(exit) {
		err = errors.New(harness.Describe("git read-tree", exit))
	}
	if err == nil {
		took := time.Since(began)
		p.showf(lineshaft.EnvironmentStep{Step: stepCheckout, Name: p.repositories[i].String(), TookSeconds: took.Seconds()},
			"Fetching and checking it out took %s.", inSeconds(took))
	}
	return err
}

// quoted is a word for a shell.
func quoted(word string) string { return "'" + strings.ReplaceAll(word, "'", `'\''`) + "'" }

// keep keeps the workspace as a layer. Trouble costs later runs time, and this one nothing.
func (p *preparation) keep(ctx context.Context, facts prepared.Facts) {
	for _, r := range p.recipe.Repositories {
		r.Plain = p.workspace.Plain(r.Folder, r.Commit)
		_, refs, tips, err := p.worker.config.Git.Find(ctx, r.URL, string(p.job.Prepare.GitCredentials))
		r.Tips = tips
		if err != nil || refs != r.Refs {
			r.Refs, r.Tips = "", nil // the clone may have branches that were gone before or after: the next run takes its own
		}
		facts.Repositories = append(facts.Repositories, r)
	}
	began := time.Now()
	key, err := p.key(ctx)
	over := make(chan struct{})
	if err == nil {
		err = p.keepAs(ctx, key, facts, func(facts prepared.Facts, err error) {
			defer close(over)
			if errors.Is(err, prepared.ErrTaken) {
				return
			}
			if err != nil {
				p.showUnkept(err)
				return
			}
			took := time.Since(began)
			p.showf(lineshaft.EnvironmentStep{
				Step: stepKept, Layer: key.ID, Files: facts.Entries, Bytes: facts.Bytes, TookSeconds: took.Seconds(),
			}, "It is kept for later runs as layer %s; the copy took %s.", layerName(key.ID), inSeconds(took))
		})
	}
	switch {
	case err == nil:
		p.kept, p.keeping = key.ID, over
	case ctx.Err() != nil:
	default:
		p.warn(ctx, "keep prepared environment", err)
		p.showUnkept(err)
	}
}

// showUnkept says why no later run starts on what was prepared.
func (p *preparation) showUnkept(err error) {
	why := "the log of the worker says why"
	if reason, ok := errors.AsType[*prepared.NotKeptError](err); ok {
		why = reason.Error()
	}
	p.showf(lineshaft.EnvironmentStep{Step: stepUnkept, Reason: why}, "The prepared environment is not kept for later runs: %s.", why)
}

// keepTime is how long an execution waits at its end to learn whether its environment is kept.
const keepTime = 30 * time.Second

// awaitKept waits until the log says what became of the environment that was to be kept: a run that
// only prepares has nothing else to say.
func (e *execution) awaitKept() {
	if e.keeping == nil {
		return
	}
	timer := time.NewTimer(keepTime)
	defer timer.Stop()
	select {
	case <-e.keeping:
	case <-timer.C:
	case <-e.work.Done():
	}
	e.keeping = nil
}

// keepAs keeps the workspace as the layer of a key. On top of another layer, what was written
// is enough to begin with.
func (p *preparation) keepAs(ctx context.Context, key prepared.Key, facts prepared.Facts, over func(prepared.Facts, error)) error {
	store := p.worker.layers
	if written := p.workspace.Written(); written != "" && p.below != nil {
		err := store.KeepOver(ctx, key, p.below, filepath.Dir(written), p.worker.views.Owner(p.slot), facts, over)
		if err == nil || ctx.Err() != nil {
			return err
		}
		p.worker.logger.DebugContext(ctx, "all of an environment is copied", "run_id", p.job.RunID, "err", err)
	}
	return store.Keep(ctx, key, p.workspace.Dir(), facts, over)
}

// inSeconds says how long something took.
func inSeconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }
