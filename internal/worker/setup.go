package worker

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// Cloner fetches repositories, outside any sandbox.
type Cloner interface {
	// URL is where the forge has a repository.
	URL(r lineshaft.Repository) string
	// Clone puts a repository into a new folder and returns the commit that is checked
	// out. The clone holds no credentials. The end of ctx ends everything that Clone
	// started before it returns. A *lineshaft.Error is for the run's owner to read.
	Clone(ctx context.Context, url, dir, credentials string) (commit string, err error)
	// CloneBare is Clone without the files: the folder has .git alone.
	CloneBare(ctx context.Context, url, dir, credentials string) (commit string, err error)
	// CloneNewer is CloneBare without the objects that anyone with those commits has;
	// it fails when a whole clone is wanted.
	CloneNewer(ctx context.Context, url, dir, credentials string, since []string) (commit string, err error)
	// Find asks, with these credentials, for the commit that Clone would check out, for a
	// print of all branches and tags, and for what these lead to.
	Find(ctx context.Context, url, credentials string) (commit, refs string, tips []string, err error)
}

// The names under which credentials of repositories are masked.
const (
	credentialsMask = "GIT_CREDENTIALS"
	tokenMask       = "GIT_TOKEN"
	modelKeyMask    = "MODEL_KEY"
)

// SecretsToMask are all values that must not appear in what the agent says. The
// credentials of repositories are among them, although no agent gets them.
func SecretsToMask(job lineshaft.Job) map[string]string {
	secrets := map[string]string{runTokenVariable: job.RunToken}
	maps.Copy(secrets, job.Secrets)
	maps.Copy(secrets, job.ToolSecrets)
	if job.ModelKey != "" {
		secrets[modelKeyMask] = string(job.ModelKey)
	}
	if credentials := string(job.Prepare.GitCredentials); credentials != "" {
		secrets[credentialsMask] = credentials
		if _, token, ok := strings.Cut(credentials, ":"); ok && !strings.Contains(token, "\n") {
			secrets[tokenMask] = token
		}
	}
	return secrets
}

// setUp makes a new workspace ready: its repositories first, then the set-up
// commands. The run's time counts.
func (e *execution) setUp(ctx context.Context) error {
	if !e.preparing {
		return nil
	}
	e.watch.turn(true)
	defer e.watch.turn(false)
	if err := e.workspace.Prepare(); err != nil {
		return err
	}
	p, err := e.newPreparation()
	if err == nil {
		err = p.run(ctx)
	}
	if err != nil {
		return endedOr(ctx, err)
	}
	return e.prepared()
}

// prepared notes that the workspace has all that an agent needs: from now on it is
// kept.
func (e *execution) prepared() error {
	if !e.preparing {
		return nil
	}
	e.preparing = false
	return e.workspace.Prepared()
}

