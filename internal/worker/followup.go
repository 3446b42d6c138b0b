package worker

import "sync"

// followups knows whether a follow-up waits at the control plane. Only the next
// EndTurn can tell for certain; a snapshot and an interrupted execution have to
// decide before. Counting too few is safe: it costs a snapshot, or makes an
// interrupted execution wait.
type followups struct {
	mu sync.Mutex
	// seen counts the directives, taken the follow-ups that EndTurn gave. Either
	// may be ahead: a turn may end before its directive comes.
	seen, taken int
	signal      signal
}

// came notes a directive.
func (f *followups) came() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	f.signal.poke()
}

// got notes that EndTurn gave one.
func (f *followups) got() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.taken++
}

func (f *followups) waiting() bool {
	f.mu.Lock()
	defer f.mu.Unlock()
	return f.seen > f.taken
}
