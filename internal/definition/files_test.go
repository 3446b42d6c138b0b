package definition

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"io/fs"
	"maps"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/lineshaft/lineshaft"
)

func TestF2ReadFS(t *testing.T) {
	t.Parallel()
	files, err := ReadFS(fstest.MapFS{
		"factory.yaml":          {Data: []byte("a")},
		"agents/b/agent.md":     {Data: []byte("c")},
		".git/config":           {Data: []byte("d")},
		"sub/.git":              {Data: []byte("of a worktree")},
		".gitignore":            {Data: []byte("e")},
		"skills/s/logo.png":     {Data: []byte("\x89PNG\x00")},
		"webhooks/w.yaml":       {Data: []byte("\xff")},
		"benchmarks/set/1.json": {Data: []byte("{}")},
	})
	want := Files{"factory.yaml": "a", "agents/b/agent.md": "c", ".gitignore": "e", "webhooks/w.yaml": "\xff", "benchmarks/set/1.json": "{}"}
	if err != nil || !maps.Equal(files, want) {
		t.Errorf("read %v (%v)", files, err)
	}
	many := fstest.MapFS{}
	for i := range MaxFiles + 1 {
		many["benchmarks/"+strings.Repeat("x", i%200+1)+string(rune('a'+i/200))] = &fstest.MapFile{}
	}
	large := fstest.MapFS{}
	for i := range 17 {
		large["benchmarks/"+string(rune('a'+i))] = &fstest.MapFile{Data: make([]byte, MaxFileBytes)}
	}
	for name, c := range map[string]struct {
		folder fs.FS
		code   lineshaft.Code
		text   string
	}{
		"link":       {fstest.MapFS{"agents/a": {Mode: fs.ModeSymlink}}, lineshaft.CodeInvalidRequest, "agents/a is a link"},
		"large file": {fstest.MapFS{"a": {Data: make([]byte, MaxFileBytes+1)}}, lineshaft.CodePayloadTooLarge, "a has more than 1310720 bytes"},
		"many":       {many, lineshaft.CodePayloadTooLarge, "more than 2000 files"},
		"large":      {large, lineshaft.CodePayloadTooLarge, "more than 16777216 bytes in total"},
	} {
		if _, err := ReadFS(c.folder); err == nil || lineshaft.CodeOf(err) != c.code || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := ReadFS(broken{}); err == nil {
		t.Error("a folder that cannot be read is taken for an empty one")
	}
}

// broken is a folder that cannot be read.
type broken struct{}

func (broken) Open(string) (fs.File, error) { return nil, fs.ErrPermission }

// packed makes a tar.gz.
func packed(t *testing.T, headers ...tar.Header) *bytes.Buffer {
	t.Helper()
	var out bytes.Buffer
	zipped := gzip.NewWriter(&out)
	archive := tar.NewWriter(zipped)
	for _, h := range headers {
		body := strings.Repeat("x", int(h.Size))
		if err := archive.WriteHeader(&h); err != nil {
			t.Fatal(err)
		}
		if _, err := archive.Write([]byte(body)); err != nil {
			t.Fatal(err)
		}
	}
	if err := archive.Close(); err != nil {
		t.Fatal(err)
	}
	if err := zipped.Close(); err != nil {
		t.Fatal(err)
	}
	return &out
}

func regular(name string) tar.Header {
	return tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1, Mode: 0o644}
}

func TestF4ReadTar(t *testing.T) {
	t.Parallel()
	dir := tar.Header{Typeflag: tar.TypeDir, Name: "./agents/"}
	for name, headers := range map[string][]tar.Header{
		"plain":     {regular("factory.yaml"), regular("agents/a/agent.md")},
		"with dots": {dir, regular("./factory.yaml"), regular("./agents/a/agent.md"), regular("./.git/config")},
		"in folder": {regular("acme/factory.yaml"), regular("acme/agents/a/agent.md")},
	} {
		files, err := ReadTar(packed(t, headers...))
		if want := (Files{"factory.yaml": "x", "agents/a/agent.md": "x"}); err != nil || !maps.Equal(files, want) {
			t.Errorf("%s: read %v (%v)", name, files, err)
		}
	}
	// A link that nothing is read from is let be.
	if files, err := ReadTar(packed(t, regular("factory.yaml"), tar.Header{Typeflag: tar.TypeSymlink, Name: "docs", Linkname: "/etc"})); err != nil || len(files) != 1 {
		t.Errorf("read %v (%v)", files, err)
	}
	// Two folders are not one.
	files, err := ReadTar(packed(t, regular("a/factory.yaml"), regular("b/x")))
	if err != nil || len(files) != 2 || files["a/factory.yaml"] == "" {
		t.Errorf("read %v (%v)", files, err)
	}
	huge := regular("benchmarks/a")
	huge.Size = MaxFileBytes + 1
	for text, archive := range map[string]*bytes.Buffer{
		"may lead out of the folder": packed(t, regular("../x")),
		"which may lead out":         packed(t, regular("/etc/passwd")),
		"may lead out of":            packed(t, regular(`a\b`)),
		"is a link":                  packed(t, tar.Header{Typeflag: tar.TypeSymlink, Name: "shop/agents/a/agent.md", Linkname: "/etc/passwd"}),
		"twice":                      packed(t, regular("a"), regular("./a")),
		"has more than":              packed(t, huge),
		"is not a tar.gz":            bytes.NewBufferString("no archive"),
		"broken or too large":        bytes.NewBuffer(packed(t, regular("a"), regular("b")).Bytes()[:40]),
	} {
		if _, err := ReadTar(archive); err == nil || !strings.Contains(err.Error(), text) {
			t.Errorf("%s: %v", text, err)
		}
	}
}

// A small archive that unpacks to something huge is not unpacked to the end.
func TestF4ReadTarBomb(t *testing.T) {
	t.Parallel()
	var headers []tar.Header
	for i := range 70 {
		h := regular("benchmarks/" + strings.Repeat("x", i+1))
		h.Size = MaxFileBytes
		headers = append(headers, h)
	}
	archive := packed(t, headers...)
	if _, err := ReadTar(archive); lineshaft.CodeOf(err) != lineshaft.CodePayloadTooLarge {
		t.Errorf("%v", err)
	}
}
