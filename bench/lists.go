package main

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

const (
	// listBar is how much slower a page may be with a hundred times as many runs.
	listBar = 1.5
	// listPage is the length of a page when nobody says otherwise.
	listPage = 20
	// listAgain is how much longer a list is measured that missed its bar.
	listAgain = 10
	// listLeast is how many calls there are also when the time is over.
	listLeast = 10
)

// benchLists is B7: the same pages of a small and of a large database, in turn.
func benchLists(ctx context.Context, s *session) error {
	return s.onEach(ctx, "B7", "lists", s.measureLists)
}

// bigRuns and smallRuns are the sizes of the two databases.
func (s *session) bigRuns() int   { return s.opts.count(1_000_000, 5000) }
func (s *session) smallRuns() int { return min(10_000, s.opts.count(100_000, 2000)) }

// listSide is one of the two databases.
type listSide struct {
	store   *store.Store
	runs    int
	queries []listQuery
}

func (s *session) openSide(ctx context.Context, engine string, runs int) (*listSide, error) {
	db, err := s.fillDatabase(ctx, engine, runs)
	if err != nil {
		return nil, err
	}
	opened, err := store.Open(ctx, store.Options{Database: db.url})
	if err != nil {
		return nil, err
	}
	return &listSide{store: opened, runs: runs, queries: append(singleFilters(runs), usualCombinations(runs)...)}, nil
}

func (s *session) measureLists(ctx context.Context, engine string) (err error) {
	small, err := s.openSide(ctx, engine, s.smallRuns())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, small.store.Close()) }()
	big, err := s.openSide(ctx, engine, s.bigRuns())
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, big.store.Close()) }()

	m := &listMeter{session: s, small: small, big: big, calls: s.opts.count(60, 30)}
	reference, cases := listCase{number: 2, sort: lineshaft.SortUpdated}, listCases(len(small.queries))
	first, err := m.measure(ctx, reference, m.calls, s.share(len(cases)))
	if err != nil {
		return err
	}
	var found []listFound
	for i, c := range cases {
		s.progress.stepf("B7 %s: %d of %d lists, %s", engine, i+1, len(cases), small.queries[c.number].name)
		f, err := m.judged(ctx, c, s.share(len(cases)-i))
		if err != nil {
			return fmt.Errorf("list %s: %w", small.queries[c.number].name, err)
		}
		found = append(found, f)
	}
	last, err := m.measure(ctx, reference, m.calls, s.share(len(cases)))
	if err != nil {
		return err
	}
	s.report.anchor("B7", fmt.Sprintf("runs by state at %s runs (p50), %s", thousands(int64(small.runs)), engine), figure{first.SmallP50, milliseconds}, figure{last.SmallP50, milliseconds})
	s.listRows(engine, len(singleFilters(0)), found)
	return nil
}

// listCase is one list: which query, in which order, at which page.
type listCase struct {
	number int
	sort   lineshaft.RunSort
	deep   bool
}

func listCases(queries int) []listCase {
	var cases []listCase
	for _, deep := range []bool{false, true} {
		for _, sort := range []lineshaft.RunSort{lineshaft.SortUpdated, lineshaft.SortCreated} {
			for number := range queries {
				cases = append(cases, listCase{number, sort, deep})
			}
		}
	}
	return cases
}

// listFound is what was found about a list; times in milliseconds.
type listFound struct {
	Name  string            `json:"name"`
	Sort  lineshaft.RunSort `json:"sort"`
	Deep  bool              `json:"deep"`
	Calls int               `json:"calls"`
	// Rows are those of the page.
	SmallRows int     `json:"small_rows"`
	BigRows   int     `json:"big_rows"`
	SmallP50  float64 `json:"small_p50_ms"`
	SmallP99  float64 `json:"small_p99_ms"`
	BigP50    float64 `json:"big_p50_ms"`
	BigP99    float64 `json:"big_p99_ms"`
	Ratio     float64 `json:"ratio_p99"`

	number int
}

// listMeter measures lists on both databases in turn.
type listMeter struct {
	session    *session
	small, big *listSide
	calls      int
}

