package git

import (
	"context"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

func TestX8LocalForge(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	bare := newOrigin(t, filepath.Join(root, "acme", "bare.git"))
	commit := bare.push("main", map[string]string{"skills/x/SKILL.md": "bare"})
	plain := filepath.Join(root, "acme", "plain")
	write(t, filepath.Join(plain, "skills", "x", "SKILL.md"), "plain")
	ordinary := newOrigin(t, "").work
	write(t, filepath.Join(ordinary, "a"), "committed")
	shell(t, ordinary, "add", "--all")
	shell(t, ordinary, "commit", "--quiet", "-m", "x")
	write(t, filepath.Join(ordinary, "a"), "not committed")
	if err := os.Rename(ordinary, filepath.Join(root, "acme", "ordinary")); err != nil {
		t.Fatal(err)
	}
	for _, forge := range []string{root, root + "/", root + "/{owner}/{repo}", "file://" + root, "file://" + root + "/{owner}/{repo}.git"} {
		c := client(t, func(cfg *Config) { cfg.Forge, cfg.AllowFile = forge, false })
		url := func(name string) string { return c.URL(lineshaft.Repository{Owner: "acme", Name: name}) }
		if got := head(t, c, url("bare"), ""); got != commit {
			t.Errorf("%s: head is %s, want %s", forge, got, commit)
		}
		if got := tree(t, c, url("bare"), commit); got["skills/x/SKILL.md"] != "bare" {
			t.Errorf("%s: tree is %q", forge, got)
		}
		_, err := c.Head(t.Context(), url("missing"), "")
		wantFault(t, err, lineshaft.CodeNotFound, "acme/missing")
		if strings.Contains(err.Error(), root) {
			t.Errorf("%s: the error shows a path of the server: %v", forge, err)
		}
		_, err = c.Head(t.Context(), root+"/../"+filepath.Base(root)+"-other", "")
		wantFault(t, err, lineshaft.CodeInvalidRequest, "--allow-local-git")
		_, err = c.Head(t.Context(), "file://"+root+"/%2e%2e/%2e%2e/etc", "")
		wantFault(t, err, lineshaft.CodeInvalidRequest, "--allow-local-git")
		if strings.HasSuffix(forge, ".git") {
			continue
		}
		if got := tree(t, c, url("plain"), head(t, c, url("plain"), "")); got["skills/x/SKILL.md"] != "plain" {
			t.Errorf("%s: plain folder is %q", forge, got)
		}
		if got := tree(t, c, url("ordinary"), head(t, c, url("ordinary"), "")); got["a"] != "committed" {
			t.Errorf("%s: ordinary repository is %q", forge, got)
		}
	}
}

func TestX8ForgeTemplates(t *testing.T) {
	t.Parallel()
	repository := lineshaft.Repository{Owner: "group/sub", Name: "r"}
	for template, want := range map[string]string{
		"":                          "https://github.com/group/sub/r.git",
		"https://git.example":       "https://git.example/group/sub/r.git",
		"https://git.example/":      "https://git.example/group/sub/r.git",
		"git@git.example:{owner}/x": "git@git.example:group/sub/x/group/sub/r.git",
		"git@h:{owner}/{repo}.git":  "git@h:group/sub/r.git",
		"/srv/forge":                "/srv/forge/group/sub/r",
		"/srv/forge/{repo}":         "/srv/forge/r",
	} {
		c := client(t, func(cfg *Config) { cfg.Forge = template })
		if got := c.URL(repository); got != want {
			t.Errorf("%q gives %s, want %s", template, got, want)
		}
	}
	for _, template := range []string{"ftp://x/{owner}/{repo}", "ext::{repo}", "http://example.com", "https://user:hidden@example.com/{owner}/{repo}", "/", "/{owner}/{repo}", "forge", "-x"} {
		_, err := New(Config{Cache: t.TempDir(), Forge: template})
		if err == nil {
			t.Errorf("%q is taken", template)
		} else if strings.Contains(err.Error(), "hidden") {
			t.Errorf("the error shows a password: %v", err)
		}
	}
	if _, err := New(Config{}); err == nil {
		t.Error("a client without a cache")
	}
	if _, err := New(Config{Cache: t.TempDir(), Credentials: "a\nb"}); err == nil {
		t.Error("credentials of two lines are taken")
	}
}

func TestX8PlainFolder(t *testing.T) {
	t.Parallel()
	dir, c := t.TempDir(), client(t, func(cfg *Config) { cfg.MaxBytes, cfg.MaxFetch = 1<<10, 1<<20 })
	write(t, filepath.Join(dir, "a"), "1")
	write(t, filepath.Join(dir, "d", "b"), "2")
	outside := filepath.Join(t.TempDir(), "secret")
	write(t, outside, "hidden")
	for link, target := range map[string]string{"out": outside, "etc": "/etc", "in": "a"} {
		if err := os.Symlink(target, filepath.Join(dir, link)); err != nil {
			t.Fatal(err)
		}
	}
	state := head(t, c, dir, "main")
	if !strings.HasPrefix(state, "dir-") || head(t, c, dir, "") != state {
		t.Errorf("state is %q, and another when asked again", state)
	}
	if got, want := tree(t, c, dir, state), (map[string]string{"a": "1", "d/b": "2"}); !maps.Equal(got, want) {
		t.Errorf("tree is %q, want %q", got, want)
	}
	clone := filepath.Join(t.TempDir(), "w")
	if got, err := c.Clone(t.Context(), dir, clone, ""); err != nil || got != state || read(t, filepath.Join(clone, "d", "b")) != "2" {
		t.Errorf("clone: %s, %v", got, err)
	}
	if _, err := os.Lstat(filepath.Join(clone, "out")); err == nil {
		t.Error("the clone has a link")
	}
	write(t, filepath.Join(dir, "a"), "2")
	if head(t, c, dir, "") == state {
		t.Error("another text has the same state")
	}
	_, err := c.Tree(t.Context(), dir, state, all)
	wantFault(t, err, lineshaft.CodeUnavailable, "was changed")
	write(t, filepath.Join(dir, "big"), strings.Repeat("x", 2<<10))
	_, err = c.Tree(t.Context(), dir, head(t, c, dir, ""), all)
	wantFault(t, err, lineshaft.CodePayloadTooLarge, "smaller folder")
	write(t, filepath.Join(dir, "big"), strings.Repeat("x", 2<<20))
	_, err = c.Head(t.Context(), dir, "")
	wantFault(t, err, lineshaft.CodePayloadTooLarge, "more than 1 MiB")
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Head(ended, dir, ""); err == nil {
		t.Error("a folder is read although nobody waits")
	}
}

func TestF5CacheIsCleanedUp(t *testing.T) {
	t.Parallel()
	c := client(t)
	for range 3 {
		o := newOrigin(t, "")
		tree(t, c, o.bare, o.push("main", map[string]string{"a": "1"}))
	}
	all := c.cachedRepositories("repositories")
	if len(all) != 3 || all[0].size == 0 || all[0].used.IsZero() {
		t.Fatalf("cached: %+v", all)
	}
	now := time.Now()
	c.removeOld(t.Context(), "repositories", c.cfg.MaxCache, "", now)
	if got := len(c.cachedRepositories("repositories")); got != 3 {
		t.Errorf("%d repositories after an early clean-up, want 3", got)
	}
	// One is in use, one has just been asked for, one is old.
	held, err := lockFile(t.Context(), all[0].dir+".lock", syscall.LOCK_EX, true)
	if err != nil {
		t.Fatal(err)
	}
	c.removeOld(t.Context(), "repositories", c.cfg.MaxCache, all[1].dir, now.Add(2*cacheAge))
	if left := c.cachedRepositories("repositories"); len(left) != 2 {
		t.Errorf("left %+v, want the one in use and the one kept", left)
	}
	unlockFile(held)
	c.cfg.MaxCache = 1
	c.removeOld(t.Context(), "repositories", c.cfg.MaxCache, "", now)
	if left := c.cachedRepositories("repositories"); len(left) != 0 {
		t.Errorf("left %+v of a full cache", left)
	}
}

func TestX4KeysOfKilledProcessesAreSwept(t *testing.T) {
	t.Parallel()
	c := client(t)
	old, fresh := c.path("keys", "key-old"), c.path("keys", "key-fresh")
	for _, dir := range []string{old, fresh} {
		write(t, filepath.Join(dir, "key"), "x")
	}
	if err := os.Chtimes(old, time.Time{}, time.Now().Add(-2*keyAge)); err != nil {
		t.Fatal(err)
	}
	if _, err := New(c.cfg); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(old); err == nil {
		t.Error("an old key is left")
	}
	if _, err := os.Stat(fresh); err != nil {
		t.Error("a key in use is gone")
	}
}
