//go:build linux

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/e2e/faults/check"
	"github.com/lineshaft/lineshaft/e2e/faults/history"
)

// endBound is how long nothing may end after the faults are over: leases, attempts with pauses
// between them, and callbacks that wait for the lease of a lost one.
const endBound = 2 * time.Minute

// play is one part: everything is started, called and broken, and then checked.
func play(ctx context.Context, dir string, o options, out io.Writer) (*part, error) {
	file, err := os.Create(filepath.Join(dir, "history.jsonl"))
	if err != nil {
		return nil, err
	}
	defer func() { _ = file.Close() }()
	book := history.NewWriter(file)
	bin, err := filepath.Abs(o.bin)
	if err != nil {
		return nil, err
	}
	r, err := newRig(ctx, dir, bin, o.engine, o.size, book)
	if err != nil {
		return nil, err
	}
	defer r.close(ctx)
	receiver, err := newReceiver(ctx, book, o.seed)
	if err != nil {
		return nil, err
	}
	defer func() { _ = receiver.server.Close() }()
	calls := newWorkload("http://"+r.front, r.ledger(), book, o.seed)
	if err := calls.prepare(ctx, receiver.url); err != nil {
		return nil, err
	}
	began := time.Now()
	p := &part{Seed: o.seed, Engine: o.engine, Began: began.UTC(), Recovery: map[string][]int64{}}
	if err := p.breakThings(ctx, r, calls, o, out); err != nil {
		return nil, err
	}
	p.Seconds = time.Since(began).Seconds()
	p.Acknowledged = calls.acknowledged.Load()
	return p, p.check(ctx, r, filepath.Join(dir, "history.jsonl"))
}

// breakThings calls and makes faults for the time of the part, and then lets calls end.
func (p *part) breakThings(ctx context.Context, r *rig, calls *workload, o options, out io.Writer) error {
	var clients, lanes sync.WaitGroup
	playing, enough := context.WithCancel(ctx)
	defer enough()
	clients.Go(func() { calls.play(playing, o.clients) })
	errs := make([]error, 2)
	for i, lane := range []string{serverLane, workerLane} {
		lanes.Go(func() { errs[i] = p.breakLane(ctx, r, calls, lane, o, out) })
	}
	lanes.Wait()
	if ctx.Err() != nil { // somebody wants it to end: what is broken is ended, not repaired
		enough()
		clients.Wait()
		return ctx.Err()
	}
	err := errors.Join(errs...)
	if calmed := r.calm(ctx); calmed != nil {
		err = errors.Join(err, calmed)
	}
	now := time.Now()
	r.book.Add(history.Entry{Kind: history.Mark, Op: "calm", Begin: now, End: now})
	enough()
	clients.Wait()
	return err
}

// breakLane makes one fault after the other until the time is over; the last one is brought to its
// end, unless ctx ends. Every class comes once before one comes again.
func (p *part) breakLane(ctx context.Context, r *rig, calls *workload, lane string, o options, out io.Writer) error {
	length, stop := context.WithTimeout(ctx, o.length)
	defer stop()
	random := rand.New(rand.NewPCG(o.seed, uint64(len(lane)+int(lane[0]))))
	var bag []fault
	for length.Err() == nil {
		if len(bag) == 0 {
			for _, f := range faults() {
				asked := f.lane == lane && (f.engine == "" || f.engine == o.engine)
				if asked && strings.Contains(f.class, o.only) {
					bag = append(bag, f)
				}
			}
			if len(bag) == 0 {
				return nil
			}
			random.Shuffle(len(bag), func(i, j int) { bag[i], bag[j] = bag[j], bag[i] })
		}
		f := bag[0]
		bag = bag[1:]
		h := &hit{rig: r, calls: calls, random: rand.New(rand.NewPCG(random.Uint64(), random.Uint64()))}
		if err := p.strike(ctx, f, h, out); err != nil {
			return fmt.Errorf("%s of %s: %w", f.class, h.target, err)
		}
		pause(length, time.Duration(100+random.IntN(900))*time.Millisecond) // something must be under way
	}
	return nil
}

// strike makes one fault and measures how long it takes until all is well.
func (p *part) strike(ctx context.Context, f fault, h *hit, out io.Writer) error {
	e := history.Entry{Kind: history.Fault, Op: f.class, Begin: time.Now()}
	err := f.do(ctx, h)
	if errors.Is(err, errNothing) {
		return nil
	}
	if err != nil {
		return err
	}
	if h.over.IsZero() {
		h.over = time.Now()
	}
	probe := func(ctx context.Context) error { return errors.Join(h.awaitServers(ctx), h.calls.probeServers(ctx)) }
	if f.lane == workerLane {
		probe = h.probeWorker
	} else if h.after != nil {
		probe = h.calls.probeServers // the old primary is not to come back as one
	}
	if err := probe(ctx); err != nil {
		return err
	}
	recovery := time.Since(h.over)
	if h.after != nil {
		if err := h.after(ctx); err != nil {
			return err
		}
	}
	e.End, e.Args = time.Now(), map[string]string{"target": h.target}
	e.Answer = map[string]string{"recovery_ms": fmt.Sprint(recovery.Milliseconds())}
	h.book.Add(e)
	p.add(f.class, recovery)
	_, _ = fmt.Fprintf(out, "%s  %-28s %-36s %6d ms\n", e.Begin.Format(time.TimeOnly), f.class, h.target, recovery.Milliseconds())
	return nil
}

// check lets the checker decide. It gets the history from the disk and the address of the
// server.
func (p *part) check(ctx context.Context, r *rig, file string) error {
	if err := errors.Join(addSigns(r.ledger(), r.book), r.book.Err()); err != nil {
		return err
	}
	entries, err := readHistory(file)
	if err != nil {
		return err
	}
	c, err := client.New("http://"+r.front, adminKey, client.WithTimeout(time.Minute))
	if err != nil {
		return err
	}
	state, err := check.Read(ctx, c, entries, endBound)
	if err != nil {
		return err
	}
	if err := keepState(filepath.Join(filepath.Dir(file), "state.json"), state); err != nil {
		return err
	}
	if entries, err = readHistory(file); err != nil { // with the callbacks that came meanwhile
		return err
	}
	p.Runs, p.Deliveries, p.Callbacks, p.AuditEntries = len(state.Runs), len(state.Deliveries), len(state.Callbacks), len(state.Audit)
	p.Ended = map[string]int{}
	for _, run := range state.Runs {
		how := string(run.State)
		if run.StatusMessage != nil && run.StatusMessage.ErrorCode != "" {
			how += " " + run.StatusMessage.ErrorCode
		}
		p.Ended[how]++
	}
	p.Findings = check.Check(entries, state, endBound)
	return nil
}

// keepState writes down what the servers said, for anyone who looks into a finding.
func keepState(file string, state *check.State) error {
	text, err := json.Marshal(state)
	if err != nil {
		return err
	}
	return os.WriteFile(file, text, 0o600)
}

func readHistory(file string) ([]history.Entry, error) {
	in, err := os.Open(file)
	if err != nil {
		return nil, err
	}
	defer func() { _ = in.Close() }()
	return history.Read(in)
}
