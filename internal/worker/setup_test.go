package worker

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

const forgeToken = "forge-token-never-seen"

// forge has repositories in a folder; instead, if set, answers for it.
type forge struct {
	dir     string
	instead func(ctx context.Context, dir string) (string, error)
	closed  string // credentials that find nothing

	mu    sync.Mutex
	calls []string // address and credentials
}

func (f *forge) URL(r lineshaft.Repository) string { return "file://" + f.dir + "/" + r.String() }

func (f *forge) Clone(ctx context.Context, url, dir, credentials string) (string, error) {
	f.mu.Lock()
	f.calls = append(f.calls, url+" "+credentials)
	f.mu.Unlock()
	if f.instead != nil {
		return f.instead(ctx, dir)
	}
	if out, err := git(ctx, "", "clone", "--quiet", url, dir); err != nil {
		return "", lineshaft.Unavailable(err, "git says %s", out)
	}
	return git(ctx, dir, "rev-parse", "HEAD")
}

func (f *forge) CloneBare(ctx context.Context, url, dir, _ string) (string, error) {
	if out, err := git(ctx, "", "clone", "--quiet", "--no-local", "--no-checkout", url, dir); err != nil {
		return "", lineshaft.Unavailable(err, "git says %s", out)
	}
	return git(ctx, dir, "rev-parse", "HEAD")
}

func (f *forge) CloneNewer(context.Context, string, string, string, []string) (string, error) {
	return "", errors.New("there is no mirror")
}

func (f *forge) Find(ctx context.Context, url, credentials string) (commit, refs string, tips []string, err error) {
	if f.closed != "" && credentials == f.closed {
		return "", "", nil, lineshaft.Conflict("access was refused")
	}
	refs, err = git(ctx, "", "ls-remote", url)
	if err != nil {
		return "", "", nil, lineshaft.Unavailable(err, "git says %s", refs)
	}
	commit, _, _ = strings.Cut(refs, "\t")
	return commit, refs, nil, nil
}

func (f *forge) count() int {
	f.mu.Lock()
	defer f.mu.Unlock()
	return len(f.calls)
}

func git(ctx context.Context, dir string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1", "GIT_TERMINAL_PROMPT=0",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	return strings.TrimSpace(string(out)), err
}

// newForge makes the repository acme/shop with one commit.
func newForge(t *testing.T) (f *forge, commit string) {
	t.Helper()
	f = &forge{dir: t.TempDir()}
	dir := filepath.Join(f.dir, "acme", "shop")
	if err := os.MkdirAll(filepath.Join(dir, "src"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(dir, "src", "main.txt"), []byte("the shop\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, args := range []string{"init --quiet --initial-branch=main", "add .", "commit --quiet -m first"} {
		if out, err := git(t.Context(), dir, strings.Fields(args)...); err != nil {
			t.Fatalf("git %s: %v: %s", args, err, out)
		}
	}
	commit, err := git(t.Context(), dir, "rev-parse", "HEAD")
	if err != nil {
		t.Fatal(err)
	}
	return f, commit
}

func shop() lineshaft.Repository { return lineshaft.Repository{Owner: "acme", Name: "shop"} }

// preparing makes a job one with something to prepare.
func preparing(j lineshaft.Job, p lineshaft.Preparation) lineshaft.Job {
	j.Prepare = p
	return j
}

// repositories and set-up commands are there before the agent, belong to it,
// and hold no credentials.
func TestX4WorkspaceIsSetUpBeforeTheAgent(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		f, commit := newForge(t)
		w := real(t, c, s, Config{Git: f})
		j := preparing(job("a", script(
			"cat shop/src/main.txt built; pwd; echo \"$LINESHAFT_WORKSPACE\"",
			"git -C shop log -1 --format=%s && git -C shop status --porcelain",
			"git -C shop config --get remote.origin.url",
			`find . ! -user "$(id -u)" | head`,
			"env; echo all of it; grep -ra 'forge-token-neve[r]' . && exit 1; env | grep 'forge-token-neve[r]' && exit 2",
			"echo changed > shop/src/main.txt && git -C shop -c user.name=a -c user.email=a@b commit --quiet -am second && echo committed",
			"echo forge-token''-never-seen",
		)), lineshaft.Preparation{
			Repositories: []lineshaft.Repository{shop()}, GitCredentials: "user:" + forgeToken,
			SetupCommands: []string{
				`cd shop && test -d src && test "$PASSWORD" = correct-horse''-battery` + "\necho \"first with $PASSWORD\"; echo to stderr >&2",
				"test ! -e src\npwd; echo built of shop > built",
			},
		})
		j.Secrets = lineshaft.SecretValues{"PASSWORD": password}
		c.jobs <- j
		if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
			all, _ := c.text("a")
			t.Fatalf("ended %+v\n%s", result, all)
		}
		all, printed := c.text("a")
		for _, want := range []string{"first with ***PASSWORD***\n", "to stderr\n", "the shop\nbuilt of shop\n", "first\n", "file://" + f.dir, "committed\n", "***GIT_TOKEN***"} {
			if !strings.Contains(printed, want) {
				t.Errorf("%q is not in\n%s", want, printed)
			}
		}
		if strings.Contains(all, forgeToken) || strings.Contains(all, password) || strings.Contains(printed, "./shop") {
			t.Errorf("told:\n%s", all)
		}
		notices := c.notices("a")
		at := -1
		for _, want := range []string{"A new, empty workspace", "Cloning acme/shop.", "Cloned acme/shop at commit " + commit + " into the folder shop.", "Set-up command 1 of 2: cd shop", "Set-up command 2 of 2: test"} {
			next := strings.Index(notices, want)
			if next <= at {
				t.Errorf("%q is not in its place in\n%s", want, notices)
			}
			at = next
		}
		if want := f.URL(shop()) + " user:" + forgeToken; f.count() != 1 || f.calls[0] != want {
			t.Errorf("cloned %q, want %q", f.calls, want)
		}
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		// Nor is it anywhere in what the worker keeps.
		if out, err := exec.Command("grep", "-ra", forgeToken, w.config.DataDir).CombinedOutput(); err == nil {
			t.Errorf("the worker keeps the credentials: %s", out)
		}
	})
}

