package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"time"
)

// verdict says what a figure is worth.
type verdict string

const (
	met    verdict = "met"
	missed verdict = "missed"
	// shown is for figures without a bar.
	shown verdict = "–"
	// notMeasured is for what this machine or these settings did not allow; the
	// note says why.
	notMeasured verdict = "not measured"
)

// judge turns a comparison into a verdict.
func judge(ok bool) verdict {
	if ok {
		return met
	}
	return missed
}

// row is one line of the table.
type row struct {
	ID       string `json:"id"`
	What     string `json:"what"`
	Engine   string `json:"engine,omitempty"`
	Measured figure `json:"measured"`
	// Anchor is what it is compared with; zero for bars that are absolute.
	Anchor     figure `json:"anchor"`
	AnchorName string `json:"anchor_name,omitempty"`
	// Ratio is measured / anchor. Low and High are the least and the most of its rounds, where
	// both were measured in turn.
	Ratio   float64 `json:"ratio,omitempty"`
	Low     float64 `json:"ratio_low,omitempty"`
	High    float64 `json:"ratio_high,omitempty"`
	Bar     string  `json:"bar,omitempty"`
	Verdict verdict `json:"verdict"`
	Note    string  `json:"note,omitempty"`
	// Detail is everything behind the figure that the table has no room for.
	Detail any `json:"detail,omitempty"`
}

// inTurn takes the ratio of the round in the middle, and of the others their spread.
func (line *row) inTurn(ratios []float64) {
	line.Ratio, line.Low, line.High = median(ratios), slices.Min(ratios), slices.Max(ratios)
}

// times shows the ratio, and how far its rounds are apart.
func (line *row) times() string {
	switch {
	case line.Ratio == 0:
		return "–"
	case line.Low == line.High:
		return fmt.Sprintf("%.2f ×", line.Ratio)
	}
	return fmt.Sprintf("%.2f × (%.2f to %.2f)", line.Ratio, line.Low, line.High)
}

// drift is an anchor that was measured at the start and at the end.
type drift struct {
	ID     string  `json:"id"`
	Anchor string  `json:"anchor"`
	First  figure  `json:"first"`
	Last   figure  `json:"last"`
	Moved  float64 `json:"moved"`
}

// report gathers the figures of one run of the program.
type report struct {
	Time   time.Time `json:"time"`
	Commit string    `json:"commit"`
	Scale  float64   `json:"scale"`
	// Quick says that each benchmark had its size for `make bench-quick`.
	Quick    bool              `json:"quick,omitempty"`
	Machine  machine           `json:"machine"`
	Versions map[string]string `json:"versions"`
	Settings map[string]string `json:"settings"`
	Rows     []row             `json:"rows"`
	Anchors  []drift           `json:"anchors"`
	Warnings []string          `json:"warnings,omitempty"`
	// Minutes is how long each benchmark took, in place of the unit its number.
	Minutes []figure `json:"minutes,omitempty"`
}

func (r *report) add(line row) { r.Rows = append(r.Rows, line) }

func (r *report) warnf(format string, args ...any) {
	r.Warnings = append(r.Warnings, fmt.Sprintf(format, args...))
}

// anchor notes both measurements of an anchor and warns when they differ.
func (r *report) anchor(id, name string, first, last figure) {
	d := drift{ID: id, Anchor: name, First: first, Last: last, Moved: moved(first.Value, last.Value)}
	r.Anchors = append(r.Anchors, d)
	if d.Moved > movedTooFar || d.Moved < -movedTooFar {
		r.warnf("%s: the anchor %s moved by %+.0f %% during the run, from %s to %s: its ratios are uncertain by as much",
			id, name, 100*d.Moved, first, last)
	}
}

// missing notes something that could not be measured.
func (r *report) missing(id, what, engine string, err error) {
	r.add(row{ID: id, What: what, Engine: engine, Verdict: notMeasured, Note: err.Error()})
}

// write prints the table, and below it what you must know to read it.
func (r *report) write(out io.Writer) error {
	t := table{head: []string{"#", "what", "engine", "measured", "anchor", "ratio", "bar", "verdict"}}
	for _, line := range r.Rows {
		t.add(line.ID, line.What, orDash(line.Engine), line.Measured.String(), line.Anchor.String(), line.times(), orDash(line.Bar), string(line.Verdict))
	}
	text := t.String()
	for _, line := range r.Rows {
		if line.Note != "" {
			text += fmt.Sprintf("\n%s %s%s: %s", line.ID, line.What, inBrackets(line.Engine), line.Note)
		}
	}
	text += "\n\n" + r.Machine.String() + "\n"
	if r.Scale != 1 {
		text += fmt.Sprintf("scale %g: these figures are for debugging the benchmark and say nothing about Lineshaft\n", r.Scale)
	}
	for _, warning := range r.Warnings {
		text += "WARNING: " + warning + "\n"
	}
	text += r.took()
	_, err := io.WriteString(out, text)
	return err
}

// took is a line with the minutes of each benchmark.
func (r *report) took() string {
	text, sum := "minutes:", 0.0
	for _, part := range r.Minutes {
		text += fmt.Sprintf(" %s %.1f,", part.Unit, part.Value)
		sum += part.Value
	}
	return fmt.Sprintf("%s together %.1f\n", text, sum)
}

func orDash(s string) string {
	if s == "" {
		return "–"
	}
	return s
}

func inBrackets(s string) string {
	if s == "" {
		return ""
	}
	return " (" + s + ")"
}

// save writes the JSON form, whole or not at all.
func (r *report) save(file string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return fmt.Errorf("encode results: %w", err)
	}
	if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
		return fmt.Errorf("save results: %w", err)
	}
	temporary := file + ".new"
	if err := os.WriteFile(temporary, append(text, '\n'), 0o644); err != nil {
		return fmt.Errorf("save results: %w", err)
	}
	if err := os.Rename(temporary, file); err != nil {
		return fmt.Errorf("save results: %w", errors.Join(err, os.Remove(temporary)))
	}
	return nil
}
