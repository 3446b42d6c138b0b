package control_test

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/control/factories"
	"github.com/lineshaft/lineshaft/internal/git"
	"github.com/lineshaft/lineshaft/internal/store"
)

// origin is a bare repository with a working copy to push from.
type origin struct {
	t          *testing.T
	bare, work string
}

func newOrigin(t *testing.T) *origin {
	t.Helper()
	o := &origin{t: t, bare: filepath.Join(t.TempDir(), "origin.git"), work: filepath.Join(t.TempDir(), "work")}
	o.git("", "init", "--quiet", "--bare", "--initial-branch=main", o.bare)
	o.git("", "init", "--quiet", "--initial-branch=main", o.work)
	o.git(o.work, "remote", "add", "origin", o.bare)
	return o
}

func (o *origin) git(dir string, args ...string) string {
	o.t.Helper()
	cmd := exec.CommandContext(o.t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + o.t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		o.t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// push makes the branch hold these files and no others, and returns its commit.
func (o *origin) push(branch string, files map[string]string) string {
	o.t.Helper()
	o.git(o.work, "rm", "-r", "-f", "--quiet", "--ignore-unmatch", ".")
	for _, name := range slices.Sorted(maps.Keys(files)) {
		path := filepath.Join(o.work, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			o.t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(files[name]), 0o644); err != nil {
			o.t.Fatal(err)
		}
	}
	o.git(o.work, "add", "--all")
	o.git(o.work, "commit", "--quiet", "--allow-empty", "-m", "change")
	o.git(o.work, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+branch)
	return o.git(o.work, "rev-parse", "HEAD")
}

// folder is a definition; lines are added to factory.yaml, where they begin at line 3.
func folder(name string, lines ...string) map[string]string {
	return map[string]string{
		"factory.yaml":         "schemaVersion: v1alpha1\nname: " + name + "\n" + strings.Join(append(lines, ""), "\n"),
		"agents/boss/agent.md": "---\nagentType: FOREMAN\n---\nSee to it.\n",
	}
}

// below puts a folder's files into another.
func below(top string, files map[string]string) map[string]string {
	moved := map[string]string{}
	for name, text := range files {
		moved[top+"/"+name] = text
	}
	return moved
}

// localGit lets a control plane read repositories of this machine. They are only
// checked when a test says so.
func localGit(t *testing.T) func(*base.Config) {
	t.Helper()
	client, err := git.New(git.Config{Cache: t.TempDir(), AllowFile: true})
	if err != nil {
		t.Fatal(err)
	}
	return withGit(client)
}

func withGit(g base.Git) func(*base.Config) {
	return func(cfg *base.Config) { cfg.Git, cfg.RepositoryPoll = g, time.Hour }
}

// eachOrigin runs fn on every engine with a repository that has a definition.
func eachOrigin(t *testing.T, fn func(b *bench, o *origin)) {
	t.Helper()
	each(t, func(b *bench) {
		o := newOrigin(b.T)
		o.push("main", folder("First"))
		fn(b, o)
	}, localGit(t))
}

// following makes a factory that follows a repository and looks at it.
func (b *bench) following(source lineshaft.GitSource) *lineshaft.Factory {
	b.Helper()
	made := must[*lineshaft.Factory](b)(b.s.CreateFactory(b.Context(), b.admin, factories.NewFactory{Name: "Given", Repository: &source}))
	return b.round(made.UID)
}

// round looks at a repository as the poll does, and returns the factory after.
func (b *bench) round(uid string) *lineshaft.Factory {
	b.Helper()
	b.write(func(ctx context.Context, tx *store.Tx) error { return tx.DueRepository(ctx, uid) })
	if n := must[int](b)(b.s.SyncRepositories(b.Context())); n != 1 {
		b.Fatalf("%d repositories were due", n)
	}
	return must[*lineshaft.Factory](b)(b.s.GetFactory(b.Context(), b.admin, uid))
}

// wantRepository checks a factory's name and how far it has followed.
func (b *bench) wantRepository(f *lineshaft.Factory, name, seen, applied string) {
	b.Helper()
	r := f.Repository
	if f.Mode != lineshaft.ModeRepository || r == nil {
		b.Fatalf("the factory is %s and follows %+v", f.Mode, r)
	}
	if f.Name != name || r.Seen != seen || r.Applied != applied || r.CheckedAt.IsZero() || r.AppliedAt.IsZero() != (applied == "") {
		b.Fatalf("%q has seen %q and applied %q, want %q, %q, %q\n%+v", f.Name, r.Seen, r.Applied, name, seen, applied, r)
	}
}

// fakeGit is a repository whose answers a test decides.
type fakeGit struct {
	head func(ctx context.Context) (string, error)
	tree func(ctx context.Context) (map[string]string, error)
}

func (g *fakeGit) URL(r lineshaft.Repository) string { return "https://forge.example/" + r.String() }

func (g *fakeGit) Head(ctx context.Context, _, _ string) (string, error) { return g.head(ctx) }

func (g *fakeGit) Tree(ctx context.Context, _, _ string, keep func(string, int64) bool) (map[string]string, error) {
	files, err := g.tree(ctx)
	maps.DeleteFunc(files, func(name, text string) bool { return !keep(name, int64(len(text))) })
	return files, err
}
