package workspace

import (
	"os"
	"path/filepath"
	"testing"
)

const commitA, commitB = "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb"

// cloned is a workspace with a repository as a clone leaves it.
func cloned(t *testing.T) *Workspace {
	t.Helper()
	w := open(t, manager(t, Limits{}), OpenRequest{RunID: "run-1", Number: 1})
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/team/main\n", "refs/heads/team/main": commitA + "\n",
		"packed-refs":              commitA + " refs/remotes/origin/team/main\n",
		"refs/remotes/origin/HEAD": "x", "refs/tags/v1": commitA, "objects/old": "old",
		"config": "theirs", "index": "index", "hooks/pre-commit": "hook",
	} {
		write(t, w, "shop/.git/"+name, text)
	}
	return w
}

// a repository is plain while it has the branch of the clone and no other.
func TestX14PlainRepositories(t *testing.T) {
	t.Parallel()
	if w := cloned(t); !w.Plain("shop", commitA) || w.Plain("shop", commitB) || w.Plain("missing", commitA) {
		t.Error("a clone is not plain, or what is none is")
	}
	for name, text := range map[string]string{
		"HEAD": commitA, "refs/heads/other": commitA, "refs/heads/team/other": commitA, "refs/heads/team/main": commitB,
		"packed-refs": commitA + " refs/heads/other\n", "refs/stash": commitA, "refs/remotes/upstream/main": commitA,
	} {
		w := cloned(t)
		if write(t, w, "shop/.git/"+name, text); w.Plain("shop", commitA) {
			t.Errorf("with %s as %q it is plain", name, text)
		}
	}
	w := cloned(t)
	head := filepath.Join(w.Dir(), "shop/.git/HEAD")
	if err := os.Rename(head, filepath.Join(w.Dir(), "head")); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink("../../head", head); err != nil {
		t.Fatal(err)
	}
	if w.Plain("shop", commitA) {
		t.Error("a link is followed")
	}
}

// history is the clone's, settings and files are those that were there.
func TestX14HistoryIsTakenOver(t *testing.T) {
	t.Parallel()
	w := cloned(t)
	dir, err := w.FreshDir(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	fresh, err := filepath.Rel(w.Dir(), dir)
	if err != nil {
		t.Fatal(err)
	}
	for name, text := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "refs/heads/main": commitB, "objects/new": "new", "config": "ours", "logs/HEAD": "log",
	} {
		write(t, w, filepath.Join(fresh, ".git", name), text)
	}
	if err := w.TakeHistory(t.Context(), "shop"); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"HEAD": "ref: refs/heads/main\n", "refs/heads/main": commitB, "objects/new": "new", "config": "theirs", "logs/HEAD": "log",
		"index": "index", "hooks/pre-commit": "hook", "objects/old": "", "packed-refs": "", "refs/heads/team/main": "",
	} {
		if text, _ := os.ReadFile(filepath.Join(w.Dir(), "shop/.git", name)); string(text) != want {
			t.Errorf("%s is %q, want %q", name, text, want)
		}
	}
	if _, err := os.Lstat(dir); err == nil {
		t.Error("the clone is still there")
	}
	if !w.Plain("shop", commitB) {
		t.Error("it is not plain")
	}
}

// nothing outside is touched through what a set-up command left in the place of a repository.
func TestX14HistoryDoesNotFollowLinks(t *testing.T) {
	t.Parallel()
	outside := t.TempDir()
	if err := os.WriteFile(filepath.Join(outside, "HEAD"), []byte("precious"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"shop/.git", "shop"} {
		w := cloned(t)
		if err := os.RemoveAll(filepath.Join(w.Dir(), name)); err != nil {
			t.Fatal(err)
		}
		if err := os.Symlink(outside, filepath.Join(w.Dir(), name)); err != nil {
			t.Fatal(err)
		}
		if _, err := w.FreshDir(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := w.TakeHistory(t.Context(), "shop"); err == nil {
			t.Errorf("%s is a link, and was used", name)
		}
		if text, _ := os.ReadFile(filepath.Join(outside, "HEAD")); string(text) != "precious" {
			t.Errorf("outside is now %q", text)
		}
	}
}
