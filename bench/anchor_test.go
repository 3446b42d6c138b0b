package main

import (
	"context"
	"errors"
	"net/http"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestB1AnchorsOnSQLite starts each anchor as the benchmark does and looks at what
// it stored.
func TestB1AnchorsOnSQLite(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind anchorKind
		// rows of a request in the tables log and started
		log, started int64
	}{{anchorNull, 0, 0}, {anchorOne, 1, 0}, {anchorTwo, 1, 1}} {
		t.Run(string(tc.kind), func(t *testing.T) {
			t.Parallel()
			s := testSession(t, 1)
			order := anchorOrder{Kind: tc.kind, Engine: sqlite, Token: anchorToken, History: 450}
			var db *database
			if tc.kind != anchorNull {
				var err error
				db, err = s.newDatabase(t.Context(), sqlite, "anchor")
				must(t, err)
				order.Driver, order.DSN = db.driver, db.dsn
			}
			srv, err := s.startAnchor(t.Context(), order)
			must(t, err)
			found, err := s.hitOnce(t.Context(), srv, hitOrder{
				Address: srv.address(), Connections: 4, Duration: ingressTime, Limit: 100, Targets: anchorTargets(anchorToken, 3), Body: issueBody(),
			}, notAtAll)
			must(t, errors.Join(err, srv.stop()))
			equal(t, "accepted", found.Accepted, 100)
			if db == nil {
				return
			}
			n, err := db.number(t.Context(), "SELECT COUNT(*) FROM log")
			must(t, err)
			equal(t, "log", n, 450+100*tc.log)
			n, err = db.number(t.Context(), "SELECT COUNT(*) FROM started")
			must(t, err)
			equal(t, "started", n, 100*tc.started)
			n, err = db.number(t.Context(), "SELECT COUNT(DISTINCT webhook) FROM log WHERE LENGTH(body) > 2")
			must(t, err)
			equal(t, "webhooks", n, 3)
		})
	}
}

func TestB1ServersAreAwaited(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		read := 0
		took, err := idleAfter(t.Context(), time.Second, func() (usage, error) {
			read++
			return usage{processor: time.Duration(min(read, 4)) * time.Second}, nil // busy until it is read the fourth time
		})
		must(t, err)
		equal(t, "busy for", took, 3*time.Second)
		_, err = idleAfter(t.Context(), time.Second, func() (usage, error) {
			read++
			return usage{processor: time.Duration(read) * time.Second}, nil
		})
		if err == nil || !strings.Contains(err.Error(), "still busy") {
			t.Errorf("always busy: got %v", err)
		}
	})
	if _, err := awaitIdle(t.Context(), -1); err == nil {
		t.Error("a process that is not there was awaited")
	}
}

func TestB1AnchorRefuses(t *testing.T) {
	t.Parallel()
	s := testSession(t, 1)
	db, err := s.newDatabase(t.Context(), sqlite, "anchor")
	must(t, err)
	srv, err := s.startAnchor(t.Context(), anchorOrder{Kind: anchorOne, Engine: sqlite, Driver: db.driver, DSN: db.dsn, Token: anchorToken})
	must(t, err)
	defer func() { must(t, srv.stop()) }()
	for _, tc := range []struct {
		name, token, body string
		status            int
	}{
		{"wrong token", "other", "{}", http.StatusUnauthorized},
		{"no JSON", anchorToken, "{", http.StatusBadRequest},
		{"as it should be", anchorToken, "{}", http.StatusAccepted},
		{"sent again", anchorToken, "{}", http.StatusAccepted},
	} {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, srv.url+anchorPath+"x", strings.NewReader(tc.body))
		must(t, err)
		r.Header.Set("Authorization", "Bearer "+tc.token)
		r.Header.Set("X-Service-Delivery-Id", "one")
		answer, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(r)
		must(t, err)
		must(t, answer.Body.Close())
		equal(t, tc.name, answer.StatusCode, tc.status)
	}
	n, err := db.number(t.Context(), "SELECT COUNT(*) FROM log")
	must(t, err)
	equal(t, "rows", n, 1)
}

// slowTable takes batches one by one, on demand.
type slowTable struct {
	next    chan error
	mu      sync.Mutex
	batches []int
}

func (t *slowTable) write(_ context.Context, rows []*anchorRow) error {
	t.mu.Lock()
	t.batches = append(t.batches, len(rows))
	t.mu.Unlock()
	return <-t.next
}

func (t *slowTable) close(context.Context) error { return nil }

func TestB1AnchorGathersWhatWaits(t *testing.T) {
	t.Parallel()
	table := &slowTable{next: make(chan error)}
	log := newAnchorLog(t.Context(), table)
	broken := errors.New("disk full")
	var wg sync.WaitGroup
	var first error
	wg.Go(func() { first = log.insert(&anchorRow{}) })
	table.next <- broken
	wg.Wait()
	if !errors.Is(first, broken) {
		t.Errorf("got %v", first)
	}
	// While the next is written, ten more gather; the queue holds them all by then.
	rows := make([]*anchorRow, 11)
	for i := range rows {
		rows[i] = &anchorRow{done: make(chan struct{})}
		log.queue <- rows[i]
	}
	for left := len(rows); left > 0; {
		table.next <- nil
		table.mu.Lock()
		left = 12
		for _, n := range table.batches {
			left -= n
		}
		table.mu.Unlock()
	}
	for _, row := range rows {
		<-row.done
		must(t, row.err)
	}
	must(t, log.stop(t.Context()))
	equal(t, "first batch", table.batches[0], 1)
	if len(table.batches) > 4 {
		t.Errorf("eleven rows that waited were written in %d batches: %v", len(table.batches)-1, table.batches)
	}
}

func TestPastIsInTheOrderOfTime(t *testing.T) {
	t.Parallel()
	p := newPast()
	seen := map[string]bool{}
	ascending := 0
	for i := range 1000 {
		if p.id(i) >= p.id(i+1) {
			t.Fatalf("%s is not before %s", p.id(i), p.id(i+1))
		}
		if p.digest(i) < p.digest(i+1) {
			ascending++
		}
		seen[p.digest(i)], seen[p.identity(i)] = true, true
	}
	equal(t, "identities", len(seen), 2000)
	equal(t, "digest", len(p.digest(1)), 22)
	if ascending < 400 || ascending > 600 {
		t.Errorf("%d of 1000 identities follow the one before", ascending)
	}
}

func TestPlaceholders(t *testing.T) {
	t.Parallel()
	equal(t, "sqlite", placeholders(sqlite, 2, 3), "(?1, ?2, ?3), (?4, ?5, ?6)")
	equal(t, "postgres", placeholders(postgres, 2, 1), "($1), ($2)")
}
