package house_test

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"sync"
	"testing"
	"unicode/utf8"
)

const archModule = "github.com/lineshaft/lineshaft"

// archRoot is the module, seen from here.
const archRoot = "../.."

// archFile is one parsed Go file of the module.
type archFile struct {
	path      string // with slashes, from the root of the module
	dir       string // folder of path; "." is the root
	test      bool
	generated bool
	lines     int
	wide      int // lines that are wider than houseColumns
	ast       *ast.File
}

// archTree is the module as its files say it is. Nothing here asks the go
// command, whose answers a test cache could keep past a change.
type archTree struct {
	fset  *token.FileSet
	files []*archFile
}

// archModuleTree reads the module once for all tests.
var archModuleTree = sync.OnceValues(func() (*archTree, error) {
	sources, err := archRead(os.DirFS(archRoot))
	if err != nil {
		return nil, err
	}
	return archParse(sources)
})

// archRead gathers the Go files of a module, by path.
func archRead(root fs.FS) (map[string]string, error) {
	sources := map[string]string{}
	err := fs.WalkDir(root, ".", func(name string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return fmt.Errorf("walk %s: %w", name, err)
		case entry.IsDir() && archIgnored(root, name):
			return fs.SkipDir
		case entry.IsDir() || path.Ext(name) != ".go":
			return nil
		}
		text, err := fs.ReadFile(root, name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		sources[name] = string(text)
		return nil
	})
	return sources, err
}

// archIgnored reports whether a folder is not ours: hidden, fetched, test
// material, or another module.
func archIgnored(root fs.FS, dir string) bool {
	if dir == "." {
		return false
	}
	base := path.Base(dir)
	if strings.HasPrefix(base, ".") || strings.HasPrefix(base, "_") {
		return true
	}
	if slices.Contains([]string{"bin", "dist", "node_modules", "testdata", "vendor"}, base) {
		return true
	}
	_, err := fs.Stat(root, path.Join(dir, "go.mod"))
	return err == nil
}

// archParse parses sources, by path.
func archParse(sources map[string]string) (*archTree, error) {
	tree := &archTree{fset: token.NewFileSet()}
	for _, name := range slices.Sorted(maps.Keys(sources)) {
		text := sources[name]
		parsed, err := parser.ParseFile(tree.fset, name, text, parser.ParseComments|parser.SkipObjectResolution)
		if err != nil {
			return nil, fmt.Errorf("parse: %w", err)
		}
		tree.files = append(tree.files, &archFile{
			path:      name,
			dir:       path.Dir(name),
			test:      strings.HasSuffix(name, "_test.go"),
			generated: ast.IsGenerated(parsed),
			lines:     strings.Count(text, "\n"),
			wide:      archWide(text),
			ast:       parsed,
		})
	}
	return tree, nil
}

// archWide counts lines that are wider than houseColumns; a tab is four columns.
func archWide(text string) (wide int) {
	for line := range strings.Lines(text) {
		if utf8.RuneCountInString(strings.ReplaceAll(strings.TrimSuffix(line, "\n"), "\t", "    ")) > houseColumns {
			wide++
		}
	}
	return wide
}

// written yields the files that people wrote, all or those without tests.
func (tree *archTree) written(tests bool) []*archFile {
	return slices.DeleteFunc(slices.Clone(tree.files), func(f *archFile) bool {
		return f.generated || f.test && !tests
	})
}

// at says where something is, for a complaint.
func (tree *archTree) at(node ast.Node) string {
	pos := tree.fset.Position(node.Pos())
	return fmt.Sprintf("%s:%d", pos.Filename, pos.Line)
}

// span is how many lines a node takes.
func (tree *archTree) span(node ast.Node) int {
	return tree.fset.Position(node.End()).Line - tree.fset.Position(node.Pos()).Line + 1
}

// archCheck is one rule: it returns a complaint for each breach.
type archCheck func(*archTree) []string

// archHold applies a rule to the module.
func archHold(t *testing.T, check archCheck) {
	t.Helper()
	tree, err := archModuleTree()
	if err != nil {
		t.Fatal(err)
	}
	if len(tree.files) == 0 {
		t.Fatal("no Go file found: the rule would hold for anything")
	}
	for _, complaint := range check(tree) {
		t.Error(complaint)
	}
}

// archSample is a small module and what a rule must say about it.
type archSample struct {
	name  string
	files map[string]string
	want  []string // one fragment per complaint; none means the rule is kept
}

// archTry applies a rule to samples: a rule that cannot fail is worthless.
func archTry(t *testing.T, check archCheck, samples []archSample) {
	t.Helper()
	for _, sample := range samples {
		t.Run(sample.name, func(t *testing.T) {
			t.Parallel()
			tree, err := archParse(sample.files)
			if err != nil {
				t.Fatal(err)
			}
			got := check(tree)
			if len(got) != len(sample.want) {
				t.Fatalf("%d complaints, want %d: %q", len(got), len(sample.want), got)
			}
			for i, want := range sample.want {
				if !strings.Contains(got[i], want) {
					t.Errorf("complaint %q, want %q in it", got[i], want)
				}
			}
		})
	}
}