// A set-up that fails ends the run before the agent, says what failed, and leaves
// nothing that a later execution would take for a workspace.
func TestX4FailedSetUp(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		f, _ := newForge(t)
		gone := lineshaft.Repository{Owner: "acme", Name: "gone"}
		for name, test := range map[string]struct {
			prepare lineshaft.Preparation
			git     Cloner
			file    string
			want    []string
		}{
			"command":    {lineshaft.Preparation{SetupCommands: []string{"true", "echo why >&2; exit 7", "echo never"}}, f, "", []string{"Set-up command 2 of 3 (echo why >&2; exit 7) exited with code 7", "environment"}},
			"repository": {lineshaft.Preparation{Repositories: []lineshaft.Repository{shop(), gone}, SetupCommands: []string{"echo never"}}, f, "", []string{"repository acme/gone could not be cloned: ", "git_credentials"}},
			"no git":     {lineshaft.Preparation{Repositories: []lineshaft.Repository{shop()}}, nil, "", []string{"acme/shop", "worker w1 has no git"}},
			"attachment": {lineshaft.Preparation{Repositories: []lineshaft.Repository{shop()}}, f, "Shop", []string{`attachment "Shop"`, "rename"}},
			"platform":   {lineshaft.Preparation{Runner: lineshaft.RunnerConfig{Platform: "plan9/mips"}, SetupCommands: []string{"echo never"}}, f, "", []string{"plan9/mips", runtime.GOOS + "/" + runtime.GOARCH, "worker_host"}},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := newControl(t)
				w := real(t, c, s, Config{Git: test.git})
				j := preparing(first("a", script("echo never")), test.prepare)
				if test.file != "" {
					j.Turn.Attachments = []lineshaft.Attachment{{FileName: test.file, BlobID: "x"}}
				}
				c.jobs <- j
				result := c.ended("a", 1)
				all, printed := c.text("a")
				if result.State != lineshaft.Failed || result.Code != lineshaft.CodeEnvironmentSetupFailed || !result.Dead {
					t.Fatalf("ended %+v\n%s", result, all)
				}
				for _, want := range test.want {
					if !strings.Contains(result.Message, want) {
						t.Errorf("message %q is without %q", result.Message, want)
					}
				}
				if strings.Contains(printed, "never") || len(c.uploads("a")) > 0 {
					t.Errorf("told:\n%s", all)
				}
				if marks := c.marks("a"); len(marks) > 0 {
					t.Errorf("the agent never started, but reported was %q", marks)
				}
				poll(t, "the workspace is gone", func() bool {
					left, err := w.workspaces.Leftovers(t.Context())
					return err == nil && len(left) == 0 && w.Running() == 0
				})
			})
		}
	})
}

