package stream

import "sync"

// Hub passes wake-ups by topic. A wake-up carries nothing: who is woken looks at
// the store. It may come without need, and a subscriber that is slow gets one for
// many. It is safe for concurrent use.
type Hub struct {
	mu     sync.Mutex
	topics map[string]map[*Subscription]struct{}
}

// NewHub returns an empty hub.
func NewHub() *Hub { return &Hub{topics: map[string]map[*Subscription]struct{}{}} }

// Subscription is woken when its topic is.
type Subscription struct {
	// C has at most one pending wake-up.
	C     chan struct{}
	hub   *Hub
	topic string
}

// Subscribe starts listening to a topic. Subscribe first and look at the store
// second: then nothing falls in between.
func (h *Hub) Subscribe(topic string) *Subscription {
	sub := &Subscription{C: make(chan struct{}, 1), hub: h, topic: topic}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.topics[topic] == nil {
		h.topics[topic] = map[*Subscription]struct{}{}
	}
	h.topics[topic][sub] = struct{}{}
	return sub
}

// Close stops listening; it may be called twice.
func (s *Subscription) Close() {
	s.hub.mu.Lock()
	defer s.hub.mu.Unlock()
	delete(s.hub.topics[s.topic], s)
	if len(s.hub.topics[s.topic]) == 0 {
		delete(s.hub.topics, s.topic)
	}
}

// Wake wakes the subscribers of each topic. It never blocks.
func (h *Hub) Wake(topics []string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, topic := range topics {
		for sub := range h.topics[topic] {
			sub.wake()
		}
	}
}

// WakeAll wakes everybody, for when wake-ups may have been missed.
func (h *Hub) WakeAll() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, subs := range h.topics {
		for sub := range subs {
			sub.wake()
		}
	}
}

func (s *Subscription) wake() {
	select {
	case s.C <- struct{}{}:
	default: // one is pending already
	}
}
