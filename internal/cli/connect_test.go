package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// keyStage is a stage whose commands have no key of their own.
func keyStage(t *testing.T, dataDir string) *stage {
	t.Helper()
	s := newStage(t).library()
	s.deps.Environ = []string{"LINESHAFT_URL=" + s.url, "LINESHAFT_DATA_DIR=" + dataDir}
	return s
}

func TestS6LocalAdminKey(t *testing.T) {
	t.Parallel()
	key := file(t, "admin.key", "ls_local\n")
	s := keyStage(t, filepath.Dir(key))
	if r := s.run(t.Context(), "runs", "list"); r.code != 0 {
		t.Fatalf("%+v", r)
	}
	if got := s.requests()[0].header.Get("Authorization"); got != "Bearer ls_local" {
		t.Errorf("key %q", got)
	}
	s.setenv("LINESHAFT_API_KEY=ls_own")
	if r := s.run(t.Context(), "runs", "list"); r.code != 0 || s.requests()[1].header.Get("Authorization") != "Bearer ls_own" {
		t.Errorf("the variable does not win: %+v", r)
	}
}

// TestS6LocalKeyStaysLocal: the admin key of this machine never goes to another.
func TestS6LocalKeyStaysLocal(t *testing.T) {
	t.Parallel()
	key := file(t, "admin.key", "ls_local\n")
	for _, address := range []string{"http://lineshaft.example", "http://127.0.0.1.example", "http://192.0.2.1:8484", "https://localhost.example"} {
		s := keyStage(t, filepath.Dir(key))
		r := s.run(t.Context(), "runs", "list", "--url", address)
		if r.code != shell.ExitDenied || !strings.Contains(r.err, "no API key for "+address) || !strings.Contains(r.err, "LINESHAFT_API_KEY") {
			t.Errorf("%s: %+v", address, r)
		}
	}
	for address, want := range map[string]bool{
		"http://localhost:1": true, "http://127.0.0.1": true, "http://127.9.9.9:1": true, "http://[::1]:8484": true, "http://[::ffff:127.0.0.1]": true,
		"http://example.com": false, "http://0.0.0.0:1": false, "::": false,
	} {
		if shell.IsLoopback(address) != want {
			t.Errorf("isLoopback(%q) = %v", address, !want)
		}
	}
}

// TestS6AKeyGoesToItsServerOnly: LINESHAFT_API_KEY is for LINESHAFT_URL when both are set,
// and for no context; the error says so, and `context show` says the same.
func TestS6AKeyGoesToItsServerOnly(t *testing.T) {
	t.Parallel()
	contexts := file(t, "contexts.yaml", "contexts:\n  prod:\n    url: https://prod.example\n  local:\n    url: http://127.0.0.1:1\n")
	env := []string{"LINESHAFT_URL=https://one.example", "LINESHAFT_API_KEY=ls_one", "LINESHAFT_CONTEXTS=" + contexts, "LINESHAFT_DATA_DIR=" + t.TempDir()}
	for _, tc := range []struct {
		args                 []string
		message, hint, shown string
	}{
		{args: []string{"--url", "https://two.example"}, message: "no API key for https://two.example: LINESHAFT_API_KEY is for the server of LINESHAFT_URL", hint: "lineshaft context add", shown: "none"},
		{args: []string{"--url", "http://one.example"}, message: "LINESHAFT_API_KEY is for the server of LINESHAFT_URL", hint: "lineshaft context add", shown: "none"},
		{args: []string{"--url", "https://one.example:8443"}, message: "LINESHAFT_API_KEY is for the server of LINESHAFT_URL", hint: "lineshaft context add", shown: "none"},
		{args: []string{"--url", "http://127.0.0.1:1"}, message: "LINESHAFT_API_KEY is for the server of LINESHAFT_URL", hint: "LINESHAFT_DATA_DIR", shown: "admin key in the data directory"},
		{args: []string{"--context", "prod"}, message: `no API key for context "prod": it has none`, hint: "lineshaft context add prod --replace", shown: "none"},
		{args: []string{"--context", "local"}, message: "LINESHAFT_API_KEY is not for contexts", hint: "LINESHAFT_DATA_DIR", shown: "admin key in the data directory"},
	} {
		s := newStage(t)
		s.deps.Environ = env
		r := s.run(t.Context(), append([]string{"runs", "list"}, tc.args...)...)
		if r.code != shell.ExitDenied || !strings.Contains(r.err, tc.message) || !strings.Contains(r.err, tc.hint) || strings.Contains(r.err, "ls_one") {
			t.Errorf("%v: %+v", tc.args, r)
		}
		if r := s.run(t.Context(), append([]string{"context", "show", "-o", "json"}, tc.args...)...); r.code != shell.ExitOK || !strings.Contains(r.out, `"key": "`+tc.shown+`"`) {
			t.Errorf("%v: %+v", tc.args, r)
		}
	}
}

