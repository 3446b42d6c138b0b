package house_test

import "testing"

func TestHousePackageCommentsCanFail(t *testing.T) {
	t.Parallel()
	const with, without = "// Package x is for y.\npackage x\n", "package x\n"
	archTry(t, archPackageComments, []archSample{
		{"one", map[string]string{"x/a.go": with, "x/b.go": without, "x/a_test.go": without}, nil},
		{"none", map[string]string{"x/a.go": without}, []string{"x: no package comment"}},
		{"only in the test", map[string]string{"x/a.go": without, "x/a_test.go": with}, []string{"x: no package comment"}},
		{"two", map[string]string{"x/a.go": with, "x/b.go": with}, []string{"x/a.go and x/b.go"}},
		{"a build tag is no comment", map[string]string{"x/a.go": "//go:build linux\n\npackage x\n"}, []string{"no package comment"}},
		{"of another form", map[string]string{"x/a.go": "// This is x.\npackage x\n"}, []string{"must begin"}},
		{"a program", map[string]string{"cmd/x/main.go": "// Command x does y.\npackage main\n"}, nil},
		{"a program called a package", map[string]string{"cmd/x/main.go": "// Package main does y.\npackage main\n"}, []string{"must begin"}},
		{"tests alone", map[string]string{"e2e/a_test.go": "// Package e2e_test drives x.\npackage e2e_test\n"}, nil},
		{"tests alone, silent", map[string]string{"e2e/a_test.go": "package e2e_test\n"}, []string{"e2e: no package comment"}},
	})
}

func TestHouseExportedNamesCanFail(t *testing.T) {
	t.Parallel()
	one := func(text string) map[string]string { return map[string]string{"x/a.go": "package x\n\n" + text + "\n"} }
	archTry(t, archExportedDocumented, []archSample{
		{"function", one("func F() {}"), []string{"x/a.go:3: F has no comment"}},
		{"documented function", one("// F does.\nfunc F() {}"), nil},
		{"hidden function", one("func f() {}"), nil},
		{"method", one("// T is.\ntype T int\n\nfunc (t *T) M() {}"), []string{"M has no comment"}},
		{"method of a generic type", one("// T is.\ntype T[K any] struct{}\n\nfunc (t *T[K]) M() {}"), []string{"M has no comment"}},
		{"method of a hidden type", one("type t int\n\nfunc (t) M() {}"), nil},
		{"type", one("type T int"), []string{"T has no comment"}},
		{"type in a list", one("// These are.\ntype (\n\tT int\n\tU int // not above it\n)"), []string{"T has", "U has"}},
		{"constant", one("const C = 1"), []string{"C has no comment"}},
		{"constants under one comment", one("// States.\nconst (\n\tA = 1\n\tB = 2\n)"), nil},
		{"constant with a note beside", one("const (\n\tA = 1 // the first\n\tB = 2\n)"), []string{"B has no comment"}},
		{"variable", one("var a, V = 1, 2"), []string{"V has no comment"}},
		{"a directive is no comment", one("//go:noinline\nfunc F() {}"), []string{"F has no comment"}},
		{"a program", map[string]string{"x/main.go": "package main\n\nfunc F() {}\n"}, nil},
		{"a test", map[string]string{"x/a_test.go": "package x\n\nfunc TestF() {}\n"}, nil},
	})
}

func TestHouseNoInitCanFail(t *testing.T) {
	t.Parallel()
	archTry(t, archNoInit, []archSample{
		{"init", map[string]string{"a.go": "package x\n\nfunc init() {}\n"}, []string{"a.go:3: init"}},
		{"init in a test", map[string]string{"a_test.go": "package x\n\nfunc init() {}\n"}, []string{"a_test.go:3: init"}},
		{"a method of that name", map[string]string{"a.go": "package x\n\ntype t int\n\nfunc (t) init() {}\n"}, nil},
	})
}

