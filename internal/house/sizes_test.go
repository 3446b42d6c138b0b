package house_test

import (
	"fmt"
	"go/ast"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
	"testing/fstest"
	"unicode/utf8"
)

// The numbers of rooms and types.
const (
	housePackageLines    = 6000
	houseExportedMethods = 60
	houseColumns         = 140
	houseTemplateColumns = 160
)

// housePackages are rooms that are larger, each with its own limit, which may only fall.
var housePackages = map[string]int{
	"internal/api":   9_270,  // one table of routes with its types, streams on connections of their own, and a line for a shell for each call
	"internal/store": 11_632, // with the volume of deliveries, runs by factory and error code, and transactions in few round trips; one SQL text and one type of transaction
	"bench":          7_834,  // beside the house: one program, one file for each figure, and what compares two results
}

// houseTypes are types with more exported methods, each with its own limit, which may only fall.
var houseTypes = map[string]int{
	"internal/store.Tx":     155, // everything that one transaction can do
	"internal/store.reader": 140, // with the volume of deliveries; what can be read within and outside of one
}

// houseWideLines is how many lines of source are wider than houseColumns. It may only fall.
const houseWideLines = 1727

func archPackageLengths(tree *archTree) []string {
	lines := map[string]int{}
	for _, f := range tree.written(false) {
		lines[f.dir] += f.lines
	}
	return archOver(lines, housePackages, housePackageLines, "lines of source: cut it where its own references are fewest")
}

func archExportedMethods(tree *archTree) []string {
	methods := map[string]int{}
	for _, f := range tree.written(false) {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.IsExported() {
				methods[f.dir+"."+archReceiver(fn)]++
			}
		}
	}
	return archOver(methods, houseTypes, houseExportedMethods, "exported methods: give what belongs together a type of its own")
}

// archReceiver names the type that a method belongs to.
func archReceiver(fn *ast.FuncDecl) string {
	receiver := fn.Recv.List[0].Type
	if star, ok := receiver.(*ast.StarExpr); ok {
		receiver = star.X
	}
	if generic, ok := receiver.(*ast.IndexExpr); ok {
		receiver = generic.X
	}
	if name, ok := receiver.(*ast.Ident); ok {
		return name.Name
	}
	return "?"
}

// archOver complains about what is larger than its own limit or, without one, than the
// usual one, and about limits that are not needed any more.
func archOver(sizes, own map[string]int, usual int, what string) []string {
	var complaints []string
	for _, name := range slices.Sorted(maps.Keys(sizes)) {
		limit, excepted := own[name]
		switch {
		case excepted && sizes[name] <= usual:
			complaints = append(complaints, fmt.Sprintf("%s has %d; its exception is not needed any more", name, sizes[name]))
		case sizes[name] > max(limit, usual):
			complaints = append(complaints, fmt.Sprintf("%s has %d, more than %d, %s", name, sizes[name], max(limit, usual), what))
		}
	}
	return complaints
}

func archLineWidths(tree *archTree) []string {
	wide := 0
	for _, f := range tree.written(false) {
		wide += f.wide
	}
	if wide > houseWideLines {
		return []string{fmt.Sprintf("%d lines are wider than %d columns, more than %d: break those that you wrote", wide, houseColumns, houseWideLines)}
	}
	return nil
}

// TestHouseTemplateWidths holds the templates of pages to lines that fit beside something
// else. Blanks between attributes, within actions and beside blocks of HTML can be breaks;
// {{- and -}} take away the others.
func TestHouseTemplateWidths(t *testing.T) {
	t.Parallel()
	wide, err := wideTemplateLines(os.DirFS("../.."))
	if err != nil || len(wide) > 0 {
		t.Errorf("wider than %d columns: %s (%v)", houseTemplateColumns, strings.Join(wide, ", "), err)
	}
}

// wideTemplateLines names the lines of templates that are too wide.
func wideTemplateLines(root fs.FS) (wide []string, err error) {
	err = fs.WalkDir(root, "internal", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".html" || path.Base(path.Dir(name)) != "templates" {
			return err
		}
		text, err := fs.ReadFile(root, name)
		for i, line := range strings.Split(string(text), "\n") {
			if utf8.RuneCountInString(line) > houseTemplateColumns {
				wide = append(wide, fmt.Sprintf("%s:%d", name, i+1))
			}
		}
		return err
	})
	return wide, err
}

