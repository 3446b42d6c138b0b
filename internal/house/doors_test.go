package house_test

import (
	"fmt"
	"go/ast"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What the rooms of control have for each other is exported, and control.Service embeds them.
// archDoors refuses those who call it from outside, or reach through to the store.
func archDoors(tree *archTree) []string {
	closed := append(archHelpers(tree), "Store", "Cfg", "Hub")
	var complaints []string
	for _, f := range tree.written(false) {
		if !slices.ContainsFunc([]string{"internal/api", "internal/web", "internal/ingress", "internal/mcpserver", "internal/jobs"}, archBelow(f.dir)) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok && slices.Contains(closed, selector.Sel.Name) {
				complaints = append(complaints, fmt.Sprintf("%s: %s is for the rooms of control; a use case is missing", tree.at(selector), selector.Sel.Name))
			}
			return true
		})
	}
	return complaints
}

// archHelpers reads the names that internal/control/needs_test.go lists.
func archHelpers(tree *archTree) []string {
	var names []string
	for _, f := range tree.files {
		if f.dir != "internal/control" || !f.test {
			continue
		}
		for _, decl := range f.ast.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || fn.Name.Name != "betweenRooms" {
				continue
			}
			ast.Inspect(fn, func(n ast.Node) bool {
				if literal, ok := n.(*ast.BasicLit); ok {
					if name, err := strconv.Unquote(literal.Value); err == nil {
						names = append(names, name)
					}
				}
				return true
			})
		}
	}
	return names
}

func TestArchDoors(t *testing.T) {
	t.Parallel()
	tree, err := archModuleTree()
	if err != nil || len(archHelpers(tree)) == 0 {
		t.Fatalf("no names are listed in internal/control/needs_test.go: %v", err)
	}
	archHold(t, archDoors)
}

func TestArchDoorsCanFail(t *testing.T) {
	t.Parallel()
	list := strings.Join([]string{"package control_test", "func betweenRooms() []string { return []string{\"DraftRun\"} }"}, "\n")
	archTry(t, archDoors, []archSample{
		{"a use case", map[string]string{"internal/control/needs_test.go": list, "internal/api/a.go": "package x\nvar a = s.StartRun()\n"}, nil},
		{"a helper", map[string]string{"internal/control/needs_test.go": list, "internal/api/a.go": "package x\nvar a = s.DraftRun()\n"}, []string{"DraftRun is for the rooms"}},
		{"the store", map[string]string{"internal/web/a.go": "package x\nvar a = s.Runs.Store\n"}, []string{"Store is for the rooms"}},
		{"a room", map[string]string{"internal/control/needs_test.go": list, "internal/control/trigger/a.go": "package x\nvar a = s.DraftRun()\n"}, nil},
	})
}
