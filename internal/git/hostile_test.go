package git

import (
	"crypto/rand"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestS7AddressesThatAreRefused(t *testing.T) {
	t.Parallel()
	open := client(t)
	for name, url := range map[string]string{
		"empty":           "",
		"option":          "--upload-pack=touch /tmp/x",
		"short option":    "-u",
		"helper":          "ext::sh -c touch% /tmp/x",
		"helper no space": "ext::sh",
		"fd helper":       "fd::17",
		"own helper":      "persistent-https::https://example.com/x",
		"git protocol":    "git://example.com/o/r.git",
		"ftp":             "ftp://example.com/o/r.git",
		"plain http":      "http://example.com/o/r.git",
		"password":        "https://me:secret@example.com/o/r.git",
		"user":            "https://token@example.com/o/r.git",
		"ssh password":    "ssh://git:secret@example.com/o/r.git",
		"ssh option host": "ssh://-oProxyCommand=touch/x",
		"ssh option user": "ssh://-oProxyCommand=x@example.com/r",
		"ssh option path": "ssh://git@example.com/-x",
		"scp option host": "git@-oProxyCommand=x:r",
		"scp option user": "-x@example.com:r",
		"scp option path": "git@example.com:-x",
		"scp space":       "git@example.com:a b",
		"newline":         "https://example.com/o\n/r.git",
		"nul":             "https://example.com/o\x00/r.git",
		"encoded nul":     "file:///tmp/x%00y",
		"backslash":       `https://example.com\@evil/o/r`,
		"query":           "https://example.com/o/r?x=1",
		"fragment":        "https://example.com/o/r#main",
		"no host":         "https:///o/r.git",
		"no path":         "https://example.com/",
		"two slashes":     "file://host/o/r",
		"relative":        "../other",
		"word":            "repository",
		"long":            "https://example.com/" + strings.Repeat("x", maxAddress),
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := open.Head(t.Context(), url, "main")
			wantFault(t, err, lineshaft.CodeInvalidRequest, "url")
			if err != nil && strings.Contains(err.Error(), "secret@") {
				t.Errorf("the error shows a password: %v", err)
			}
			if err := open.Check(url); err == nil {
				t.Error("Check lets it pass")
			}
			_, err = open.Tree(t.Context(), url, strings.Repeat("a", 40), all)
			wantFault(t, err, lineshaft.CodeInvalidRequest, "url")
			_, err = open.Clone(t.Context(), url, filepath.Join(t.TempDir(), "w"), "")
			wantFault(t, err, lineshaft.CodeInvalidRequest, "url")
		})
	}
}

func TestS7AddressesThatAreTaken(t *testing.T) {
	t.Parallel()
	c := client(t, func(cfg *Config) { cfg.AllowFile = false })
	for _, url := range []string{
		"https://example.com/o/r.git", "https://example.com:8443/group/sub/r", "ssh://git@example.com:2222/o/r.git",
		"git@example.com:o/r.git", "example.com:o/r.git", "git@[2001:db8::1]:o/r", "http://127.0.0.1:3000/o/r", "http://localhost/o/r", "http://[::1]/o/r",
	} {
		if err := c.Check(url); err != nil {
			t.Errorf("%s: %v", url, err)
		}
	}
}

func TestS7LocalOnlyByFlag(t *testing.T) {
	t.Parallel()
	o := newOrigin(t, "")
	o.push("main", map[string]string{"a": "1"})
	shut := client(t, func(cfg *Config) { cfg.AllowFile = false })
	for _, url := range []string{o.bare, "file://" + o.bare, "file://localhost" + o.bare} {
		_, err := shut.Head(t.Context(), url, "main")
		wantFault(t, err, lineshaft.CodeInvalidRequest, "--allow-local-git")
	}
}

func TestS7BranchesAndCommitsThatAreRefused(t *testing.T) {
	t.Parallel()
	o, c := newOrigin(t, ""), client(t)
	o.push("main", map[string]string{"a": "1"})
	for _, branch := range []string{
		"--upload-pack=x", "-u", "a..b", "ma*n", "ma?n", "[m]ain", "a b", "a:b", "a~1", "a^", "@{u}", "@", "a\\b", "/a", "a/", "a//b", ".a", "a/.b",
		"a.lock", "a.lock/b", "a.", "a\nb", "a\x00b", strings.Repeat("x", 300),
	} {
		_, err := c.Head(t.Context(), o.bare, branch)
		wantFault(t, err, lineshaft.CodeInvalidRequest, "branch")
	}
	for _, commit := range []string{"", "main", "--all", "HEAD", strings.Repeat("A", 40), strings.Repeat("a", 39), "dir-abc", strings.Repeat("a", 40) + "\n"} {
		_, err := c.Tree(t.Context(), o.bare, commit, all)
		wantFault(t, err, lineshaft.CodeInvalidRequest, "commit")
	}
}

