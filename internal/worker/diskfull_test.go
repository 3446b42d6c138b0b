package worker

import (
	"context"
	"fmt"
	"strings"
	"syscall"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// onFullDisk is a harness that finds no room at first.
type onFullDisk struct {
	scripted
	full *int
}

func (h onFullDisk) Open(ctx context.Context, env harness.Environment) (harness.Session, error) {
	if *h.full--; *h.full >= 0 {
		return nil, fmt.Errorf("write file: %w", syscall.ENOSPC)
	}
	return h.scripted.Open(ctx, env)
}

// A worker whose disk is full hands the run back instead of failing it, and leaves its slot
// empty for a while: it would otherwise go through the whole queue.
func TestX1FullDiskHandsTheRunBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c, full := newControl(t), 1
		agent := onFullDisk{scripted{echo}, &full}
		start(t, c, Config{Slots: 1, Harnesses: harness.Set{Harnesses: []harness.Harness{agent}, Default: "scripted"}})
		c.jobs <- job("a", "hello")
		result := c.ended("a", 1)
		if result.State != lineshaft.Queued || !result.Dead || !strings.Contains(result.Message, "is full") {
			t.Errorf("got %+v, want the run back in the queue", result)
		}
		synctest.Wait()
		claims := c.count("Claim")
		advance(diskPause - time.Second)
		if n := c.count("Claim"); n != claims {
			t.Errorf("got %d claims within the pause, want none", n-claims)
		}
		advance(2 * time.Second)
		c.jobs <- job("b", "hello")
		if result := c.ended("b", 1); result.State != lineshaft.Succeeded {
			t.Errorf("after the pause: got %+v, want success", result)
		}
	})
}

// A repository that has no room on the worker's disk is not the run's fault either.
func TestX1FullDiskForARepositoryHandsTheRunBack(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	forge := &forge{instead: func(context.Context, string) (string, error) {
		return "", lineshaft.Unavailable(syscall.ENOSPC, "this machine's disk has no room for it")
	}}
	real(t, c, sandbox.NewNone(harnesstest.Options()), Config{Git: forge})
	c.jobs <- preparing(job("a", script("echo never")), shopSetup())
	if result := c.ended("a", 1); result.State != lineshaft.Queued || !strings.Contains(result.Message, "is full") {
		t.Errorf("got %+v, want the run back in the queue", result)
	}
}
