package main

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

func TestAnchorsThatMoved(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name        string
		first, last float64
		warns       bool
	}{
		{"stood still", 100, 100, false},
		{"a little up", 100, 109, false},
		{"a little down", 100, 91, false},
		{"far up", 100, 112, true},
		{"far down", 100, 88, true},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var r report
			r.anchor("B6", "river", figure{tc.first, perSecond}, figure{tc.last, perSecond})
			equal(t, "warned", len(r.Warnings) == 1, tc.warns)
			equal(t, "noted", len(r.Anchors), 1)
		})
	}
}

func TestReportTable(t *testing.T) {
	t.Parallel()
	r := report{Scale: 1, Machine: machine{CPU: "a processor", Cores: 2, OS: "linux", Kernel: "6", FileSystem: "ext4", MemoryBytes: 4e9}}
	r.add(row{
		ID: "B6", What: "queue", Engine: sqlite, Measured: figure{1500, perSecond}, Anchor: figure{1000, perSecond}, Ratio: 1.5,
		Bar: "≥ 1.0 of River", Verdict: judge(true), Note: "a note",
	})
	r.add(row{ID: "B9", What: "memory", Measured: figure{80, megabytes}, Bar: "≤ 60 MB", Verdict: judge(false)})
	r.missing("B7", "lists", postgres, errors.New("no database"))
	r.warnf("be careful with %s", "this")
	var out strings.Builder
	must(t, r.write(&out))
	text := out.String()
	for _, want := range []string{
		"| B6  | queue  | sqlite   | 1,500/s  | 1,000/s | 1.50 × | ≥ 1.0 of River | met          |",
		"| B9  | memory | –        | 80 MB    | –       | –      | ≤ 60 MB        | missed       |",
		"| B7  | lists  | postgres | –        | –       | –      | –              | not measured |",
		"\nB6 queue (sqlite): a note\n", "\nB7 lists (postgres): no database\n",
		"a processor, 2 cores, 4,000 MB memory, linux 6, databases on ext4\n", "WARNING: be careful with this\n",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("%q is not in\n%s", want, text)
		}
	}
	if strings.Contains(text, "scale") {
		t.Errorf("a full run is called scaled:\n%s", text)
	}
	r.Scale = 0.01
	must(t, r.write(&out))
	if !strings.Contains(out.String(), "scale 0.01: these figures are for debugging") {
		t.Errorf("a scaled run does not say so:\n%s", out.String())
	}
}

func TestReportIsSaved(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "deep", "latest.json")
	r := report{Commit: "abc", Scale: 1, Versions: map[string]string{"go": "go1"}, Settings: map[string]string{"sqlite": "synchronous=FULL"}}
	r.add(row{ID: "B5", What: "start", Measured: figure{12, milliseconds}, Verdict: met, Detail: startsFound{Sandbox: "none"}})
	r.anchor("B5", "direct", figure{1, milliseconds}, figure{2, milliseconds})
	for range 2 { // the second replaces the first
		must(t, r.save(file))
	}
	text, err := os.ReadFile(file)
	must(t, err)
	var back report
	must(t, json.Unmarshal(text, &back))
	equal(t, "rows", len(back.Rows), 1)
	equal(t, "measured", back.Rows[0].Measured, figure{12, milliseconds})
	equal(t, "verdict", back.Rows[0].Verdict, met)
	equal(t, "anchor moved", back.Anchors[0].Moved, 1.0)
	equal(t, "setting", back.Settings["sqlite"], "synchronous=FULL")
	left, err := os.ReadDir(filepath.Dir(file))
	must(t, err)
	equal(t, "files", len(left), 1)
}

func TestReportThatCannotBeSaved(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "taken")
	must(t, os.WriteFile(file, nil, 0o600))
	if err := (&report{}).save(filepath.Join(file, "latest.json")); err == nil {
		t.Error("a file was taken for a folder")
	}
}

func TestProgressIsForTerminals(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	p := newProgress(&out)
	p.stepf("work")
	p.at(1, 2)
	p.done()
	equal(t, "printed", out.String(), "")

	p = &progress{out: &out}
	p.stepf("fill %s", "it")
	p.drawn = time.Now().Add(time.Hour)
	p.at(1, 2) // too early to be shown
	p.drawn = time.Now().Add(-2 * redraw)
	p.at(1500, 2000)
	p.done()
	equal(t, "printed", out.String(), "\r\x1b[Kfill it …\r\x1b[Kfill it … 1,500 of 2,000\r\x1b[K")
}
