package page

import (
	"net/netip"
	"sync"
	"time"
)

// An address may send this many wrong keys in this time.
const (
	wrongKeysMost = 10
	wrongKeysSpan = time.Minute
	// wrongKeysKept bounds the memory that many addresses take.
	wrongKeysKept = 100_000
)

// attempts counts wrong keys by address. It is in memory: each node of a cluster
// counts its own.
type attempts struct {
	mu    sync.Mutex
	since map[string]*attempt
	swept time.Time
}

type attempt struct {
	count int
	until time.Time
}

// enter counts an attempt in advance, so that many at once do not get through
// together; leave takes back a successful one. It returns how long to wait, or 0.
func (a *attempts) enter(address string, now time.Time) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.sweep(now)
	who := block(address)
	at := a.since[who]
	if at == nil || !now.Before(at.until) {
		at = &attempt{until: now.Add(wrongKeysSpan)}
		a.since[who] = at
	}
	if at.count >= wrongKeysMost {
		return at.until.Sub(now)
	}
	at.count++
	return 0
}

func (a *attempts) leave(address string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if at := a.since[block(address)]; at != nil && at.count > 0 {
		at.count--
	}
}

// sweep forgets what is over. The lock is held.
func (a *attempts) sweep(now time.Time) {
	if a.since == nil || len(a.since) >= wrongKeysKept {
		a.since = map[string]*attempt{}
	}
	if now.Sub(a.swept) < wrongKeysSpan {
		return
	}
	a.swept = now
	for who, at := range a.since {
		if !now.Before(at.until) {
			delete(a.since, who)
		}
	}
}

// block is what one customer of a provider has: an address, or for IPv6 a network.
func block(address string) string {
	addr, err := netip.ParseAddr(address)
	if err != nil || !addr.Is6() {
		return address
	}
	network, err := addr.Prefix(64)
	if err != nil {
		return address
	}
	return network.String()
}
