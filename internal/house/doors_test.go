package house_test

import (
	"fmt"
	"go/ast"
	"path"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// What the rooms of control have for each other is exported, and control.Service embeds them.
// archDoors refuses those who call it from outside, or reach through to the store.
func archDoors(tree *archTree) []string {
	closed := append(archHelpers(tree), "Store", "Cfg", "Hub", "Base")
	var complaints []string
	for _, f := range tree.written(false) {
		if !slices.ContainsFunc([]string{"internal/api", "internal/web", "internal/ingress", "internal/mcpserver", "internal/jobs"}, archBelow(f.dir)) {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			if selector, ok := n.(*ast.SelectorExpr); ok && slices.Contains(closed, selector.Sel.Name) && !ofPackage(f, selector.X) {
				complaints = append(complaints, fmt.Sprintf("%s: %s is for the rooms of control; a use case is missing", tree.at(selector), selector.Sel.Name))
			}
			return true
		})
	}
	return complaints
}

// ofPackage says that an expression is an imported package, such as path in path.Base.
func ofPackage(f *archFile, x ast.Expr) bool {
	id, ok := x.(*ast.Ident)
	return ok && slices.ContainsFunc(f.ast.Imports, func(spec *ast.ImportSpec) bool {
		name, err := strconv.Unquote(spec.Path.Value)
		return err == nil && path.Base(name) == id.Name
	})
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

// archSequences refuses errors.Join around the steps of a transaction: the second would run
// although the first failed, and one error would have two meanings.
func archSequences(tree *archTree) []string {
	var complaints []string
	for _, f := range tree.written(false) {
		if !archBelow(f.dir)("internal/control") {
			continue
		}
		ast.Inspect(f.ast, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || !isJoin(call) {
				return true
			}
			for _, step := range call.Args {
				if usesTx(step) {
					complaints = append(complaints, fmt.Sprintf("%s: errors.Join is for independent failures; end a transaction at the first", tree.at(call)))
					break
				}
			}
			return true
		})
	}
	return complaints
}

func isJoin(call *ast.CallExpr) bool {
	selector, ok := call.Fun.(*ast.SelectorExpr)
	if !ok || selector.Sel.Name != "Join" {
		return false
	}
	of, ok := selector.X.(*ast.Ident)
	return ok && of.Name == "errors"
}

// usesTx says whether an argument is a call that names a transaction.
func usesTx(step ast.Expr) bool {
	call, ok := step.(*ast.CallExpr)
	if !ok {
		return false
	}
	found := false
	for _, part := range append([]ast.Expr{call.Fun}, call.Args...) {
		if _, inner := part.(*ast.FuncLit); inner {
			continue // a transaction of its own
		}
		ast.Inspect(part, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			found = found || ok && id.Name == "tx"
			return true
		})
	}
	return found
}

func TestHouseTransactionsEndAtTheFirstError(t *testing.T) {
	t.Parallel()
	archHold(t, archSequences)
}

func TestHouseTransactionsEndAtTheFirstErrorCanFail(t *testing.T) {
	t.Parallel()
	archTry(t, archSequences, []archSample{
		{"two steps", map[string]string{"internal/control/a.go": "package x\nvar a = errors.Join(tx.Put(), audit(tx))\n"}, []string{"errors.Join is for independent failures"}},
		{"two failures", map[string]string{"internal/control/a.go": "package x\nvar a = errors.Join(err, ctx.Err())\n"}, nil},
		{"two transactions", map[string]string{"internal/control/a.go": "package x\nvar a = errors.Join(err, batches(func(tx int) error { return nil }))\n"}, nil},
	})
}
