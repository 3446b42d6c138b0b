package runs

import (
	"bytes"
	"context"
	"errors"
	"io"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/sse"
	"github.com/lineshaft/lineshaft/internal/stream"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

const (
	// messageEvery and the two bounds below keep a page responsive however much a run
	// writes: few messages, none of them large.
	messageEvery  = 50 * time.Millisecond
	messageEvents = 300
	messageBytes  = 96 << 10
	// farBehind is the distance from which catching up event by event makes no sense to a reader:
	// the page then starts again at the end.
	farBehind = 5000
	// sideEvery is how often usage and the like are sent.
	sideEvery = 2 * time.Second
)

// runStream is one page that follows a run.
type runStream struct {
	pages
	page.Messages

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
func (s pages) runEvents(r *page.Request) error {
	after, err := resumeAfter(r)
	if err != nil {
		return err
	}
	run, err := s.Control.GetRun(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	ctx, cancel := s.WhileLive(r.Context(), r.Caller)
	defer cancel()
	p := &runStream{
		pages: s, Messages: r.BeginMessages(), caller: r.Caller, runID: run.ID, answers: runs.MayChange(r.Caller, run),
	}
	if run.LastSequence-after > farBehind {
		_ = p.Message("", "far", struct{}{}) // a reader that went away is nobody's error
		return nil
	}
	if p.follower, err = s.Control.Follow(ctx, r.Caller, run.ID, after); err != nil {
		return err
	}
	defer p.follower.Close()
	if p.Raw(sse.Retry) != nil {
		return nil
	}
	p.follow(ctx)
	return nil
}

// follow sends until the run is over, the reader is gone or the server stops; the
// browser then reconnects.
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
				_ = p.Message("", "end", struct{}{})
			}
			return
		case errors.Is(err, context.DeadlineExceeded):
			if p.Raw(sse.Beat) != nil {
				return
			}
		case err != nil:
			return
		}
	}
}

// next waits for events and takes all that have come, up to a limit.
func (p *runStream) next(ctx context.Context) ([]lineshaft.Event, error) {
	waiting, cancel := context.WithTimeout(ctx, page.Heartbeat)
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
	if err := p.Execute(&html, "run", "items", p.transcribe(p.runID, p.answers, events)); err != nil {
		return err
	}
	first, last := events[0].Sequence, events[len(events)-1].Sequence
	if err := p.Message(strconv.FormatInt(last, 10), "", map[string]any{"first": first, "last": last, "html": html.String()}); err != nil {
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

// sendSide writes what is around the transcript.
func (p *runStream) sendSide(ctx context.Context) error {
	run, err := p.Control.GetRun(ctx, p.caller, p.runID)
	if err != nil {
		return err
	}
	live, err := p.runLive(ctx, p.caller, run)
	if err != nil {
		return err
	}
	parts := map[string]any{"state": run.State, "mark": stateMark(run.State), "kind": stateKind(run.State)}
	for _, name := range []string{"standing", "bar", "changing", "now"} {
		var html bytes.Buffer
		if err := p.Execute(&html, "run", name, live); err != nil {
			return err
		}
		parts[name] = html.String()
	}
	p.side, p.sideDue = time.Now(), false
	return p.Message("", "side", parts)
}

func resumeAfter(r *page.Request) (int64, error) {
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
