package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/pause"
)

// The bars of B9.
const (
	binaryBar = 70_000_000
	idleBar   = 60_000_000
	loadedBar = 250_000_000
	readyBar  = 300 * time.Millisecond
)

const (
	// restStarts is how often a server is started on each database.
	restStarts = 5
	// restSettle is how long it is left alone before its memory is read.
	restSettle = 3 * time.Second
	// restLists and restCallers are the lists that are read from the full one.
	restLists   = 2000
	restCallers = 8
)

// benchRest is B9: what the program costs while nothing happens.
func benchRest(ctx context.Context, s *session) error {
	program, err := s.binary()
	if err != nil {
		return err
	}
	info, err := os.Stat(program)
	if err != nil {
		return fmt.Errorf("read size: %w", err)
	}
	s.report.add(row{
		ID: "B9", What: "stripped binary", Measured: inMegabytes(info.Size()), Bar: fmt.Sprintf("≤ %s", inMegabytes(binaryBar)),
		Verdict: judge(info.Size() <= binaryBar),
	})
	return s.onEach(ctx, "B9", "cost at rest", s.restOn)
}

func (s *session) restOn(ctx context.Context, engine string) error {
	empty, err := s.newDatabase(ctx, engine, "rest")
	if err != nil {
		return err
	}
	full, err := s.fillDatabase(ctx, engine, s.bigRuns())
	if err != nil {
		return err
	}
	for _, on := range []struct {
		db    *database
		what  string
		lists int
		bar   int64
	}{
		{empty, "on an empty database", 0, idleBar},
		{full, fmt.Sprintf("on %s runs", thousands(int64(s.bigRuns()))), s.opts.count(restLists, 20), loadedBar},
	} {
		s.progress.stepf("B9 %s: start %s", engine, on.what)
		found, err := s.restRounds(ctx, on.db, on.lists)
		if err != nil {
			return fmt.Errorf("%s: %w", on.what, err)
		}
		ready := percentile(found.Ready, 50)
		s.report.add(row{
			ID: "B9", What: "start to ready " + on.what, Engine: engine, Measured: inMillis(ready), Bar: fmt.Sprintf("≤ %d ms", readyBar.Milliseconds()),
			Verdict: judge(ready <= readyBar), Detail: found,
			Note: fmt.Sprintf("the middle of %d starts; the slowest took %s; the first, which may make the schema, %s", len(found.Ready), inMillis(percentile(found.Ready, 100)), inMillis(found.First)),
		})
		memory := row{
			ID: "B9", What: "memory " + on.what, Engine: engine, Measured: inMegabytes(found.Idle), Bar: fmt.Sprintf("≤ %s", inMegabytes(on.bar)),
			Verdict: judge(max(found.Idle, found.Listed) <= on.bar),
		}
		if on.lists > 0 {
			memory.Measured = inMegabytes(found.Listed)
			memory.Note = fmt.Sprintf("after %d lists by %d callers; %s before", on.lists, restCallers, inMegabytes(found.Idle))
		}
		s.report.add(memory)
	}
	return nil
}

// restFound is what was found on one database.
type restFound struct {
	First time.Duration   `json:"first_ready_ns"`
	Ready []time.Duration `json:"ready_ns"`
	// Idle is the memory after a start, Listed that after some lists.
	Idle   int64 `json:"idle_bytes"`
	Listed int64 `json:"listed_bytes"`
}

func (s *session) restRounds(ctx context.Context, db *database, lists int) (found restFound, err error) {
	for round := range restStarts + 1 {
		srv, err := s.startServer(ctx, db.url, db.dataDir)
		if err != nil {
			return found, err
		}
		if round == 0 {
			found.First = srv.ready
		} else {
			found.Ready = append(found.Ready, srv.ready)
		}
		if round == restStarts {
			err = found.memory(ctx, srv, lists, s.opts.time(restSettle, time.Second))
		}
		if err := errors.Join(err, srv.stop()); err != nil {
			return found, err
		}
	}
	return found, nil
}

// memory reads what the server holds when nothing happens, and after lists.
func (found *restFound) memory(ctx context.Context, srv *server, lists int, settled time.Duration) (err error) {
	if !pause.For(ctx, settled) {
		return ctx.Err()
	}
	if found.Idle, err = residentBytes(srv.cmd.Process.Pid); err != nil || lists == 0 {
		return err
	}
	if err := readLists(ctx, srv.url, lists); err != nil {
		return err
	}
	found.Listed, err = residentBytes(srv.cmd.Process.Pid)
	return err
}

// readLists reads pages of all kinds over HTTP.
func readLists(ctx context.Context, url string, lists int) error {
	c, err := newClient(url)
	if err != nil {
		return err
	}
	queries := []client.RunQuery{
		{},
		{States: []client.RunState{client.StateFailed}},
		{Sources: []string{"CLI"}},
		{Name: "nightly"},
		{Creator: "user_7"},
		{SortBy: "created_at", SortOrder: "asc"},
		{SortBy: "title"},
		{Query: "module42"},
	}
	errs := make([]error, restCallers)
	var wg sync.WaitGroup
	for caller := range restCallers {
		wg.Go(func() {
			for n := caller; n < lists && errs[caller] == nil; n += restCallers {
				query := queries[n/restCallers%len(queries)]
				query.Limit = 100
				_, errs[caller] = c.Runs.List(ctx, query)
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}