func TestHouseWideTemplatesAreFound(t *testing.T) {
	t.Parallel()
	text := func(n int) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("a\n" + strings.Repeat("é", n) + "\n")}
	}
	wide, err := wideTemplateLines(fstest.MapFS{
		"internal/a/templates/a.html": text(160), "internal/a/templates/b.html": text(161), "internal/a/c.html": text(200),
		"internal/a/templates/d.go": text(200), "docs/templates/e.html": text(200),
	})
	if got := strings.Join(wide, " "); err != nil || got != "internal/a/templates/b.html:2" {
		t.Errorf("found %s, %v", got, err)
	}
}

// archUnusedGrants complains about imports that a row of the table allows and nobody needs.
func archUnusedGrants(tree *archTree) []string {
	there, used := map[string]bool{}, map[string]map[string]bool{}
	for _, f := range tree.written(false) {
		room := archRoom(f.dir)
		there[room] = true
		if used[room] == nil {
			used[room] = map[string]bool{}
		}
		for _, spec := range f.ast.Imports {
			name, _ := strconv.Unquote(spec.Path.Value)
			if ours, ok := archOurs(name); ok {
				used[room][archRoom(ours)] = true
			}
		}
	}
	var complaints []string
	for _, room := range slices.Sorted(maps.Keys(there)) {
		for _, grant := range archTable[room] {
			if _, exact := archTable[grant]; exact && grant != room && !slices.Contains(archOutside, room) && !used[room][grant] {
				complaints = append(complaints, fmt.Sprintf("%s may import %s and does not: take it out of its row", room, grant))
			}
		}
	}
	return complaints
}

// archOutside are the rooms that may import anything.
var archOutside = []string{"bench", "e2e", "tests", "internal/app"}

func TestHouseSizesCanFail(t *testing.T) {
	t.Parallel()
	t.Run("packages", func(t *testing.T) {
		t.Parallel()
		archTry(t, archPackageLengths, []archSample{
			{"at the limit", map[string]string{"x/a.go": archBlank(3000), "x/b.go": archBlank(3000), "x/b_test.go": archBlank(700)}, nil},
			{"too long", map[string]string{"x/a.go": archBlank(3000), "x/b.go": archBlank(3001)}, []string{"x has 6001"}},
			{"an old exception", map[string]string{"internal/store/a.go": archBlank(10)}, []string{"internal/store has 10; its exception"}},
		})
	})
	t.Run("methods", func(t *testing.T) {
		t.Parallel()
		methods := func(n int) (text string) {
			text = "package x\n"
			for i := range n {
				text += fmt.Sprintf("func (t *T) M%d() {}\nfunc (t *T) m%d() {}\n", i, i)
			}
			return text
		}
		archTry(t, archExportedMethods, []archSample{
			{"at the limit", map[string]string{"x/a.go": methods(60)}, nil},
			{"too many", map[string]string{"x/a.go": methods(60), "x/b.go": "package x\nfunc (t T[int]) More() {}\n"}, []string{"x.T has 61"}},
		})
	})
	t.Run("columns", func(t *testing.T) {
		t.Parallel()
		line := func(columns int) string { return fmt.Sprintf("// %*s\n", columns-3, "x") }
		text := "package x\n"
		for range houseWideLines {
			text += line(houseColumns + 1)
		}
		archTry(t, archLineWidths, []archSample{
			{"at the limit", map[string]string{"a.go": text + line(houseColumns)}, nil},
			{"one more", map[string]string{"a.go": text + line(houseColumns+1)}, []string{"are wider than 140"}},
		})
	})
	t.Run("grants", func(t *testing.T) {
		t.Parallel()
		archTry(t, archUnusedGrants, []archSample{
			{"used", map[string]string{"internal/vault/a.go": "package vault\nimport _ \"" + archModule + "\"\n"}, nil},
			{"not used", map[string]string{"internal/vault/a.go": "package vault\n"}, []string{"internal/vault may import ."}},
		})
	})
}
