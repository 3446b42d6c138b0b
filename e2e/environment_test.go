package e2e

import (
	"context"
	"io/fs"
	"log/slog"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/api"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/controltest"
	"github.com/lineshaft/lineshaft/internal/git"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/shell"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
	"github.com/lineshaft/lineshaft/internal/worker"
)

// shopFloor is a control plane with a worker and a forge, which is a folder.
type shopFloor struct {
	*testing.T
	s      *control.Service
	admin  lineshaft.Caller
	data   string
	log    *lockedBuffer
	commit string
}

func newShopFloor(t *testing.T, database string) *shopFloor {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	f := &shopFloor{T: t, data: t.TempDir(), log: &lockedBuffer{}}
	logger := slog.New(slog.NewTextHandler(f.log, nil))
	plane := controltest.Open(t, database, controltest.Options{Config: base.Config{Logger: logger}, Encode: api.EncodeSSE})
	f.s, f.admin = plane.Service, plane.Admin
	repositories, err := git.New(git.Config{Cache: filepath.Join(f.data, "git"), Forge: f.forge()})
	if err != nil {
		t.Fatal(err)
	}
	w, err := worker.New(worker.Config{
		WorkerID: "w1", DataDir: filepath.Join(f.data, "worker"), Git: repositories, Logger: logger, Drain: -1, Grace: 200 * time.Millisecond,
		Harnesses: harness.Set{Harnesses: []harness.Harness{shell.Shell{}}}, Sandbox: sandbox.NewNone(sandbox.Options{Supervisor: []string{bin, "supervise"}}),
	}, f.s)
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := w.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
	return f
}

// forge makes a folder with the repository acme/shop.
func (f *shopFloor) forge() string {
	f.Helper()
	dir := f.TempDir()
	shop := filepath.Join(dir, "acme", "shop")
	if err := os.MkdirAll(shop, 0o755); err != nil {
		f.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(shop, "shelf.txt"), []byte("bread\n"), 0o644); err != nil {
		f.Fatal(err)
	}
	for _, line := range []string{"init --quiet --initial-branch=main", "add .", "commit --quiet -m first", "rev-parse HEAD"} {
		cmd := exec.CommandContext(f.Context(), "git", strings.Fields(line)...)
		cmd.Dir = shop
		cmd.Env = []string{
			"PATH=" + os.Getenv("PATH"), "HOME=/nonexistent", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
		}
		out, err := cmd.CombinedOutput()
		if err != nil {
			f.Fatalf("git %s: %v: %s", line, err, out)
		}
		f.commit = strings.TrimSpace(string(out))
	}
	return dir
}

func (f *shopFloor) secret(name, value string) {
	f.Helper()
	if _, err := f.s.CreateSecret(f.Context(), f.admin, lineshaft.Secret{Name: name}, value); err != nil {
		f.Fatal(err)
	}
}

// start makes an environment and starts a run in it.
func (f *shopFloor) start(config lineshaft.EnvironmentConfig, script string) (environment, runID string) {
	f.Helper()
	config.Name = "shop"
	e, err := f.s.CreateEnvironment(f.Context(), f.admin, config)
	if err != nil {
		f.Fatal(err)
	}
	run, err := f.s.StartRun(f.Context(), f.admin, lineshaft.NewRun{
		Prompt: "```sh\n" + script + "\n```", Source: lineshaft.SourceAPI, Config: lineshaft.AgentConfig{EnvironmentID: e.UID},
	}, nil)
	if err != nil {
		f.Fatal(err)
	}
	return e.UID, run.RunID
}

// follow reads a run's log until enough says so or the run has ended.
func (f *shopFloor) follow(runID string, enough func(log string) bool) (run *lineshaft.Run, log string) {
	f.Helper()
	ctx, cancel := context.WithTimeout(f.Context(), 3*patience)
	defer cancel()
	for after := int64(0); ; {
		page, err := f.s.Events(ctx, f.admin, runID, after, 1000)
		if err != nil {
			f.Fatalf("%v after:\n%s", err, log)
		}
		for _, e := range page.Events {
			after, log = e.Sequence, log+string(e.Type)+" "+string(e.Data)+"\n"
		}
		if run, err = f.s.GetRun(ctx, f.admin, runID); err != nil {
			f.Fatal(err)
		}
		if run.State.Terminal() && run.LastSequence == after || enough(log) {
			return run, log
		}
		select {
		case <-time.After(10 * time.Millisecond): // another goroutine's worker writes it
		case <-ctx.Done():
			f.Fatalf("run %s is %s:\n%s", runID, run.State, log)
		}
	}
}

func never(string) bool { return false }