// R-7 holds for set-up commands as for agents.
func TestR7CancelDuringSetUp(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		for name, end := range map[string]func(c *fakeControl){
			"cancel": func(c *fakeControl) { c.stop("a") },
			"lost": func(c *fakeControl) {
				run, unlock := c.lock("a")
				run.answer = lineshaft.Conflict("taken away")
				unlock()
				c.stop("a")
			},
		} {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				c := newControl(t)
				w := real(t, c, s, Config{Grace: 200 * time.Millisecond})
				m := newMark()
				command := strings.Trim(strings.TrimPrefix(stubborn(m), "```sh"), "`\n")
				c.jobs <- preparing(first("a", script("echo never")), lineshaft.Preparation{SetupCommands: []string{command, "echo never"}})
				c.up("a", m)
				end(c)
				if result := c.ended("a", 1); result.State != lineshaft.Cancelled || !result.Dead {
					t.Errorf("last word %+v", result)
				}
				if left := marked(m); len(left) > 0 {
					t.Errorf("told to be gone, but left: %v", left)
				}
				if _, printed := c.text("a"); strings.Contains(printed, "never") {
					t.Error("the agent or the next command was started")
				}
				poll(t, "the workspace is gone", func() bool {
					left, err := w.workspaces.Leftovers(t.Context())
					return err == nil && len(left) == 0 && w.Running() == 0
				})
			})
		}
	})
}

// housed is a scripted agent with a workspace.
type housed struct{ agent scripted }

func (h housed) Name() string { return "housed" }

func (h housed) Open(ctx context.Context, env harness.Environment) (harness.Session, error) {
	return h.agent.Open(ctx, env)
}

// The run's time counts while it is set up, and a cancel reaches a clone.
func TestX13TimeOfSetUp(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		stop  bool
		state lineshaft.RunState
		code  lineshaft.Code
		text  string
	}{
		"time is up": {false, lineshaft.Failed, lineshaft.CodeRunTimeout, `longer than 2 minutes; last seen: notice "Cloning acme/shop."`},
		"cancel":     {true, lineshaft.Cancelled, "", ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				c := newControl(t)
				f := &forge{instead: func(ctx context.Context, _ string) (string, error) {
					<-ctx.Done()
					return "", errors.New("git was ended")
				}}
				agent := housed{scripted{func(context.Context, harness.Environment, lineshaft.Turn, harness.Emit) (lineshaft.TurnResult, error) {
					t.Error("the agent was started")
					return done()
				}}}
				start(t, c, Config{Git: f, Harnesses: harness.Set{Harnesses: []harness.Harness{agent}, Default: "housed"}})
				j := preparing(job("a", ""), lineshaft.Preparation{Repositories: []lineshaft.Repository{shop()}})
				j.Config.TimeoutMinutes = number(2)
				c.jobs <- j
				advance(time.Minute)
				if test.stop {
					c.stop("a")
				}
				if got := c.ended("a", 1); got.State != test.state || got.Code != test.code || !strings.Contains(got.Message, test.text) || !got.Dead {
					t.Errorf("ended %+v", got)
				}
			})
		})
	}
}

// what is kept or restored is not set up again, what is made again is; the log
// says which. Credentials stay with the worker.
func TestR6SetUpAgainWhenTheWorkspaceIsGone(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		f, _ := newForge(t)
		prepare := lineshaft.Preparation{Repositories: []lineshaft.Repository{shop()}, SetupCommands: []string{"echo once >> count"}, GitCredentials: forgeToken}
		run := func(j lineshaft.Job, notice string, clones int, again bool) {
			t.Helper()
			c.jobs <- preparing(j, prepare)
			if result := c.ended(j.ExecutionID, 1); result.State != lineshaft.Succeeded {
				all, _ := c.text(j.ExecutionID)
				t.Fatalf("%s: %+v\n%s", j.ExecutionID, result, all)
			}
			notices := c.notices(j.ExecutionID)
			if !strings.Contains(notices, notice) || strings.Contains(notices, "Cloned acme/shop") != again || f.count() != clones {
				t.Errorf("%s: %d clones, notices\n%s", j.ExecutionID, f.count(), notices)
			}
		}
		w := real(t, c, s, Config{Git: f})
		check := script("test -d shop/.git && test $(wc -l < count) = 1 && echo more >> shop/src/main.txt")
		run(first("a", check), "A new, empty workspace was created.", 1, true)
		run(resumed("b", 2, check), "is used again", 1, false)
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		w = real(t, c, s, Config{Git: f}) // with another data directory
		third := resumed("c", 3, check)
		third.Snapshot = "snapshot-b-"
		run(third, "was restored from the newest snapshot", 1, false)
		run(resumed("d", 4, check), "is used again", 1, false)
		run(resumed("e", 6, check), "left no files in its workspace", 2, true)
		seventh := resumed("f", 8, check)
		seventh.Snapshot = "gone"
		run(seventh, "could not be restored", 3, true)
		if err := w.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
	})
}

