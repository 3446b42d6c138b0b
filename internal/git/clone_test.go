package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestX4Clone(t *testing.T) {
	t.Parallel()
	o, c := newOrigin(t, ""), client(t)
	o.push("main", map[string]string{"a": "1"})
	commit := o.push("main", map[string]string{"a": "2", "dir/b": "3"})
	dir := filepath.Join(t.TempDir(), "repo")
	got, err := c.Clone(t.Context(), o.bare, dir, "")
	if err != nil || got != commit {
		t.Fatalf("clone: %s, %v, want %s", got, err, commit)
	}
	if text := read(t, filepath.Join(dir, "dir", "b")); text != "3" {
		t.Errorf("dir/b is %q", text)
	}
	if history := shell(t, dir, "log", "--oneline"); len(strings.Split(history, "\n")) != 2 {
		t.Errorf("history is %q, want two commits", history)
	}
	if branch := shell(t, dir, "rev-parse", "--abbrev-ref", "HEAD"); branch != "main" {
		t.Errorf("branch is %q", branch)
	}
	_, err = c.Clone(t.Context(), o.bare, dir, "")
	wantFault(t, err, lineshaft.CodeConflict, "not empty")
	if text := read(t, filepath.Join(dir, "a")); text != "2" {
		t.Errorf("a refused clone changed a to %q", text)
	}
}

func TestX4CloneThatDoesNotSucceedLeavesNothing(t *testing.T) {
	t.Parallel()
	o, c := newOrigin(t, ""), client(t)
	dir := filepath.Join(t.TempDir(), "repo")
	_, err := c.Clone(t.Context(), o.bare, dir, "")
	wantFault(t, err, lineshaft.CodeNotFound, "no commits yet")
	_, err = c.Clone(t.Context(), o.bare+"-gone", dir, "")
	wantFault(t, err, lineshaft.CodeNotFound, "no repository")
	if _, err := os.Stat(dir); err == nil {
		t.Error("the folder is there")
	}
	empty := t.TempDir()
	o.push("main", map[string]string{"a": "1"})
	if _, err := c.Clone(t.Context(), o.bare, empty, ""); err != nil {
		t.Errorf("clone into an empty folder: %v", err)
	}
}

func TestX4CredentialsOfTheWrongKind(t *testing.T) {
	t.Parallel()
	c := client(t)
	dir := filepath.Join(t.TempDir(), "w")
	_, err := c.Clone(t.Context(), "https://127.0.0.1:1/o/r", dir, "-----BEGIN OPENSSH PRIVATE KEY-----\nx\n-----END OPENSSH PRIVATE KEY-----")
	wantFault(t, err, lineshaft.CodeInvalidRequest, "use a token")
	_, err = c.Clone(t.Context(), "git@127.0.0.1:o/r", dir, "token")
	wantFault(t, err, lineshaft.CodeInvalidRequest, "use a private key")
	_, err = c.Clone(t.Context(), "https://127.0.0.1:1/o/r", dir, "two\nlines")
	wantFault(t, err, lineshaft.CodeInvalidRequest, "several lines")
}

// A scripted ssh replaces the real one: it checks what it is given and serves the
// requested repository.
func TestX4CloneOverSSH(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, "")
	commit := o.push("main", map[string]string{"a": "1"})
	ssh, seen := filepath.Join(t.TempDir(), "my ssh"), filepath.Join(t.TempDir(), "seen")
	script(t, ssh, `#!/bin/sh
for a in "$@"; do
  case "$prev" in -i) cat "$a" > `+seen+`.key; ls -l "$a" >> `+seen+`.key ;; esac
  prev=$a
done
printf '%s\n' "$@" > `+seen+`
test -f `+seen+`.key || { echo 'git@host: Permission denied (publickey).' >&2; exit 255; }
exec git-upload-pack `+o.bare+"\n")
	c := client(t, func(cfg *Config) { cfg.SSH = ssh })
	dir := filepath.Join(t.TempDir(), "w")
	_, err := c.Clone(t.Context(), "git@192.0.2.1:o/r.git", dir, "")
	wantFault(t, err, lineshaft.CodeNotAuthorized, "refused access")

	const key = "-----BEGIN OPENSSH PRIVATE KEY-----\nc2VjcmV0\n-----END OPENSSH PRIVATE KEY-----\n"
	got, err := c.Clone(t.Context(), "ssh://git@192.0.2.1:2222/o/r.git", dir, strings.ReplaceAll(key, "\n", "\r\n"))
	if err != nil || got != commit {
		t.Fatalf("clone: %s, %v", got, err)
	}
	if text := read(t, seen+".key"); !strings.HasPrefix(text, key) || !strings.Contains(text, "-rw-------") {
		t.Errorf("ssh saw the key %q", text)
	}
	for _, want := range []string{"BatchMode=yes", "StrictHostKeyChecking=accept-new", "/dev/null", "2222", "git@192.0.2.1"} {
		if text := read(t, seen); !strings.Contains(text, want) {
			t.Errorf("ssh is run without %s:\n%s", want, text)
		}
	}
	if left, err := os.ReadDir(c.path("keys")); err != nil || len(left) != 0 {
		t.Errorf("keys left: %v, %v", left, err)
	}
	noSecret(t, dir, "c2VjcmV0")
}

func read(t *testing.T, path string) string {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// noSecret looks through all files below a folder.
func noSecret(t *testing.T, dir, secret string) {
	t.Helper()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && entry.Type().IsRegular() && strings.Contains(read(t, path), secret) {
			t.Errorf("%s has the credential", path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}
