package git

import (
	"maps"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestF5HeadAndTree(t *testing.T) {
	t.Parallel()
	for _, format := range []string{"sha1", "sha256"} {
		t.Run(format, func(t *testing.T) {
			t.Parallel()
			o, c := newOrigin(t, "", "--object-format="+format), client(t)
			first := o.push("main", map[string]string{"a.txt": "one", "dir/b c.txt": "two\n", "leer": ""})
			other := o.push("feature/x", map[string]string{"a.txt": "other"})
			for branch, want := range map[string]string{"": first, "main": first, "feature/x": other} {
				if got := head(t, c, o.bare, branch); got != want {
					t.Errorf("head of %q is %s, want %s", branch, got, want)
				}
			}
			want := map[string]string{"a.txt": "one", "dir/b c.txt": "two\n", "leer": ""}
			if got := tree(t, c, "file://"+o.bare, first); !maps.Equal(got, want) {
				t.Errorf("tree is %q, want %q", got, want)
			}
			if got := tree(t, c, o.bare, other)["a.txt"]; got != "other" {
				t.Errorf("the other branch has %q", got)
			}
		})
	}
}

func TestF5TreeAsksOnlyForWhatIsKept(t *testing.T) {
	t.Parallel()
	o, c := newOrigin(t, ""), client(t, func(cfg *Config) { cfg.MaxBytes = 1 << 10 })
	commit := o.push("main", map[string]string{"small": "yes", "large": strings.Repeat("x", 2<<10)})
	files, err := c.Tree(t.Context(), o.bare, commit, func(path string, size int64) bool { return path == "small" && size == 3 })
	if err != nil || !maps.Equal(files, map[string]string{"small": "yes"}) {
		t.Errorf("kept %q, %v", files, err)
	}
	_, err = c.Tree(t.Context(), o.bare, commit, all)
	wantFault(t, err, lineshaft.CodePayloadTooLarge, "smaller folder")
	none, err := c.Tree(t.Context(), o.bare, commit, func(string, int64) bool { return false })
	if err != nil || len(none) != 0 {
		t.Errorf("kept %q, %v, want nothing", none, err)
	}
}

func TestF5TreeIsCachedByCommit(t *testing.T) {
	t.Parallel()
	o, c := newOrigin(t, ""), client(t)
	commit := o.push("main", map[string]string{"a": "1"})
	tree(t, c, o.bare, commit)
	// Without its objects the origin could not give it again.
	if err := os.RemoveAll(filepath.Join(o.bare, "objects", "pack")); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(filepath.Join(o.bare, "objects"), filepath.Join(o.bare, "gone")); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(o.bare, "objects"), 0o755); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, c, o.bare, commit); got["a"] != "1" {
		t.Errorf("cached tree is %q", got)
	}
	if _, err := client(t).Tree(t.Context(), o.bare, commit, all); err == nil {
		t.Error("another cache has the tree as well")
	}
}

func TestF5DamagedCacheIsFetchedAnew(t *testing.T) {
	t.Parallel()
	o, c := newOrigin(t, ""), client(t)
	commit := o.push("main", map[string]string{"a": "1"})
	tree(t, c, o.bare, commit)
	packs, err := filepath.Glob(c.path("repositories", "*.git", "objects", "pack", "*"))
	if err != nil || len(packs) == 0 {
		t.Fatalf("packs: %v, %v", packs, err)
	}
	for _, pack := range packs {
		if err := os.Remove(pack); err != nil {
			t.Fatal(err)
		}
	}
	if got := tree(t, c, o.bare, commit); got["a"] != "1" {
		t.Errorf("tree after damage is %q", got)
	}
	next := o.push("main", map[string]string{"a": "2"})
	if err := os.WriteFile(filepath.Join(filepath.Dir(filepath.Dir(filepath.Dir(packs[0]))), "HEAD"), []byte("rubbish"), 0o600); err != nil {
		t.Fatal(err)
	}
	if got := tree(t, c, o.bare, next); got["a"] != "2" {
		t.Errorf("tree after more damage is %q", got)
	}
}

