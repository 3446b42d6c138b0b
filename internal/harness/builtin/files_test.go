package builtin_test

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// results runs tool calls one after the other and returns what the model got.
func (a *agent) results(t *testing.T, e *endpoint, calls ...reply) []string {
	t.Helper()
	e.mu.Lock()
	e.script = append(append(e.script, calls...), say("done"))
	before := len(e.requests)
	e.mu.Unlock()
	a.do(t, "x")
	var out []string
	for _, request := range e.asked()[before+1:] {
		messages, _ := request["messages"].([]any)
		last, _ := messages[len(messages)-1].(object)
		text, _ := last["content"].(string)
		out = append(out, text)
	}
	return out
}

// Every way out of the workspace that the agent's own shell can lay: links to
// files and folders, relative and absolute, chains of them, pipes, and paths.
func TestX5BuiltinFileToolsStayInside(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		outside := t.TempDir()
		if err := os.WriteFile(filepath.Join(outside, "secret"), []byte("top secret"), 0o644); err != nil {
			t.Fatal(err)
		}
		e := serve(t, model.OpenAI)
		a := open(t, quick(), environment(t, s, e, lineshaft.Job{}))
		a.results(t, e, use("shell", object{"command": "O='" + outside + "'\n" + `
			ln -s "$O" dir; ln -s "$O/secret" file; ln -s ../../../../../../../../../../etc up; ln -s dir chain
			mkdir -p real; ln -s "$O" real/deep; mkfifo pipe; ln -s /proc/self/root proc; ln -s loop loop; ln -s "$O/made" new`}))
		var calls []reply
		for _, path := range []string{
			"file", "dir/secret", "chain/secret", "real/deep/secret", "up/passwd", "proc/etc/passwd", "loop", "pipe", "new",
			outside + "/secret", "../secret", "real/../../x", "/etc/passwd", "dir/../../x", "",
		} {
			calls = append(calls,
				use("read", object{"path": path}), use("write", object{"path": path, "content": "spoilt"}), use("write", object{"path": path + "/a/b", "content": "spoilt"}),
				use("edit", object{"path": path, "old": "secret", "new": "spoilt"}))
		}
		calls = append(calls, use("list", object{"path": "dir"}), use("list", object{"path": ".."}), use("search", object{"pattern": "top", "path": "dir"}),
			use("search", object{"pattern": "top", "path": outside}), use("search", object{"pattern": "top"}), use("list", object{"depth": 9}))
		told := a.results(t, e, calls...)
		for i, text := range told[:len(told)-2] {
			if strings.Contains(text, "top secret") || strings.Contains(text, "root:") || strings.HasPrefix(text, "Made") && !strings.HasPrefix(text, "Made pipe") {
				t.Errorf("%s %s: %s", calls[i].calls[0].name, calls[i].calls[0].args, text)
			}
		}
		if told[len(told)-2] != "Nothing matches." || strings.Contains(told[len(told)-1], "dir/") {
			t.Errorf("searching and listing follow links: %q, %q", told[len(told)-2], told[len(told)-1])
		}
		if got, err := os.ReadFile(filepath.Join(outside, "secret")); err != nil || string(got) != "top secret" {
			t.Errorf("outside: %q, %v", got, err)
		}
		if left, err := os.ReadDir(outside); err != nil || len(left) != 1 {
			t.Errorf("outside there are %v, %v", left, err)
		}
		for _, word := range []string{"outside of the workspace", "is not a file", "the path names the workspace itself"} {
			if !strings.Contains(strings.Join(told, "\n"), word) {
				t.Errorf("%q was never said", word)
			}
		}
	})
}

// What the tools make belongs to the user of the workspace, so that the agent's
// own processes can change it.
func TestX5BuiltinFilesBelongToTheAgent(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		e := serve(t, model.OpenAI)
		a := open(t, quick(), environment(t, s, e, lineshaft.Job{}))
		told := a.results(
			t, e,
			use("shell", object{"command": "echo old >script; chmod 755 script"}),
			use("write", object{"path": "a/b/c", "content": "one\n"}),
			use("write", object{"path": "script", "content": "new\n"}),
			use("shell", object{"command": "echo two >>a/b/c && touch a/b/d && cat a/b/c script && test -x script && echo fine"}),
		)
		if !strings.Contains(told[3], "one\ntwo\nnew\nfine\n") {
			t.Errorf("told %q", told)
		}
		top, err := os.Stat(a.env.Dir)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"a", "a/b", "a/b/c"} {
			info, err := os.Stat(filepath.Join(a.env.Dir, name))
			if err != nil {
				t.Fatal(err)
			}
			if got, want := owner(info), owner(top); got != want {
				t.Errorf("%s belongs to %d, not to %d", name, got, want)
			}
		}
	})
}

func owner(info os.FileInfo) uint32 {
	if st, ok := info.Sys().(*syscall.Stat_t); ok {
		return st.Uid
	}
	return 0
}

