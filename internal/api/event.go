package api

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/sse"
	"github.com/lineshaft/lineshaft/internal/stream"
)

// RunEvent is one entry of a run's log.
type RunEvent struct {
	ID          string          `json:"id"`
	RunID       string          `json:"run_id,omitempty" doc:"Only in the stream over all runs."`
	Sequence    int64           `json:"sequence" doc:"Counts from 1 without gaps."`
	ExecutionID string          `json:"execution_id,omitempty"`
	Type        string          `json:"type" doc:"state, message, thought, tool_call, tool_result, output, plan, usage, permission_request, artifact or notice; the list may grow."`
	Time        string          `json:"time" format:"date-time"`
	Data        json.RawMessage `json:"data" doc:"An object; its fields depend on the type."`
}

// ListRunEventsResponse is a stretch of a run's log.
type ListRunEventsResponse struct {
	Events   []RunEvent `json:"events"`
	PageInfo PageInfo   `json:"page_info"`
}

func wireEvent(e *lineshaft.Event) RunEvent {
	data := e.Data
	if !json.Valid(data) {
		data = json.RawMessage("{}")
	}
	return RunEvent{
		ID: e.ID, Sequence: e.Sequence, ExecutionID: e.ExecutionID, Type: string(e.Type), Time: stamp(e.Time), Data: data,
	}
}

type (
	eventsInput struct {
		RunPath
		After       int64  `query:"after" minimum:"0" doc:"Only events with a greater sequence."`
		Cursor      string `query:"cursor" doc:"The same as after; page_info.next_cursor has it."`
		Limit       int    `query:"limit" default:"500" minimum:"1" maximum:"5000" doc:"For the JSON form."`
		LastEventID string `header:"Last-Event-ID" doc:"For the stream form: resumes after this sequence; takes precedence over after."`
		Accept      string `header:"Accept" hidden:"true"`
	}
	// streamOutput writes its own answer.
	streamOutput struct{ Body func(huma.Context) }
)

// getEvents answers the log as JSON, or as Server-Sent Events on request.
func (s *server) getEvents(ctx context.Context, in *eventsInput) (*streamOutput, error) {
	caller := callerOf(ctx)
	after, err := in.position()
	if err != nil {
		return nil, err
	}
	if !accepts(in.Accept, sse.ContentType) {
		return s.eventsPage(ctx, in, after)
	}
	follower, err := s.Control.Follow(ctx, caller, in.RunID, after)
	if err != nil {
		return nil, err
	}
	return s.streamOf(ctx, follower.Close, func(ctx context.Context) ([]byte, error) {
		items, err := follower.Next(ctx)
		return stream.Frames(items), err
	}), nil
}

// eventsPage answers with a page of the log. It is read and written stretch by stretch, and
// ends at its rows or at its bytes.
func (s *server) eventsPage(ctx context.Context, in *eventsInput, after int64) (*streamOutput, error) {
	if err := s.takeTurn(ctx, weightPage); err != nil {
		return nil, err
	}
	read := func(after int64, limit int) (runs.EventPage, error) {
		return s.Control.Events(ctx, callerOf(ctx), in.RunID, after, limit)
	}
	page, err := read(after, in.Limit)
	if err != nil {
		return nil, err
	}
	return s.jsonStream(ctx, func(out *jsonWriter) {
		out.frame("{")
		out.list("events")
		left, size, more := in.Limit, eventBytes(page.Events), page.More
		for out.err == nil {
			for i := range page.Events {
				after = page.Events[i].Sequence
				out.item(wireEvent(&page.Events[i]))
			}
			more, left = page.More, left-len(page.Events)
			if !more || left == 0 || out.err != nil {
				break
			}
			if page, out.err = read(after, left); out.err != nil {
				return
			}
			if size += eventBytes(page.Events); size > pageBytes {
				break
			}
		}
		out.close("]")
		next := ""
		if more {
			next = strconv.FormatInt(after, 10)
		}
		out.field("page_info", pageInfo(next))
		out.close("}")
	}), nil
}

