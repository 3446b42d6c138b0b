package cli

import (
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

const whoamiAnswer = `{"principal":{"type":"user","uid":"u-1","display_name":"Ada \u001b[31mL."},"role":"admin","permissions":["runs.read","runs.start"],"key_id":"k-1","limits":{"requests_per_minute":60}}`

// contextStage is a stage with a place for contexts and nothing else that names a server.
func contextStage(t *testing.T) (s *stage, path string) {
	t.Helper()
	s = newStage(t).library()
	s.answer("GET /api/v1/whoami", 200, whoamiAnswer)
	path = filepath.Join(t.TempDir(), "settings", "contexts.yaml")
	s.deps.Environ = []string{"LINESHAFT_CONTEXTS=" + path, "LINESHAFT_DATA_DIR=" + t.TempDir(), "PATH=" + os.Getenv("PATH")}
	return s, path
}

// add keeps a context of the stage's own server.
func (s *stage) add(t *testing.T, name, key string, flags ...string) {
	t.Helper()
	s.deps.Stdin = strings.NewReader(key + "\n")
	if r := s.run(t.Context(), append([]string{"context", "add", name, "--url", s.url, "--key-stdin"}, flags...)...); r.code != shell.ExitOK || strings.Contains(r.out+r.err, key) {
		t.Fatalf("%+v", r)
	}
	s.deps.Stdin = nil
}

// usedKey is the key of the last request.
func (s *stage) usedKey() string {
	list := s.requests()
	return strings.TrimPrefix(list[len(list)-1].header.Get("Authorization"), "Bearer ")
}

func TestI1ContextAdd(t *testing.T) {
	t.Parallel()
	s, path := contextStage(t)
	s.deps.Stdin = strings.NewReader("ls_prod\n")
	r := s.run(t.Context(), "context", "add", "prod", "--url", s.url, "--key-stdin")
	if r.code != shell.ExitOK || r.out != "added prod: Ada L., role admin\n" || r.err != "-- commands use it from now on\n" {
		t.Errorf("%+v", r)
	}
	for name, want := range map[string]os.FileMode{path: 0o600, filepath.Dir(path): 0o700} {
		if info, err := os.Stat(name); err != nil || info.Mode().Perm() != want {
			t.Errorf("%s: %v, %v", name, info.Mode(), err)
		}
	}
	if r := s.run(t.Context(), "runs", "list"); r.code != shell.ExitOK || s.usedKey() != "ls_prod" {
		t.Errorf("%+v with %q", r, s.usedKey())
	}
	s.add(t, "test", "ls_test")
	if r := s.run(t.Context(), "runs", "list"); r.code != shell.ExitOK || s.usedKey() != "ls_prod" {
		t.Errorf("the second one became the current one: %+v", r)
	}
	if r := s.run(t.Context(), "runs", "list", "--context", "test"); r.code != shell.ExitOK || s.usedKey() != "ls_test" {
		t.Errorf("%+v with %q", r, s.usedKey())
	}
	if r := s.run(t.Context(), "context", "use", "test"); r.code != shell.ExitOK || r.out != "commands use http://server\n" {
		t.Errorf("%+v", r)
	}
	if r := s.run(t.Context(), "whoami"); r.code != shell.ExitOK || s.usedKey() != "ls_test" || !strings.Contains(r.out, "Ada L.") {
		t.Errorf("%+v with %q", r, s.usedKey())
	}
	if text, err := os.ReadFile(path); err != nil || !strings.Contains(string(text), "current: test") {
		t.Errorf("%s, %v", text, err)
	}
}

// TestI1ContextPrecedence: flags, then the two variables together, then the variable of
// a context, then the current one. A key goes to the server that it was given for.
func TestI1ContextPrecedence(t *testing.T) {
	t.Parallel()
	s, _ := contextStage(t)
	s.add(t, "one", "ls_one")
	s.add(t, "two", "ls_two")
	other := newStage(t).library()
	base := s.deps.Environ
	for _, tc := range []struct {
		name string
		env  []string
		args []string
		key  string // "" is denied
		at   *stage
	}{
		{"current", nil, nil, "ls_one", s},
		{"variable of a context", []string{"LINESHAFT_CONTEXT=two"}, nil, "ls_two", s},
		{"flag before that variable", []string{"LINESHAFT_CONTEXT=two"}, []string{"--context", "one"}, "ls_one", s},
		{"variables before contexts", []string{"LINESHAFT_URL=" + other.url, "LINESHAFT_API_KEY=ls_other", "LINESHAFT_CONTEXT=two"}, nil, "ls_other", other},
		{"flag before variables", []string{"LINESHAFT_URL=" + other.url, "LINESHAFT_API_KEY=ls_other"}, []string{"--context", "two"}, "ls_two", s},
		{"inside a run", []string{"LINESHAFT_API_URL=" + other.url, "LINESHAFT_RUN_TOKEN=ls_run", "LINESHAFT_CONTEXT=two"}, nil, "ls_run", other},
		{"no key of a context for another address", nil, []string{"--url", other.url}, "", other},
		{"no key of the variables for another address", []string{"LINESHAFT_URL=https://prod.example", "LINESHAFT_API_KEY=ls_prod"}, []string{"--url", other.url}, "", other},
		{"the same address written otherwise", []string{"LINESHAFT_URL=" + strings.ToUpper(other.url) + "/", "LINESHAFT_API_KEY=ls_other"}, []string{"--url", other.url}, "ls_other", other},
		{"a key for the address of the flag", []string{"LINESHAFT_API_KEY=ls_other"}, []string{"--url", other.url}, "ls_other", other},
		{"nor for that of the variable", []string{"LINESHAFT_URL=" + other.url}, nil, "", other},
	} {
		before := len(other.requests()) + len(s.requests())
		s.deps.Environ = append(append([]string{}, base...), tc.env...)
		r := s.run(t.Context(), append([]string{"runs", "list"}, tc.args...)...)
		sent := len(other.requests()) + len(s.requests()) - before
		switch {
		case tc.key == "" && (r.code != shell.ExitDenied || sent != 0):
			t.Errorf("%s: %+v, %d requests", tc.name, r, sent)
		case tc.key != "" && (r.code != shell.ExitOK || sent != 1 || tc.at.usedKey() != tc.key):
			t.Errorf("%s: %+v with %q", tc.name, r, tc.at.usedKey())
		}
	}
}

func TestI1ContextKeysByReference(t *testing.T) {
	t.Parallel()
	s, path := contextStage(t)
	s.setenv("PROD_KEY=ls_variable")
	keyFile := file(t, "key", "ls_file\n")
	for _, tc := range []struct{ flag, value, key, told string }{
		{"--key-env", "PROD_KEY", "ls_variable", "variable PROD_KEY"},
		{"--key-file", keyFile, "ls_file", "file " + keyFile},
		{"--key-command", `printf 'ls_command\nnote below\n'`, "ls_command", "command printf"},
	} {
		r := s.run(t.Context(), "context", "add", "prod", "--replace", "--url", s.url, tc.flag, tc.value)
		if r.code != shell.ExitOK || s.usedKey() != tc.key {
			t.Errorf("%s: %+v with %q", tc.flag, r, s.usedKey())
		}
		if text, _ := os.ReadFile(path); strings.Contains(string(text), tc.key) && tc.flag != "--key-command" {
			t.Errorf("%s: the key is in the file", tc.flag)
		}
		if r := s.run(t.Context(), "context", "show"); r.code != shell.ExitOK || !strings.Contains(r.out, tc.told) || strings.Contains(r.out, tc.key) {
			t.Errorf("%s: %+v", tc.flag, r)
		}
	}
	for flag, value := range map[string]string{"--key-env": "NOT_SET", "--key-file": path + ".none", "--key-command": "false"} {
		r := s.run(t.Context(), "context", "add", "bad", "--url", s.url, flag, value, "--no-check")
		if r.code != shell.ExitOK {
			t.Fatalf("%+v", r)
		}
		if r = s.run(t.Context(), "whoami", "--context", "bad"); r.code != shell.ExitDenied || !strings.Contains(r.err, `no API key for context "bad"`) || !strings.Contains(r.err, "lineshaft context add bad --replace") {
			t.Errorf("%s: %+v", flag, r)
		}
		if r = s.run(t.Context(), "context", "remove", "bad"); r.code != shell.ExitOK {
			t.Fatalf("%+v", r)
		}
	}
}

func TestI1ContextMistakes(t *testing.T) {
	t.Parallel()
	s, path := contextStage(t)
	s.add(t, "production", "ls_prod")
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		line       string
		code       int
		wrong, way string
	}{
		{"whoami --context prodution", shell.ExitNotFound, `there is no context "prodution"`, "Did you mean production?"},
		{"whoami --context zzz", shell.ExitNotFound, `there is no context "zzz"`, "lineshaft context list"},
		{"context use prodution", shell.ExitNotFound, `there is no context "prodution"`, "Did you mean production?"},
		{"context use", shell.ExitUsage, "needs the name of a context", "Run: lineshaft context use NAME"},
		{"context use production --none", shell.ExitUsage, "cannot be used together", "one of them"},
		{"context remove production nope", shell.ExitNotFound, "nothing was removed", "lineshaft context list"},
		{"context show nope", shell.ExitNotFound, `there is no context "nope"`, "lineshaft context list"},
		{"context add production --url http://h --key-env X", shell.ExitUsage, "already", "--replace"},
		{"context add two --key-env X", shell.ExitUsage, "the address is missing", "--url https://"},
		{"context add two --url h --key-env X", shell.ExitUsage, "is not the address", "--url"},
		{"context add two --url http://h", shell.ExitUsage, "the key is missing", "--key-stdin"},
		{"context add two --url http://h --key-stdin", shell.ExitUsage, "the key is empty", "apikey create"},
		{"context add two --url http://h --key-env A --key-file B", shell.ExitUsage, "one place only", "--key-stdin"},
		{"context add a/b --url http://h --key-env A", shell.ExitUsage, "cannot be the name", "such as prod"},
		{"whoami --context production --url http://h", shell.ExitUsage, "two servers", "one of them"},
	} {
		r := s.run(t.Context(), strings.Split(tc.line, " ")...)
		if r.code != tc.code || r.out != "" || !strings.Contains(r.err, tc.wrong) || !strings.Contains(r.err, tc.way) {
			t.Errorf("%s: %+v, want %d %q %q", tc.line, r, tc.code, tc.wrong, tc.way)
		}
	}
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("a mistake changed the file:\n%s", after)
	}
}

