package main

import (
	"bufio"
	"cmp"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"
)

const modulePrefix = "github.com/lineshaft/lineshaft/"

// event is one line of `go test -json`; see `go doc test2json`.
type event struct {
	Action  string  `json:"Action"`
	Package string  `json:"Package"`
	Test    string  `json:"Test"`
	Elapsed float64 `json:"Elapsed"`
	Output  string  `json:"Output"`
}

// test is what is known of one test or subtest.
type test struct {
	action string // pass, fail or skip; empty while it runs
	output []string
	parent bool // it has subtests, which are counted in its place
}

// suite is one package under test.
type suite struct {
	tests  map[string]*test
	order  []string
	output []string
}

// report turns events into lines for people and counts.
type report struct {
	out      io.Writer
	suites   map[string]*suite
	packages int
	passed   int
	failed   int
	skipped  int
	skips    map[string]int // reason to how many
	slow     []slowTest     // the slowest so far
	again    []string       // what failed, for the end, where it is looked for
}

// againLines is how much of each failed test is shown a second time.
const againLines = 12

// slowTest is a test that others wait for. Time in which it let others go first does not count.
type slowTest struct {
	name string
	took float64
}

// slowTests is how many of them are shown, from slowFrom seconds on.
const (
	slowTests = 10
	slowFrom  = 10
)

func newReport(out io.Writer) *report {
	return &report{out: out, suites: map[string]*suite{}, skips: map[string]int{}}
}

// read takes events until the end of r. Lines that are no events are shown.
func (rep *report) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadBytes('\n')
		if len(line) > 0 {
			var e event
			if json.Unmarshal(line, &e) != nil {
				fmt.Fprintf(rep.out, "%s", line)
			} else {
				rep.add(e)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read test output: %w", err)
		}
	}
}

func (rep *report) add(e event) {
	if strings.HasPrefix(e.Action, "build-") {
		fmt.Fprint(rep.out, e.Output)
		return
	}
	s, ok := rep.suites[e.Package]
	if !ok {
		s = &suite{tests: map[string]*test{}}
		rep.suites[e.Package] = s
	}
	switch {
	case e.Test != "":
		rep.addTest(s, e)
	case e.Action == "output":
		s.output = append(s.output, e.Output)
	case e.Action == "pass" || e.Action == "fail":
		rep.finish(s, e)
	}
}

func (rep *report) addTest(s *suite, e event) {
	t, ok := s.tests[e.Test]
	if !ok {
		t = &test{}
		s.tests[e.Test] = t
		s.order = append(s.order, e.Test)
		if i := strings.LastIndexByte(e.Test, '/'); i > 0 && s.tests[e.Test[:i]] != nil {
			s.tests[e.Test[:i]].parent = true
		}
	}
	switch e.Action {
	case "output":
		if !strings.HasPrefix(e.Output, "=== ") { // progress marks
			t.output = append(t.output, e.Output)
		}
	case "pass", "fail", "skip":
		t.action = e.Action
		if !strings.Contains(e.Test, "/") && e.Elapsed >= slowFrom {
			rep.slow = append(rep.slow, slowTest{strings.TrimPrefix(e.Package, modulePrefix) + " " + e.Test, e.Elapsed})
		}
		if e.Action == "pass" {
			t.output = nil
		}
	}
}

// finish counts a package and says how it went.
func (rep *report) finish(s *suite, e event) {
	rep.packages++
	name := strings.TrimPrefix(e.Package, modulePrefix)
	passed, failed, skipped := rep.count(s)
	if e.Action == "fail" && failed == 0 {
		failed = 1 // it did not build, panicked outside a test or exited
	}
	rep.passed, rep.failed, rep.skipped = rep.passed+passed, rep.failed+failed, rep.skipped+skipped
	if e.Action == "pass" && failed == 0 {
		fmt.Fprintf(rep.out, "ok    %-32s %6.1f s  %d passed", name, e.Elapsed, passed)
		if skipped > 0 {
			fmt.Fprintf(rep.out, ", %d skipped", skipped)
		}
		fmt.Fprintln(rep.out)
	} else {
		rep.showFailure(s, name, failed)
	}
	s.tests, s.order, s.output = map[string]*test{}, nil, nil
}

