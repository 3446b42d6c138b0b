package trigger

import (
	"sync"
	"time"
)

// maxBlocked bounds the memory that strangers can take.
const maxBlocked = 10_000

// blocklist remembers which windows are full until when, so that a flood does not
// reach the database. The database has the truth: what is forgotten is asked again.
type blocklist struct {
	mu    sync.Mutex
	until map[string]time.Time
}

// wait is how long a window stays full.
func (b *blocklist) wait(name string, now time.Time) time.Duration {
	b.mu.Lock()
	defer b.mu.Unlock()
	until, there := b.until[name]
	if !there {
		return 0
	}
	if left := until.Sub(now); left > 0 {
		return left
	}
	delete(b.until, name)
	return 0
}

// block notes that a window is full.
func (b *blocklist) block(name string, now time.Time, wait time.Duration) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.until == nil || len(b.until) >= maxBlocked {
		b.until = map[string]time.Time{}
	}
	b.until[name] = now.Add(wait)
}
