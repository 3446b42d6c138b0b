package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/url"
	"strings"
	"sync"
	"time"
)

const (
	// pageBar is the time within which a page must arrive, to its last byte.
	pageBar = 50 * time.Millisecond
	// pageCalls is how often each page is asked for, alone and by pageCallers at once.
	pageCalls   = 300
	pageCallers = 8
	// pageLeast is how often each of them asks also when the time is over.
	pageLeast = 3
)

// benchPages is B13: the pages of the dashboard with many and with few runs.
func benchPages(ctx context.Context, s *session) error {
	return s.onEach(ctx, "B13", "pages", s.measurePages)
}

func (s *session) measurePages(ctx context.Context, engine string) (err error) {
	var sides []*pageSide
	for _, runs := range []int{s.smallRuns(), s.bigRuns()} {
		world, err := s.makeRecent(ctx, engine, runs)
		if err != nil {
			return err
		}
		delete(s.filled, fmt.Sprintf("%s-%d", engine, runs)) // it is not what others expect any more
		side, err := s.openPages(ctx, world)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, side.server.stop()) }()
		sides = append(sides, side)
	}
	found, err := s.pagesOf(ctx, engine, sides[0], sides[1])
	if err != nil {
		return err
	}
	s.pageRows(engine, sides[1].recent, found)
	return nil
}

// pageSide is a server on one of the two databases, and two who are signed in.
type pageSide struct {
	recent *recent
	server *server
	boss   *http.Client
	// limited sees one factory alone.
	limited *http.Client
	pages   []pageCase
}

func (s *session) openPages(ctx context.Context, world *recent) (*pageSide, error) {
	srv, err := s.startPages(ctx, world)
	if err != nil {
		return nil, err
	}
	side := &pageSide{recent: world, server: srv}
	for _, who := range []struct {
		key  string
		into **http.Client
	}{{adminKey, &side.boss}, {world.team.limited, &side.limited}} {
		if *who.into, err = signIn(ctx, srv.url, who.key); err != nil {
			return nil, errors.Join(err, srv.stop())
		}
	}
	if side.pages, err = side.cases(ctx); err != nil {
		return nil, errors.Join(err, srv.stop())
	}
	return side, nil
}

// startPages starts the real program, or this one where a profile is wanted.
func (s *session) startPages(ctx context.Context, world *recent) (*server, error) {
	if profile := s.profileFile(fmt.Sprintf("pages-%s-%d", world.db.engine, world.runs)); profile != "" {
		return s.startChild(ctx, serveOrder{Database: world.db.url, DataDir: world.db.dataDir, NoWorker: true, Profile: profile})
	}
	return s.startServer(ctx, world.db.url, world.db.dataDir, "--no-worker")
}

// signIn returns a browser that is signed in.
func signIn(ctx context.Context, base, key string) (*http.Client, error) {
	jar, err := cookiejar.New(nil)
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	browser := &http.Client{
		Jar: jar, Transport: &http.Transport{MaxIdleConnsPerHost: pageCallers},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, base+"/login", strings.NewReader(url.Values{"key": {key}}.Encode()))
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	request.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	answer, err := browser.Do(request)
	if err != nil {
		return nil, fmt.Errorf("sign in: %w", err)
	}
	defer func() { _ = answer.Body.Close() }() // nothing is read from it
	if answer.StatusCode != http.StatusSeeOther {
		return nil, fmt.Errorf("sign in: the answer is %s", answer.Status)
	}
	return browser, nil
}

// fetch reads a page to its end. Any other status is an error.
func fetch(ctx context.Context, browser *http.Client, address string, status int) (string, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, address, nil)
	if err != nil {
		return "", err
	}
	answer, err := browser.Do(request)
	if err != nil {
		return "", err
	}
	body, err := io.ReadAll(answer.Body)
	if err := errors.Join(err, answer.Body.Close()); err != nil {
		return "", err
	}
	if answer.StatusCode != status {
		return "", fmt.Errorf("GET %s: %s", request.URL.RequestURI(), answer.Status)
	}
	return string(body), nil
}

// pageFound is what was found about a page; times in milliseconds.
type pageFound struct {
	Name  string `json:"name"`
	Calls int    `json:"calls"`
	// Bytes are those of the page before compression.
	Bytes    int     `json:"bytes"`
	SmallP50 float64 `json:"small_p50_ms"`
	SmallP99 float64 `json:"small_p99_ms"`
	P50      float64 `json:"p50_ms"`
	P99      float64 `json:"p99_ms"`
	// Together is with pageCallers at once.
	TogetherP50 float64 `json:"together_p50_ms"`
	TogetherP99 float64 `json:"together_p99_ms"`
}

