package house_test

import (
	"slices"
	"strings"
	"testing"
)

// houseAllLines is how many lines of source the program has, without tests, benchmarks,
// scripts and what is generated. It is lowered with what is deleted; raise it only for
// something that users asked for. 1,680 came with overlays of prepared environments: mounts,
// set-ups that runs share, differences as snapshots, newer objects alone; 390 with what an
// environment shows of its starts, reservations of space and the log of what is kept. 701 came
// with the volume of deliveries, the overview's comparison and the commands for logs (W-18, I-2),
// 110 with the databases of earlier versions that tests open, 90 with what agents without a key
// need, help on completion for each shell, and typing errors in the search of the documentation
// (I-7), 103 with lists sorted by their columns and the type face of the pages (I-2), 81 with
// settling by weight (D-3), 70 with names of environments and hints for newcomers (I-1), 110 with what
// the review of the pages still asked for: defaults, names instead of ids, filters, the rest of outputs (I-2),
// 343 with the rest of it: the page of a worker, runs as CSV, starts by hand, links to uses and in the audit log,
// 231 with attributes of files in prepared environments, room on their disk and what killed processes leave
// mounted, 412 with marks of runs in lists, the outline of a run, why something cannot be run
// by hand, filters of runs by automation, webhook and error code, and more names in the audit log (I-2),
// 622 with steps of set-ups on the pages of a run, checkpoints beside the writer, packed bodies, searches that measure
// once, times in UTC, the bar of a run, and forms with runners and budgets,
// 436 with transactions of PostgreSQL in few round trips, and rates that are counted together (D-2),
// 120 with reasons why an environment is not kept, and what environments take of the disk,
// 163 with streams that keep little memory while they are silent,
// 143 with what `environment prepare` says at its end, workers that nobody has started, and room on a full disk,
// 22 with tokens, panics and bounds of gathered work,
// 355 with tool servers, harness and runner in the forms of agents and automations (I-2),
// 19 with old environments below workspaces that make way,
// 318 with payloads in colours, fields of a delivery for filters, a tab for credentials of webhooks, and a line
// for a shell for each call of the API (I-2, H-1),
// 55 with charts of money, shares and differences as people read them, names in questions (I-2), and bounds of both,
// 61 with lists of many rows that ask once (I-2), and ports of benchmarks that no other process gets.
const houseAllLines = 145_477

// TestHouseCounts counts the house; `make counts` shows what it finds.
func TestHouseCounts(t *testing.T) {
	t.Parallel()
	tree, err := archModuleTree()
	if err != nil {
		t.Fatal(err)
	}
	lines, packages := 0, map[string]int{}
	for _, f := range tree.written(false) {
		beside, _, _ := strings.Cut(f.dir, "/")
		if slices.Contains([]string{"bench", "e2e", "tests", "scripts"}, beside) {
			continue
		}
		lines += f.lines
		packages[f.dir] += f.lines
	}
	t.Logf("%d lines of source in %d packages", lines, len(packages))
	for dir, n := range packages {
		if n > housePackageLines {
			t.Logf("%s has %d lines", dir, n)
		}
	}
	if lines > houseAllLines {
		t.Errorf("%d lines of source, more than %d", lines, houseAllLines)
	}
}