func TestHouseContextFirstCanFail(t *testing.T) {
	t.Parallel()
	one := func(text string) map[string]string {
		return map[string]string{"a.go": "package x\n\nimport \"context\"\n\n" + text + "\n"}
	}
	archTry(t, archContextFirst, []archSample{
		{"first", one("func f(ctx context.Context, a int) {}"), nil},
		{"second", one("func f(a int, ctx context.Context) {}"), []string{"a.go:5: the context comes first"}},
		{"second in a method of an interface", one("type i interface {\n\tm(a int, ctx context.Context)\n}"), []string{"a.go:6"}},
		{"second in a literal", one("var f = func(a int, ctx context.Context) {}"), []string{"a.go:5"}},
	})
}

func TestHouseNoChangingVariablesCanFail(t *testing.T) {
	t.Parallel()
	one := func(text string) map[string]string {
		return map[string]string{"a.go": "package x\n\n" + text + "\n"}
	}
	archTry(t, archNoChangingVariables, []archSample{
		{"a table that stays", one("var v = map[string]int{\"a\": 1}\n\nfunc f() int { return v[\"a\"] }"), nil},
		{"assigned", one("var v int\n\nfunc f() { v = 1 }"), []string{"a.go:5: the package variable v changes"}},
		{"assigned in a literal", one("var v int\n\nvar f = func() { v = 1 }"), []string{"v changes"}},
		{"counted", one("var v int\n\nfunc f() { v++ }"), []string{"v changes"}},
		{"added to", one("var v int\n\nfunc f() { v += 2 }"), []string{"v changes"}},
		{"a field", one("var v struct{ a int }\n\nfunc f() { v.a = 1 }"), []string{"v changes"}},
		{"an entry", one("var v = map[int]int{}\n\nfunc f() { v[1] = 1 }"), []string{"v changes"}},
		{"behind a pointer", one("var v = new(int)\n\nfunc f() { *v = 1 }"), []string{"v changes"}},
		{"an entry deleted", one("var v = map[int]int{}\n\nfunc f() { delete(v, 1) }"), []string{"v changes"}},
		{"by a range", one("var v int\n\nfunc f() {\n\tfor v = range 3 {\n\t}\n}"), []string{"v changes"}},
		{"in another file", map[string]string{"a.go": "package x\n\nvar v int\n", "b.go": "package x\n\nfunc f() { v = 1 }\n"}, []string{"b.go:3"}},
		{"in its test", map[string]string{"a.go": "package x\n\nvar v int\n", "a_test.go": "package x\n\nfunc f() { v = 1 }\n"}, []string{"a_test.go:3"}},
		{"beside unknown imports", one("import \"example.org/u\"\n\nvar v u.T\n\nfunc f() { v = u.New(); v.Do() }"), []string{"v changes"}},
		{"another package's", one("import \"net/http\"\n\nfunc f() { http.DefaultClient = nil }"), []string{"http.DefaultClient changes"}},
		{"a local of the same name", one("var v int\n\nfunc f() int {\n\tv := 1\n\tv = 2\n\treturn v\n}"), nil},
		{"a parameter of the same name", one("var v int\n\nfunc f(v int) { v = 2 }"), nil},
		{"a field of the same name", one("var v int\n\ntype t struct{ v int }\n\nfunc (t *t) f() { t.v = 2 }"), nil},
		{"another package with the name", map[string]string{"a/a.go": "package a\n\nvar v int\n", "b/b.go": "package b\n\nfunc f() { v := 1; v = 2; _ = v }\n"}, nil},
		{"a lock", one("import \"sync\"\n\nvar mu sync.Mutex"), []string{"mu is a sync.Mutex"}},
		{"a counter", one("import \"sync/atomic\"\n\nvar n atomic.Int64"), []string{"n is a atomic.Int64"}},
		{"a pool", one("import \"sync\"\n\nvar p sync.Pool"), nil},
		{"computed once", one("import \"sync\"\n\nvar get = sync.OnceValue(func() int { return 1 })"), nil},
	})
}