func (s *session) pagesOf(ctx context.Context, engine string, small, big *pageSide) ([]pageFound, error) {
	calls := s.opts.count(pageCalls, 3)
	var all []pageFound
	for i, page := range big.pages {
		s.progress.stepf("B13 %s: %d of %d pages, %s", engine, i+1, len(big.pages), page.name)
		found := pageFound{Name: page.name}
		for _, c := range []struct {
			side     *pageSide
			callers  int
			p50, p99 *float64
		}{
			{small, 1, &found.SmallP50, &found.SmallP99},
			{big, 1, &found.P50, &found.P99},
			{big, pageCallers, &found.TogetherP50, &found.TogetherP99},
		} {
			text, err := c.side.open(ctx, i)
			if err != nil {
				return nil, fmt.Errorf("page %s: %w", page.name, err)
			}
			took, err := c.side.times(ctx, i, calls, c.callers, s.share(3*(len(big.pages)-i)))
			if err != nil {
				return nil, fmt.Errorf("page %s: %w", page.name, err)
			}
			found.Calls, found.Bytes = len(took), len(text)
			*c.p50, *c.p99 = inMillis(percentile(took, 50)).Value, inMillis(percentile(took, 99)).Value
		}
		all = append(all, found)
	}
	return all, nil
}

func (p *pageSide) open(ctx context.Context, number int) (string, error) {
	page := p.pages[number]
	return fetch(ctx, page.browser(p), p.server.url+page.path, cmp.Or(page.status, http.StatusOK))
}

// times asks for a page again and again, within a time if it has asked a few times.
func (p *pageSide) times(ctx context.Context, number, calls, callers int, within time.Duration) ([]time.Duration, error) {
	until := time.Now().Add(within)
	took, errs := make([][]time.Duration, callers), make([]error, callers)
	var all sync.WaitGroup
	for caller := range callers {
		all.Go(func() {
			for n := range (calls + callers - 1) / callers {
				began := time.Now()
				if n >= pageLeast && began.After(until) {
					return
				}
				if _, err := p.open(ctx, number); err != nil {
					errs[caller] = err
					return
				}
				took[caller] = append(took[caller], time.Since(began))
			}
		})
	}
	all.Wait()
	var every []time.Duration
	for _, part := range took {
		every = append(every, part...)
	}
	return every, errors.Join(errs...)
}

// pageRows writes the worst page and some that people open most; the others are in
// the detail.
func (s *session) pageRows(engine string, on *recent, found []pageFound) {
	var worst pageFound
	above := 0
	for _, f := range found {
		if f.P99 > worst.P99 {
			worst = f
		}
		if f.P99 > inMillis(pageBar).Value {
			above++
		}
	}
	bar, few := fmt.Sprintf("≤ %d ms", pageBar.Milliseconds()), fmt.Sprintf("the same page with %s runs", thousands(int64(s.smallRuns())))
	s.report.add(row{
		ID: "B13", What: "pages, the slowest, p99", Engine: engine, Measured: figure{worst.P99, milliseconds}, Anchor: figure{worst.SmallP99, milliseconds},
		AnchorName: few, Ratio: ratio(worst.P99, worst.SmallP99), Bar: bar, Verdict: judge(above == 0), Detail: found,
		Note: fmt.Sprintf("with %s runs and %s of the last 8 days; the worst of %d pages: %s; %d above the bar; load %s; counting the recent ends for the first time took %s, no step longer than %s",
			thousands(int64(on.runs)), thousands(int64(on.added)), len(found), worst.Name, above, loadNow(), inMillis(on.folded), inMillis(on.longest)),
	})
	for _, f := range found {
		s.report.add(row{
			ID: "B13", What: f.Name + ", p99", Engine: engine, Measured: figure{f.P99, milliseconds}, Anchor: figure{f.SmallP99, milliseconds},
			AnchorName: few, Ratio: ratio(f.P99, f.SmallP99), Bar: bar, Verdict: judge(f.P99 <= inMillis(pageBar).Value),
			Note: fmt.Sprintf("p50 %s, with few runs %s; %d at once: p50 %s, p99 %s", figure{f.P50, milliseconds}, figure{f.SmallP50, milliseconds},
				pageCallers, figure{f.TogetherP50, milliseconds}, figure{f.TogetherP99, milliseconds}),
		})
	}
}
