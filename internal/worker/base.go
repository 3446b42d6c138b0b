package worker

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"time"

	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/workspace"
)

// commitForm is that of ids of commits, and of the digests of folders.
var commitForm = regexp.MustCompile(`^[0-9a-f]{40,64}$`)

// takeBase gives the workspace the base of a snapshot, and says how: from the
// layer itself, from a layer of this worker with the same recipe, or by preparing the same
// commits again.
func (e *execution) takeBase(ctx context.Context, base workspace.Base) (how string, err error) {
	e.watch.turn(true)
	defer e.watch.turn(false)
	p, err := e.newPreparation()
	if err != nil {
		return "", err
	}
	other := p.pinAll(base.Commits) // the environment may have changed; its layer has not
	if e.worker.layers != nil {
		layer := e.worker.layers.TakeID(base.Layer)
		if layer == nil && other == nil {
			if key, err := p.key(ctx); err == nil {
				layer = e.worker.layers.Take(key)
			}
		}
		if layer != nil {
			defer layer.Release()
			if err = p.fill(ctx, layer); err == nil {
				return "on top of layer " + layerName(layer.ID()) + ", its environment", e.workspace.Prepare()
			}
			e.warn(ctx, "take prepared environment for snapshot", err)
		}
	}
	if ctx.Err() != nil {
		return "", context.Cause(ctx)
	}
	if other != nil {
		return "", other
	}
	e.tellf("The snapshot is the difference to an environment that is not prepared on this worker: it is prepared again.")
	p.began = time.Now()
	if err := errors.Join(e.workspace.Clear(ctx), e.workspace.Prepare()); err != nil {
		return "", err
	}
	if err := p.cold(ctx); err != nil {
		return "", err
	}
	return "after its environment was prepared again, in " + inSeconds(time.Since(p.began)), nil
}

// pinAll lets the preparation check out the commits of a snapshot, if it has those repositories.
func (p *preparation) pinAll(commits map[string]string) error {
	if len(p.recipe.Repositories) != len(commits) || len(p.recipe.Repositories)+len(p.recipe.Commands) == 0 {
		return errors.New("the environment of the snapshot had other repositories")
	}
	p.pins = commits
	for i := range p.recipe.Repositories {
		r := &p.recipe.Repositories[i]
		if r.Commit = commits[r.Folder]; !commitForm.MatchString(r.Commit) {
			return fmt.Errorf("the snapshot does not know a commit of %s", r.Folder)
		}
	}
	return nil
}

// pin checks out the commit that a repository had when a snapshot was taken.
func (p *preparation) pin(ctx context.Context, folder, commit string) (string, error) {
	pinned := p.pins[folder]
	if pinned == "" || pinned == commit {
		return commit, nil
	}
	exit, err := p.runScript(ctx, "cd "+quoted(folder)+" && git reset --quiet --hard "+quoted(pinned)+" && rm -f .git/ORIG_HEAD")
	if err == nil && !harness.Good(exit) {
		err = errors.New(harness.Describe("git reset", exit))
	}
	return pinned, err
}
