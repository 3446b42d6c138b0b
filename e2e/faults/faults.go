//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft/e2e/faults/clock"
)

// The lanes: workers and servers are hit side by side, one fault at a time in each.
const (
	serverLane = "server"
	workerLane = "worker"
)

// fault is a class of faults.
type fault struct {
	class string
	lane  string
	// engine is the engine that it is for; empty is both.
	engine string
	// do makes the fault and gives everything back.
	do func(ctx context.Context, h *hit) error
}

// hit is one fault that happens.
type hit struct {
	*rig
	random *rand.Rand
	target string
	struck *workerProcess
	calls  *workload
	// over is when everything was restored; recovery counts from there. Faults that are
	// themselves a recovery set it when they begin.
	over time.Time
	// after is done when the recovery was measured.
	after func(ctx context.Context) error
}

// faults are all classes.
func faults() []fault {
	return []fault{
		{class: "kill -9 server", lane: serverLane, do: killServer},
		{class: "kill -9 proxy", lane: serverLane, do: killProxy},
		{class: "kill -9 agent", lane: workerLane, do: killAgent},
		{class: "kill -9 supervisor", lane: workerLane, do: killSupervisor},
		{class: "kill -9 worker", lane: workerLane, do: killWorker},
		{class: "kill -9 while lists settle", lane: serverLane, do: killWhileSettling},
		{class: "kill -9 database", lane: serverLane, engine: "postgres", do: endDatabase(syscall.SIGKILL)},
		{class: "kill -9 backend", lane: serverLane, engine: "postgres", do: killBackend},
		{class: "kill -9 replica", lane: serverLane, engine: "postgres", do: killReplica},
		{class: "restart server", lane: serverLane, do: restartServer},
		{class: "restart worker", lane: workerLane, do: restartWorker},
		{class: "restart database", lane: serverLane, engine: "postgres", do: endDatabase(syscall.SIGINT)},
		{class: "immediate stop of database", lane: serverLane, engine: "postgres", do: endDatabase(syscall.SIGQUIT)},
		{class: "promotion of replica", lane: serverLane, engine: "postgres", do: promote},
		{class: "freeze server", lane: serverLane, do: freezeServer},
		{class: "freeze worker", lane: workerLane, do: freezeWorker},
		{class: "freeze database", lane: serverLane, engine: "postgres", do: freezeDatabase},
		{class: "cut proxy from server", lane: serverLane, do: cutFront},
		{class: "cut worker from server", lane: workerLane, do: cutWorker},
		{class: "cut server from database", lane: serverLane, engine: "postgres", do: cutDatabase},
		{class: "cut replication", lane: serverLane, engine: "postgres", do: cutReplication},
		{class: "reset connections of server", lane: serverLane, do: resetServer},
		{class: "reset connections of worker", lane: workerLane, do: resetWorker},
		{class: "cut in COMMIT", lane: serverLane, engine: "postgres", do: cutCommit},
		{class: "full disk", lane: serverLane, do: fillDisk},
		{class: "slow fsync", lane: serverLane, do: slowDisk},
		{class: "EIO of fsync", lane: serverLane, do: breakDisk},
		{class: "torn WAL", lane: serverLane, engine: "sqlite", do: tearWAL},
		{class: "truncated copy of WAL", lane: serverLane, engine: "sqlite", do: copyWAL},
		{class: "cache of environments removed", lane: workerLane, do: removeCache},
		{class: "clock of worker", lane: workerLane, do: jumpWorker},
		{class: "clock of server", lane: serverLane, do: jumpServer},
		{class: "clock of database", lane: serverLane, engine: "postgres", do: jumpDatabase},
	}
}

// between is a time that the seed decides.
func (h *hit) between(low, high time.Duration) time.Duration {
	return low + time.Duration(h.random.Int64N(int64(high-low)))
}

func (h *hit) server() *server {
	s := h.servers[h.random.IntN(len(h.servers))]
	h.target = s.name
	return s
}

func (h *hit) worker() *workerProcess {
	w := h.workers[h.random.IntN(len(h.workers))]
	h.target, h.struck = w.name, w
	return w
}

// probeWorker returns when a server has answered the worker that was hit. A worker that ended is
// started, as by a service manager: it may have been hit while it tried its sandbox.
func (h *hit) probeWorker(ctx context.Context) error {
	before := h.struck.link.answers.Load()
	return await(ctx, h.target+" is answered", func(context.Context) bool {
		if !h.struck.running() && h.struck.start() != nil {
			return false
		}
		return h.struck.link.answers.Load() > before
	})
}

// beyondLease is longer than a lease.
func (h *hit) beyondLease() time.Duration {
	return h.between(lease+200*time.Millisecond, lease*7/4)
}

func killServer(ctx context.Context, h *hit) error {
	s := h.server()
	s.kill()
	pause(ctx, h.between(0, 600*time.Millisecond))
	return s.start()
}

func killProxy(ctx context.Context, h *hit) error {
	h.target = h.proxy.name
	h.proxy.kill()
	pause(ctx, h.between(0, 600*time.Millisecond))
	return h.proxy.start()
}

func killWorker(ctx context.Context, h *hit) error {
	w := h.worker()
	w.kill()
	pause(ctx, h.between(0, lease*3/2))
	return w.start()
}

