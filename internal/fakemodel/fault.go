package fakemodel

import (
	"math"
	"net/http"
	"strconv"
	"time"
)

// FaultKind is what goes wrong.
type FaultKind string

// The faults. Refused connections are [Server.Refuse].
const (
	// Reject answers with Fault.Status, and Retry-After if it is set.
	Reject FaultKind = "reject"
	// Hang takes the request and never answers.
	Hang FaultKind = "hang"
	// Drop cuts the connection before any answer.
	Drop FaultKind = "drop"
	// HangStream sends the first event of the stream and then nothing. This and the
	// next two happen at once to a request that asks for no stream.
	HangStream FaultKind = "hang_stream"
	// CutStream sends the first event of the stream and cuts the connection.
	CutStream FaultKind = "cut_stream"
	// Malformed sends the first event of the stream and then what nobody can read.
	Malformed FaultKind = "malformed"
	// TooLong answers that the conversation does not fit the model's context.
	TooLong FaultKind = "too_long"
)

// Always as Fault.Times holds until Fix.
const Always = math.MaxInt

// Fault is what shall go wrong with the next requests to a model.
type Fault struct {
	Kind       FaultKind
	Status     int
	RetryAfter time.Duration
	// Times is for how many requests; zero is one.
	Times int
}

// Break lets the next requests go wrong, one fault after the other.
func (s *Server) Break(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Fix forgets the faults that have not happened.
func (s *Server) Fix() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = nil
}

func (s *Server) nextFault() Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.faults) == 0 {
		return Fault{}
	}
	fault := s.faults[0]
	s.faults[0].Times--
	if s.faults[0].Times <= 0 {
		s.faults = s.faults[1:]
	}
	return fault
}

// partial says that an answer begins before it goes wrong.
func (f Fault) partial() bool {
	return f.Kind == HangStream || f.Kind == CutStream || f.Kind == Malformed
}

func (f Fault) status() int {
	if f.Kind == TooLong {
		return http.StatusBadRequest
	}
	return f.Status
}

// serve does a fault that comes instead of an answer.
func (f Fault) serve(w http.ResponseWriter, r *http.Request, api api) {
	switch f.Kind {
	case Hang, HangStream:
		<-r.Context().Done()
	case Malformed:
		_, _ = w.Write([]byte(`{"this is": not JSON`)) // the client has gone
	case Drop, CutStream:
		cut(w)
	case TooLong:
		api.fail(w, http.StatusBadRequest, "context_length_exceeded", "prompt is too long: 250000 tokens > 200000 maximum context length")
	case Reject:
		if f.RetryAfter > 0 {
			w.Header().Set("Retry-After", strconv.Itoa(int(math.Ceil(f.RetryAfter.Seconds()))))
		}
		kind := "api_error"
		if f.Status == http.StatusTooManyRequests {
			kind = "rate_limit_error"
		}
		api.fail(w, f.Status, kind, "the fake model was told to answer "+strconv.Itoa(f.Status))
	}
}

// cut closes the connection of a request, so that its client sees an answer without end.
func cut(w http.ResponseWriter) {
	if connection, _, err := http.NewResponseController(w).Hijack(); err == nil {
		_ = connection.Close() // it is gone either way
	}
}
