package git

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// mirrored is a client with mirrors, and a repository at a forge.
type mirrored struct {
	*Client
	o   *origin
	url string
}

func newMirrored(t *testing.T, token string, change ...func(*Config)) mirrored {
	t.Helper()
	root := t.TempDir()
	o := newOrigin(t, filepath.Join(root, "o", "r.git"))
	server := httpForge(t, root, token)
	c := client(t, append([]func(*Config){func(cfg *Config) { cfg.MaxMirrors = 1 << 30 }}, change...)...)
	return mirrored{c, o, server.URL + "/o/r.git"}
}

func (m mirrored) clone(t *testing.T, credentials string) (dir, commit string) {
	t.Helper()
	dir = filepath.Join(t.TempDir(), "w")
	commit, err := m.Clone(t.Context(), m.url, dir, credentials)
	if err != nil {
		t.Fatal(err)
	}
	return dir, commit
}

func (m mirrored) mirror(t *testing.T) string {
	t.Helper()
	all := m.cachedRepositories("mirrors")
	if len(all) != 1 {
		t.Fatalf("mirrors: %+v", all)
	}
	return all[0].dir
}

// contents are all files below a folder, except those that depend on the time.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	files := map[string]string{}
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		files[strings.TrimPrefix(path, dir)] = string(text)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return files
}

// a clone from a mirror equals that of the host, and has nothing of the mirror.
func TestX14CloneFromMirrorIsTheHosts(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, "")
	m.o.push("main", map[string]string{"a": "1", "dir/b": "2"})
	commit := m.o.push("main", map[string]string{"a": "3"})
	m.o.push("other", map[string]string{"c": "4"})
	shell(t, m.o.work, "tag", "v1")
	shell(t, m.o.work, "push", "--quiet", "origin", "v1")
	direct := m
	direct.Client = client(t)
	want, _ := direct.clone(t, "")
	for range 2 {
		got, at := m.clone(t, "")
		if at != commit {
			t.Errorf("cloned %s, want %s", at, commit)
		}
		for _, args := range []string{
			"for-each-ref", "status --porcelain --branch", "config --list --local", "rev-list --all",
			"symbolic-ref refs/remotes/origin/HEAD", "fsck",
		} {
			if have, wanted := shell(t, got, strings.Fields(args)...), shell(t, want, strings.Fields(args)...); have != wanted {
				t.Errorf("git %s says\n%s\nwant\n%s", args, have, wanted)
			}
		}
		for name, text := range contents(t, got) {
			if strings.Contains(text, m.cfg.Cache) {
				t.Errorf("%s names the folder of the mirror", name)
			}
		}
		if _, err := os.Stat(filepath.Join(got, ".git/objects/info/alternates")); err == nil {
			t.Error("the clone borrows objects")
		}
	}
}

// many that begin together fetch once, and those after them only what is new.
func TestX14OneFetchForMany(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, "")
	first := m.o.push("main", map[string]string{"a": "1"})
	var all sync.WaitGroup
	for range 6 {
		dir := filepath.Join(t.TempDir(), "w")
		all.Go(func() {
			if commit, err := m.Clone(t.Context(), m.url, dir, ""); err != nil || commit != first {
				t.Errorf("cloned %s, %v; want %s", commit, err, first)
			}
		})
	}
	all.Wait()
	packs := func() int {
		found, _ := filepath.Glob(filepath.Join(m.mirror(t), "objects/pack/*.pack"))
		return len(found)
	}
	if n := packs(); n != 1 {
		t.Errorf("%d fetches for six clones of one commit", n)
	}
	second := m.o.push("main", map[string]string{"a": "2"})
	for range 2 {
		if _, commit := m.clone(t, ""); commit != second {
			t.Errorf("cloned %s, want %s", commit, second)
		}
	}
	if n := packs(); n != 2 {
		t.Errorf("%d fetches, want 2", n)
	}
	for i := range maxPacks {
		m.o.push("main", map[string]string{"a": strings.Repeat("x", i+2)})
		if _, err := m.CloneBare(t.Context(), m.url, filepath.Join(t.TempDir(), "w"), ""); err != nil {
			t.Fatal(err)
		}
	}
	if n := packs(); n > maxPacks {
		t.Errorf("%d packs are never put together", n)
	}
}

// a run that may not read the repository gets nothing of its mirror, and no token is kept.
func TestX14MirrorAsksForEachCaller(t *testing.T) {
	t.Parallel()
	const token = "token-of-the-mirror-test"
	m := newMirrored(t, token)
	m.o.push("main", map[string]string{"a": "1"})
	m.clone(t, token)
	noSecret(t, m.cfg.Cache, token)
	for _, credentials := range []string{"", "another-token"} {
		dir := filepath.Join(t.TempDir(), "w")
		if _, err := m.Clone(t.Context(), m.url, dir, credentials); err == nil {
			t.Errorf("cloned with %q", credentials)
		}
		if _, err := os.Stat(dir); err == nil {
			t.Errorf("%q left files", credentials)
		}
		if _, _, _, err := m.Find(t.Context(), m.url, credentials); err == nil {
			t.Errorf("found with %q", credentials)
		}
	}
}

