package prepared

import (
	"context"
	"time"
)

// Turn is held by the one who prepares a layer that others wait for.
type Turn struct {
	store *Store
	id    string
	over  chan struct{}
	again bool // set before over is closed: another caller is to prepare it
}

// waitPause is how often callers that wait are reminded that they do.
const waitPause = 30 * time.Second

// Await gives the turn to prepare the layer of a key, if it does not exist. While another caller
// has the turn, Await waits and calls waiting now and then. If that caller has kept the layer, or found
// that it cannot be kept, the turn is nil and all callers continue at once. So many that start
// together run the commands once, and none waits for more than one of the others.
func (s *Store) Await(ctx context.Context, key Key, waiting func()) (*Turn, error) {
	for {
		t, mine := s.turn(key.ID)
		if t == nil || mine {
			return t, nil
		}
		if err := t.wait(ctx, waiting); err != nil {
			return nil, err
		}
		if !t.again {
			return nil, nil
		}
	}
}

// turn is the turn of a layer, and whether it is the caller's; nil when the layer exists.
func (s *Store) turn(id string) (t *Turn, mine bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if l := s.layers[id]; l != nil && !s.old(l) {
		return nil, false
	}
	if t := s.turns[id]; t != nil {
		return t, false
	}
	t = &Turn{store: s, id: id, over: make(chan struct{})}
	s.turns[id] = t
	return t, true
}

func (t *Turn) wait(ctx context.Context, waiting func()) error {
	ticker := time.NewTicker(waitPause)
	defer ticker.Stop()
	for {
		waiting()
		select {
		case <-t.over:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-ticker.C:
		}
	}
}

// End gives the turn back when the layer that was kept, if any, is complete. A turn that was
// ended from outside is passed on. A nil turn has no end.
func (t *Turn) End(kept string, ended bool) {
	if t == nil {
		return
	}
	s := t.store
	s.mu.Lock()
	defer s.mu.Unlock()
	t.again = ended
	if s.making[kept] != nil {
		s.making[kept] = append(s.making[kept], t)
		return
	}
	s.endTurn(t)
}

// endTurn lets the waiting callers continue. The caller holds s.mu.
func (s *Store) endTurn(t *Turn) {
	delete(s.turns, t.id)
	close(t.over)
}