// Harnesses in this process get a job without the credentials.
func TestS2HarnessesDoNotGetGitCredentials(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		f := &forge{instead: func(_ context.Context, dir string) (string, error) { return "c0ffee", os.Mkdir(dir, 0o700) }}
		agent := housed{scripted{func(_ context.Context, env harness.Environment, _ lineshaft.Turn, _ harness.Emit) (lineshaft.TurnResult, error) {
			if env.Job.Prepare.GitCredentials != "" || len(env.Job.Prepare.Repositories) != 1 {
				t.Errorf("the harness has %+v", env.Job.Prepare)
			}
			if strings.Contains(fmt.Sprint(env.Env), forgeToken) {
				t.Error("the agent has the credentials")
			}
			return lineshaft.TurnResult{State: lineshaft.Failed, Message: "bad " + forgeToken}, nil
		}}}
		start(t, c, Config{Git: f, Harnesses: harness.Set{Harnesses: []harness.Harness{agent}, Default: "housed"}})
		c.jobs <- preparing(job("a", ""), lineshaft.Preparation{Repositories: []lineshaft.Repository{shop()}, GitCredentials: forgeToken})
		if result := c.ended("a", 1); result.Message != "bad ***GIT_CREDENTIALS***" {
			t.Errorf("ended %+v", result)
		}
	})
}

func TestX5RunnerLimits(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		worker sandbox.Limits
		shape  lineshaft.InstanceShape
		want   sandbox.Limits
	}{
		"none":           {sandbox.Limits{Processes: 5}, lineshaft.InstanceShape{}, sandbox.Limits{Processes: 5}},
		"runner alone":   {sandbox.Limits{}, lineshaft.InstanceShape{VCPUs: 2, MemoryGB: 4}, sandbox.Limits{MemoryBytes: 4 << 30, CPUs: 2}},
		"worker alone":   {sandbox.Limits{MemoryBytes: 1, CPUs: 0.5}, lineshaft.InstanceShape{}, sandbox.Limits{MemoryBytes: 1, CPUs: 0.5}},
		"runner smaller": {sandbox.Limits{MemoryBytes: 8 << 30, CPUs: 4}, lineshaft.InstanceShape{VCPUs: 2, MemoryGB: 4}, sandbox.Limits{MemoryBytes: 4 << 30, CPUs: 2}},
		"worker smaller": {sandbox.Limits{MemoryBytes: 1 << 30, CPUs: 1.5}, lineshaft.InstanceShape{VCPUs: 2, MemoryGB: 4}, sandbox.Limits{MemoryBytes: 1 << 30, CPUs: 1.5}},
	} {
		e := &execution{worker: &Worker{config: Config{Limits: test.worker}}}
		e.job.Prepare.Runner.Shape = test.shape
		if got := e.limits(); got != test.want {
			t.Errorf("%s: %+v, want %+v", name, got, test.want)
		}
	}
}

func TestX4Platforms(t *testing.T) {
	t.Parallel()
	own := runtime.GOOS + "/" + runtime.GOARCH
	other := map[string]string{"linux/amd64": "linux/x86_64", "linux/arm64": "Linux/aarch64", "darwin/arm64": "macos/arm64"}[own]
	for name, fits := range map[string]bool{"": true, own: true, strings.ToUpper(own): true, other: true, "plan9/" + runtime.GOARCH: false, runtime.GOOS + "/mips": false} {
		e := &execution{worker: &Worker{config: Config{WorkerID: "w1"}}}
		e.job.Prepare.Runner.Platform = name
		if err := e.fits(); (err == nil) != fits {
			t.Errorf("%q: %v", name, err)
		}
	}
}
