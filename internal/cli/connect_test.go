package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
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
		if r.code != exitDenied || !strings.Contains(r.err, "no API key for "+address) || !strings.Contains(r.err, "LINESHAFT_API_KEY") {
			t.Errorf("%s: %+v", address, r)
		}
	}
	for address, want := range map[string]bool{
		"http://localhost:1": true, "http://127.0.0.1": true, "http://127.9.9.9:1": true, "http://[::1]:8484": true, "http://[::ffff:127.0.0.1]": true,
		"http://example.com": false, "http://0.0.0.0:1": false, "::": false,
	} {
		if isLoopback(address) != want {
			t.Errorf("isLoopback(%q) = %v", address, !want)
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
		{"missing", t.TempDir(), "no API key", "lineshaft serve"},
		{"empty", filepath.Dir(empty), "is empty", "LINESHAFT_API_KEY"},
		{"not a file", unreadable, "no API key", "LINESHAFT_DATA_DIR"},
	} {
		s := keyStage(t, tc.dir)
		r := s.run(t.Context(), "run", "Hi")
		if r.code != exitDenied || !strings.Contains(r.err, tc.message) || !strings.Contains(r.err, tc.hint) || len(s.requests()) != 0 {
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
	if r := keyStage(t, filepath.Dir(key)).run(t.Context(), "runs", "list"); r.code != exitDenied || !strings.Contains(r.err, "may not read") {
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
	if r.code != exitDenied || !strings.Contains(r.err, key) || strings.Contains(r.err, "ls_local") {
		t.Errorf("%+v", r)
	}
}

func TestI1Address(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ flag, env, want string }{
		{"", "", defaultURL}, {"", "http://env", "http://env"}, {"http://flag", "http://env", "http://flag"},
	} {
		sh := newShell(Deps{Environ: []string{"LINESHAFT_URL=" + tc.env}})
		sh.url = tc.flag
		if got := sh.address(); got != tc.want {
			t.Errorf("address = %q, want %q", got, tc.want)
		}
	}
}