// count counts the tests that have no subtests, and those that failed by
// themselves although no subtest did.
func (rep *report) count(s *suite) (passed, failed, skipped int) {
	for _, name := range s.order {
		t := s.tests[name]
		switch {
		case t.action == "pass" && !t.parent:
			passed++
		case t.action == "skip":
			skipped++
			rep.skips[reason(t.output)]++
		case t.action == "fail" || t.action == "":
			if !t.parent || !s.failedBelow(name) {
				failed++
			}
		}
	}
	return passed, failed, skipped
}

func (s *suite) failedBelow(name string) bool {
	return slices.ContainsFunc(s.order, func(other string) bool {
		return strings.HasPrefix(other, name+"/") && s.tests[other].action != "pass" && s.tests[other].action != "skip"
	})
}

func (rep *report) showFailure(s *suite, name string, failed int) {
	fmt.Fprintf(rep.out, "FAIL  %s: %d failed\n", name, failed)
	for _, test := range s.order {
		if t := s.tests[test]; t.action == "fail" || t.action == "" {
			lines := verdictFirst(t.output)
			fmt.Fprint(rep.out, strings.Join(lines, ""))
			rep.again = append(rep.again, name+" "+strings.Join(lines[:min(len(lines), againLines)], ""))
		}
	}
	fmt.Fprint(rep.out, strings.Join(s.output, ""))
}

// verdictFirst moves the line that names a failed test before its messages, which may
// be long: test2json has it after them.
func verdictFirst(output []string) []string {
	i := slices.IndexFunc(output, func(line string) bool { return strings.HasPrefix(strings.TrimLeft(line, " "), "--- FAIL: ") })
	if i < 0 {
		return output
	}
	return slices.Concat(output[i:i+1], output[:i], output[i+1:])
}

// close ends the report and returns its one line of counts.
func (rep *report) close(took time.Duration) string {
	reasons := slices.SortedFunc(maps.Keys(rep.skips), func(a, b string) int {
		return cmp.Or(rep.skips[b]-rep.skips[a], cmp.Compare(a, b))
	})
	for _, why := range reasons {
		fmt.Fprintf(rep.out, "skipped %d: %s\n", rep.skips[why], why)
	}
	slices.SortFunc(rep.slow, func(a, b slowTest) int { return cmp.Compare(b.took, a.took) })
	for _, slow := range rep.slow[:min(len(rep.slow), slowTests)] {
		fmt.Fprintf(rep.out, "slow  %6.1f s  %s\n", slow.took, slow.name)
	}
	for _, failure := range rep.again {
		fmt.Fprintf(rep.out, "failed: %s", failure)
	}
	line := fmt.Sprintf("go: %d passed, %d failed, %d skipped in %d packages, %.0f s",
		rep.passed, rep.failed, rep.skipped, rep.packages, took.Seconds())
	fmt.Fprintln(rep.out, line)
	return line
}

// verdict is an error when the run cannot count as good: something failed, or
// nothing ran at all.
func (rep *report) verdict() error {
	switch {
	case rep.failed > 0:
		return fmt.Errorf("%d tests failed", rep.failed)
	case rep.passed == 0:
		return errors.New("no test ran")
	}
	return nil
}

// reason finds what a skipped test said: "    file_test.go:12: why".
func reason(output []string) string {
	said := regexp.MustCompile(`^\s+\S+\.go:\d+: (.+)`)
	for _, line := range slices.Backward(output) {
		if m := said.FindStringSubmatch(line); m != nil {
			return strings.TrimSpace(m[1])
		}
	}
	return "no reason given"
}