func TestS6NoKey(t *testing.T) {
	t.Parallel()
	empty := file(t, "admin.key", " \n")
	unreadable := t.TempDir()
	if err := os.Mkdir(filepath.Join(unreadable, "admin.key"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct{ name, dir, message, hint string }{
		{"missing", t.TempDir(), "no API key", "Set LINESHAFT_API_KEY for this server"},
		{"empty", filepath.Dir(empty), "is empty", "LINESHAFT_API_KEY"},
		{"not a file", unreadable, "no API key", "LINESHAFT_DATA_DIR"},
	} {
		s := keyStage(t, tc.dir)
		r := s.run(t.Context(), "run", "Hi")
		if r.code != shell.ExitDenied || !strings.Contains(r.err, tc.message) || !strings.Contains(r.err, tc.hint) || len(s.requests()) != 0 {
			t.Errorf("%s: %+v", tc.name, r)
		}
		_, hint, _ := strings.Cut(r.err, "\n")
		for line := range strings.Lines(hint) {
			if len(line) > 81 {
				t.Errorf("%s: %d columns in %q", tc.name, len(line)-1, line)
			}
		}
	}
}

// TestI1StartHintIsForNewcomers: anyone who names a server is not asked to start one.
func TestI1StartHintIsForNewcomers(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name   string
		env    []string
		flags  []string
		hinted bool
	}{
		{"nothing is set", []string{"LINESHAFT_URL="}, nil, true},
		{"LINESHAFT_URL", nil, nil, false},
		{"--url", []string{"LINESHAFT_URL="}, []string{"--url", "http://127.0.0.1:9"}, false},
	} {
		s := keyStage(t, t.TempDir())
		s.setenv(tc.env...)
		r := s.run(t.Context(), append([]string{"runs", "list"}, tc.flags...)...)
		if r.code != shell.ExitDenied || strings.Contains(r.err, "start one: lineshaft serve") != tc.hinted || !strings.Contains(r.err, "Set LINESHAFT_API_KEY") {
			t.Errorf("%s: %+v", tc.name, r)
		}
	}
}

func TestS6ForbiddenKeyFile(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root may read everything")
	}
	key := file(t, "admin.key", "ls_local\n")
	if err := os.Chmod(key, 0); err != nil {
		t.Fatal(err)
	}
	if r := keyStage(t, filepath.Dir(key)).run(t.Context(), "runs", "list"); r.code != shell.ExitDenied || !strings.Contains(r.err, "may not read") {
		t.Errorf("%+v", r)
	}
}

// TestS6RefusedLocalKey: the hint says where a refused key came from.
func TestS6RefusedLocalKey(t *testing.T) {
	t.Parallel()
	key := file(t, "admin.key", "ls_local\n")
	s := keyStage(t, filepath.Dir(key))
	s.mux.HandleFunc("GET /api/v1/agent/runs/{id}", problem(401, "authentication_required", "no"))
	r := s.run(t.Context(), "runs", "get", "x")
	if r.code != shell.ExitDenied || !strings.Contains(r.err, key) || strings.Contains(r.err, "ls_local") {
		t.Errorf("%+v", r)
	}
}

func TestI1Address(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ flag, env, want string }{
		{"", "", shell.DefaultURL}, {"", "http://env", "http://env"}, {"http://flag", "http://env", "http://flag"},
	} {
		sh := newProgram(shell.Surroundings{Environ: []string{"LINESHAFT_URL=" + tc.env}})
		sh.URL = tc.flag
		if got := sh.Address(); got != tc.want {
			t.Errorf("address = %q, want %q", got, tc.want)
		}
	}
}
