//go:build linux

package sandbox

import (
	"bytes"
	"errors"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

func itoa(n int) string { return strconv.Itoa(n) }

func TestX1Commands(t *testing.T) {
	t.Parallel()
	for line, want := range map[string]struct {
		name  string
		grace time.Duration
	}{
		"feed\n":                            {commandFeed, 0},
		"kill\n":                            {commandKill, 0},
		termCommand(5*time.Second) + "\n":   {commandTerm, 5 * time.Second},
		termCommand(0) + "\n":               {commandTerm, 0},
		"term\n":                            {},
		"term -1\n":                         {},
		"term 99999999999999999999999\n":    {},
		"\n":                                {},
		"feedfeed\n":                        {},
		strings.Repeat("x", 100_000) + "\n": {},
	} {
		name, grace, err := parseCommand(line)
		if name != want.name || grace != want.grace || (err != nil) != (want.name == "") {
			t.Errorf("%.40q: got %q, %s, %v", line, name, grace, err)
		}
	}
}

func TestR7ProcessNamesCannotConfuse(t *testing.T) {
	t.Parallel()
	rest := " S 7 8 9 0 -1 4194560 1 0 0 0 0 0 0 0 20 0 1 0 12345 2461696 200"
	for _, name := range []string{"sh", "a) S 1 1 1 (b", ") Z 9 9 9", "", "\n"} {
		p, ok := parseStat(42, []byte("42 ("+name+")"+rest))
		if want := (process{pid: 42, parent: 7, group: 8, state: 'S', started: 12345}); !ok || p != want {
			t.Errorf("%q: got %+v, %v", name, p, ok)
		}
	}
	for _, stat := range []string{"", "42 (sh", "42 (sh) S 1", "42 (sh)" + strings.ReplaceAll(rest, "12345", "x")} {
		if p, ok := parseStat(42, []byte(stat)); ok {
			t.Errorf("%q: got %+v", stat, p)
		}
	}
}

// A process that was given the number of one that is gone must not be signalled.
func TestR7SignalsGoToOneProcessOnly(t *testing.T) {
	t.Parallel()
	self, ok := readProcess(os.Getpid())
	if !ok || self.innerPID() == 0 || self.dead() {
		t.Fatalf("got %+v, %v", self, ok)
	}
	self.started++
	send(self, syscall.SIGKILL) // or this test ends here
}

func TestX6LookPath(t *testing.T) {
	t.Parallel()
	there := []string{"/usr/bin/tool", "/ws/local", "/ws/bin/own", "/bin/sh"}
	exists := func(p string) bool { return slices.Contains(there, p) }
	for _, test := range []struct{ name, path, want string }{
		{"tool", "PATH=/bin:/usr/bin", "/usr/bin/tool"},
		{"tool", "PATH=/bin", ""},
		{"tool", "HOME=/", "/usr/bin/tool"},
		{"local", "PATH=:/bin", "/ws/local"},
		{"own", "PATH=bin:/bin", "/ws/bin/own"},
		{"./bin/own", "PATH=/bin", "/ws/bin/own"},
		{"/bin/sh", "PATH=", "/bin/sh"},
		{"/bin/tool", "PATH=/usr/bin", ""},
	} {
		got, err := lookPath(test.name, "/ws", []string{"PATH=/first", test.path}[1:], exists)
		if got != test.want || (err == nil) != (test.want != "") || err != nil && !errors.Is(err, ErrNotFound) {
			t.Errorf("%s with %s: got %q, %v", test.name, test.path, got, err)
		}
	}
}

func TestX5ClosedDirectoriesAreFound(t *testing.T) {
	t.Parallel()
	base := t.TempDir()
	deep := filepath.Join(base, "open", "closed", "open", "closed", "target")
	if err := os.MkdirAll(deep, 0o755); err != nil {
		t.Fatal(err)
	}
	for _, dir := range []string{base, filepath.Dir(base)} {
		if err := os.Chmod(dir, 0o755); err != nil {
			t.Fatal(err)
		}
	}
	closed := filepath.Join(base, "open", "closed")
	for _, dir := range []string{closed, filepath.Join(closed, "open", "closed")} {
		if err := os.Chmod(dir, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	const stranger = 61999
	if got, err := closedAbove(stranger, deep); got != closed || err != nil {
		t.Errorf("got %q, %v", got, err)
	}
	if got, err := closedAbove(stranger, filepath.Join(base, "open", "x")); got != "" || err != nil {
		t.Errorf("an open way: got %q, %v", got, err)
	}
	if got, err := closedAbove(os.Getuid(), deep); got != "" || err != nil {
		t.Errorf("the owner: got %q, %v", got, err)
	}
	if _, err := closedAbove(stranger, filepath.Join(base, "missing", "x")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("a missing way: %v", err)
	}
	if got, err := closedAbove(stranger, "/usr"); got != "" || err != nil {
		t.Errorf("/usr: got %q, %v", got, err)
	}
}

func TestX5InnermostMountDecides(t *testing.T) {
	t.Parallel()
	v := &view{mounts: []mount{{path: "/opt"}, {path: "/opt/app/data", hidden: true}, {path: "/opt/app/data/bin"}}}
	for path, want := range map[string]bool{
		"/opt": true, "/opt/app/data2": true, "/opt/app/data": false, "/opt/app/data/db": false, "/opt/app/data/bin/tool": true, "/optional": false, "/": false,
	} {
		if got := v.shows(path); got != want {
			t.Errorf("%s: got %v", path, got)
		}
	}
}

func TestX5PasswdCannotBeForgedThroughHome(t *testing.T) {
	t.Parallel()
	v := &view{uid: 61000, spec: Spec{Env: []string{"HOME=/x:/bin/sh\nroot2::0:0::/:/bin/sh"}}}
	if text := v.files()[0].Content; strings.Contains(text, "root2") || !strings.Contains(text, ":61000:61000:agent:/workspace:") {
		t.Errorf("got %q", text)
	}
}

func TestX5PwdIsTheWorkspace(t *testing.T) {
	t.Parallel()
	env := []string{"A=1", "PWD=/elsewhere", "B=2"}
	if got := withPWD(env, "/ws"); !slices.Equal(got, []string{"A=1", "B=2", "PWD=/ws"}) || env[1] != "PWD=/elsewhere" {
		t.Errorf("got %v", got)
	}
}

type funcWriter func(p []byte) (int, error)

func (f funcWriter) Write(p []byte) (int, error) { return f(p) }

func TestX6WritersAreCompared(t *testing.T) {
	t.Parallel()
	a, b := &bytes.Buffer{}, &bytes.Buffer{}
	f := funcWriter(io.Discard.Write)
	if !sameWriter(a, a) || sameWriter(a, b) || sameWriter(nil, nil) || sameWriter(a, nil) || sameWriter(f, f) {
		t.Error("writers are not compared as they should be")
	}
}

func TestX5PrefaceIsBoundedAndForgotten(t *testing.T) {
	t.Parallel()
	p := &preface{}
	for range 100 {
		if n, err := p.Write(make([]byte, 100)); n != 100 || err != nil {
			t.Fatal(n, err)
		}
	}
	if len(p.String()) != prefaceSize {
		t.Errorf("kept %d bytes", len(p.String()))
	}
	p.stop()
	_, _ = p.Write([]byte("secret"))
	if p.String() != "" {
		t.Errorf("kept %q", p.String())
	}
}

// Feed is called by the loop that keeps a lease: it must not hang on a supervisor
// that does not listen, nor may a flood of feeds keep a kill from it.
func TestX1FeedNeverBlocksAndLeavesRoom(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = r.Close() }()
	p := &Process{control: w, feedEvery: time.Nanosecond, done: make(chan struct{})}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for range 50_000 { // more than a pipe holds
			p.Feed()
		}
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("it blocks")
	}
	for want, feedEvery := range []time.Duration{0, time.Hour} { // none, and the first only
		r, w, err := os.Pipe()
		if err != nil {
			t.Fatal(err)
		}
		p := &Process{control: w, feedEvery: feedEvery}
		for range 1000 {
			p.Feed()
		}
		_ = w.Close()
		if text, err := io.ReadAll(r); strings.Count(string(text), commandFeed+"\n") != want || err != nil {
			t.Errorf("every %s: got %q, %v", feedEvery, text, err)
		}
		_ = r.Close()
	}
	_ = w.Close()
}
