package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// hitOrder is what the load generator of the ingress benchmarks gets.
type hitOrder struct {
	Address     string `json:"address"`
	Connections int    `json:"connections"`
	// Duration is how long requests are sent; requests that are then under way are still
	// awaited. Answers that come within Warm do not count.
	Duration time.Duration `json:"duration"`
	Warm     time.Duration `json:"warm"`
	// Limit is the most requests; 0 for no limit. Signed ones are made beforehand
	// and need it.
	Limit   int         `json:"limit"`
	Targets []hitTarget `json:"targets"`
	Body    []byte      `json:"body"`
	// Want is the status of an answer that counts.
	Want int `json:"want"`
	// Seed makes the ids of this order others than those of the last.
	Seed uint64 `json:"seed"`
}

// hitTarget is one address that deliveries go to.
type hitTarget struct {
	Path   string            `json:"path"`
	Header map[string]string `json:"header"`
	// Scheme and Secret sign each request; without them the id goes into IDHeader.
	Scheme   string `json:"scheme"`
	Secret   string `json:"secret"`
	IDHeader string `json:"id_header"`
}

// hitFound is what the load generator found.
type hitFound struct {
	Connections int `json:"connections"`
	// Accepted counts all answers that are as wanted, those of the warm-up included.
	Accepted int         `json:"accepted"`
	Other    map[int]int `json:"other,omitempty"`
	// Rate is accepted requests per second after the warm-up.
	Rate    float64       `json:"per_second"`
	Seconds float64       `json:"seconds"`
	P50     time.Duration `json:"p50"`
	P99     time.Duration `json:"p99"`
	Max     time.Duration `json:"max"`
	// Cores is how much of the machine the generator itself took.
	Cores float64 `json:"generator_cores"`
	// ServerCPU is the processor time of the server for one accepted request, in
	// microseconds. It moves less than the rate when the machine is not quiet.
	ServerCPU float64 `json:"server_cpu_us"`
	// Written is what the server wrote for one accepted request, in bytes: database,
	// log and all. A database server writes for itself.
	Written float64 `json:"server_written_bytes"`
	// PutOff is how long the server was busy after the last answer.
	PutOff time.Duration `json:"put_off"`
}

// check makes sure that every answer was as wanted.
func (f hitFound) check() error {
	if len(f.Other) > 0 {
		return fmt.Errorf("besides %d answers as wanted there were these by status: %v", f.Accepted, f.Other)
	}
	if f.Accepted == 0 {
		return errors.New("nothing was accepted")
	}
	return nil
}

// hitChild is the load generator.
func hitChild(ctx context.Context, in io.Reader, out io.Writer) error {
	var order hitOrder
	if err := json.NewDecoder(in).Decode(&order); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	// The server shares the machine: a generator that looks for work on every core
	// would take it away from what is measured.
	runtime.GOMAXPROCS(max(1, runtime.NumCPU()/2))
	found, err := fire(ctx, order)
	if err != nil {
		return err
	}
	return json.NewEncoder(out).Encode(found)
}

// fire sends what was ordered.
func fire(ctx context.Context, order hitOrder) (found hitFound, err error) {
	if order.Want == 0 {
		order.Want = http.StatusAccepted
	}
	shots, err := newMagazine(order)
	if err != nil {
		return found, err
	}
	gunners := make([]*gunner, order.Connections)
	for i := range gunners {
		if gunners[i], err = dial(ctx, order.Address); err != nil {
			return found, err
		}
		defer gunners[i].close()
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	stop := context.AfterFunc(ctx, func() {
		for _, g := range gunners {
			g.close()
		}
	})
	defer stop()
	used, began := processorTime(), time.Now()
	var next atomic.Int64
	var wg sync.WaitGroup
	for _, g := range gunners {
		wg.Go(func() {
			if err := g.run(shots, &next, began, order); err != nil {
				cancel(err)
			}
		})
	}
	wg.Wait()
	if ctx.Err() != nil {
		return found, context.Cause(ctx)
	}
	found = gather(gunners, began, order)
	found.Cores = ratio((processorTime() - used).Seconds(), time.Since(began).Seconds())
	return found, nil
}

// gather adds up what the connections saw.
func gather(gunners []*gunner, began time.Time, order hitOrder) hitFound {
	found := hitFound{Connections: len(gunners), Other: map[int]int{}}
	var took []time.Duration
	last := began
	for _, g := range gunners {
		found.Accepted += g.accepted
		for status, n := range g.other {
			found.Other[status] += n
		}
		took = append(took, g.took...)
		if g.last.After(last) {
			last = g.last
		}
	}
	slices.Sort(took)
	found.Seconds = (last.Sub(began) - order.Warm).Seconds()
	if found.Seconds > 0 {
		found.Rate = float64(len(took)) / found.Seconds
	}
	if len(took) > 0 {
		found.P50, found.P99, found.Max = percentile(took, 50), percentile(took, 99), took[len(took)-1]
	}
	return found
}
