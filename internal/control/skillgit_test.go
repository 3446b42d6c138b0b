package control_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/git"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// gitRepository makes a repository with one commit, and says which.
func gitRepository(t *testing.T, dir string, files map[string]string) string {
	t.Helper()
	run := func(args ...string) string {
		cmd := exec.CommandContext(t.Context(), "git", append([]string{"-C", dir, "-c", "user.name=t", "-c", "user.email=t@example.com"}, args...)...)
		cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1"}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
		return strings.TrimSpace(string(out))
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	run("init", "-q", "-b", "main")
	for name, text := range files {
		full := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(full), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(full, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	run("add", ".")
	run("commit", "-q", "-m", "skills")
	return run("rev-parse", "HEAD")
}

// With the real git: the commit of the run is that of the repository.
func TestX8SkillsFromARealRepository(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		forge := t.TempDir()
		commit := gitRepository(t, filepath.Join(forge, "acme", "tools"), map[string]string{
			".agents/skills/triage/SKILL.md": skillText("Triage", "Look at $0."), "main.go": "package main",
		})
		client, err := git.New(git.Config{Cache: t.TempDir(), Forge: "file://" + forge + "/{owner}/{repo}", AllowFile: true})
		if err != nil {
			t.Fatal(err)
		}
		b := open(t, database, func(c *base.Config) { c.Git = client })
		run := b.run(b.startSkill("issue-7", "acme/tools:triage"))
		if len(run.Skills) != 1 || run.Skills[0].Commit != commit || run.Config.Name != "Triage" {
			b.Fatalf("%+v, want commit %s", run.Skills, commit)
		}
		if got := told(b.claimOne(lineshaft.HostedWorker, run.ID)); got != "Look at issue-7." {
			b.Fatalf("the agent is told %q", got)
		}
		for spec, want := range map[string]string{"acme/tools:triag": "it has triage", "acme/nothing:x": "no repository acme/nothing"} {
			_, err = b.s.StartRun(b.Context(), b.admin, skillRun("x", spec), nil)
			wantCode(b, err, lineshaft.CodeNotFound)
			if !strings.Contains(err.Error(), want) {
				b.Error(err)
			}
		}
	})
}
