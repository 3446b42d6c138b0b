package runs

import (
	"strconv"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/control/base"
	"github.com/lineshaft/lineshaft/internal/stream"
)

func newInboxes() *Runs {
	return &Runs{Base: &base.Base{Hub: stream.NewHub()}, inbox: inboxes{boxes: map[string]*inbox{}}}
}

// what is kept for a process that was killed expires.
func TestX7InboxesOfDeadProcessesGo(t *testing.T) {
	t.Parallel()
	s := newInboxes()
	_, done := s.listen("box/dead")
	done()
	alive, stop := s.listen("box/alive") // waits
	s.inbox.sweep(time.Now().Add(inboxLife / 2))
	if len(s.inbox.boxes) != 2 {
		t.Error("a busy process lost its inbox")
	}
	s.inbox.sweep(time.Now().Add(2 * inboxLife))
	if len(s.inbox.boxes) != 1 || s.inbox.boxes["box/alive"] != alive {
		t.Errorf("left is %v", s.inbox.boxes)
	}
	s.Hub.Wake([]string{stream.WorkerTopic("box/alive")})
	select {
	case <-alive.C:
	default:
		t.Error("a process that waits is not woken")
	}
	stop()
	s.inbox.sweep(time.Now().Add(4 * inboxLife))
	if len(s.inbox.boxes) != 0 {
		t.Error("it is kept for ever")
	}
}

// there is a bound.
func TestX7InboxesAreBounded(t *testing.T) {
	t.Parallel()
	s := newInboxes()
	waiting, done := s.listen("box/waiting")
	for i := range maxInboxes + 10 {
		_, done := s.listen("box/" + strconv.Itoa(i))
		done()
	}
	if n := len(s.inbox.boxes); n > maxInboxes || s.inbox.boxes["box/waiting"] != waiting {
		t.Errorf("%d inboxes", n)
	}
	done()
	s.inbox.drop("box/waiting")
	s.inbox.drop("box/waiting")
}