// Trees may hold what no folder should: links, submodules, names that lead away.
func TestS7HostileTrees(t *testing.T) {
	t.Parallel()
	t.Run("links and submodules are left out", func(t *testing.T) {
		t.Parallel()
		o, c := newOrigin(t, ""), client(t)
		for link, target := range map[string]string{"passwd": "/etc/passwd", "up": "../../..", "inside": "real"} {
			if err := os.MkdirAll(o.work, 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(target, filepath.Join(o.work, link)); err != nil {
				t.Fatal(err)
			}
		}
		write(t, filepath.Join(o.work, "real"), "text")
		write(t, filepath.Join(o.work, ".gitmodules"), "[submodule \"s\"]\n\tpath = s\n\turl = https://example.com/s\n")
		shell(t, o.work, "add", "--all")
		shell(t, o.work, "update-index", "--add", "--cacheinfo", "160000,"+strings.Repeat("1", 40)+",s")
		files := tree(t, c, o.bare, o.pushIndex("main"))
		if len(files) != 2 || files["real"] != "text" || files[".gitmodules"] == "" {
			t.Errorf("tree is %q, want real and .gitmodules", files)
		}
	})
	for _, name := range []string{"..", ".git", "."} {
		t.Run("name "+name, func(t *testing.T) {
			t.Parallel()
			o, c := newOrigin(t, ""), client(t)
			id := shell(t, o.work, "hash-object", "-w", "--stdin")
			raw, err := hex.DecodeString(id)
			if err != nil {
				t.Fatal(err)
			}
			object := filepath.Join(t.TempDir(), "tree")
			write(t, object, "100644 "+name+"\x00"+string(raw))
			bad := shell(t, o.work, "hash-object", "-w", "-t", "tree", "--literally", object)
			commit := shell(t, o.work, "commit-tree", "-m", "bad", bad)
			shell(t, o.work, "push", "--quiet", "origin", commit+":refs/heads/main")
			_, err = c.Tree(t.Context(), o.bare, commit, all)
			wantFault(t, err, lineshaft.CodeInvalidRequest, "git fsck")
		})
	}
}

func TestS7PathsThatLeadAway(t *testing.T) {
	t.Parallel()
	for _, path := range []string{"..", "a/../b", "/etc/passwd", ".git/config", "a/.GIT/x", `a\b`, "", ".", "a//b", "a\x00"} {
		if plainPath(path) {
			t.Errorf("%q is taken", path)
		}
	}
	for _, path := range []string{"a", "a/b.md", ".gitignore", "..a", "a b", "ü"} {
		if !plainPath(path) {
			t.Errorf("%q is refused", path)
		}
	}
}

func TestS7HugeRepository(t *testing.T) {
	t.Parallel()
	noise := make([]byte, 3<<20)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	o := newOrigin(t, "")
	c := client(t, func(cfg *Config) { cfg.MaxFetch, cfg.MaxClone = 1<<20, 1<<20 })
	commit := o.push("main", map[string]string{"noise": string(noise)})
	_, err := c.Tree(t.Context(), o.bare, commit, all)
	wantFault(t, err, lineshaft.CodePayloadTooLarge, "more than 1 MiB")
	if left, _ := filepath.Glob(c.path("repositories", "*.git")); len(left) != 0 {
		t.Errorf("the cache keeps %v", left)
	}
	_, err = c.Clone(t.Context(), o.bare, filepath.Join(t.TempDir(), "w"), "")
	wantFault(t, err, lineshaft.CodePayloadTooLarge, "more than 1 MiB")
}

// Hooks and settings of a local repository, of the user or of the machine do not count.
func TestS7NothingOfARepositoryIsRun(t *testing.T) {
	t.Parallel()
	o, c := newOrigin(t, ""), client(t)
	commit := o.push("main", map[string]string{"a": "1", ".gitattributes": "* filter=evil\n"})
	trap := filepath.Join(t.TempDir(), "trap")
	for _, hook := range []string{"post-checkout", "post-merge", "reference-transaction", "pre-auto-gc", "post-index-change"} {
		path := filepath.Join(o.bare, "hooks", hook)
		write(t, path, "#!/bin/sh\ntouch "+trap+"\n")
		if err := os.Chmod(path, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	for _, key := range []string{"uploadpack.packObjectsHook", "core.fsmonitor", "core.sshCommand", "filter.evil.smudge", "core.alternateRefsCommand"} {
		shell(t, o.bare, "config", key, "touch "+trap+"; false")
	}
	tree(t, c, o.bare, head(t, c, o.bare, ""))
	dir := filepath.Join(t.TempDir(), "w")
	if got, err := c.Clone(t.Context(), o.bare, dir, ""); err != nil || got != commit {
		t.Errorf("clone: %s, %v", got, err)
	}
	if _, err := os.Stat(trap); err == nil {
		t.Error("something of the repository was run")
	}
}
