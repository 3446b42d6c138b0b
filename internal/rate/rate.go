// Package rate counts the requests of each caller over a sliding window: those of programs
// and those of pages, against one limit.
package rate

import (
	"sync"
	"time"
)

// Limiter counts the requests of each key over a sliding window, exactly: in any
// window at most limit are let in, and anyone who waits as long as told gets in.
// Refused requests do not count. It lives in memory: each node of a cluster counts
// for itself. A nil Limiter has no limit. It is safe for concurrent use.
type Limiter struct {
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

// Verdict says where a caller stands.
type Verdict struct {
	Remaining int
	// Reset is how long until the oldest counted request leaves the window.
	Reset time.Duration
	// Wait is zero when the request may go on.
	Wait time.Duration
}

// New lets so many requests of each key in within any minute; zero is no limit.
func New(limit int) *Limiter {
	return &Limiter{limit: limit, window: time.Minute, keys: map[string]*window{}}
}

// Limit is the number of requests in any minute; zero is no limit.
func (l *Limiter) Limit() int {
	if l == nil {
		return 0
	}
	return l.limit
}

// Seconds rounds up, for headers and for people.
func Seconds(d time.Duration) int64 { return int64((d + time.Second - 1) / time.Second) }

// Take counts one request of key at the given time. The second result is false
// when there is no limit.
func (l *Limiter) Take(key string, now time.Time) (Verdict, bool) {
	if l.Limit() <= 0 {
		return Verdict{}, false
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
		return Verdict{Reset: left, Wait: left}, true
	}
	reset := l.window
	if inside > 0 {
		reset = w.at(len(w.times) - inside).Add(l.window).Sub(now)
	}
	w.add(now, l.limit)
	return Verdict{Remaining: l.limit - inside - 1, Reset: reset}, true
}

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
func (l *Limiter) sweep(now time.Time) {
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
