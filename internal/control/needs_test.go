package control_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/access"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// unguarded are the exported methods with a caller that any caller may use, and why.
func unguarded() map[string]string {
	return map[string]string{
		"Recheck": "asks again who the caller is",
		"Remote":  "the worker's half: it asks for the permission to work, and for its id",
		"Turn":    "a place in the line for long answers, taken by every caller who is let in to one",
	}
}

// betweenRooms are the exported methods that rooms have for each other and that no store type
// in their parameters keeps from the transports, which internal/house forbids to call them.
func betweenRooms() []string {
	return []string{
		"AcceptTogether", "ChainsDone", "CheckSecrets", "CheckSkills", "ClaimsWaiting", "DefinitionsOf", "DraftRun", "EndRound", "LoadHook", "Loop",
		"LookUpSkills", "NewHookAutomation", "NoteDelivery", "PurgeFires", "ReadChainsAgain", "ReadSkill", "ResolveConfig", "ResolveLayers", "SealValue", "OpenSealed", "SilentAutomations", "WithRepositories",
	}
}

// TestS3EveryUseCaseGuardsItself reads the use cases: each that has a caller begins by asking
// whether that caller may.
func TestS3EveryUseCaseGuardsItself(t *testing.T) {
	t.Parallel()
	files, err := filepath.Glob("*/*.go")
	if err != nil {
		t.Fatal(err)
	}
	open, guarded := unguarded(), 0
	for _, name := range files {
		if strings.HasSuffix(name, "_test.go") {
			continue
		}
		file, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range file.Decls {
			fn, ok := decl.(*ast.FuncDecl)
			if !ok || !fn.Name.IsExported() || !isRoomMethod(fn) || !takes(fn, "lineshaft", "Caller") || takes(fn, "store", "") || slices.Contains(betweenRooms(), fn.Name.Name) {
				continue
			}
			_, excepted := open[fn.Name.Name]
			delete(open, fn.Name.Name)
			if begins := beginsWithNeed(fn); begins == excepted {
				t.Errorf("%s in %s begins with Caller.Need: %t, is excepted: %t", fn.Name.Name, name, begins, excepted)
			}
			guarded++
		}
	}
	if guarded < 100 || len(open) > 0 {
		t.Errorf("%d use cases read, exceptions left: %v", guarded, slices.Collect(maps.Keys(open)))
	}
}

// isRoomMethod says whether a method is promoted to the service: its type is exported.
func isRoomMethod(fn *ast.FuncDecl) bool {
	if fn.Recv == nil {
		return false
	}
	star, ok := fn.Recv.List[0].Type.(*ast.StarExpr)
	if !ok {
		return false
	}
	name, ok := star.X.(*ast.Ident)
	if !ok {
		return false
	}
	_, room := reflect.TypeFor[control.Service]().FieldByName(name.Name)
	return room
}

// takes says whether a parameter is of a type of a package, or of any for "".
func takes(fn *ast.FuncDecl, in, name string) bool {
	for _, field := range fn.Type.Params.List {
		kind := field.Type
		if star, ok := kind.(*ast.StarExpr); ok {
			kind = star.X
		}
		selector, ok := kind.(*ast.SelectorExpr)
		if !ok {
			continue
		}
		of, ok := selector.X.(*ast.Ident)
		if ok && of.Name == in && (name == "" || selector.Sel.Name == name) {
			return true
		}
	}
	return false
}

// beginsWithNeed says whether the first statement is `if err := c.Need(…); err != nil`.
func beginsWithNeed(fn *ast.FuncDecl) bool {
	first, ok := fn.Body.List[0].(*ast.IfStmt)
	if !ok {
		return false
	}
	assign, ok := first.Init.(*ast.AssignStmt)
	if !ok {
		return false
	}
	call, ok := assign.Rhs[0].(*ast.CallExpr)
	if !ok {
		return false
	}
	selector, ok := call.Fun.(*ast.SelectorExpr)
	return ok && selector.Sel.Name == "Need"
}

// TestS3UseCasesRefuseByThemselves calls some that would do harm, without a transport.
func TestS3UseCasesRefuseByThemselves(t *testing.T) {
	t.Parallel()
	each(t, func(b *bench) {
		viewer, member := b.caller(lineshaft.RoleViewer), b.caller(lineshaft.RoleMember)
		factory := b.shopFactory()
		_, _, key := b.s.CreateAPIKey(b.Context(), member, access.NewAPIKey{Name: "k", Role: lineshaft.RoleAdmin})
		wantCode(b, key, lineshaft.CodeNotAuthorized)
		_, secret := b.s.CreateSecret(b.Context(), b.caller(lineshaft.RoleManager), lineshaft.Secret{Name: "S"}, "value")
		wantCode(b, secret, lineshaft.CodeNotAuthorized)
		wantCode(b, b.s.DeleteFactory(b.Context(), member, factory), lineshaft.CodeNotAuthorized)
		_, apply := b.s.ApplyDefinition(b.Context(), member, factory, factories.Application{})
		wantCode(b, apply, lineshaft.CodeNotAuthorized)
		_, start := b.as(viewer, lineshaft.NewRun{Prompt: "p"})
		wantCode(b, start, lineshaft.CodeNotAuthorized)
	})
}