// TestI1ContextOfARefusedKey: what the server does not accept is not kept.
func TestI1ContextOfARefusedKey(t *testing.T) {
	t.Parallel()
	s, path := contextStage(t)
	s.mux.HandleFunc("GET /api/v1/agent/models", problem(401, "authentication_required", "no"))
	refusing := newStage(t)
	refusing.mux.HandleFunc("GET /api/v1/whoami", problem(401, "authentication_required", "no"))
	s.deps.Stdin = strings.NewReader("ls_wrong")
	r := s.run(t.Context(), "context", "add", "prod", "--url", refusing.url, "--key-stdin")
	if r.code != shell.ExitDenied || !strings.Contains(r.err, "nothing was saved: the server does not accept") || !strings.Contains(r.err, "--no-check") || strings.Contains(r.err, "ls_wrong") {
		t.Errorf("%+v", r)
	}
	if _, err := os.Stat(path); err == nil {
		t.Error("a file was made")
	}
}

func TestS6ContextFileIsOpen(t *testing.T) {
	t.Parallel()
	s, path := contextStage(t)
	s.add(t, "prod", "ls_prod")
	if err := os.Chmod(path, 0o644); err != nil {
		t.Fatal(err)
	}
	if r := s.run(t.Context(), "runs", "list"); r.code != shell.ExitFailed || !strings.Contains(r.err, "others on this machine can read") || !strings.Contains(r.err, "chmod 600 "+path) {
		t.Errorf("%+v", r)
	}
	s.setenv("LINESHAFT_URL="+s.url, "LINESHAFT_API_KEY=ls_x")
	if r := s.run(t.Context(), "runs", "list"); r.code != shell.ExitOK {
		t.Errorf("who does not use contexts is stopped, too: %+v", r)
	}
}

