//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/e2e/faults/check"
)

// program is what the rig tests.
func program(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Fatal("the rig mounts small file systems and runs PostgreSQL as its own user; run it as root")
	}
	if bin := os.Getenv("LINESHAFT_BIN"); bin != "" {
		return bin
	}
	bin := filepath.Join(t.TempDir(), "lineshaft")
	if out, err := exec.Command("go", "build", "-o", bin, "../../cmd/lineshaft").CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	return bin
}

// D-2: a short round on each engine; `make faults` has the long ones.
//
//nolint:paralleltest // with a lease of 2 s each engine wants the machine for itself
func TestD2FaultRound(t *testing.T) {
	if os.Getenv("LINESHAFT_TEST_ALL") == "" {
		t.Skip("make test-all has this round; it takes two minutes")
	}
	bin := program(t)
	seed := os.Getenv("LINESHAFT_TEST_SEED")
	if seed == "" {
		seed = "20261117"
	}
	for _, engine := range []string{"sqlite", "postgres"} {
		t.Run(engine, func(t *testing.T) {
			var out bytes.Buffer
			err := start(t.Context(), []string{"-bin", bin, "-engine", engine, "-seed", seed, "-minutes", "0.4"}, &out)
			t.Logf("LINESHAFT_TEST_SEED=%s\n%s", seed, out.String())
			if err != nil {
				t.Error(err)
			}
		})
	}
}

// firstWrite ends a context when something is written.
type firstWrite struct{ cancel context.CancelFunc }

func (w firstWrite) Write(p []byte) (int, error) {
	w.cancel()
	return len(p), nil
}

// Ctrl-C ends everything that a part has started, at whatever moment it comes, and leaves no file system mounted.
//
//nolint:paralleltest // each engine wants the machine for itself
func TestD2InterruptedPart(t *testing.T) {
	if os.Getenv("LINESHAFT_TEST_ALL") == "" {
		t.Skip("make test-all has this test; it takes a minute")
	}
	bin := program(t)
	for _, engine := range []string{"sqlite", "postgres"} {
		for _, moment := range []string{"while it starts", "while faults are made"} {
			t.Run(engine+" "+moment, func(t *testing.T) {
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				dir, out := t.TempDir(), io.Discard
				if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // the database is another user's
					t.Fatal(err)
				}
				if moment == "while it starts" {
					go func() {
						defer cancel()
						_ = await(ctx, "something is mounted", func(context.Context) bool { return len(mountsBelow(t, dir)) > 0 })
					}()
				} else {
					out = firstWrite{cancel}
				}
				ended := make(chan error, 1)
				go func() {
					ended <- start(ctx, []string{"-bin", bin, "-engine", engine, "-seed", "1", "-minutes", "10", "-keep", dir}, out)
				}()
				<-ctx.Done()
				asked := time.Now()
				select {
				case err := <-ended:
					if !errors.Is(err, context.Canceled) {
						t.Errorf("it ended with %v", err)
					}
				case <-time.After(time.Minute):
					t.Fatal("it goes on after a minute")
				}
				t.Logf("ended %s after it was asked to", time.Since(asked).Round(time.Millisecond))
				if left := mountsBelow(t, dir); len(left) > 0 {
					t.Errorf("still mounted: %v", left)
				}
				gone := func(context.Context) bool { return len(processesOf(dir)) == 0 }
				if err := await(t.Context(), "all processes are gone", gone); err != nil {
					t.Errorf("%v: %v", err, processesOf(dir))
				}
			})
		}
	}
}

// mountsBelow are the file systems in a folder.
func mountsBelow(t *testing.T, dir string) (found []string) {
	t.Helper()
	text, err := os.ReadFile("/proc/mounts")
	if err != nil {
		t.Error(err)
	}
	for line := range strings.Lines(string(text)) {
		if strings.Contains(line, " "+dir) {
			found = append(found, line)
		}
	}
	return found
}

// processesOf are the command lines that name a folder.
func processesOf(dir string) (found []string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline") // the pattern is good
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && bytes.Contains(line, []byte(dir)) {
			found = append(found, string(bytes.ReplaceAll(line, []byte{0}, []byte{' '})))
		}
	}
	return found
}

// echo answers each line with itself.
func echo(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { listener.Close() })
	go func() {
		for {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(conn, conn); conn.Close() }()
		}
	}()
	return listener.Addr().String()
}

func dial(t *testing.T, l *link) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", l.address())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { conn.Close() })
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	return conn
}

// say sends a word and reads the answer.
func say(conn net.Conn, word string) (string, error) {
	if _, err := io.WriteString(conn, word); err != nil {
		return "", err
	}
	answer := make([]byte, len(word))
	_, err := io.ReadFull(conn, answer)
	return string(answer), err
}

