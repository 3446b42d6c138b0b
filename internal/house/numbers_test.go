package house_test

import (
	"bytes"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// The house numbers.
const (
	houseSourceLines    = 600
	houseTestLines      = 800
	houseFuncLines      = 80
	houseFuncPercentile = 50 // lines at the 95th percentile
	houseMethods        = 7
)

func archFileLengths(tree *archTree) []string {
	var complaints []string
	for _, f := range tree.written(true) {
		limit := houseSourceLines
		if f.test {
			limit = houseTestLines
		}
		if f.lines > limit {
			complaints = append(complaints, fmt.Sprintf("%s has %d lines, more than %d: split it by noun", f.path, f.lines, limit))
		}
	}
	return complaints
}

// archFunctions lists every function with a body, tests included.
func archFunctions(tree *archTree) []*ast.FuncDecl {
	var found []*ast.FuncDecl
	for _, f := range tree.written(true) {
		for _, decl := range f.ast.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Body != nil {
				found = append(found, fn)
			}
		}
	}
	return found
}

func archFunctionLengths(tree *archTree) []string {
	var complaints []string
	for _, fn := range archFunctions(tree) {
		if n := tree.span(fn); n > houseFuncLines {
			complaints = append(complaints, fmt.Sprintf("%s: %s has %d lines, more than %d", tree.at(fn), fn.Name.Name, n, houseFuncLines))
		}
	}
	return complaints
}

func archFunctionPercentile(tree *archTree) []string {
	var lengths []int
	for _, fn := range archFunctions(tree) {
		lengths = append(lengths, tree.span(fn))
	}
	if n := archRank(lengths, 95); n > houseFuncPercentile {
		return []string{fmt.Sprintf("95 of 100 functions must have at most %d lines; the 95th has %d", houseFuncPercentile, n)}
	}
	return nil
}

// archRank is the nearest-rank percentile; 0 when there are no values.
func archRank(values []int, percent int) int {
	if len(values) == 0 {
		return 0
	}
	sorted := slices.Sorted(slices.Values(values))
	return sorted[(len(sorted)*percent+99)/100-1]
}

func archInterfaceWidths(tree *archTree) []string {
	local := map[string]*ast.InterfaceType{} // folder and name to declaration
	for _, f := range tree.written(true) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if spec, ok := n.(*ast.TypeSpec); ok {
				if wide, ok := spec.Type.(*ast.InterfaceType); ok {
					local[f.dir+" "+spec.Name.Name] = wide
				}
			}
			return true
		})
	}
	var complaints []string
	for _, f := range tree.written(true) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if wide, ok := n.(*ast.InterfaceType); ok {
				if methods := archMethods(local, f.dir, wide, 0); methods > houseMethods {
					complaints = append(complaints, fmt.Sprintf("%s: an interface of %d methods, more than %d", tree.at(wide), methods, houseMethods))
				}
			}
			return true
		})
	}
	return complaints
}

// archMethods counts methods; an embedded interface of the same package counts
// with all of its own, a stranger's as one.
func archMethods(local map[string]*ast.InterfaceType, dir string, wide *ast.InterfaceType, depth int) int {
	count := 0
	for _, field := range wide.Methods.List {
		switch kind := field.Type.(type) {
		case *ast.FuncType:
			count += len(field.Names)
		case *ast.SelectorExpr:
			count++
		case *ast.Ident:
			if inner := local[dir+" "+kind.Name]; inner != nil && depth < 8 {
				count += archMethods(local, dir, inner, depth+1)
			}
		}
	}
	return count
}

func archNoInit(tree *archTree) []string {
	var complaints []string
	for _, fn := range archFunctions(tree) {
		if fn.Recv == nil && fn.Name.Name == "init" {
			complaints = append(complaints, tree.at(fn)+": init runs behind everybody's back; call it from where it is needed")
		}
	}
	return complaints
}

// archTestSupport says whether only tests import a package: those called …test, and
// the model that tests talk to instead of a real one, which has a program of its own
// and so cannot be called that. The table of imports keeps source from importing it.
func archTestSupport(dir string) bool {
	return strings.HasSuffix(dir, "test") || dir == "internal/fakemodel" || strings.HasPrefix(dir, "internal/fakemodel/")
}

// archTestLines weighs tests in every language against the source. Packages that
// only tests import are tests; the benchmark is neither.
func archTestLines(tree *archTree, elsewhere int) []string {
	source, tests := 0, elsewhere
	for _, f := range tree.written(true) {
		switch {
		case f.test || strings.HasPrefix(f.dir+"/", "e2e/") || strings.HasPrefix(f.dir+"/", "tests/") || archTestSupport(f.dir):
			tests += f.lines
		case f.dir != "bench":
			source += f.lines
		}
	}
	if tests < source {
		return []string{fmt.Sprintf("%d lines of tests for %d lines of source; there must be at least as many", tests, source)}
	}
	return nil
}

// archForeignTests counts the lines of tests that are not Go: scripts that drive the
// binary, the browser, the published clients.
func archForeignTests(t *testing.T) (lines int) {
	t.Helper()
	for _, root := range []string{"e2e", "tests"} {
		err := filepath.WalkDir(filepath.Join(archRoot, root), func(path string, entry fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			if entry.IsDir() && (entry.Name() == "node_modules" || strings.HasPrefix(entry.Name(), ".")) {
				return filepath.SkipDir
			}
			if !slices.Contains([]string{".py", ".mjs", ".js", ".ts", ".txtar"}, filepath.Ext(path)) {
				return nil
			}
			text, err := os.ReadFile(path)
			lines += bytes.Count(text, []byte("\n"))
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return lines
}
