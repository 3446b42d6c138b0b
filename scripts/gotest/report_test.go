package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// lines builds a stream of events in the form of test2json.
func lines(events ...string) string { return strings.Join(events, "\n") + "\n" }

func TestReportCounts(t *testing.T) {
	t.Parallel()
	const (
		pkg     = `"Package":"github.com/lineshaft/lineshaft/internal/x"`
		runA    = `{"Action":"run",` + pkg + `,"Test":"TestA"}`
		passA   = `{"Action":"pass",` + pkg + `,"Test":"TestA"}`
		slowA   = `{"Action":"pass",` + pkg + `,"Test":"TestA","Elapsed":12.5}`
		failA   = `{"Action":"fail",` + pkg + `,"Test":"TestA"}`
		sayA    = `{"Action":"output",` + pkg + `,"Test":"TestA","Output":"    a_test.go:3: broken\n"}`
		endA    = `{"Action":"output",` + pkg + `,"Test":"TestA","Output":"--- FAIL: TestA (0.01s)\n"}`
		runSub  = `{"Action":"run",` + pkg + `,"Test":"TestA/sub"}`
		passSub = `{"Action":"pass",` + pkg + `,"Test":"TestA/sub"}`
		failSub = `{"Action":"fail",` + pkg + `,"Test":"TestA/sub"}`
		saySub  = `{"Action":"output",` + pkg + `,"Test":"TestA/sub","Output":"    a_test.go:9: no database\n"}`
		skipSub = `{"Action":"skip",` + pkg + `,"Test":"TestA/sub"}`
		passPkg = `{"Action":"pass",` + pkg + `,"Elapsed":1.5}`
		failPkg = `{"Action":"fail",` + pkg + `}`
		sayPkg  = `{"Action":"output",` + pkg + `,"Output":"panic: outside\n"}`
		noFiles = `{"Action":"skip",` + pkg + `}`
	)
	for name, tt := range map[string]struct {
		in      string
		counts  string
		shows   string
		verdict string
	}{
		"one test":             {lines(runA, passA, passPkg), "1 passed, 0 failed, 0 skipped", "ok    internal/x", ""},
		"subtests count alone": {lines(runA, runSub, passSub, passA, passPkg), "1 passed, 0 failed, 0 skipped", "1 passed", ""},
		"failing subtest":      {lines(runA, runSub, failSub, failA, failPkg), "0 passed, 1 failed, 0 skipped", "FAIL  internal/x: 1", "1 tests failed"},
		"parent fails alone":   {lines(runA, runSub, passSub, sayA, failA, failPkg), "1 passed, 1 failed, 0 skipped", "a_test.go:3: broken", "1 tests failed"},
		"reason of a skip":     {lines(runA, runSub, saySub, skipSub, passA, passPkg), "0 passed, 0 failed, 1 skipped", "skipped 1: no database", "no test ran"},
		"verdict comes first":  {lines(runA, sayA, endA, failA, failPkg), "0 passed, 1 failed, 0 skipped", "--- FAIL: TestA (0.01s)\n    a_test.go:3: broken", "1 tests failed"},
		"failures come again":  {lines(runA, sayA, endA, failA, failPkg), "0 passed, 1 failed, 0 skipped", "failed: internal/x --- FAIL: TestA (0.01s)\n    a_test.go:3: broken\ngo: ", "1 tests failed"},
		"slow tests are named": {lines(runA, slowA, passPkg), "1 passed, 0 failed, 0 skipped", "slow    12.5 s  internal/x TestA\n", ""},
		"test never ended":     {lines(runA, sayA, failPkg), "0 passed, 1 failed, 0 skipped", "a_test.go:3: broken", "1 tests failed"},
		"panic in the package": {lines(sayPkg, failPkg), "0 passed, 1 failed, 0 skipped", "panic: outside", "1 tests failed"},
		"output of a pass":     {lines(runA, sayA, passA, passPkg), "1 passed, 0 failed, 0 skipped", "", ""},
		"nothing ran":          {lines(noFiles), "0 passed, 0 failed, 0 skipped in 0 packages", "", "no test ran"},
		"a line of no event":   {"go: downloading\n", "0 passed", "go: downloading\n", "no test ran"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out strings.Builder
			rep := newReport(&out)
			if err := rep.read(strings.NewReader(tt.in)); err != nil {
				t.Fatal(err)
			}
			if got := rep.close(time.Second); !strings.Contains(got, tt.counts) {
				t.Errorf("summary %q, want %q in it", got, tt.counts)
			}
			if !strings.Contains(out.String(), tt.shows) {
				t.Errorf("output %q, want %q in it", out.String(), tt.shows)
			}
			if name == "output of a pass" && strings.Contains(out.String(), "broken") {
				t.Errorf("output of a passing test was shown: %q", out.String())
			}
			got := ""
			if err := rep.verdict(); err != nil {
				got = err.Error()
			}
			if got != tt.verdict {
				t.Errorf("verdict %q, want %q", got, tt.verdict)
			}
		})
	}
}

func TestReportShowsBuildErrors(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	rep := newReport(&out)
	rep.add(event{Action: "build-output", Output: "./x.go:1: undefined: y\n"})
	if got := out.String(); !strings.Contains(got, "undefined: y") {
		t.Errorf("output %q does not show the build error", got)
	}
}

// TestRun drives the real go command over a module with a known outcome.
func TestRun(t *testing.T) {
	t.Parallel()
	for name, tt := range map[string]struct {
		body, want string
		fails      bool
	}{
		"good":    {"package m\nimport \"testing\"\nfunc TestX(t *testing.T) {}\n", "go: 1 passed, 0 failed", false},
		"unbuilt": {"package m\nimport \"testing\"\nfunc TestX(t *testing.T) { y() }\n", "go: 0 passed, 1 failed", true},
		"exits":   {"package m\nimport (\"os\"; \"testing\")\nfunc TestX(t *testing.T) { os.Exit(0) }\n", "go: 0 passed, 1 failed", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			for file, text := range map[string]string{"go.mod": "module m\n\ngo 1.26\n", "m_test.go": tt.body} {
				if err := os.WriteFile(filepath.Join(dir, file), []byte(text), 0o600); err != nil {
					t.Fatal(err)
				}
			}
			summary := filepath.Join(dir, "summary")
			var out strings.Builder
			err := run(t.Context(), &out, params{dir: dir, summary: summary, args: []string{"./..."}})
			if (err != nil) != tt.fails {
				t.Errorf("error %v, want failure %v\n%s", err, tt.fails, out.String())
			}
			written, err := os.ReadFile(summary)
			if err != nil {
				t.Fatal(err)
			}
			if !strings.HasPrefix(string(written), tt.want) {
				t.Errorf("summary %q, want it to start %q", written, tt.want)
			}
		})
	}
}

func TestRunStopsWithItsContext(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := run(ctx, &strings.Builder{}, params{dir: t.TempDir(), args: []string{"./..."}}); err == nil {
		t.Error("no error from a cancelled run")
	}
}