func TestI1ContextFileIsBroken(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"contexts: [": "cannot be read",
		"contexts:\n  a:\n    urll: x\n    key: ls_hush": "line 3",
		"\x00\x01":            "cannot be read",
		"contexts: ls_hush\n": "cannot be read",
	} {
		s, path := contextStage(t)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, line := range []string{"runs list", "context list", "context use a", "context remove a"} {
			r := s.run(t.Context(), strings.Fields(line)...)
			if r.code != shell.ExitFailed || !strings.Contains(r.err, want) || !strings.Contains(r.err, path) || !strings.Contains(r.err, "Fix that line") || strings.Contains(r.err, "ls_hush") {
				t.Errorf("%q, %s: %+v", text, line, r)
			}
		}
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("the broken file was changed: %q, %v", now, err)
		}
	}
}

// TestI1ContextWriters: of many at once, none loses what another wrote.
func TestI1ContextWriters(t *testing.T) {
	t.Parallel()
	s, _ := contextStage(t)
	var wait sync.WaitGroup
	names := strings.Split("abcdefghijklmnop", "")
	for _, name := range names {
		wait.Go(func() {
			if r := s.run(t.Context(), "context", "add", name, "--url", "http://127.0.0.1:1", "--key-env", "X", "--no-check"); r.code != shell.ExitOK {
				t.Errorf("%+v", r)
			}
		})
	}
	wait.Wait()
	if r := s.run(t.Context(), "context", "list", "-o", "ndjson"); strings.Count(r.out, "\n") != len(names) || strings.Count(r.out, `"current":true`) != 1 {
		t.Errorf("%+v", r)
	}
}

