package runs

import (
	"slices"
	"strings"
	"sync"

	"github.com/lineshaft/lineshaft/internal/stream"
)

// maxCount bounds how many queued runs a claim counts to find its share.
const maxCount = 1000

// claimLines are the lines of waiting claims, one for each worker id and the factories
// that it is bound to. Only the first of a line reads the queue: hundreds of idle
// workers cost no more than one, and a new run wakes one of them and not all. A served
// claim goes to the end: workers of one id get their runs in turn. Other nodes have
// lines of their own; the store decides between them. The zero value is ready.
type claimLines struct {
	mu   sync.Mutex
	byID map[string]*claimLine
	// more has the lines whose last claim got all that it asked for: there may be more.
	more map[string]bool
}

// claimLine is one of them. All is guarded by the lock of claimLines.
type claimLine struct {
	places []*claimPlace // the first is at the front
	// promised is how many runs are about to leave the queue: other claims still see
	// them there.
	promised int
	// users keeps the line alive: those who wait and those who take.
	users int
	sub   *stream.Subscription
}

// claimPlace is one claim in a line.
type claimPlace struct {
	lines *claimLines
	id    string
	line  *claimLine
	// look is sent when the queue should be read: the place came to the front, or what
	// was promised to others has been taken.
	look chan struct{}
}

// join goes to the end of a line.
func (c *claimLines) join(host string, factories []string, hub *stream.Hub) *claimPlace {
	c.mu.Lock()
	defer c.mu.Unlock()
	id := strings.Join(append([]string{host}, factories...), " ")
	line := c.byID[id]
	if line == nil {
		if c.byID == nil {
			c.byID = map[string]*claimLine{}
		}
		line = &claimLine{sub: hub.Subscribe(stream.QueueTopic(host))}
		c.byID[id] = line
	}
	line.users++
	p := &claimPlace{lines: c, id: id, line: line, look: make(chan struct{}, 1)}
	line.places = append(line.places, p)
	return p
}

// leave ends it, wherever it is.
func (p *claimPlace) leave() {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	p.stepOut()
	p.line.users--
	if p.line.users == 0 {
		p.line.sub.Close()
		delete(p.lines.byID, p.id)
	}
}

// stepOut makes room for the next. The lock is held.
func (p *claimPlace) stepOut() {
	i := slices.Index(p.line.places, p)
	if i < 0 {
		return
	}
	p.line.places = slices.Delete(p.line.places, i, i+1)
	if i == 0 {
		p.line.wakeFirst()
	}
}

// wakeFirst makes the claim at the front look. The lock is held.
func (l *claimLine) wakeFirst() {
	if len(l.places) > 0 {
		select {
		case l.places[0].look <- struct{}{}:
		default: // it was notified already
		}
	}
}

// woken is the wake-up of the queue for the claim at the front, and nothing for others.
func (p *claimPlace) woken() <-chan struct{} {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	if p.line.places[0] != p {
		return nil
	}
	return p.line.sub.C
}

// passOn is called by a claim that was woken: while it waited, one that got nothing may
// have come back before it.
func (p *claimPlace) passOn() {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	if p.line.places[0] != p {
		p.line.wakeFirst()
	}
}

// atFront says whether this claim reads the queue, and how many queued runs it must count:
// none if nobody shares them and the last claim found as many as it asked for.
func (p *claimPlace) atFront(limit int) (count int, front bool) {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	if p.lines.more[p.id] && len(p.line.places) == 1 && p.line.promised == 0 {
		return 0, p.line.places[0] == p
	}
	return p.line.promised + min(limit*len(p.line.places), maxCount), p.line.places[0] == p
}

// take steps out of the line with a part of the runs that were counted: an even share
// when others wait, so that one worker does not take everything while others are idle.
// It is 0 when there is nothing for it; then it keeps its place.
func (p *claimPlace) take(queued, limit int) (share int) {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	left, waiting := queued-p.line.promised, len(p.line.places)
	if left <= 0 {
		return 0
	}
	share = min(limit, (left+waiting-1)/waiting)
	p.line.promised += share
	p.stepOut()
	return share
}

// taken says that what was promised has been taken, by this one or by others. A claim
// that got nothing, as opposed to one that failed, is at the front again.
func (p *claimPlace) taken(share, got int, err error) {
	p.lines.mu.Lock()
	defer p.lines.mu.Unlock()
	p.line.promised -= share
	if delete(p.lines.more, p.id); got == share {
		p.lines.noteMore(p.id)
	}
	if got == 0 && err == nil {
		p.line.places = slices.Insert(p.line.places, 0, p)
		return // it waits; another claim has the run that it missed
	}
	p.line.wakeFirst()
}

// noteMore notes that there may be more for a line. To forget it costs a look. The lock is held.
func (c *claimLines) noteMore(id string) {
	if c.more == nil || len(c.more) >= maxInboxes {
		c.more = map[string]bool{}
	}
	c.more[id] = true
}

// ClaimsWaiting counts the claims that wait for runs of a worker id.
func (s *Runs) ClaimsWaiting(host string) int {
	s.lines.mu.Lock()
	defer s.lines.mu.Unlock()
	if line := s.lines.byID[host]; line != nil {
		return len(line.places)
	}
	return 0
}
