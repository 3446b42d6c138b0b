package worker

import "sync"

// followups knows whether a follow-up waits at the control plane. Only the next
// EndTurn can tell for certain; an interrupted execution has to decide before.
type followups struct {
	mu sync.Mutex
	// seen counts the directives, taken the follow-ups that EndTurn gave. Either
	// may be ahead: a turn may end before its directive comes.
	seen, taken int
	// news is true when a directive came after the last EndTurn.
	news   bool
	signal signal
}

// came notes a directive.
func (f *followups) came() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.seen++
	f.news = true
	f.signal.poke()
}

// asking notes that EndTurn is called: what has come until now, it gives.
func (f *followups) asking() {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.news = false
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
	return f.news || f.seen > f.taken
}
