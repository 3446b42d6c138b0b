package house_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/types"
	"maps"
	"path"
	"slices"
	"strconv"
	"testing"
)

// houseReach is how many functions of its own room, and in how many files, a use case can
// reach. The numbers may only fall.
var houseReach = map[string]struct{ functions, files int }{
	"internal/control/trigger.Accept": {70, 11},
	"internal/control/runs.StartRun":  {87, 12},
	"internal/control/runs.EndTurn":   {59, 11}, // ends share their transaction with starts and events
}

// TestHouseReach counts what one has to read to follow a use case through control.
func TestHouseReach(t *testing.T) {
	t.Parallel()
	tree, err := archModuleTree()
	if err != nil {
		t.Fatal(err)
	}
	const below = "internal/control"
	graph := readCalls(tree, below)
	for _, name := range slices.Sorted(maps.Keys(houseReach)) {
		functions, files := graph.reach(name, path.Dir(graph.file[name]))
		all, everywhere := graph.reach(name, below)
		most := houseReach[name]
		t.Logf("%s reaches %d functions in %d files of its room, %d in %d of %s", name, functions, files, all, everywhere, below)
		if functions == 0 || functions > most.functions || files > most.files {
			t.Errorf("%s reaches %d functions in %d files, more than %d in %d", name, functions, files, most.functions, most.files)
		}
	}
}

// callGraph has, for each function, those that its body names, and its file.
type callGraph struct {
	calls map[string][]string
	file  map[string]string
}

// reach counts the functions that a name leads to and that are in or below a folder, and
// their files.
func (g *callGraph) reach(name, folder string) (functions, files int) {
	seen, in := map[string]bool{}, map[string]bool{}
	var visit func(string)
	visit = func(name string) {
		if seen[name] || g.file[name] == "" {
			return
		}
		seen[name] = true
		if archBelow(path.Dir(g.file[name]))(folder) {
			functions, in[g.file[name]] = functions+1, true
		}
		for _, next := range g.calls[name] {
			visit(next)
		}
	}
	visit(name)
	return functions, len(in)
}

// readCalls type-checks the packages below a folder, each with those below it that it imports
// and without anything else: that is enough to know which of their functions are meant.
func readCalls(tree *archTree, below string) *callGraph {
	byDir := map[string][]*archFile{}
	for _, f := range tree.written(false) {
		if archBelow(f.dir)(below) {
			byDir[f.dir] = append(byDir[f.dir], f)
		}
	}
	graph := &callGraph{calls: map[string][]string{}, file: map[string]string{}}
	known := map[string]*types.Package{}
	var check func(dir string)
	check = func(dir string) {
		if known[archModule+"/"+dir] != nil {
			return
		}
		var files []*ast.File
		for _, f := range byDir[dir] {
			files = append(files, f.ast)
			for _, spec := range f.ast.Imports {
				if name, err := strconv.Unquote(spec.Path.Value); err == nil {
					if ours, ok := archOurs(name); ok && byDir[ours] != nil {
						check(ours)
					}
				}
			}
		}
		info := &types.Info{Defs: map[*ast.Ident]types.Object{}, Uses: map[*ast.Ident]types.Object{}}
		config := types.Config{Importer: onlyKnown(known), Error: func(error) {}}
		pkg, _ := config.Check(archModule+"/"+dir, tree.fset, files, info) // what is not known is not ours
		known[archModule+"/"+dir] = pkg
		for _, f := range byDir[dir] {
			graph.add(tree, f, info)
		}
	}
	for _, dir := range slices.Sorted(maps.Keys(byDir)) {
		check(dir)
	}
	return graph
}

// add reads the functions of a file.
func (g *callGraph) add(tree *archTree, f *archFile, info *types.Info) {
	for _, decl := range f.ast.Decls {
		fn, ok := decl.(*ast.FuncDecl)
		if !ok {
			continue
		}
		name := funcName(info.Defs[fn.Name])
		g.file[name] = tree.fset.Position(fn.Pos()).Filename
		ast.Inspect(fn, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				if called, ok := info.Uses[id].(*types.Func); ok {
					g.calls[name] = append(g.calls[name], funcName(called.Origin()))
				}
			}
			return true
		})
	}
}

// funcName is the folder, the type if that is not exported, and the name.
func funcName(o types.Object) string {
	fn, ok := o.(*types.Func)
	if !ok || fn.Pkg() == nil {
		return ""
	}
	dir, _ := archOurs(fn.Pkg().Path())
	if recv := fn.Signature().Recv(); recv != nil {
		kind := recv.Type()
		if pointer, ok := kind.(*types.Pointer); ok {
			kind = pointer.Elem()
		}
		if named, ok := kind.(*types.Named); ok && !roomType(dir, named.Obj().Name()) {
			return fmt.Sprintf("%s.%s.%s", dir, named.Obj().Name(), fn.Name())
		}
	}
	return dir + "." + fn.Name()
}

// roomType says that a type is the room itself, whose methods are known by their name alone.
func roomType(dir, name string) bool {
	return slices.Contains([]string{"Runs", "Triggers"}, name) && slices.Contains([]string{"runs", "trigger"}, path.Base(dir))
}

// onlyKnown imports packages that were checked before.
type onlyKnown map[string]*types.Package

func (k onlyKnown) Import(name string) (*types.Package, error) {
	if pkg := k[name]; pkg != nil {
		return pkg, nil
	}
	return nil, errors.New("not read")
}