// what the host has taken back is not given from a mirror either.
func TestX14MirrorForgetsWhatTheHostForgot(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, "")
	m.o.push("main", map[string]string{"a": "1"})
	_, before, _, err := m.Find(t.Context(), m.url, "")
	if err != nil {
		t.Fatal(err)
	}
	leaked := m.o.push("side", map[string]string{"password": "hunter2"})
	_, with, _, _ := m.Find(t.Context(), m.url, "")
	m.clone(t, "")
	shell(t, m.o.work, "push", "--quiet", "origin", ":refs/heads/side")
	_, after, _, _ := m.Find(t.Context(), m.url, "")
	if before != after || before == with {
		t.Errorf("prints %s, %s, %s", before, with, after)
	}
	dir, _ := m.clone(t, "")
	if refs := shell(t, dir, "for-each-ref"); strings.Contains(refs, "side") {
		t.Errorf("refs are\n%s", refs)
	}
	if all := shell(t, dir, "cat-file", "--batch-all-objects", "--batch-check"); strings.Contains(all, leaked) {
		t.Error("the clone has the commit that was taken back")
	}
}

// a run can do to its clone what it likes.
func TestX14HostileRunLeavesTheMirror(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, "")
	m.o.push("main", map[string]string{"a": "1"})
	dir, commit := m.clone(t, "")
	before := contents(t, m.mirror(t))
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		if err := os.Chmod(path, 0o777); err != nil {
			return err
		}
		return os.WriteFile(path, []byte("broken"), 0o600)
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := os.RemoveAll(dir); err != nil {
		t.Fatal(err)
	}
	after := contents(t, m.mirror(t))
	for name := range before {
		if before[name] != after[name] {
			t.Errorf("%s has changed", name)
		}
	}
	if dir, again := m.clone(t, ""); again != commit || contents(t, dir)["/a"] != "1" {
		t.Errorf("then cloned %s", again)
	}
}

// a damaged mirror, or one that is too large, costs time and nothing else.
func TestX14DamagedMirrorIsMadeAnew(t *testing.T) {
	t.Parallel()
	for name, damage := range map[string]func(t *testing.T, mirror string){
		"empty pack": func(t *testing.T, mirror string) {
			packs, _ := filepath.Glob(filepath.Join(mirror, "objects/pack/*.pack"))
			for _, pack := range packs {
				if err := os.Chmod(pack, 0o600); err != nil {
					t.Fatal(err)
				}
				write(t, pack, "")
			}
		},
		"no packs":     func(t *testing.T, mirror string) { _ = os.RemoveAll(filepath.Join(mirror, "objects/pack")) },
		"left lock":    func(t *testing.T, mirror string) { write(t, filepath.Join(mirror, "refs/heads/main.lock"), "") },
		"no refs":      func(t *testing.T, mirror string) { _ = os.RemoveAll(filepath.Join(mirror, "refs")) },
		"not a mirror": func(t *testing.T, mirror string) { _ = os.RemoveAll(filepath.Join(mirror, "HEAD")) },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			m := newMirrored(t, "")
			m.o.push("main", map[string]string{"a": "1"})
			m.clone(t, "")
			damage(t, m.mirror(t))
			for i := range 3 {
				commit := m.o.push("main", map[string]string{"a": strings.Repeat("2", i+1)})
				dir, got := m.clone(t, "")
				if shell(t, dir, "fsck"); got != commit {
					t.Errorf("cloned %s, want %s", got, commit)
				}
			}
			if _, err := os.Stat(m.mirror(t) + ".bad"); err == nil {
				t.Error("the mirror was not made again")
			}
		})
	}
}

func TestX14MirrorsAreBounded(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, "", func(cfg *Config) { cfg.MaxMirrors = 1000 })
	m.o.push("main", map[string]string{"a": "1"})
	for range 2 {
		m.clone(t, "")
		if left := m.cachedRepositories("mirrors"); len(left) != 0 {
			t.Errorf("left %+v", left)
		}
	}
	off := newMirrored(t, "", func(cfg *Config) { cfg.MaxMirrors = 0 })
	off.o.push("main", map[string]string{"a": "1"})
	off.clone(t, "")
	if left := off.cachedRepositories("mirrors"); len(left) != 0 {
		t.Errorf("left %+v", left)
	}
	m.cfg.MaxClone = 100
	_, err := m.Clone(t.Context(), m.url, filepath.Join(t.TempDir(), "w"), "")
	wantFault(t, err, lineshaft.CodePayloadTooLarge, "more than")
}

// CloneBare gives the repository without its files.
func TestX14CloneBare(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, "")
	commit := m.o.push("main", map[string]string{"a": "1"})
	dir := filepath.Join(t.TempDir(), "w")
	if got, err := m.CloneBare(t.Context(), m.url, dir, ""); err != nil || got != commit {
		t.Fatalf("cloned %s, %v", got, err)
	}
	if entries, err := os.ReadDir(dir); err != nil || len(entries) != 1 || entries[0].Name() != ".git" {
		t.Errorf("there is %v, %v", entries, err)
	}
}
