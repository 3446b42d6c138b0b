package house_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strings"
)

// archPackageComments wants one package comment per package, in the form that
// go doc shows. A folder of tests alone is a package too.
func archPackageComments(tree *archTree) []string {
	folders := map[string][]*archFile{}
	for _, f := range tree.written(true) {
		folders[f.dir] = append(folders[f.dir], f)
	}
	var complaints []string
	for _, dir := range slices.Sorted(maps.Keys(folders)) {
		files := folders[dir]
		if slices.ContainsFunc(files, func(f *archFile) bool { return !f.test }) {
			files = slices.DeleteFunc(files, func(f *archFile) bool { return f.test })
		}
		var with []*archFile
		for _, f := range files {
			if f.ast.Doc.Text() != "" {
				with = append(with, f)
			}
		}
		switch {
		case len(with) == 0:
			complaints = append(complaints, dir+": no package comment; say what it is for and what it is not for")
		case len(with) > 1:
			complaints = append(complaints, fmt.Sprintf("%s: package comments in %s and %s; keep one", dir, with[0].path, with[1].path))
		case !archCommentForm(with[0]):
			complaints = append(complaints, with[0].path+`: the package comment must begin "Package <name>", or "Command" for a program`)
		}
	}
	return complaints
}

func archCommentForm(f *archFile) bool {
	name := strings.TrimSuffix(f.ast.Name.Name, "_test")
	text := f.ast.Doc.Text()
	if name == "main" {
		return strings.HasPrefix(text, "Command ")
	}
	return strings.HasPrefix(text, "Package "+name+" ") || strings.HasPrefix(text, "Package "+name+"_test ")
}

// archExportedDocumented wants a comment on every exported name of a package
// that can be imported.
func archExportedDocumented(tree *archTree) []string {
	var complaints []string
	for _, f := range tree.written(false) {
		if f.ast.Name.Name == "main" {
			continue
		}
		for _, decl := range f.ast.Decls {
			for _, name := range archUndocumented(decl) {
				complaints = append(complaints, fmt.Sprintf("%s: %s has no comment", tree.at(name), name.Name))
			}
		}
	}
	return complaints
}

// archUndocumented lists the exported names of a declaration without comment.
func archUndocumented(decl ast.Decl) []*ast.Ident {
	switch decl := decl.(type) {
	case *ast.FuncDecl:
		if decl.Name.IsExported() && decl.Doc.Text() == "" && archReceiverExported(decl) {
			return []*ast.Ident{decl.Name}
		}
	case *ast.GenDecl:
		var found []*ast.Ident
		for _, spec := range decl.Specs {
			found = append(found, archUndocumentedSpec(decl, spec)...)
		}
		return found
	}
	return nil
}

func archUndocumentedSpec(decl *ast.GenDecl, spec ast.Spec) []*ast.Ident {
	switch spec := spec.(type) {
	case *ast.TypeSpec:
		single := !decl.Lparen.IsValid() && decl.Doc.Text() != ""
		if spec.Name.IsExported() && spec.Doc.Text() == "" && !single {
			return []*ast.Ident{spec.Name}
		}
	case *ast.ValueSpec:
		if spec.Doc.Text() != "" || spec.Comment.Text() != "" || decl.Doc.Text() != "" {
			return nil // one comment over a list of constants is enough
		}
		return slices.DeleteFunc(slices.Clone(spec.Names), func(name *ast.Ident) bool { return !name.IsExported() })
	}
	return nil
}

// archReceiverExported reports whether a function can be reached by its name:
// it is no method, or one of an exported type.
func archReceiverExported(fn *ast.FuncDecl) bool {
	if fn.Recv == nil || len(fn.Recv.List) == 0 {
		return true
	}
	kind := fn.Recv.List[0].Type
	for {
		switch t := kind.(type) {
		case *ast.StarExpr:
			kind = t.X
		case *ast.IndexExpr:
			kind = t.X
		case *ast.IndexListExpr:
			kind = t.X
		case *ast.Ident:
			return t.IsExported()
		default:
			return true
		}
	}
}

// archContextFirst wants a context, where there is one, before all else. That
// I/O has one at all is the noctx linter's part.
func archContextFirst(tree *archTree) []string {
	var complaints []string
	for _, f := range tree.written(false) {
		ast.Inspect(f.ast, func(n ast.Node) bool {
			fn, ok := n.(*ast.FuncType)
			if !ok {
				return true
			}
			for i, param := range fn.Params.List {
				sel, ok := param.Type.(*ast.SelectorExpr)
				if !ok || i == 0 || sel.Sel.Name != "Context" {
					continue
				}
				if pkg, ok := sel.X.(*ast.Ident); ok && pkg.Name == "context" {
					complaints = append(complaints, tree.at(param)+": the context comes first")
				}
			}
			return true
		})
	}
	return complaints
}