func TestI1ContextFileMayBeALink(t *testing.T) {
	t.Parallel()
	s, path := contextStage(t)
	target := file(t, "dotfile.yaml", "")
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(target, path); err != nil {
		t.Fatal(err)
	}
	s.add(t, "prod", "ls_prod")
	if text, err := os.ReadFile(target); err != nil || !strings.Contains(string(text), "ls_prod") {
		t.Errorf("%q, %v", text, err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode()&os.ModeSymlink == 0 {
		t.Errorf("the link is gone: %v", err)
	}
}

func TestI1ContextsNeedAPlace(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	s.deps.Environ = []string{"PATH=/bin"}
	if r := s.run(t.Context(), "context", "use", "--none"); r.code != shell.ExitFailed || !strings.Contains(r.err, "LINESHAFT_CONTEXTS") {
		t.Errorf("%+v", r)
	}
}

func TestI1ContextShowAndList(t *testing.T) {
	t.Parallel()
	s, _ := contextStage(t)
	var log strings.Builder
	play := func(line string) {
		r := s.run(t.Context(), strings.Fields(line)...)
		log.WriteString("$ lineshaft " + line + "\n" + r.out + r.err)
	}
	play("context list")
	play("context show")
	s.add(t, "prod", "ls_prod")
	s.add(t, "test", "ls_test")
	play("context list")
	play("context list -o json")
	play("context show")
	play("context show test -o yaml")
	play("context show --context test")
	s.setenv("LINESHAFT_CONTEXT=test")
	play("context show")
	play("context use prod")
	play("whoami")
	play("context remove prod")
	play("context list")
	s.setenv("LINESHAFT_URL=http://other.example")
	play("context show")
	play("context use --none")
	golden(t, "context", log.String())
}
