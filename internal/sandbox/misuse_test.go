//go:build linux

package sandbox_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// All methods at once, from everywhere, at any time.
func TestR7EverythingAtOnce(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		for range 5 {
			spec := shell(t, "sleep 1000 & exec sleep 1000")
			spec.FeedWithin = time.Minute
			spec.Stdin = strings.NewReader(strings.Repeat("x", 1<<20))
			p := begin(t, s, spec)
			var wg sync.WaitGroup
			for range 4 {
				wg.Go(func() {
					for !ended(p) {
						p.Feed()
					}
				})
				wg.Go(func() {
					<-time.After(time.Duration(rand.IntN(5)) * time.Millisecond)
					p.Kill(time.Duration(rand.IntN(3)) * time.Millisecond)
				})
				wg.Go(func() {
					if exit, err := p.Wait(); exit.Reason != sandbox.ReasonKilled || err != nil {
						t.Errorf("got %+v, %v", exit, err)
					}
				})
			}
			wg.Wait()
		}
	})
}

func ended(p *sandbox.Process) bool {
	select {
	case <-p.Done():
		return true
	default:
		return false
	}
}

func TestS2ErrorsDoNotShowValues(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		for _, env := range []string{"TOKEN=tell-nobody\x00", "=tell-nobody"} {
			spec := shell(t, "exit 0")
			spec.Env = []string{env}
			_, err := s.Start(t.Context(), spec)
			if err == nil || strings.Contains(err.Error(), "tell-nobody") {
				t.Errorf("got %v", err)
			}
		}
		spec := shell(t, "exit 0")
		spec.Env = []string{"PATH=/nowhere", "TOKEN=tell-nobody"}
		spec.Command = []string{"no-such-tool"}
		_, err := s.Start(t.Context(), spec)
		if err == nil || strings.Contains(err.Error(), "tell-nobody") || !strings.Contains(err.Error(), "/nowhere") {
			t.Errorf("got %v", err)
		}
	})
}

// All that is wrong is said at once.
func TestX5AllProblemsAreSaid(t *testing.T) {
	t.Parallel()
	_, err := sandbox.NewNone(options()).Start(t.Context(), sandbox.Spec{Dir: "relative", Env: []string{"X"}, Network: "some", Slot: -1})
	for _, want := range []string{"relative", "command is empty", `"X"`, `"some"`, "negative"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q is missing in %v", want, err)
		}
	}
}

// An agent is a clean start: its own session, no terminal, no ignored signals.
// Signals 32 and 33 are the C library's own: the process that started the tests may have
// left them ignored, and neither Go nor a shell can change that.
func TestX5AgentStartsClean(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		spec := shell(t, "")
		spec.Command = []string{"grep", "-E", "^Sig(Ign|Blk):", "/proc/self/status"}
		_, out := run(t, s, spec)
		var blocked, ignored uint64
		if _, err := fmt.Sscanf(out, "SigBlk:\t%x\nSigIgn:\t%x\n", &blocked, &ignored); err != nil {
			t.Fatalf("%q: %v", out, err)
		}
		const libc = 1<<31 | 1<<32
		if blocked&^libc != 0 || ignored&^libc != 0 {
			t.Errorf("got %q", out)
		}
		// The seventh field is the terminal, the sixth the session.
		_, out = run(t, s, shell(t, `set -- $(cat /proc/self/stat); echo $7; [ $6 != 0 ] && echo session`))
		if out != "0\nsession\n" {
			t.Errorf("got %q", out)
		}
	})
}