// a run in an environment finds its repository and what the set-up
// commands made; secrets are masked, and the credentials are nowhere.
func TestX4RunInAnEnvironment(t *testing.T) {
	t.Parallel()
	const forgeToken, npmToken = "forge-token-never-seen", "npm-token-never-seen"
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		f := newShopFloor(t, database)
		f.secret("FORGE", forgeToken)
		f.secret("NPM_TOKEN", npmToken)
		uid, runID := f.start(lineshaft.EnvironmentConfig{
			Repositories: []lineshaft.Repository{{Owner: "acme", Name: "shop"}}, GitCredentials: "FORGE", Secrets: []string{"NPM_TOKEN"},
			SetupCommands: []string{`echo "token $NPM_TOKEN"; cp shop/shelf.txt built.txt`, "echo butter >> built.txt"},
		}, "printf '%s\\n' \"$(ls; cat built.txt; git -C shop rev-parse HEAD)\"; env")
		run, log := f.follow(runID, never)
		if run.State != lineshaft.Succeeded {
			t.Fatalf("%s %+v\n%s", run.State, run.Status, log)
		}
		for _, want := range []string{"Cloned acme/shop at commit " + f.commit, "Set-up command 2 of 2", "token ***NPM_TOKEN***", `built.txt\nshop\nbread\nbutter\n` + f.commit} {
			if !strings.Contains(log, want) {
				t.Errorf("%q is not in\n%s", want, log)
			}
		}
		if strings.Contains(log, forgeToken) || strings.Contains(log, npmToken) || strings.Contains(log, "FORGE=") || strings.Contains(f.log.tail(1<<20), "token-never-seen") {
			t.Errorf("a secret is in\n%s", log)
		}
		f.searchDisk(forgeToken)
		e, err := f.s.GetEnvironment(t.Context(), f.admin, uid)
		if err != nil || e.SetupFailed() || e.LastRun == nil || e.LastRun.ID != runID || e.LastRun.State != lineshaft.Succeeded {
			t.Errorf("environment %+v, %v", e, err)
		}
	})
}

// searchDisk looks for a value in all that worker and git keep.
func (f *shopFloor) searchDisk(value string) {
	f.Helper()
	searched := 0
	err := filepath.WalkDir(f.data, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return nil //nolint:nilerr // what is gone meanwhile holds nothing
		}
		raw, err := os.ReadFile(path)
		if err != nil {
			return nil //nolint:nilerr // as above
		}
		searched++
		if strings.Contains(string(raw), value) {
			f.Errorf("the credentials are in %s", path)
		}
		return nil
	})
	if err != nil || searched == 0 {
		f.Errorf("searched %d files, %v", searched, err)
	}
}

func TestX4SetUpThatFailsOrIsCancelled(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		f := newShopFloor(t, database)
		uid, runID := f.start(lineshaft.EnvironmentConfig{SetupCommands: []string{"echo trouble >&2; exit 9"}}, "echo agent")
		run, log := f.follow(runID, never)
		if run.State != lineshaft.Failed || run.Status.ErrorCode != lineshaft.CodeEnvironmentSetupFailed || !strings.Contains(run.Status.Message, "exit 9) exited with code 9") ||
			!strings.Contains(log, "trouble") || strings.Contains(log, `"text":"agent\n"`) {
			t.Errorf("%s %+v\n%s", run.State, run.Status, log)
		}
		if e, err := f.s.GetEnvironment(t.Context(), f.admin, uid); err != nil || !e.SetupFailed() {
			t.Errorf("environment %+v, %v", e, err)
		}
		_, runID = f.start(lineshaft.EnvironmentConfig{Repositories: []lineshaft.Repository{{Owner: "acme", Name: "gone"}}}, "echo agent")
		if run, log = f.follow(runID, never); run.State != lineshaft.Failed || run.Status.ErrorCode != lineshaft.CodeEnvironmentSetupFailed || !strings.Contains(run.Status.Message, "acme/gone") {
			t.Errorf("%s %+v\n%s", run.State, run.Status, log)
		}
		uid, runID = f.start(lineshaft.EnvironmentConfig{SetupCommands: []string{"trap '' TERM; setsid sleep 86411 & echo up; sleep 86411"}}, "echo agent")
		f.follow(runID, func(log string) bool { return strings.Contains(log, `"text":"up\n"`) })
		if err := f.s.DeleteEnvironment(t.Context(), f.admin, uid); lineshaft.CodeOf(err) != lineshaft.CodeConflict || !strings.Contains(err.Error(), runID) {
			t.Errorf("an environment in use was deleted: %v", err)
		}
		if _, err := f.s.Cancel(t.Context(), f.admin, runID, false, nil); err != nil {
			t.Fatal(err)
		}
		ended := func(string) bool {
			run, err := f.s.GetRun(t.Context(), f.admin, runID)
			return err == nil && !run.SandboxRunning
		}
		if run, log = f.follow(runID, ended); run.State != lineshaft.Cancelled || strings.Contains(log, `"text":"agent\n"`) {
			t.Errorf("%s\n%s", run.State, log)
		}
		if err := f.s.DeleteEnvironment(t.Context(), f.admin, uid); err != nil {
			t.Errorf("an environment that nothing uses any more is not deleted: %v", err)
		}
	})
}