// archNoChangingVariables refuses package variables that change: assigned
// outside of their declaration, or of a kind that exists to be changed.
func archNoChangingVariables(tree *archTree) []string {
	units := map[string][]*archFile{} // a package, or its tests from outside
	for _, f := range tree.written(true) {
		key := f.dir + " " + f.ast.Name.Name
		units[key] = append(units[key], f)
	}
	var complaints []string
	for _, key := range slices.Sorted(maps.Keys(units)) {
		unit := archResolve(tree, units[key])
		for _, f := range units[key] {
			for _, decl := range f.ast.Decls {
				complaints = append(complaints, archLocks(tree, decl)...)
			}
			ast.Inspect(f.ast, func(n ast.Node) bool {
				for _, target := range archTargets(n) {
					if name := unit.packageVariable(target); name != "" {
						complaints = append(complaints, fmt.Sprintf("%s: the package variable %s changes; give it to a struct", tree.at(n), name))
					}
				}
				return true
			})
		}
	}
	return complaints
}

// archUnit is a package whose names are resolved as far as that goes without
// reading the packages it imports.
type archUnit struct {
	info  *types.Info
	scope *types.Scope
}

type archNoImporter struct{}

// Import implements types.Importer; the checker then stands in an empty package.
func (archNoImporter) Import(string) (*types.Package, error) {
	return nil, errors.New("imports are not read")
}

func archResolve(tree *archTree, files []*archFile) archUnit {
	info := &types.Info{Uses: map[*ast.Ident]types.Object{}}
	conf := types.Config{Importer: archNoImporter{}, Error: func(error) {}, DisableUnusedImportCheck: true}
	parsed := make([]*ast.File, 0, len(files))
	for _, f := range files {
		parsed = append(parsed, f.ast)
	}
	pkg, _ := conf.Check(files[0].dir, tree.fset, parsed, info) // the error is about imports, which are not read
	return archUnit{info: info, scope: pkg.Scope()}
}

// packageVariable names the package variable that an assignable expression is
// or is a part of, or returns nothing.
func (unit archUnit) packageVariable(target ast.Expr) string {
	for {
		switch e := target.(type) {
		case *ast.ParenExpr:
			target = e.X
		case *ast.StarExpr:
			target = e.X
		case *ast.IndexExpr:
			target = e.X
		case *ast.SelectorExpr:
			if pkg, ok := e.X.(*ast.Ident); ok {
				if _, ok := unit.info.Uses[pkg].(*types.PkgName); ok {
					return pkg.Name + "." + e.Sel.Name
				}
			}
			target = e.X
		case *ast.Ident:
			if v, ok := unit.info.Uses[e].(*types.Var); ok && v.Parent() == unit.scope {
				return e.Name
			}
			return ""
		default:
			return ""
		}
	}
}

// archTargets lists what a statement changes.
func archTargets(n ast.Node) []ast.Expr {
	switch n := n.(type) {
	case *ast.AssignStmt:
		if n.Tok != token.DEFINE {
			return n.Lhs
		}
	case *ast.IncDecStmt:
		return []ast.Expr{n.X}
	case *ast.RangeStmt:
		if n.Tok == token.ASSIGN {
			return slices.DeleteFunc([]ast.Expr{n.Key, n.Value}, func(e ast.Expr) bool { return e == nil })
		}
	case *ast.CallExpr:
		if fn, ok := n.Fun.(*ast.Ident); ok && (fn.Name == "delete" || fn.Name == "clear") && len(n.Args) > 0 {
			return n.Args[:1]
		}
	}
	return nil
}

// archLocks finds package variables that are locks, counters or shared maps.
func archLocks(tree *archTree, decl ast.Decl) []string {
	gen, ok := decl.(*ast.GenDecl)
	if !ok || gen.Tok != token.VAR {
		return nil
	}
	var complaints []string
	for _, spec := range gen.Specs {
		value, ok := spec.(*ast.ValueSpec)
		if !ok {
			continue
		}
		kind, ok := value.Type.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		pkg, ok := kind.X.(*ast.Ident)
		if ok && (pkg.Name == "atomic" || pkg.Name == "sync" && kind.Sel.Name != "Pool") {
			complaints = append(complaints, fmt.Sprintf("%s: the package variable %s is a %s.%s, which is there to change; give it to a struct",
				tree.at(value), value.Names[0].Name, pkg.Name, kind.Sel.Name))
		}
	}
	return complaints
}

// archDeadExceptions wants exceptions only from linters that are on: nolintlint cannot see others.
func archDeadExceptions(tree *archTree, settings string) []string {
	_, list, _ := strings.Cut(settings, "\n  enable:\n")
	list, _, _ = strings.Cut(list, "\n  disable:\n")
	on := map[string]bool{}
	for line := range strings.Lines(list) {
		if name, ok := strings.CutPrefix(strings.TrimSpace(line), "- "); ok {
			on[strings.Fields(name)[0]] = true
		}
	}
	var complaints []string
	for _, f := range tree.files {
		for _, group := range f.ast.Comments {
			for _, comment := range group.List {
				names, ok := strings.CutPrefix(comment.Text, "//"+"nolint:")
				if !ok {
					continue
				}
				for name := range strings.SplitSeq(strings.Fields(names)[0], ",") {
					if !on[name] {
						complaints = append(complaints, fmt.Sprintf("%s: the linter %s is off: remove the exception", tree.at(comment), name))
					}
				}
			}
		}
	}
	return complaints
}
