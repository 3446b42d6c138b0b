package e2e

import (
	"os"
	"strings"
	"sync"
	"testing"
	"time"
)

// pressure knows when processes of this machine waited for a processor, as the kernel counts
// it. What is promised for a machine that keeps up is held against the rest of the time.
type pressure struct {
	mu   sync.Mutex
	seen []pressureMark
}

type pressureMark struct{ at, waited time.Duration }

func watchPressure(t *testing.T) *pressure {
	t.Helper()
	p, tick, done := &pressure{}, time.NewTicker(50*time.Millisecond), make(chan struct{})
	go func() {
		defer close(done)
		for range tick.C {
			p.look()
			if t.Context().Err() != nil {
				return
			}
		}
	}()
	t.Cleanup(func() {
		<-done
		tick.Stop()
	})
	return p
}

func (p *pressure) look() {
	text, err := os.ReadFile("/proc/pressure/cpu")
	_, total, found := strings.Cut(string(text), "total=")
	if err != nil || !found {
		return // a kernel that does not count: the promises hold as they are
	}
	micros, _, _ := strings.Cut(total, "\n")
	waited, _ := time.ParseDuration(micros + "us")
	p.mu.Lock()
	defer p.mu.Unlock()
	p.seen = append(p.seen, pressureMark{at: now(), waited: waited})
}

// during is how long any process waited for a processor in a span of time.
func (p *pressure) during(since, length time.Duration) time.Duration {
	p.look()
	return p.between(since, since+length)
}

func (p *pressure) between(from, to time.Duration) time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	var first, last time.Duration
	for _, mark := range p.seen {
		if mark.at <= from || first == 0 {
			first = mark.waited
		}
		if last = mark.waited; mark.at > to {
			break
		}
	}
	return last - first
}

func TestX1PressureIsOfItsTime(t *testing.T) {
	t.Parallel()
	p := &pressure{seen: []pressureMark{{at: 1, waited: 10}, {at: 5, waited: 30}, {at: 9, waited: 90}, {at: 12, waited: 200}}}
	for _, c := range []struct{ from, to, want time.Duration }{{0, 3, 20}, {5, 8, 60}, {5, 9, 170}, {6, 8, 60}} {
		if got := p.between(c.from, c.to); got != c.want {
			t.Errorf("from %d to %d: %d, want %d", c.from, c.to, got, c.want)
		}
	}
}