func TestD2LinkHoldsAndHeals(t *testing.T) {
	t.Parallel()
	l, err := newLink(t.Context(), "a link", echo(t))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = l.close() }()
	conn := dial(t, l)
	if got, err := say(conn, "hello"); got != "hello" {
		t.Fatalf("%q, %v", got, err)
	}
	l.hold()
	answered := make(chan string, 1)
	go func() {
		got, _ := say(conn, "again")
		answered <- got
	}()
	select {
	case got := <-answered:
		t.Fatalf("a cut link answered %q", got)
	case <-time.After(50 * time.Millisecond): // silence cannot be waited for in another way
	}
	l.heal()
	if got := <-answered; got != "again" {
		t.Errorf("after the cut: %q", got)
	}
	l.resetAll()
	if got, err := say(conn, "over"); err == nil {
		t.Errorf("a connection that was reset answered %q", got)
	}
}

// The connection of a COMMIT ends, before it is passed on or after; others continue.
func TestD2LinkCutsInCommit(t *testing.T) {
	t.Parallel()
	for _, after := range []bool{true, false} {
		arrived := make(chan string, 1)
		listener, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		go func() {
			conn, err := listener.Accept()
			if err != nil {
				return
			}
			text, _ := io.ReadAll(conn) // a reset is its end
			arrived <- string(text)
		}()
		l, err := newLink(t.Context(), "a link", listener.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		cut := &commitCut{after: after, done: make(chan struct{})}
		l.commit.Store(cut)
		conn := dial(t, l)
		if _, err := io.WriteString(conn, "Q\x00\x00\x00\x0bcommit\x00"); err != nil {
			t.Fatal(err)
		}
		<-cut.done
		if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("after %t: the connection goes on: %v", after, err)
		}
		// What was passed on before a reset may be dropped with it; what was not must not arrive.
		if got := <-arrived; !after && got != "" {
			t.Errorf("%q arrived", got)
		}
		_ = errors.Join(l.close(), listener.Close())
	}
}

// The filter reaches any program: sync(1) here, static ones as well.
func TestD2DiskAnswersForFsync(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	d, err := newDisk(filepath.Join(dir, "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = d.listener.Close() }()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	sync := func() (string, error) {
		out, err := exec.Command(os.Args[0], wrapRole, d.path, "/usr/bin/sync", file).CombinedOutput()
		return string(out), err
	}
	if out, err := sync(); err != nil || d.count() != 1 {
		t.Fatalf("%d were asked for: %v, %s", d.count(), err, out)
	}
	d.set(0, true)
	if out, err := sync(); err == nil || !strings.Contains(out, "Input/output error") {
		t.Errorf("a broken disk: %v, %s", err, out)
	}
	d.set(100*time.Millisecond, false)
	if began := time.Now(); d.count() != 2 {
		t.Errorf("%d were asked for", d.count())
	} else if out, err := sync(); err != nil || time.Since(began) < 100*time.Millisecond {
		t.Errorf("a slow disk took %s: %v, %s", time.Since(began), err, out)
	}
}

func TestD2FaultsAreOfManyClasses(t *testing.T) {
	t.Parallel()
	for _, engine := range []string{"sqlite", "postgres"} {
		classes := map[string]bool{}
		for _, f := range faults() {
			if f.engine == "" || f.engine == engine {
				classes[f.class] = true
			}
		}
		if len(classes) < 14 {
			t.Errorf("%s has %d classes", engine, len(classes))
		}
	}
}

// The reports of parts add up to one page.
func TestD2ReportsAddUp(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if seed := nextSeed(dir, "sqlite"); seed != 1 {
		t.Errorf("the first seed is %d", seed)
	}
	for i, engine := range []string{"sqlite", "sqlite", "postgres"} {
		p := &part{
			Seed: uint64(i + 1), Engine: engine, Began: time.Date(2026, 11, 17, 9, i, 0, 0, time.UTC), Seconds: 60, Acknowledged: 10,
			Recovery: map[string][]int64{"kill -9 server": {int64(i), 100}}, Ended: map[string]int{"SUCCEEDED": 5},
		}
		if i == 2 {
			p.Findings = []check.Finding{{Rule: check.Lost}, {Rule: check.Stale}}
		}
		if err := p.write(dir); err != nil {
			t.Fatal(err)
		}
	}
	if seed := nextSeed(dir, "sqlite"); seed != 3 {
		t.Errorf("the next seed is %d", seed)
	}
	file := filepath.Join(dir, "report.md")
	if err := start(t.Context(), []string{"-minutes", "0", "-parts", dir, "-report", file}, io.Discard); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	lines := slices.Collect(strings.Lines(string(text)))
	for _, want := range []string{
		"| sqlite | 2 | 2 | 4 | 1 | 20 | 0 | 0 | 0 | 0 | 0 | 0 |\n",
		"| postgres | 1 | 1 | 2 | 1 | 10 | 0 | 0 | 1 | 0 | 0 | 1 |\n",
		"| sqlite | SUCCEEDED | 10 |\n",
		"| sqlite | kill -9 server | 4 | 1 | 100 |\n",
		"| sqlite | 2 | 2026-11-17 09:01:00 | 60 | 2 | 10 | 0 |\n",
	} {
		if !slices.Contains(lines, want) {
			t.Errorf("the report does not have %q:\n%s", want, text)
		}
	}
}
