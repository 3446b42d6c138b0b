package web

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/stream"
)

const (
	// messageEvery and the two bounds below keep a page responsive however much a run
	// writes: few messages, none of them large.
	messageEvery  = 50 * time.Millisecond
	messageEvents = 300
	messageBytes  = 96 << 10
	// farBehind is from where catching up event by event makes no sense to a reader:
	// the page then starts anew at the end.
	farBehind = 5000
	// sideEvery is how often usage and the like are told.
	sideEvery = 2 * time.Second
)

// runStream is one page that follows a run.
type runStream struct {
	*server

	w        http.ResponseWriter
	out      *http.ResponseController
	caller   lineshaft.Caller
	runID    string
	answers  bool
	follower *stream.Follower
	sent     time.Time
	side     time.Time // when the side was last sent
	sideDue  bool
}

// runEvents streams the transcript of a run to its page: several events in each
// message, as HTML that the page's own templates made.
func (s *server) runEvents(w http.ResponseWriter, r *http.Request, c lineshaft.Caller) error {
	after, err := resumeAfter(r)
	if err != nil {
		return err
	}
	run, err := s.Control.GetRun(r.Context(), c, r.PathValue("id"))
	if err != nil {
		return err
	}
	ctx, cancel := s.whileLive(r.Context(), c)
	defer cancel()
	p := &runStream{
		server: s, w: w, out: beginStream(w), caller: c, runID: run.ID, answers: runs.MayChange(c, run),
	}
	if run.LastSequence-after > farBehind {
		_ = p.write("event: far\ndata: {}\n\n") // a reader that went away is nobody's error
		return nil
	}
	if p.follower, err = s.Control.Follow(ctx, c, run.ID, after); err != nil {
		return err
	}
	defer p.follower.Close()
	if p.write("retry: 1000\n\n") != nil {
		return nil
	}
	p.follow(ctx)
	return nil
}

// follow sends until the run is over, the reader is gone or the server stops; the
// browser then comes back by itself.
func (p *runStream) follow(ctx context.Context) {
	for {
		events, err := p.next(ctx)
		for _, part := range parts(events) {
			if !p.pause(ctx) || p.send(ctx, part) != nil {
				return
			}
		}
		switch {
		case errors.Is(err, io.EOF):
			if p.sendSide(ctx) == nil {
				_ = p.write("event: end\ndata: {}\n\n")
			}
			return
		case errors.Is(err, context.DeadlineExceeded):
			if p.write(": still here\n\n") != nil {
				return
			}
		case err != nil:
			return
		}
	}
}

// next waits for events and takes all that are there, up to some.
func (p *runStream) next(ctx context.Context) ([]lineshaft.Event, error) {
	waiting, cancel := context.WithTimeout(ctx, heartbeat)
	defer cancel()
	var events []lineshaft.Event
	for first := true; first || p.follower.Ready() && len(events) < 4*messageEvents; first = false {
		items, err := p.follower.Next(waiting)
		for _, i := range items {
			events = append(events, i.Event)
		}
		if err != nil {
			return events, err
		}
	}
	return events, nil
}

// pause keeps messages apart, so that what comes meanwhile goes with the next one.
func (p *runStream) pause(ctx context.Context) bool {
	wait := time.NewTimer(time.Until(p.sent.Add(messageEvery)))
	defer wait.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-wait.C:
		return true
	}
}

// parts cuts events into what one message may carry.
func parts(events []lineshaft.Event) [][]lineshaft.Event {
	var list [][]lineshaft.Event
	for len(events) > 0 {
		n, size := 0, 0
		for n < min(len(events), messageEvents) && (n == 0 || size+len(events[n].Data) <= messageBytes) {
			size += len(events[n].Data)
			n++
		}
		list = append(list, events[:n])
		events = events[n:]
	}
	return list
}

// send writes one message: the HTML of consecutive events, with the sequences of its ends.
func (p *runStream) send(ctx context.Context, events []lineshaft.Event) error {
	var html bytes.Buffer
	if err := p.pages["run"].ExecuteTemplate(&html, "items", p.transcribe(p.runID, p.answers, events)); err != nil {
		return err
	}
	first, last := events[0].Sequence, events[len(events)-1].Sequence
	if err := p.message("", last, map[string]any{"first": first, "last": last, "html": html.String()}); err != nil {
		return err
	}
	p.sent = time.Now()
	urgent := false
	for _, e := range events {
		switch e.Type {
		case lineshaft.EventState, lineshaft.EventArtifact, lineshaft.EventNotice:
			urgent = true
		case lineshaft.EventUsage:
			p.sideDue = true
		default:
		}
	}
	if urgent || p.sideDue && time.Since(p.side) > sideEvery {
		return p.sendSide(ctx)
	}
	return nil
}

// sendSide writes what stands around the transcript.
func (p *runStream) sendSide(ctx context.Context) error {
	run, err := p.Control.GetRun(ctx, p.caller, p.runID)
	if err != nil {
		return err
	}
	live, err := p.runLive(ctx, p.caller, run)
	if err != nil {
		return err
	}
	parts := map[string]any{"state": run.State}
	for _, name := range []string{"standing", "bar", "changing"} {
		var html bytes.Buffer
		if err := p.pages["run"].ExecuteTemplate(&html, name, live); err != nil {
			return err
		}
		parts[name] = html.String()
	}
	p.side, p.sideDue = time.Now(), false
	return p.message("side", 0, parts)
}

// message writes one message; JSON keeps it on one line.
func (p *runStream) message(event string, id int64, data any) error {
	var text bytes.Buffer
	if event != "" {
		text.WriteString("event: " + event + "\n")
	}
	if id > 0 {
		text.WriteString("id: " + strconv.FormatInt(id, 10) + "\n")
	}
	text.WriteString("data: ")
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)                 // it is HTML
	if err := encoder.Encode(data); err != nil { // ends with a line feed
		return err
	}
	text.WriteString("\n")
	return p.write(text.String())
}

func (p *runStream) write(text string) error {
	if err := p.out.SetWriteDeadline(time.Now().Add(writeWithin)); err != nil {
		return err
	}
	if _, err := io.WriteString(p.w, text); err != nil {
		return err
	}
	return p.out.Flush()
}

func resumeAfter(r *http.Request) (int64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return 0, nil
	}
	after, err := strconv.ParseInt(text, 10, 64)
	if err != nil || after < 0 {
		return 0, lineshaft.Invalid("after", "not a sequence number")
	}
	return after, nil
}
