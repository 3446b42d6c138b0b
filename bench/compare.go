package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// compareRole is `bench compare OLD.json NEW.json`; without files the two newest results.
const compareRole = "compare"

// noticed is how far a figure without a spread has to move to count: anchors move as far by
// themselves.
const noticed = movedTooFar

func compare(results string, files []string, out io.Writer) error {
	if len(files) == 0 {
		kept, err := filepath.Glob(filepath.Join(results, "2*.json")) // in the order of their times
		if err != nil || len(kept) < 2 {
			return errors.Join(errors.New("there are no two results yet: run make bench-quick before and after your change, or name two files"), err)
		}
		files = kept[len(kept)-2:]
	}
	if len(files) != 2 {
		return errors.New("name two files: the result before and the result after")
	}
	before, err := readReport(files[0])
	if err != nil {
		return err
	}
	after, err := readReport(files[1])
	if err != nil {
		return err
	}
	_, err = io.WriteString(out, compareReports(before, after))
	return err
}

func readReport(file string) (r report, err error) {
	text, err := os.ReadFile(filepath.Clean(file))
	if err != nil {
		return r, fmt.Errorf("read result: %w", err)
	}
	if err := json.Unmarshal(text, &r); err != nil {
		return r, fmt.Errorf("read result %s: %w", file, err)
	}
	return r, nil
}

// compareReports draws a table of what both have.
func compareReports(before, after report) string {
	t := table{head: []string{"#", "what", "engine", "before", "after", "change", ""}}
	for i := range after.Rows {
		now := &after.Rows[i]
		at := slices.IndexFunc(before.Rows, func(was row) bool {
			return was.ID == now.ID && was.What == now.What && was.Engine == now.Engine
		})
		if at < 0 || now.Verdict == notMeasured || before.Rows[at].Verdict == notMeasured {
			continue
		}
		was := &before.Rows[at]
		old, value := was.compared(), now.compared()
		far := fmt.Sprintf("%+.0f %%", 100*moved(old[1], value[1]))
		t.add(now.ID, now.What, orDash(now.Engine), was.shown(), now.shown(), far, change(old, value, now.higherIsBetter()))
	}
	text := fmt.Sprintf("before: %s, after: %s\n", before.Commit, after.Commit)
	if before.Scale != after.Scale || before.Quick != after.Quick {
		text += "WARNING: the two were measured at different sizes\n"
	}
	return text + t.String()
}

// compared is what two results are compared by, lowest, middle and highest: the ratio to the
// anchor, or the figure itself where there is none.
func (line *row) compared() [3]float64 {
	switch {
	case line.Ratio == 0:
		return [3]float64{line.Measured.Value * (1 - noticed), line.Measured.Value, line.Measured.Value * (1 + noticed)}
	case line.Low == line.High:
		return [3]float64{line.Ratio * (1 - noticed), line.Ratio, line.Ratio * (1 + noticed)}
	}
	return [3]float64{line.Low, line.Ratio, line.High}
}

func (line *row) shown() string {
	if line.Ratio == 0 {
		return line.Measured.String()
	}
	return line.times()
}

// higherIsBetter says in which direction a row improves: as its bar says, or its unit.
func (line *row) higherIsBetter() bool {
	if strings.HasPrefix(line.Bar, "≥") || strings.HasPrefix(line.Bar, "≤") {
		return strings.HasPrefix(line.Bar, "≥")
	}
	return line.Measured.Unit == perSecond
}

// change is better or worse only when each middle lies outside the other's spread.
func change(old, value [3]float64, higher bool) string {
	const low, mid, high = 0, 1, 2
	up := value[mid] > old[high] && old[mid] < value[low]
	down := value[mid] < old[low] && old[mid] > value[high]
	switch {
	case !up && !down:
		return "same"
	case up == higher:
		return "better"
	}
	return "worse"
}