// Only so many commits pile up before the repository is fetched again.
func TestF5CacheOfOneRepositoryIsBounded(t *testing.T) {
	t.Parallel()
	o, c := newOrigin(t, ""), client(t)
	first := o.push("main", map[string]string{"a": "1"})
	tree(t, c, o.bare, first)
	dirs, err := filepath.Glob(c.path("repositories", "*.git"))
	if err != nil || len(dirs) != 1 {
		t.Fatalf("cached: %v, %v", dirs, err)
	}
	for i := range maxCommits {
		write(t, filepath.Join(dirs[0], commitRefs, strings.Repeat("0", 38)+string(rune('a'+i/26))+string(rune('a'+i%26))), first+"\n")
	}
	next := o.push("main", map[string]string{"a": "2"})
	if got := tree(t, c, o.bare, next); got["a"] != "2" {
		t.Errorf("tree is %q", got)
	}
	if got := c.commits(dirs[0]); len(got) != 1 || got[0] != next {
		t.Errorf("the cache keeps %d commits, want the newest alone", len(got))
	}
}

func TestF5ManyReadersAndTwoProcessesShareACache(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, "")
	one := client(t)
	two := client(t, func(cfg *Config) { cfg.Cache = one.cfg.Cache })
	var commits []string
	for _, text := range []string{"1", "2", "3", "4"} {
		commits = append(commits, o.push("main", map[string]string{"a": text}))
	}
	var wait sync.WaitGroup
	for i := range 16 {
		wait.Go(func() {
			c := []*Client{one, two}[i%2]
			files, err := c.Tree(t.Context(), o.bare, commits[i%4], all)
			if err != nil || files["a"] != string(rune('1'+i%4)) {
				t.Errorf("reader %d: %q, %v", i, files, err)
			}
		})
	}
	wait.Wait()
}

func TestF5ForcePushAndGoneCommit(t *testing.T) {
	t.Parallel()
	o, c := newOrigin(t, ""), client(t)
	old := o.push("main", map[string]string{"a": "old"})
	shell(t, o.work, "checkout", "--quiet", "--orphan", "again")
	fresh := o.push("main", map[string]string{"a": "new"})
	if got := head(t, c, o.bare, "main"); got != fresh {
		t.Errorf("head is %s, want %s", got, fresh)
	}
	if got := tree(t, c, o.bare, fresh); got["a"] != "new" {
		t.Errorf("tree is %q", got)
	}
	shell(t, o.bare, "gc", "--quiet", "--prune=now")
	_, err := c.Tree(t.Context(), o.bare, old, all)
	wantFault(t, err, lineshaft.CodeNotFound, "no longer has the commit")
}

func TestF5WhatIsMissingIsNamed(t *testing.T) {
	t.Parallel()
	o, c := newOrigin(t, ""), client(t)
	_, err := c.Head(t.Context(), o.bare, "")
	wantFault(t, err, lineshaft.CodeNotFound, "no commits yet")
	o.push("main", map[string]string{"a": "1"})
	_, err = c.Head(t.Context(), o.bare, "dev")
	wantFault(t, err, lineshaft.CodeNotFound, `no branch "dev"`)
	_, err = c.Head(t.Context(), o.bare+"-not-there", "main")
	wantFault(t, err, lineshaft.CodeNotFound, "no repository at")
	_, err = c.Tree(t.Context(), o.bare+"-not-there", strings.Repeat("a", 40), all)
	wantFault(t, err, lineshaft.CodeNotFound, "no repository at")
	// A ref that only ends like a branch is none.
	shell(t, o.bare, "update-ref", "refs/x/refs/heads/dev", "main")
	_, err = c.Head(t.Context(), o.bare, "dev")
	wantFault(t, err, lineshaft.CodeNotFound, `no branch "dev"`)
}

func TestF5ServerWithoutGit(t *testing.T) {
	t.Parallel()
	c := client(t, func(cfg *Config) { cfg.Program = filepath.Join(t.TempDir(), "no-git") })
	o := newOrigin(t, "")
	_, err := c.Head(t.Context(), o.bare, "")
	wantFault(t, err, lineshaft.CodeUnavailable, "no git program")
}