func TestX6BuiltinFileTools(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI)
	a := start(t, quick(), e)
	a.write(t, "lines", "one\ntwo\nthree\nfour")
	a.write(t, "twice", "x y x")
	a.write(t, "binary", "a\x00b")
	a.write(t, "zs", strings.Repeat("z", 3<<19))
	a.write(t, "big", strings.Repeat("0123456789\n", 400_000))
	a.write(t, "long", strings.Repeat(strings.Repeat("x", 999)+"\n", 100))
	a.write(t, "sub/a.go", "package a // find me\n")
	a.write(t, "sub/a.txt", "find me too\n")
	a.write(t, ".git/config", "find me not\n")
	tests := []struct {
		call reply
		want string
	}{
		{use("read", object{"path": "lines"}), "one\ntwo\nthree\nfour"},
		{use("read", object{"path": a.env.Dir + "/lines", "offset": 2, "limit": 2}), "two\nthree\n\n[lines 2 to 3 of 4]"},
		{use("read", object{"path": "./lines", "offset": 99}), "[lines 5 to 4 of 4]"},
		{use("read", object{"path": "none"}), "none does not exist"},
		{use("read", object{"path": "sub"}), "sub is not a file"},
		{use("read", object{"path": "binary"}), "binary is not a text file (3 bytes)"},
		{use("read", object{"path": "big"}), "more than the 4194304 that this tool takes"},
		{use("read", object{"path": "long"}), "[lines 1 to 48 of 100]"},
		{use("edit", object{"path": "twice", "old": "x", "new": "z"}), "is in twice 2 times"},
		{use("edit", object{"path": "twice", "old": "q", "new": "z"}), "not in twice"},
		{use("edit", object{"path": "twice", "old": "", "new": "z"}), "old must be a text"},
		{use("edit", object{"path": "twice", "old": "x", "new": "z", "all": true}), "Replaced 2 in twice."},
		{use("read", object{"path": "twice"}), "z y z"},
		{use("write", object{"path": "lines"}), "content is missing"},
		{use("write", object{"path": "lines/below", "content": ""}), "lines is not a folder"},
		{use("write", object{"path": "sub", "content": ""}), "is a directory"},
		{use("write", object{"path": "empty", "content": ""}), "Made empty with 0 bytes."},
		{use("read", object{"path": "empty"}), "(no output)"},
		{use("list", object{"path": "sub"}), "sub/a.go\nsub/a.txt\n"},
		{use("list", object{"path": "none"}), "none does not exist"},
		{use("search", object{"pattern": "find m."}), "sub/a.go:1: package a // find me\nsub/a.txt:1: find me too\n"},
		{use("search", object{"pattern": "find", "glob": "*.go"}), "sub/a.go:1: package a // find me\n"},
		{use("search", object{"pattern": "t", "path": "lines"}), "lines:2: two\nlines:3: three\n"},
		{use("search", object{"pattern": "("}), "the pattern cannot be used"},
		{use("search", object{"pattern": "x", "glob": "["}), "the glob cannot be used"},
		{use("search", object{"pattern": "x", "path": "none"}), "none does not exist"},
		{use("edit", object{"path": "zs", "old": "z", "new": "yyy", "all": true}), "would have"},
	}
	var calls []reply
	for _, test := range tests {
		calls = append(calls, test.call)
	}
	for i, text := range a.results(t, e, calls...) {
		if !strings.Contains(text, tests[i].want) || strings.Contains(text, "me not") {
			t.Errorf("%s %.200s: %.300q, want %q", tests[i].call.calls[0].name, tests[i].call.calls[0].args, text, tests[i].want)
		}
	}
}

func TestX6BuiltinLooksAreBounded(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI)
	a := start(t, quick(), e)
	a.results(t, e, use("shell", object{"command": `mkdir many; i=0; while [ $i -lt 1100 ]; do echo match >many/$i; i=$((i+1)); done`}))
	told := a.results(t, e, use("list", object{"path": "many"}), use("search", object{"pattern": "match"}))
	if n := strings.Count(told[0], "\n"); n != 1001 || !strings.Contains(told[0], "there is more") {
		t.Errorf("%d lines", n)
	}
	if n := strings.Count(told[1], "\n"); n != 201 || !strings.Contains(told[1], "there may be more") {
		t.Errorf("%d matches", n)
	}
}

// A pipe in the place of a folder does not hold the worker up.
func TestX10BuiltinLooksDoNotWaitForPipes(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI)
	a := start(t, quick(), e)
	a.results(t, e, use("shell", object{"command": `mkfifo pipe; ln -s pipe link`}))
	for i, text := range a.results(t, e, use("list", object{"path": "pipe"}), use("list", object{"path": "link"}), use("search", object{"pattern": "x", "path": "pipe"})) {
		if i < 2 && !strings.Contains(text, "not a directory") {
			t.Errorf("told %q", text)
		}
	}
}