// judged measures a list, and measures it again with more calls if it misses its bar: the
// 99th percentile of a few hundred calls is often the doing of other processes.
func (m *listMeter) judged(ctx context.Context, c listCase, within time.Duration) (listFound, error) {
	found, err := m.measure(ctx, c, m.calls, within)
	if err != nil || found.Ratio <= listBar {
		return found, err
	}
	return m.measure(ctx, c, m.calls*listAgain, within)
}

func (m *listMeter) measure(ctx context.Context, c listCase, calls int, within time.Duration) (listFound, error) {
	found := listFound{Name: m.small.queries[c.number].name, Sort: c.sort, Deep: c.deep, number: c.number}
	for range 5 { // plans, caches
		if _, _, err := m.pair(ctx, c, &found); err != nil {
			return found, err
		}
	}
	runtime.GC()
	var small, big []time.Duration
	for began := time.Now(); len(big) < calls && (len(big) < listLeast || time.Since(began) < within); {
		a, b, err := m.pair(ctx, c, &found)
		if err != nil {
			return found, err
		}
		small, big = append(small, a), append(big, b)
	}
	found.Calls = len(big)
	found.SmallP50, found.SmallP99 = inMillis(percentile(small, 50)).Value, inMillis(percentile(small, 99)).Value
	found.BigP50, found.BigP99 = inMillis(percentile(big, 50)).Value, inMillis(percentile(big, 99)).Value
	found.Ratio = ratio(found.BigP99, found.SmallP99)
	return found, nil
}

// pair reads the page from both.
func (m *listMeter) pair(ctx context.Context, c listCase, found *listFound) (small, big time.Duration, err error) {
	if small, found.SmallRows, err = m.small.page(ctx, c); err != nil {
		return 0, 0, err
	}
	big, found.BigRows, err = m.big.page(ctx, c)
	return small, big, err
}

// page reads one page: the first, or the page after the run in the middle.
func (l *listSide) page(ctx context.Context, c listCase) (took time.Duration, rows int, err error) {
	scan := store.RunScan{Filter: l.queries[c.number].filter, Sort: c.sort, Limit: listPage}
	if c.deep {
		middle := l.runs / 2
		scan.After = &store.RunKey{ID: fillID(middle)}
		if c.sort == lineshaft.SortUpdated {
			scan.After.Micro = fillUpdated(middle).UnixMicro()
		}
	}
	began := time.Now()
	runs, _, _, err := l.store.ScanRuns(ctx, scan)
	return time.Since(began), len(runs), err
}

// listRows writes the worst list of each kind; the others are in the detail.
func (s *session) listRows(engine string, singles int, found []listFound) {
	for _, kind := range []struct {
		what   string
		single bool
		deep   bool
	}{
		{"lists, one filter, first page, p99", true, false},
		{"lists, one filter, deep page, p99", true, true},
		{"lists, usual combinations, first page, p99", false, false},
		{"lists, usual combinations, deep page, p99", false, true},
	} {
		var of []listFound
		worst, above := listFound{}, 0
		for _, f := range found {
			if (f.number < singles) != kind.single || f.Deep != kind.deep {
				continue
			}
			of = append(of, f)
			if f.Ratio > listBar {
				above++
			}
			if f.Ratio > worst.Ratio {
				worst = f
			}
		}
		s.report.add(row{
			ID: "B7", What: kind.what, Engine: engine, Measured: figure{worst.BigP99, milliseconds}, Anchor: figure{worst.SmallP99, milliseconds},
			AnchorName: fmt.Sprintf("the same page with %s runs", thousands(int64(s.smallRuns()))), Ratio: worst.Ratio,
			Bar: fmt.Sprintf("≤ %.1f ×", listBar), Verdict: judge(above == 0), Detail: of,
			Note: fmt.Sprintf("with %s runs; the worst of %d lists: %s by %s (%d rows, %d in the small database); %d above the bar",
				thousands(int64(s.bigRuns())), len(of), worst.Name, worst.Sort, worst.BigRows, worst.SmallRows, above),
		})
	}
}
