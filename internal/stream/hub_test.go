package stream

import (
	"fmt"
	"sync"
	"testing"
)

// pending says whether a subscription has a wake-up, and takes it.
func pending(sub *Subscription) bool {
	select {
	case <-sub.C:
		return true
	default:
		return false
	}
}

func TestHubWakesByTopic(t *testing.T) {
	t.Parallel()
	hub := NewHub()
	one, also, two := hub.Subscribe("a"), hub.Subscribe("a"), hub.Subscribe("b")
	hub.Wake([]string{"a", "a", "nobody"})
	hub.Wake([]string{"a"})
	if !pending(one) || !pending(also) || pending(two) {
		t.Error("the wrong ones were woken")
	}
	if pending(one) {
		t.Error("many wake-ups are more than one")
	}
	hub.WakeAll()
	if !pending(one) || !pending(also) || !pending(two) {
		t.Error("not all were woken")
	}
	one.Close()
	one.Close()
	hub.WakeAll()
	if pending(one) || !pending(also) {
		t.Error("a closed one was woken, or an open one was not")
	}
	also.Close()
	two.Close()
	if len(hub.topics) != 0 {
		t.Errorf("topics left: %v", hub.topics)
	}
}

// Subscribers that come and go while others are woken leave nothing behind.
func TestHubAtOnce(t *testing.T) {
	t.Parallel()
	hub := NewHub()
	var group sync.WaitGroup
	for i := range 8 {
		group.Go(func() {
			for n := range 200 {
				topic := fmt.Sprint((i + n) % 3)
				sub := hub.Subscribe(topic)
				hub.Wake([]string{topic})
				if !pending(sub) {
					t.Error("not woken")
				}
				sub.Close()
			}
		})
	}
	group.Wait()
	if len(hub.topics) != 0 {
		t.Errorf("topics left: %v", hub.topics)
	}
}
