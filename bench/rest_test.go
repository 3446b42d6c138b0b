package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestMemoryOfThisProcess(t *testing.T) {
	t.Parallel()
	n, err := residentBytes(os.Getpid())
	must(t, err)
	if n < 1<<20 || n > 64<<30 {
		t.Errorf("this process is said to hold %d bytes", n)
	}
	if _, err := residentBytes(-1); err == nil {
		t.Error("a process that does not exist holds memory")
	}
}

func TestUsageOfThisProcess(t *testing.T) {
	t.Parallel()
	before, err := usageOf(os.Getpid())
	must(t, err)
	for used := before; used.processor == before.processor; { // until a tick has passed
		used, err = usageOf(os.Getpid())
		must(t, err)
		if used.processor < before.processor || used.written < before.written {
			t.Fatalf("first %+v, then %+v", before, used)
		}
	}
	if _, err := usageOf(-1); err == nil {
		t.Error("a process that does not exist has used something")
	}
}

func TestProcField(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "status")
	must(t, os.WriteFile(file, []byte("Name:\tx\nVmRSS:\t  123 kB\n"), 0o600))
	equal(t, "field", procField(file, "VmRSS"), "123 kB")
	equal(t, "no field", procField(file, "VmSwap"), "unknown")
	equal(t, "no file", procField(file+"x", "VmRSS"), "unknown")
	equal(t, "line", firstLine(file), "Name:\tx")
}

func TestMachineIsDescribed(t *testing.T) {
	t.Parallel()
	s := testSession(t, 1)
	s.describe(t.Context())
	m := s.report.Machine
	if m.Cores < 1 || m.MemoryBytes < 1<<20 || m.FileSystem == "" || m.CPU == "" {
		t.Errorf("the machine is %+v", m)
	}
	if v := s.report.Versions; !strings.HasPrefix(v["sqlite"], "3.") || !strings.HasPrefix(v["go"], "go1") {
		t.Errorf("the versions are %v", v)
	}
}

func TestNoPostgresIsSaid(t *testing.T) {
	t.Parallel()
	for _, b := range benchmarks() {
		if b.id == "B4" || b.id == "B14" {
			continue // has no database, or takes SQLite in any case
		}
		t.Run(b.id, func(t *testing.T) {
			t.Parallel()
			s := testSession(t, 0.001)
			s.opts.engines = []string{postgres}
			s.binary = func() (string, error) { return s.self, nil }
			must(t, b.run(t.Context(), s))
			if !slices.ContainsFunc(s.report.Rows, func(r row) bool {
				return r.ID == b.id && r.Verdict == notMeasured && strings.Contains(r.Note, "make bench")
			}) {
				t.Errorf("the rows are %+v", s.report.Rows)
			}
		})
	}
}

// TestB9MemoryAfterLists reads lists from a server of this program's.
func TestB9MemoryAfterLists(t *testing.T) {
	t.Parallel()
	s := testSession(t, 0.001)
	db, err := s.fillDatabase(t.Context(), sqlite, 500)
	must(t, err)
	srv, err := s.startChild(t.Context(), serveOrder{Database: db.url, DataDir: filepath.Join(s.dir, "rest")})
	must(t, err)
	var found restFound
	err = found.memory(t.Context(), srv, 20, 1)
	must(t, srv.stop())
	must(t, err)
	if found.Idle <= 0 || found.Listed <= 0 || srv.ready <= 0 {
		t.Errorf("found %+v, ready after %s", found, srv.ready)
	}
	left, err := db.number(t.Context(), "SELECT COUNT(*) FROM runs WHERE state = 'QUEUED'")
	must(t, err)
	if left == 0 {
		t.Error("the server did not leave the queued runs alone")
	}
}

func TestServerThatDoesNotStart(t *testing.T) {
	t.Parallel()
	s := testSession(t, 1)
	file := filepath.Join(s.dir, "file")
	must(t, os.WriteFile(file, nil, 0o600))
	_, err := s.startChild(t.Context(), serveOrder{Database: filepath.Join(file, "x.db"), DataDir: filepath.Join(s.dir, "data")})
	if err == nil || !strings.Contains(err.Error(), "before it was ready") {
		t.Errorf("got %v", err)
	}
}

func TestProfileFiles(t *testing.T) {
	t.Parallel()
	s := testSession(t, 1)
	equal(t, "without", s.profileFile("x"), "")
	must(t, s.profiled("x", func() error { return nil }))
	s.opts.cpuProfile = "/tmp/p"
	equal(t, "with", s.profileFile("x"), "/tmp/p-x.prof")
	s.opts.cpuProfile = filepath.Join(s.dir, "no such folder", "p")
	if err := s.profiled("x", func() error { return fmt.Errorf("must not be called") }); err == nil || !strings.Contains(err.Error(), "profile") {
		t.Errorf("got %v", err)
	}
}
