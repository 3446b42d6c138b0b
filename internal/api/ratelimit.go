package api

import (
	"sync"
	"time"
)

// limiter counts the requests of each key over a sliding window, exactly: in any
// window at most limit are let in, and whoever waits as long as told gets in.
// Refused requests do not count. It lives in memory: each node of a cluster counts
// for itself.
type limiter struct {
	limit  int
	window time.Duration

	mu    sync.Mutex
	keys  map[string]*window
	swept time.Time
}

// window is a ring of the newest times at which a key was let in.
type window struct {
	times []time.Time
	// oldest is the index of the oldest time once the ring is full.
	oldest int
}

// verdict tells a caller where it stands.
type verdict struct {
	remaining int
	// reset is how long until the oldest counted request leaves the window.
	reset time.Duration
	// wait is zero when the request may go on.
	wait time.Duration
}

func newLimiter(limit int) *limiter {
	return &limiter{limit: limit, window: time.Minute, keys: map[string]*window{}}
}

// take counts one request of key at the given time. The second result is false
// when there is no limit.
func (l *limiter) take(key string, now time.Time) (verdict, bool) {
	if l.limit <= 0 {
		return verdict{}, false
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	l.sweep(now)
	w := l.keys[key]
	if w == nil {
		w = &window{}
		l.keys[key] = w
	}
	inside := w.count(now.Add(-l.window))
	if inside >= l.limit {
		left := w.times[w.oldest].Add(l.window).Sub(now)
		return verdict{reset: left, wait: left}, true
	}
	reset := l.window
	if inside > 0 {
		reset = w.at(len(w.times) - inside).Add(l.window).Sub(now)
	}
	w.add(now, l.limit)
	return verdict{remaining: l.limit - inside - 1, reset: reset}, true
}

// at returns the i-th time, oldest first.
func (w *window) at(i int) time.Time { return w.times[(w.oldest+i)%len(w.times)] }

// count is the number of times after since; they are in order.
func (w *window) count(since time.Time) int {
	low, high := 0, len(w.times)
	for low < high {
		middle := (low + high) / 2
		if w.at(middle).After(since) {
			high = middle
		} else {
			low = middle + 1
		}
	}
	return len(w.times) - low
}

// add remembers a time, forgetting the oldest when the ring is full.
func (w *window) add(now time.Time, limit int) {
	if len(w.times) < limit {
		w.times = append(w.times, now)
		return
	}
	w.times[w.oldest] = now
	w.oldest = (w.oldest + 1) % limit
}

// sweep forgets keys that have been quiet for a window, once per window.
func (l *limiter) sweep(now time.Time) {
	if now.Sub(l.swept) < l.window {
		return
	}
	l.swept = now
	for key, w := range l.keys {
		if w.count(now.Add(-l.window)) == 0 {
			delete(l.keys, key)
		}
	}
}
