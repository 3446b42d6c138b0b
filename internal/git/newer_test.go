package git

import (
	"os"
	"path/filepath"
	"testing"
)

// callers with the earlier commits get the newer objects alone, and all branches; not
// when the host has taken something back, nor without a mirror.
func TestX14CloneNewer(t *testing.T) {
	t.Parallel()
	m := newMirrored(t, "")
	first := m.o.push("main", map[string]string{"a": "1", "b": "one"})
	m.o.push("side", map[string]string{"c": "side"})
	have, _ := m.clone(t, "")
	_, _, tips, err := m.Find(t.Context(), m.url, "")
	if err != nil || len(tips) != 2 {
		t.Fatalf("tips %q, %v", tips, err)
	}
	newest := m.o.push("main", map[string]string{"a": "2"})
	dir := filepath.Join(t.TempDir(), "w")
	if got, err := m.CloneNewer(t.Context(), m.url, dir, "", tips); err != nil || got != newest {
		t.Fatalf("cloned %s, %v", got, err)
	}
	packs, err := filepath.Glob(filepath.Join(dir, ".git/objects/pack/*"))
	if err != nil || len(packs) < 2 {
		t.Fatalf("packs %q, %v", packs, err)
	}
	if _, err := os.Stat(filepath.Join(dir, ".git/objects/info/alternates")); err == nil {
		t.Error("it borrows")
	}
	if err := m.run(t.Context(), call{args: []string{"--git-dir=" + filepath.Join(dir, ".git"), "cat-file", "-e", tips[0]}}); err == nil {
		t.Error("it has the old objects")
	}
	for _, pack := range packs { // as a worker does
		if err := os.Rename(pack, filepath.Join(have, ".git/objects/pack", filepath.Base(pack))); err != nil {
			t.Fatal(err)
		}
	}
	whole := call{args: []string{"--git-dir=" + filepath.Join(have, ".git"), "rev-list", "--objects", "--quiet", newest}}
	if err := m.run(t.Context(), whole); err != nil {
		t.Errorf("something is missing: %v", err)
	}
	gone := []string{"1234567890123456789012345678901234567890"}
	for name, since := range map[string][]string{"unknown": gone, "none": nil, "no commit": {"--all"}} {
		if _, err := m.CloneNewer(t.Context(), m.url, filepath.Join(t.TempDir(), "w"), "", since); err == nil {
			t.Errorf("%s: cloned", name)
		}
	}
	shell(t, m.o.work, "push", "--quiet", "--force", "origin", ":refs/heads/side", first+":refs/heads/main")
	if _, err := m.CloneNewer(t.Context(), m.url, filepath.Join(t.TempDir(), "w"), "", tips); err == nil {
		t.Error("cloned although a branch was taken back")
	}
}
