package store

import (
	chain "container/list"
	"sync"
)

// mostFits is how many stretches are remembered: a log of 100,000 events has some ten.
const mostFits = 4096

// stretch is a part of a log, and how much data of it is wanted at most. A log only grows, and no other
// run gets the id of a deleted one: what was measured stays true.
type stretch struct {
	runID             string
	after, last, most int64
}

// fit is where a stretch ends that has no more data than was wanted, and how much it has.
type fit struct{ end, size int64 }

// fits remembers the stretches that were measured last.
type fits struct {
	mu    sync.Mutex
	known map[stretch]*chain.Element
	// order has the stretches, the last used one first.
	order chain.List
}

type fitted struct {
	stretch
	fit
}

func (f *fits) get(of stretch) (fit, bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	found, ok := f.known[of]
	if !ok {
		return fit{}, false
	}
	f.order.MoveToFront(found)
	known, ok := found.Value.(fitted)
	return known.fit, ok
}

func (f *fits) put(of stretch, measured fit) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.known == nil {
		f.known = map[stretch]*chain.Element{}
	}
	if _, ok := f.known[of]; ok {
		return // measured twice at the same time, with the same result
	}
	f.known[of] = f.order.PushFront(fitted{of, measured})
	if oldest := f.order.Back(); f.order.Len() > mostFits {
		f.order.Remove(oldest)
		if gone, ok := oldest.Value.(fitted); ok {
			delete(f.known, gone.stretch)
		}
	}
}