// endedOr prefers the reason why ctx ended to the error that resulted.
func endedOr(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// cloneFolders are where repositories go: folders of their names, preceded by the owner
// where another repository has the same name.
func cloneFolders(repositories []lineshaft.Repository) []string {
	taken, folders := map[string]bool{}, make([]string, len(repositories))
	for i, r := range repositories {
		folder := r.Name
		for taken[strings.ToLower(folder)] {
			folder = strings.ReplaceAll(r.Owner, "/", "-") + "-" + folder
		}
		taken[strings.ToLower(folder)], folders[i] = true, folder
	}
	return folders
}

// checkClone says why a repository cannot be cloned, as far as is known before.
func (e *execution) checkClone(r lineshaft.Repository, folder string) error {
	for _, a := range e.job.Turn.Attachments {
		if strings.EqualFold(a.FileName, folder) {
			return setupFailed("attachment %q has the name of the folder that repository %s is cloned into; rename the attachment", a.FileName, r)
		}
	}
	if e.worker.config.Git == nil {
		return setupFailed("repository %s cannot be cloned: worker %s has no git; install it and restart the worker", r, e.worker.config.WorkerID)
	}
	return nil
}

// clone fetches one repository into a folder. The agent's user gets it with the rest of
// the workspace when its first process starts.
func (e *execution) clone(ctx context.Context, r lineshaft.Repository, folder string) (commit string, err error) {
	e.tellf("Cloning %s.", r)
	git, began := e.worker.config.Git, time.Now()
	commit, err = git.Clone(ctx, git.URL(r), filepath.Join(e.workspace.Dir(), folder), string(e.job.Prepare.GitCredentials))
	if err != nil {
		return "", e.notCloned(ctx, r, err)
	}
	took := time.Since(began)
	e.showf(lineshaft.EnvironmentStep{Step: stepClone, Name: r.String(), TookSeconds: took.Seconds()},
		"Cloned %s at commit %s into the folder %s. It took %s.", r, commit, folder, inSeconds(took))
	return commit, nil
}

// notCloned is what the owner of the run reads when a repository cannot be cloned.
func (e *execution) notCloned(ctx context.Context, r lineshaft.Repository, err error) error {
	if diskFull(err) {
		return err
	}
	if public, ok := errors.AsType[*lineshaft.Error](err); ok {
		return setupFailed("repository %s could not be cloned: %s. Check its name, and the git_credentials of the environment",
			r, strings.TrimRight(public.Message, ". "))
	}
	e.worker.logger.WarnContext(ctx, "cannot clone", "run_id", e.job.RunID, "repository", r.String(), "err", e.mask().String(err.Error()))
	return setupFailed("repository %s could not be cloned; the log of worker %s says why", r, e.worker.config.WorkerID)
}

// setUpCommand runs one command in the sandbox, in a shell of its own.
func (e *execution) setUpCommand(ctx context.Context, step, name, command string) error {
	said := strings.TrimSpace(e.mask().String(command)) // before it is cut, so that no part of a secret stays (S-2)
	e.tellf("%s: %s", name, lineshaft.Clip(said, 200))
	began := time.Now()
	exit, err := e.runScript(ctx, command)
	if err != nil {
		return err
	}
	first, _, _ := strings.Cut(said, "\n")
	first = lineshaft.Clip(first, 200)
	took := time.Since(began)
	e.showf(lineshaft.EnvironmentStep{Step: step, Name: first, TookSeconds: took.Seconds()},
		"%s took %s.", name, inSeconds(took))
	if !harness.Good(exit) {
		return setupFailed("%s; its output is in the log. Fix the command in the environment or the runner", harness.Describe(name+" ("+first+")", exit))
	}
	return nil
}

// runScript runs a script in the sandbox. What it prints goes to the log.
func (e *execution) runScript(ctx context.Context, text string) (sandbox.Exit, error) {
	// A file, because everyone can read arguments.
	script, err := e.writeFile("setup.sh", text+"\n")
	if err != nil {
		return sandbox.Exit{}, err
	}
	env := e.environment()
	output := env.NewOutput(e.emit, "")
	defer output.Close()
	return env.Run(ctx, harness.Program{Command: []string{"sh", script}, Stdout: output.Stdout(), Stderr: output.Stderr()})
}

// tellf puts a step into the log.
func (e *execution) tellf(format string, args ...any) {
	e.put(lineshaft.NoticeData{Level: "info", Text: fmt.Sprintf(format, args...)})
}

// put puts a notice into the log; it is a sign of life.
func (e *execution) put(data lineshaft.NoticeData) {
	data.Text = e.mask().String(data.Text)
	draft := lineshaft.NewDraft(lineshaft.EventNotice, e.worker.config.Now(), data)
	e.watch.saw(draft)
	e.outbox.put(e.life, draft)
}

func setupFailed(format string, args ...any) error {
	return &lineshaft.Error{Code: lineshaft.CodeEnvironmentSetupFailed, Message: fmt.Sprintf(format, args...)}
}

// fits says whether this worker is the kind of machine that the run's runner asks for.
func (e *execution) fits() error {
	want, have := e.job.Prepare.Runner.Target(), runtime.GOOS+"/"+runtime.GOARCH
	if want == "" || platform(want) == have {
		return nil
	}
	return setupFailed("the runner asks for platform %s, and worker %s is %s; send the run to another worker with worker_host, or change the runner",
		want, e.worker.config.WorkerID, have)
}

// platform brings other names of a system and a processor into ours.
func platform(name string) string {
	return strings.NewReplacer("macos/", "darwin/", "/x86_64", "/amd64", "/x64", "/amd64", "/aarch64", "/arm64").Replace(strings.ToLower(name))
}

// limits are the worker's own, or the runner's where these are smaller.
func (e *execution) limits() sandbox.Limits {
	limits, shape := e.worker.config.Limits, e.job.Prepare.Runner.Shape
	limits.MemoryBytes = smaller(limits.MemoryBytes, int64(shape.MemoryGB)<<30)
	limits.CPUs = smaller(limits.CPUs, float64(shape.VCPUs))
	return limits
}

// smaller is the smaller of two limits, of which zero means none.
func smaller[N int64 | float64](a, b N) N {
	if a == 0 || b != 0 && b < a {
		return b
	}
	return a
}
