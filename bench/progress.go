package main

import (
	"fmt"
	"io"
	"os"
	"sync"
	"time"
)

// redraw is how often a counter is shown again.
const redraw = 200 * time.Millisecond

// progress shows a person at a terminal what happens; to anything else it says
// nothing.
type progress struct {
	out io.Writer

	mu    sync.Mutex
	title string
	drawn time.Time
}

func newProgress(out io.Writer) *progress {
	if file, ok := out.(*os.File); ok {
		if info, err := file.Stat(); err == nil && info.Mode()&os.ModeCharDevice != 0 {
			return &progress{out: out}
		}
	}
	return &progress{out: io.Discard}
}

// step begins something that takes a while.
func (p *progress) stepf(format string, args ...any) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.title, p.drawn = fmt.Sprintf(format, args...), time.Now()
	fmt.Fprintf(p.out, "\r\x1b[K%s …", p.title)
}

// at shows how far the step is.
func (p *progress) at(n, of int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if time.Since(p.drawn) < redraw {
		return
	}
	p.drawn = time.Now()
	fmt.Fprintf(p.out, "\r\x1b[K%s … %s of %s", p.title, thousands(int64(n)), thousands(int64(of)))
}

// done clears the line.
func (p *progress) done() {
	p.mu.Lock()
	defer p.mu.Unlock()
	fmt.Fprint(p.out, "\r\x1b[K")
}
