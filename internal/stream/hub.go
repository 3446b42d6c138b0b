package stream

import (
	"sync"

	"github.com/lineshaft/lineshaft"
)

// Hub passes wake-ups by topic. A wake-up carries nothing: a woken subscriber reads the
// store. It may come without need, and a slow subscriber gets one for many. It is safe
// for concurrent use.
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

// WakeAll wakes everyone, for when wake-ups may have been missed.
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

// Item is an event with its encoded form, made once for all followers.
type Item struct {
	Event lineshaft.Event
	// Frame is what the encoder given to New made of the event. Those of one read of the
	// log lie in one buffer, one after the other.
	Frame []byte
}

// Frames joins the frames of items that Next returned together, without a copy: a thousand
// followers send the same bytes.
func Frames(items []Item) []byte {
	if len(items) == 0 {
		return nil
	}
	size := 0
	for _, item := range items {
		size += len(item.Frame)
	}
	return items[0].Frame[:size:size]
}

// StateChange is one move of one run in the stream over all runs.
type StateChange struct {
	// Cursor resumes after this change.
	Cursor string
	Event  lineshaft.Event
}

// Topics of the hub.

// RunTopic is woken when a run's log grew.
func RunTopic(runID string) string { return "run/" + runID }

// QueueTopic is woken when a run may be claimed by workers of a host.
func QueueTopic(host string) string { return "queue/" + host }

// WorkerTopic is woken when there may be a directive for a worker process.
func WorkerTopic(workerID string) string { return "worker/" + workerID }

// StatesTopic is woken when any run changed its state.
const StatesTopic = "states"

// KeysTopic is woken when an API key changed.
const KeysTopic = "keys"

// RepositoriesTopic is woken when a repository that a factory follows is due for a check.
const RepositoriesTopic = "repositories"

// FactoriesTopic is woken when a factory, or a part of one, changed.
const FactoriesTopic = "factories"

// SkillsTopic is woken when a run waits for its skills to be found.
const SkillsTopic = "skills"

// NotificationsTopic is woken when an endpoint of callbacks changed.
const NotificationsTopic = "notifications"

// CallbacksTopic is woken when there is something to send to an endpoint.
const CallbacksTopic = "callbacks"
