package worker

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
)

// watch holds an execution to its time: all its turns together, and the
// silence in between. It counts while a turn runs and the agent is not blocked.
type watch struct {
	timeout, stall time.Duration
	// expire is called, once, with the cause.
	expire func(error)

	mu      sync.Mutex
	used    time.Duration // before the present stretch
	since   time.Time     // begin of the present stretch; zero while standing still
	active  time.Time     // when something was seen last
	last    *lineshaft.Draft
	timer   *time.Timer
	turning bool
	blocked bool
}

func newWatch(config lineshaft.AgentConfig, expire func(error)) *watch {
	w := &watch{
		timeout: minutes(config.TimeoutMinutes, lineshaft.DefaultTimeoutMinutes),
		stall:   minutes(config.StallMinutes, lineshaft.DefaultStallMinutes),
		expire:  expire,
	}
	w.timer = time.AfterFunc(time.Hour, w.check)
	w.timer.Stop()
	return w
}

func minutes(value *int, standard int) time.Duration {
	if value == nil {
		return time.Duration(standard) * time.Minute
	}
	return time.Duration(*value) * time.Minute
}

func (w *watch) turn(running bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turning = running
	w.settle()
}

func (w *watch) block(blocked bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.blocked = blocked
	w.settle()
}

// settle starts or stops the clocks.
func (w *watch) settle() {
	now := time.Now()
	switch run := w.turning && !w.blocked; {
	case run && w.since.IsZero():
		w.since, w.active = now, now
		w.timer.Reset(w.left(now))
	case !run && !w.since.IsZero():
		w.used += now.Sub(w.since)
		w.since = time.Time{}
		w.timer.Stop()
	}
}

// left is the time until one of the limits may be reached.
func (w *watch) left(now time.Time) time.Duration {
	return min(w.timeout-w.used-now.Sub(w.since), w.stall-now.Sub(w.active))
}

func (w *watch) saw(draft lineshaft.Draft) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = time.Now()
	w.last = &draft
}

// traffic notes activity that is not an event, such as a model's answer.
func (w *watch) traffic() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.active = time.Now()
}

func (w *watch) check() {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.since.IsZero() {
		return
	}
	now := time.Now()
	if left := w.left(now); left > 0 {
		w.timer.Reset(left) // something was seen since the timer was set
		return
	}
	message := fmt.Sprintf("stopped: nothing was seen of the agent for %s", inMinutes(w.stall))
	if w.used+now.Sub(w.since) >= w.timeout {
		message = fmt.Sprintf("stopped: the run took longer than %s", inMinutes(w.timeout))
	}
	w.expire(&limitError{message: message + "; last seen: " + lastSeen(w.last)})
	w.used += now.Sub(w.since)
	w.since = time.Time{}
}

func (w *watch) end() {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.turning = false
	w.settle()
}

// lastSeen describes the last event for a person.
func lastSeen(draft *lineshaft.Draft) string {
	if draft == nil {
		return "nothing"
	}
	var data struct {
		Text string `json:"text"`
		Name string `json:"name"`
	}
	_ = json.Unmarshal(draft.Data, &data) // what cannot be read is not described
	lines := strings.Split(strings.TrimSpace(data.Text), "\n")
	switch text := lineshaft.Clip(lines[len(lines)-1], 200); {
	case text != "":
		return fmt.Sprintf("%s %q", draft.Type, text)
	case data.Name != "":
		return fmt.Sprintf("%s %s", draft.Type, lineshaft.Clip(data.Name, 200))
	}
	return string(draft.Type)
}
