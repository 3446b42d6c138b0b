package runs

import (
	"time"

	"github.com/lineshaft/lineshaft/internal/stream"
)

const (
	// inboxLife is how long a subscription is kept for a process that does not ask any
	// more: several polls. The next heartbeat reports what it missed then.
	inboxLife = 6 * longPoll
	// maxInboxes is how many processes are remembered at once.
	maxInboxes = 10_000
)

// inbox is the subscription of a worker process for its directives.
type inbox struct {
	*stream.Subscription
	asked   time.Time
	waiting int // calls that wait for it now
}

// inboxes are those of all processes. A process that was killed never says so: what is
// kept for it expires. The caller holds the lock.
type inboxes struct {
	boxes map[string]*inbox
	swept time.Time
}

// listen keeps a worker's subscription between calls, so that nothing is missed
// while it is busy with the last directives. Call done after waiting.
func (s *Runs) listen(workerID string) (box *inbox, done func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.inbox.sweep(time.Now())
	box = s.inbox.boxes[workerID]
	if box == nil {
		box = &inbox{Subscription: s.Hub.Subscribe(stream.WorkerTopic(workerID))}
		s.inbox.boxes[workerID] = box
	}
	box.asked = time.Now()
	box.waiting++
	return box, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		box.asked = time.Now()
		box.waiting--
	}
}

// sweep drops subscriptions that were not used in a while and, when there are too many,
// all that nobody waits for.
func (i *inboxes) sweep(now time.Time) {
	full := len(i.boxes) >= maxInboxes
	if !full && now.Sub(i.swept) < longPoll {
		return
	}
	i.swept = now
	for workerID, box := range i.boxes {
		if box.waiting == 0 && (full || now.Sub(box.asked) > inboxLife) {
			i.drop(workerID)
		}
	}
}

func (i *inboxes) drop(workerID string) {
	if box := i.boxes[workerID]; box != nil {
		box.Close()
		delete(i.boxes, workerID)
	}
}
