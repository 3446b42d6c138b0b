package git

import (
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"go.uber.org/goleak"

	"github.com/lineshaft/lineshaft"
)

// The test binary is also the process that a test kills.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 && os.Args[1] == "clone" {
		os.Exit(cloneUntilKilled(os.Args[2], os.Args[3], os.Args[4]))
	}
	goleak.VerifyTestMain(m)
}

// shell runs git as a user would and returns what it printed.
func shell(t *testing.T, dir string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "git", args...)
	cmd.Dir = dir
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "GIT_CONFIG_NOSYSTEM=1",
		"GIT_AUTHOR_NAME=a", "GIT_AUTHOR_EMAIL=a@example.com", "GIT_COMMITTER_NAME=a", "GIT_COMMITTER_EMAIL=a@example.com",
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("git %s: %v\n%s", strings.Join(args, " "), err, out)
	}
	return strings.TrimSpace(string(out))
}

// origin is a bare repository with a working copy to push from.
type origin struct {
	t          *testing.T
	bare, work string
}

func newOrigin(t *testing.T, bare string, options ...string) *origin {
	t.Helper()
	if bare == "" {
		bare = filepath.Join(t.TempDir(), "origin.git")
	}
	o := &origin{t: t, bare: bare, work: filepath.Join(t.TempDir(), "work")}
	shell(t, "", append(append([]string{"init", "--quiet", "--bare", "--initial-branch=main"}, options...), o.bare)...)
	shell(t, "", append(append([]string{"init", "--quiet", "--initial-branch=main"}, options...), o.work)...)
	shell(t, o.work, "remote", "add", "origin", o.bare)
	return o
}

// push commits files and pushes them to a branch.
func (o *origin) push(branch string, files map[string]string) (commit string) {
	o.t.Helper()
	for _, name := range slices.Sorted(maps.Keys(files)) {
		write(o.t, filepath.Join(o.work, name), files[name])
	}
	shell(o.t, o.work, "add", "--all")
	return o.pushIndex(branch)
}

func (o *origin) pushIndex(branch string) string {
	o.t.Helper()
	shell(o.t, o.work, "commit", "--quiet", "--allow-empty", "-m", "change")
	shell(o.t, o.work, "push", "--quiet", "--force", "origin", "HEAD:refs/heads/"+branch)
	return shell(o.t, o.work, "rev-parse", "HEAD")
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// script writes a program, in another process: children of other tests cannot have it open then, which would keep it
// from starting.
func script(t *testing.T, path, text string) {
	t.Helper()
	write := exec.CommandContext(t.Context(), "/bin/sh", "-c", `cat > "$0" && chmod 755 "$0"`, path)
	write.Stdin = strings.NewReader(text)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// client makes one that may read local repositories.
func client(t *testing.T, change ...func(*Config)) *Client {
	t.Helper()
	cfg := Config{Cache: t.TempDir(), AllowFile: true}
	for _, f := range change {
		f(&cfg)
	}
	c, err := New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func all(string, int64) bool { return true }

func head(t *testing.T, c *Client, url, branch string) string {
	t.Helper()
	commit, err := c.Head(t.Context(), url, branch)
	if err != nil {
		t.Fatalf("head of %s: %v", branch, err)
	}
	return commit
}

func tree(t *testing.T, c *Client, url, commit string) map[string]string {
	t.Helper()
	files, err := c.Tree(t.Context(), url, commit, all)
	if err != nil {
		t.Fatalf("tree of %s: %v", commit, err)
	}
	return files
}

// wantFault checks the code and the public message of an error.
func wantFault(t *testing.T, err error, code lineshaft.Code, says string) {
	t.Helper()
	if lineshaft.CodeOf(err) != code || err == nil || !strings.Contains(err.Error(), says) {
		t.Errorf("error %v, want a %s that says %q", err, code, says)
	}
}
