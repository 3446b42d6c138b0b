package scripts_test

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// TestSoakPartsAreThere holds the list of parts to what the script does, and the tests that it names to those
// that exist: a part whose tests were renamed would pass without running any.
func TestSoakPartsAreThere(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("soak")
	if err != nil {
		t.Fatal(err)
	}
	listed := script(t, nil, "soak", "--list").out
	cases := regexp.MustCompile(`(?m)^\t([a-z-]+)\)(.*)$`).FindAllStringSubmatch(string(text), -1)
	if got, want := strings.Count(listed, "\n"), len(cases); got != want || want < 10 {
		t.Errorf("%d parts are listed, %d are known", got, want)
	}
	for _, known := range cases {
		if !strings.Contains("\n"+listed, "\n"+known[1]+" ") {
			t.Errorf("the part %s is not listed:\n%s", known[1], listed)
		}
		rounds := regexp.MustCompile(`rounds '?([^' ]+)'? (.*) ;;`).FindStringSubmatch(known[2])
		if rounds == nil || rounds[1] == "." {
			continue
		}
		tests := testsOf(t, strings.Fields(rounds[2]))
		for name := range strings.SplitSeq(rounds[1], "|") {
			if !strings.Contains(tests, "func "+name) {
				t.Errorf("the part %s runs %s, and there is no such test in %s", known[1], name, rounds[2])
			}
		}
	}
	if got := script(t, nil, "soak", "nothing"); got.status == 0 || !strings.Contains(got.out, "there is no part") {
		t.Errorf("an unknown part: %+v", got)
	}
}

// TestSoakRaceIsNoSoak holds the part with the race detector to the rounds that tests usually have, and to the
// flags of `make test-all`: it once repeated every other part under the detector.
func TestSoakRaceIsNoSoak(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"soak", "suites-all"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if !strings.Contains(string(text), "scripts/race ") || strings.Contains(string(text), " -race") {
			t.Errorf("%s does not take its flags from scripts/race", name)
		}
		part := regexp.MustCompile(`(?s)\trace\)(.*?);;`).FindString(string(text))
		if name == "soak" && (part == "" || strings.Contains(part, "LINESHAFT_SOAK=") || !strings.Contains(part, "-u LINESHAFT_SOAK")) {
			t.Errorf("the part race is a soak: %s", part)
		}
	}
}

// testsOf is the text of all tests of packages.
func testsOf(t *testing.T, packages []string) string {
	t.Helper()
	var all strings.Builder
	for _, folder := range packages {
		files, err := filepath.Glob(filepath.Join("..", folder, "*_test.go"))
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
	}
	return all.String()
}