// eventBytes is how much events count on a page.
func eventBytes(events []lineshaft.Event) (sum int) {
	for i := range events {
		sum += len(events[i].Data) + runs.EventOverhead
	}
	return sum
}

// position is the sequence to begin after.
func (in *eventsInput) position() (int64, error) {
	for _, p := range []struct{ name, text string }{{"Last-Event-ID", in.LastEventID}, {"cursor", in.Cursor}} {
		if p.text == "" {
			continue
		}
		after, err := strconv.ParseInt(p.text, 10, 64)
		if err != nil || after < 0 {
			return 0, lineshaft.Invalid(p.name, "must be the sequence of an event")
		}
		return after, nil
	}
	return in.After, nil
}

type statesInput struct {
	RunFilter
	Cursor      string `query:"cursor" maxLength:"4096" doc:"Resumes after this change; without it, the stream begins now."`
	LastEventID string `header:"Last-Event-ID" doc:"Takes precedence over cursor."`
}

// streamStates follows the state changes of all runs that the caller may see.
func (s *server) streamStates(ctx context.Context, in *statesInput) (*streamOutput, error) {
	filter, err := in.RunFilter.domain()
	if err != nil {
		return nil, err
	}
	cursor := in.Cursor
	if in.LastEventID != "" {
		cursor = in.LastEventID
	}
	states, err := s.Control.FollowStates(ctx, callerOf(ctx), filter, cursor)
	if err != nil {
		return nil, err
	}
	return s.streamOf(ctx, states.Close, func(ctx context.Context) ([]byte, error) {
		changes, err := states.Next(ctx)
		var out []byte
		for i := range changes {
			event := wireEvent(&changes[i].Event)
			event.RunID = changes[i].Event.RunID
			out = append(out, encodeFrame(changes[i].Cursor, event)...)
		}
		return out, err
	}), nil
}

// streamOf answers with a stream of what next gives, once the handlers have returned.
func (s *server) streamOf(ctx context.Context, closeSource func(), next func(context.Context) ([]byte, error)) *streamOutput {
	return &streamOutput{Body: func(hc huma.Context) {
		r, w := humago.Unwrap(hc)
		rec := recorderOf(w)
		header := rec.Header()
		sse.Begin(header)
		header.Set("Cache-Control", "no-store")
		if r.Method == http.MethodHead {
			rec.WriteHeader(http.StatusOK)
			closeSource()
			return
		}
		rec.source = &source{next: s.whileWelcome(callerOf(ctx), next), close: closeSource}
	}}
}

// recheckEvery is how long a stream relies on its key without asking again.
const recheckEvery = time.Second

// whileWelcome ends a stream whose key was revoked or has expired, before anything
// more is given out.
func (s *server) whileWelcome(caller lineshaft.Caller, next func(context.Context) ([]byte, error)) func(context.Context) ([]byte, error) {
	asked := s.Now()
	return func(ctx context.Context) ([]byte, error) {
		out, err := next(ctx)
		if len(out) == 0 || s.Now().Sub(asked) < recheckEvery {
			return out, err
		}
		if err := s.Control.Recheck(ctx, caller); err != nil {
			return nil, err
		}
		asked = s.Now()
		return out, err
	}
}

// EncodeSSE writes an event as a Server-Sent Event whose id is its sequence. The
// stream keeps the result and sends it to every follower of the run.
func EncodeSSE(e lineshaft.Event) []byte { return encodeFrame(fmt.Sprint(e.Sequence), wireEvent(&e)) }

func encodeFrame(id string, event RunEvent) []byte {
	data, err := marshal(event)
	if err != nil { // wireEvent lets only valid JSON through
		data = []byte("{}")
	}
	return sse.Append(nil, id, event.Type, data)
}