// killBelow ends a process that a worker has started, when there is one.
func (h *hit) killBelow(ctx context.Context, word string) error {
	w := h.worker()
	deadline := time.Now().Add(3 * time.Second)
	for ctx.Err() == nil && time.Now().Before(deadline) {
		if all := children(w.pid(), word); len(all) > 0 {
			pid := all[h.random.IntN(len(all))]
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have ended
			return nil
		}
		pause(ctx, 5*time.Millisecond)
	}
	return errNothing
}

func killAgent(ctx context.Context, h *hit) error      { return h.killBelow(ctx, "block.sh") }
func killSupervisor(ctx context.Context, h *hit) error { return h.killBelow(ctx, "supervise") }

// killWhileSettling ends a server right after it was given runs that no list has yet.
func killWhileSettling(ctx context.Context, h *hit) error {
	s := h.server()
	h.calls.burst(ctx, 10)
	pause(ctx, h.between(0, 300*time.Millisecond)) // lists are settled every 300 ms
	s.kill()
	return s.start()
}

func restartServer(ctx context.Context, h *hit) error {
	s := h.server()
	s.stop(ctx, syscall.SIGTERM, 15*time.Second)
	return s.start()
}

func restartWorker(ctx context.Context, h *hit) error {
	w := h.worker()
	w.stop(ctx, syscall.SIGTERM, 15*time.Second)
	return w.start()
}

func freezeServer(ctx context.Context, h *hit) error {
	s := h.server()
	s.signal(syscall.SIGSTOP)
	pause(ctx, h.beyondLease())
	s.signal(syscall.SIGCONT)
	return nil
}

func freezeWorker(ctx context.Context, h *hit) error {
	w := h.worker()
	w.signal(syscall.SIGSTOP)
	pause(ctx, h.beyondLease())
	w.signal(syscall.SIGCONT)
	return nil
}

// holdLink cuts a link for less than a lease or for more.
func (h *hit) holdLink(ctx context.Context, l *link) error {
	h.target = l.name
	l.hold()
	defer l.heal()
	pause(ctx, h.between(300*time.Millisecond, lease*3/2))
	return nil
}

func cutFront(ctx context.Context, h *hit) error  { return h.holdLink(ctx, h.server().front) }
func cutWorker(ctx context.Context, h *hit) error { return h.holdLink(ctx, h.worker().link) }

func resetServer(_ context.Context, h *hit) error {
	h.server().front.resetAll()
	return nil
}

func resetWorker(_ context.Context, h *hit) error {
	h.worker().link.resetAll()
	return nil
}

// fillDisk takes the space of the file system that the database is on.
func fillDisk(ctx context.Context, h *hit) error {
	dir := h.servers[0].data
	if h.pg != nil {
		dir = h.pg.nodes[h.pg.primary].mount
	}
	h.target = filepath.Base(dir)
	err := fill(dir)
	pause(ctx, h.between(500*time.Millisecond, 2*time.Second))
	return firstOf(err, os.Remove(filepath.Join(dir, "fill")))
}

// databaseDisk is the disk that the database writes to.
func (h *hit) databaseDisk() *disk {
	if h.pg != nil {
		h.target = h.pg.nodes[h.pg.primary].name
		return h.pg.nodes[h.pg.primary].disk
	}
	h.target = h.servers[0].name
	return h.disk
}

func slowDisk(ctx context.Context, h *hit) error {
	d := h.databaseDisk()
	return d.during(h.between(50*time.Millisecond, 900*time.Millisecond), false,
		func() { pause(ctx, h.between(time.Second, 3*time.Second)) })
}

func breakDisk(ctx context.Context, h *hit) error {
	d := h.databaseDisk()
	return d.during(0, true, func() { pause(ctx, h.between(200*time.Millisecond, 1500*time.Millisecond)) })
}

// removeCache removes what a worker keeps of repositories and environments, also while a run
// starts from it.
func removeCache(ctx context.Context, h *hit) error {
	w := h.worker()
	var found []string
	for range 5 {
		for _, name := range []string{"mirrors", "prepared"} {
			below, _ := filepath.Glob(filepath.Join(h.dir, w.name, "*", name, "*")) // the pattern is good
			found = append(found, below...)
		}
		for _, path := range found {
			_ = os.RemoveAll(path) // it may be written to right now
		}
		pause(ctx, h.between(0, 200*time.Millisecond))
	}
	if len(found) == 0 {
		return errNothing
	}
	return nil
}

// jump sets the date of a process wrong for longer than a lease.
func (h *hit) jump(ctx context.Context, pid int) error {
	seconds := 60 + h.random.IntN(3600)
	if h.random.IntN(2) == 0 {
		seconds = -seconds
	}
	h.target = fmt.Sprintf("%s by %d s", h.target, seconds)
	if err := clock.Jump(ctx, pid, seconds); err != nil {
		return err
	}
	pause(ctx, h.beyondLease())
	return clock.Jump(ctx, pid, 0)
}

func jumpWorker(ctx context.Context, h *hit) error { return h.jump(ctx, h.worker().pid()) }
func jumpServer(ctx context.Context, h *hit) error { return h.jump(ctx, h.server().pid()) }
