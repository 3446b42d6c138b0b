package house_test

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// figurePage has the table of figures that other pages, and the model of a fleet, cite.
const figurePage = "docs/benchmarks.md"

var (
	figureRow = regexp.MustCompile(`(?m)^\| (B\d+) \| ([^|]+) \| (sqlite|postgres|–) \| ([\d,.]+)(/s| \S+)? \|`)
	// A page cites a figure behind a comment that names its row, the model before one.
	figureCited = regexp.MustCompile(`(<!-- (B\d+ [^>]+) -->)[\d,.]+(?: (?:ms|MB|%|µs))?`)
	figureUsed  = regexp.MustCompile(`([\d_.]+)((?: [*/] [\d_.]+)?,? +// figure: (B\d+ .+))`)
)

// figures are the figures of the table by their rows.
func figures(page string) (cited, bare map[string]string) {
	cited, bare = map[string]string{}, map[string]string{}
	for _, row := range figureRow.FindAllStringSubmatch(page, -1) {
		name := fmt.Sprintf("%s %s, %s", row[1], strings.TrimSpace(row[2]), row[3])
		bare[name] = strings.ReplaceAll(row[4], ",", "")
		cited[name] = row[4] + strings.TrimPrefix(row[5], "/s")
	}
	return cited, bare
}

// citedAgain gives a text the figures of the table, and names the rows that are not there.
func citedAgain(text string, cited, bare map[string]string) (again string, missing []string) {
	replace := func(pattern *regexp.Regexp, row int, with func(parts []string) string, from map[string]string) {
		text = pattern.ReplaceAllStringFunc(text, func(found string) string {
			parts := pattern.FindStringSubmatch(found)
			if from[parts[row]] == "" {
				missing = append(missing, parts[row])
				return found
			}
			return with(parts)
		})
	}
	replace(figureCited, 2, func(parts []string) string { return parts[1] + cited[parts[2]] }, cited)
	replace(figureUsed, 3, func(parts []string) string { return bare[parts[3]] + parts[2] }, bare)
	return text, missing
}

// TestHouseFiguresAreThoseOfTheBenchmarks holds what other pages and bench/fleet cite to docs/benchmarks.md.
func TestHouseFiguresAreThoseOfTheBenchmarks(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(filepath.Join(archRoot, figurePage))
	if err != nil {
		t.Fatal(err)
	}
	cited, bare := figures(string(page))
	for name, least := range map[string]int{"docs/scaling.md": 10, "docs/operate/sizing.md": 9, "bench/fleet/costs.go": 4} {
		text, err := os.ReadFile(filepath.Join(archRoot, name))
		if err != nil {
			t.Fatal(err)
		}
		if n := len(figureCited.FindAll(text, -1)) + len(figureUsed.FindAll(text, -1)); n < least {
			t.Errorf("%s cites %d figures, fewer than %d: name their rows as the others do", name, n, least)
		}
		again, missing := citedAgain(string(text), cited, bare)
		for _, row := range missing {
			t.Errorf("%s cites %q, and %s has no such row", name, row, figurePage)
		}
		switch {
		case again == string(text):
		case *update:
			err = errors.Join(err, os.WriteFile(filepath.Join(archRoot, name), []byte(again), 0o644))
		default:
			t.Errorf("%s has other figures than %s; run: make figures", name, figurePage)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestHouseFiguresCanFail(t *testing.T) {
	t.Parallel()
	cited, bare := figures("| # | what |\n| B1 | ingress, 256 connections | sqlite | 4,538/s | 6,625/s |\n| B5 | start latency, p50 | sqlite | 33.5 ms | 40.0 ms |\n")
	text := "a <!-- B1 ingress, 256 connections, sqlite -->9,999 a second, <!-- B5 start latency, p50, sqlite -->1 ms\n" +
		"\tacceptsPerCore: 1.0 / 2, // figure: B1 ingress, 256 connections, sqlite\n<!-- B9 gone, sqlite -->7 MB"
	const want = "a <!-- B1 ingress, 256 connections, sqlite -->4,538 a second, <!-- B5 start latency, p50, sqlite -->33.5 ms\n" +
		"\tacceptsPerCore: 4538 / 2, // figure: B1 ingress, 256 connections, sqlite\n<!-- B9 gone, sqlite -->7 MB"
	got, missing := citedAgain(text, cited, bare)
	if got != want || !slices.Equal(missing, []string{"B9 gone, sqlite"}) {
		t.Errorf("got %s\nwithout %q", got, missing)
	}
}
