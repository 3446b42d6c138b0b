package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestCompare(t *testing.T) {
	t.Parallel()
	rate := func(ratio, low, high float64) row {
		return row{ID: "B1", What: "ingress", Engine: sqlite, Measured: figure{1000 * ratio, perSecond}, Ratio: ratio, Low: low, High: high, Bar: "≥ 0.80 of G", Verdict: met}
	}
	memory := func(v float64) row {
		return row{ID: "B9", What: "memory", Measured: figure{v, megabytes}, Bar: "≤ 60 MB", Verdict: met}
	}
	for _, tc := range []struct {
		name     string
		was, now row
		want     string
	}{
		{"apart", rate(0.5, 0.45, 0.55), rate(0.7, 0.6, 0.8), "better"},
		{"apart, down", rate(0.7, 0.6, 0.8), rate(0.5, 0.45, 0.55), "worse"},
		{"within the spread", rate(0.5, 0.4, 0.7), rate(0.65, 0.6, 0.7), "same"},
		{"within the other's spread", rate(0.6, 0.58, 0.62), rate(0.7, 0.55, 0.8), "same"},
		{"less memory", memory(50), memory(40), "better"},
		{"more memory", memory(40), memory(50), "worse"},
		{"about as much memory", memory(40), memory(43), "same"},
		{"not measured", rate(0.5, 0.45, 0.55), row{ID: "B1", What: "ingress", Engine: sqlite, Verdict: notMeasured}, ""},
		{"another row", rate(0.5, 0.45, 0.55), memory(1), ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			got := compareReports(report{Rows: []row{tc.was}}, report{Rows: []row{tc.now}})
			lines := strings.Split(strings.TrimSpace(got), "\n")
			if tc.want == "" {
				equal(t, "lines", len(lines), 3) // the commits and the head
				return
			}
			if last := lines[len(lines)-1]; !strings.Contains(last, "| "+tc.want) {
				t.Errorf("got %s, want %s", last, tc.want)
			}
		})
	}
}

func TestCompareFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	if err := compare(dir, nil, os.Stdout); err == nil || !strings.Contains(err.Error(), "make bench") {
		t.Errorf("without results: got %v", err)
	}
	for _, name := range []string{"20260101T000000-a.json", "20260102T000000-b.json", "20260103T000000-c.json"} {
		r := report{Commit: strings.TrimSuffix(name, ".json"), Scale: 1}
		must(t, r.save(filepath.Join(dir, name)))
	}
	var out strings.Builder
	must(t, compare(dir, nil, &out))
	if text := out.String(); !strings.HasPrefix(text, "before: 20260102T000000-b, after: 20260103T000000-c\n") {
		t.Errorf("got %s, want the two newest", text)
	}
	if err := compare(dir, []string{"one.json"}, &out); err == nil {
		t.Error("one file was compared with nothing")
	}
}
