package gateway

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/lineshaft/lineshaft"
)

// What one execution may hold of the worker at the same time. An agent that wants
// more waits; the server and the other runs do not notice.
const (
	// maxModels is for requests to models, and maxBodies for the bytes of their bodies.
	maxModels = 16
	maxBodies = 64 << 20
	// maxFields bounds the fields of a body: the protocols have a few dozen.
	maxFields = 200
	// bodyTime is for a body to come.
	bodyTime = 2 * time.Minute
)

// room is what a request to a model takes while it is under way.
type room struct {
	session *Session
	bytes   int64
}

// take waits until there is room for a request with a body of so many bytes.
func (s *Session) take(ctx context.Context, size int64) (*room, *fault) {
	met := func() bool {
		if s.requests >= maxModels || s.bodies+size > maxBodies {
			return false
		}
		s.requests++
		s.bodies += size
		return true
	}
	if err := s.awaitFor(ctx, met); err != nil {
		return nil, err
	}
	return &room{s, size}, nil
}

// shrink gives back what a body has turned out not to need.
func (r *room) shrink(size int64) {
	r.session.change(func() {
		r.session.bodies -= r.bytes - size
		r.bytes = size
	})
}

func (r *room) leave() {
	r.session.change(func() {
		r.session.requests--
		r.session.bodies -= r.bytes
	})
}

// awaitFor waits until the condition, which is asked with the lock held, is met,
// but not for ever.
func (s *Session) awaitFor(ctx context.Context, met func() bool) *fault {
	timer := time.NewTimer(s.gateway.config.queueWait)
	defer timer.Stop()
	for {
		s.mu.Lock()
		ok, changed := met(), s.changed
		s.mu.Unlock()
		if ok {
			return nil
		}
		select {
		case <-changed:
		case <-timer.C:
			return &fault{http.StatusTooManyRequests, codeBusy, "too many requests to models, or connections, of this execution are under way; wait for some to end"}
		case <-ctx.Done():
			return &fault{http.StatusServiceUnavailable, codeNoAnswer, errClosed.Error()}
		}
	}
}

// size is how much room a body is given before it is read.
func size(r *http.Request) int64 {
	if r.ContentLength < 0 || r.ContentLength > maxRequest {
		return maxRequest
	}
	return r.ContentLength
}

// readBody reads the fields of a request.
func readBody(w http.ResponseWriter, r *http.Request) (map[string]json.RawMessage, int64, *fault) {
	control := http.NewResponseController(w)
	if err := control.SetReadDeadline(time.Now().Add(bodyTime)); err != nil {
		return nil, 0, errNotObject()
	}
	var raw bytes.Buffer
	if r.ContentLength > 0 {
		raw.Grow(int(size(r)) + bytes.MinRead)
	}
	_, err := raw.ReadFrom(http.MaxBytesReader(w, r.Body, maxRequest))
	if _, large := errors.AsType[*http.MaxBytesError](err); large {
		return nil, 0, &fault{http.StatusRequestEntityTooLarge, string(lineshaft.CodePayloadTooLarge), fmt.Sprintf("the request has more than %d bytes", maxRequest)}
	}
	if err = errors.Join(err, control.SetReadDeadline(time.Time{})); err != nil {
		return nil, 0, errNotObject()
	}
	fields, bad := readFields(raw.Bytes())
	return fields, int64(raw.Len()), bad
}

// readFields reads an object of few fields: one of millions would take many times
// its size.
func readFields(raw []byte) (map[string]json.RawMessage, *fault) {
	in := json.NewDecoder(bytes.NewReader(raw))
	if begin, err := in.Token(); err != nil || begin != json.Delim('{') {
		return nil, errNotObject()
	}
	fields := map[string]json.RawMessage{}
	for in.More() {
		name, err := in.Token()
		var value json.RawMessage
		if err != nil || in.Decode(&value) != nil {
			return nil, errNotObject()
		}
		text, _ := name.(string) // within an object it is one
		if fields[text] = value; len(fields) > maxFields {
			return nil, &fault{http.StatusBadRequest, string(lineshaft.CodeInvalidRequest), fmt.Sprintf("the body has more than %d fields", maxFields)}
		}
	}
	if _, err := in.Token(); err != nil {
		return nil, errNotObject()
	}
	if _, err := in.Token(); !errors.Is(err, io.EOF) {
		return nil, errNotObject()
	}
	return fields, nil
}

func errNotObject() *fault {
	return &fault{http.StatusBadRequest, string(lineshaft.CodeInvalidRequest), "the body is not a JSON object"}
}
