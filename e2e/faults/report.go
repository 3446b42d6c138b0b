//go:build linux

package main

import (
	_ "embed" // the page around the tables
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/e2e/faults/check"
)

//go:embed report.txt
var reportText string

// part is the report of one part.
type part struct {
	Seed         uint64    `json:"seed"`
	Engine       string    `json:"engine"`
	Began        time.Time `json:"began"`
	Seconds      float64   `json:"seconds"`
	Acknowledged int64     `json:"acknowledged"`
	Runs         int       `json:"runs"`
	Deliveries   int       `json:"deliveries"`
	Callbacks    int       `json:"callbacks"`
	AuditEntries int       `json:"audit_entries"`
	// Ended counts the runs by the state that they ended in, with its error code.
	Ended map[string]int `json:"ended"`
	// Recovery has for each class the milliseconds of each fault.
	Recovery map[string][]int64 `json:"recovery_ms"`
	Findings []check.Finding    `json:"findings"`
	mu       sync.Mutex
}

func (p *part) add(class string, recovery time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.Recovery[class] = append(p.Recovery[class], recovery.Milliseconds())
}

func (p *part) faults() (n int) {
	for _, all := range p.Recovery {
		n += len(all)
	}
	return n
}

// print says how a part went.
func (p *part) print(out io.Writer) {
	_, _ = fmt.Fprintf(out, "seed %d on %s: %d faults of %d classes in %.0f s, "+
		"%d calls acknowledged, %d runs, %d deliveries, %d callbacks, %d findings; runs ended %v\n",
		p.Seed, p.Engine, p.faults(), len(p.Recovery), p.Seconds, p.Acknowledged, p.Runs, p.Deliveries, p.Callbacks,
		len(p.Findings), p.Ended)
	for _, f := range p.Findings {
		_, _ = fmt.Fprintf(out, "  %s: %s: %s\n", f.Rule, f.About, f.Text)
	}
}

func (p *part) write(dir string) error {
	text, err := json.Marshal(p)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(dir, fmt.Sprintf("%s-%d.json", p.Engine, p.Seed)), append(text, '\n'), 0o644)
}

// readParts reads the reports of a folder, in the order of their names.
func readParts(dir string) ([]*part, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil {
		return nil, err
	}
	var all []*part
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			return nil, err
		}
		p := &part{}
		if err := json.Unmarshal(text, p); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, p)
	}
	slices.SortStableFunc(all, func(a, b *part) int { return a.Began.Compare(b.Began) })
	return all, nil
}

// nextSeed is the first one that has no report yet.
func nextSeed(dir, engine string) uint64 {
	for seed := uint64(1); ; seed++ {
		if _, err := os.Stat(filepath.Join(dir, fmt.Sprintf("%s-%d.json", engine, seed))); dir == "" || err != nil {
			return seed
		}
	}
}

// percentile is the nearest rank.
func percentile(all []int64, share float64) int64 {
	slices.Sort(all)
	return all[max(0, min(len(all)-1, int(float64(len(all))*share+0.9999)-1))]
}

// writeReport puts the reports of all parts together as a page.
func writeReport(dir, file string) error {
	parts, err := readParts(dir)
	if err != nil {
		return err
	}
	var totals, ends, classes, each strings.Builder
	reportTotals(&totals, parts)
	reportEnds(&ends, parts)
	reportClasses(&classes, parts)
	reportParts(&each, parts)
	tables := strings.NewReplacer(
		"{{totals}}", totals.String(), "{{ends}}", ends.String(), "{{classes}}", classes.String(), "{{parts}}", each.String(),
	)
	return os.WriteFile(file, []byte(tables.Replace(reportText)), 0o644)
}

func tableHead(b *strings.Builder, columns ...string) {
	fmt.Fprintf(b, "| %s |\n|%s\n", strings.Join(columns, " | "), strings.Repeat(" --- |", len(columns)))
}

func reportTotals(b *strings.Builder, parts []*part) {
	tableHead(b, "engine", "parts", "minutes", "faults", "classes", "calls acknowledged", "runs", "callbacks",
		"lost", "duplicated", "double", "other findings")
	for _, engine := range []string{"postgres", "sqlite"} {
		var n, faults, runs, callbacks int
		var acknowledged int64
		var seconds float64
		classes, rules := map[string]bool{}, map[string]int{}
		for _, p := range parts {
			if p.Engine != engine {
				continue
			}
			n, faults, runs, callbacks = n+1, faults+p.faults(), runs+p.Runs, callbacks+p.Callbacks
			acknowledged, seconds = acknowledged+p.Acknowledged, seconds+p.Seconds
			for class := range p.Recovery {
				classes[class] = true
			}
			for _, f := range p.Findings {
				rules[f.Rule]++
			}
		}
		rest := 0
		for rule, n := range rules {
			if rule != check.Lost && rule != check.Duplicated && rule != check.Double {
				rest += n
			}
		}
		fmt.Fprintf(b, "| %s | %d | %.0f | %d | %d | %d | %d | %d | %d | %d | %d | %d |\n", engine, n, seconds/60, faults, len(classes),
			acknowledged, runs, callbacks, rules[check.Lost], rules[check.Duplicated], rules[check.Double], rest)
	}
}

func reportEnds(b *strings.Builder, parts []*part) {
	tableHead(b, "engine", "runs ended", "count")
	for _, engine := range []string{"postgres", "sqlite"} {
		all := map[string]int{}
		for _, p := range parts {
			if p.Engine == engine {
				for how, n := range p.Ended {
					all[how] += n
				}
			}
		}
		for _, how := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(b, "| %s | %s | %d |\n", engine, how, all[how])
		}
	}
}

func reportClasses(b *strings.Builder, parts []*part) {
	tableHead(b, "engine", "fault", "count", "p50 ms", "p99 ms")
	for _, engine := range []string{"postgres", "sqlite"} {
		all := map[string][]int64{}
		for _, p := range parts {
			if p.Engine == engine {
				for class, times := range p.Recovery {
					all[class] = append(all[class], times...)
				}
			}
		}
		for _, class := range slices.Sorted(maps.Keys(all)) {
			fmt.Fprintf(b, "| %s | %s | %d | %d | %d |\n", engine, class, len(all[class]), percentile(all[class], 0.5),
				percentile(all[class], 0.99))
		}
	}
}

func reportParts(b *strings.Builder, parts []*part) {
	tableHead(b, "engine", "seed", "began", "seconds", "faults", "calls acknowledged", "findings")
	for _, p := range parts {
		fmt.Fprintf(b, "| %s | %d | %s | %.0f | %d | %d | %d |\n", p.Engine, p.Seed, p.Began.Format(time.DateTime), p.Seconds,
			p.faults(), p.Acknowledged, len(p.Findings))
	}
}
