package gateway

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/model"
)

// What one execution may hold of the worker at the same time. An agent that wants
// more waits; the server and the other runs do not notice.
const (
	// maxModels is for requests to models, and maxBodies for the bytes of their bodies.
	maxModels = 16
	maxBodies = 64 << 20
	// maxFields bounds the fields of a body: the protocols have a few dozen.
	maxFields = 200
	// bodyTime is how long a body may take to come.
	bodyTime = 2 * time.Minute
)

// room is what a request to a model takes while it is under way.
type room struct {
	session *Session
	bytes   int64
}

// take waits until there is room for a request with a body of that many bytes.
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

// awaitFor waits until the condition, which is evaluated with the lock held, is met,
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

// readFields reads an object of few fields: an object of millions would take many times
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

const (
	// usualOutput is the output that a request without a limit may bring: as much as most models
	// say at once.
	usualOutput = 32_768
	// maxChoices bounds the answers that a request can ask for at once.
	maxChoices = 128
)

// expected is what a request may use: its text, and as much as it lets the model say.
// Only the fields of its own protocol count, in their own spelling: an endpoint ignores
// others.
func expected(c *call, fields map[string]json.RawMessage) model.Tokens {
	var most, answers count
	switch c.kind {
	case kindChat:
		most, answers = largest(usualOutput, fields, "max_tokens", "max_completion_tokens"), largest(maxChoices, fields, "n")
	case kindResponses:
		most = largest(usualOutput, fields, "max_output_tokens")
	case kindMessages:
		most = largest(usualOutput, fields, "max_tokens")
	case kindGenerate:
		for _, name := range generationNames() {
			var config map[string]json.RawMessage
			_ = json.Unmarshal(fields[name], &config) // the endpoint says what is wrong with it
			most = max(most, largest(usualOutput, config, "maxOutputTokens", "max_output_tokens"))
			answers = max(answers, largest(maxChoices, config, "candidateCount", "candidate_count"))
		}
	case kindLook: // it makes nothing
		return model.Tokens{}
	}
	most = cmp.Or(most, usualOutput)
	most = min(most, maxEstimate) * max(1, min(answers, maxChoices))
	return model.Tokens{Input: min(int64(utf8.RuneCount(c.body)/runesPerToken), maxEstimate), Output: int64(most)}.Bounded()
}

// generationNames are what Gemini calls the settings of an answer.
func generationNames() []string { return []string{"generationConfig", "generation_config"} }

// largest is the largest of the numbers under the names, and 0 when there is none. An endpoint
// may still read, in its own way, a value that we cannot: such a value counts as otherwise.
func largest(otherwise count, fields map[string]json.RawMessage, names ...string) count {
	var most count
	for _, name := range names {
		raw, there := fields[name]
		if !there || string(raw) == "null" {
			continue
		}
		var one count
		if _ = one.UnmarshalJSON(raw); one == 0 { // it never fails
			one = otherwise
		}
		most = max(most, one)
	}
	return most
}

// reserve waits until the budget has room for what the request may use, next to
// those that are under way. For a single request it is enough that
// something is left, so that a budget can be used up; one request at most
// overruns it.
func (m *meter) reserve(ctx context.Context) *fault {
	s, budget := m.session, m.session.config.Budget
	tokens, cost := m.call.expected.Total(), m.price.Cost(m.call.expected)
	fits := func(used, most int64) bool { return most == 0 || used <= most }
	met := func() bool {
		alone := s.reserved == 0
		room := fits(s.spent.Total()+s.heldTokens+tokens, budget.MaxTokens) && fits(s.spent.CostMicros+s.heldCost+cost, budget.MaxCostMicros)
		if s.over != "" || breach(budget, s.spent, true) != "" {
			return true // spend says so
		}
		if !alone && !room || s.resumed != nil { // nothing begins in a pause
			return false
		}
		s.reserved++
		s.heldTokens += tokens
		s.heldCost += cost
		m.heldTokens, m.heldCost, m.reserved = tokens, cost, true
		return true
	}
	if bad := s.awaitFor(ctx, met); bad != nil {
		return bad
	}
	if m.reserved {
		return nil
	}
	return s.spend(model.Tokens{}, 0, true)
}

// use turns a part of what is reserved into what is spent; the lock is held.
func (m *meter) use(tokens, cost int64) {
	tokens, cost = min(tokens, m.heldTokens), min(cost, m.heldCost)
	m.heldTokens -= tokens
	m.heldCost -= cost
	m.session.heldTokens -= tokens
	m.session.heldCost -= cost
}

// release gives back what was reserved and not used.
func (m *meter) release() {
	if !m.reserved {
		return
	}
	m.session.change(func() {
		m.use(m.heldTokens, m.heldCost)
		m.session.reserved--
		m.reserved = false
	})
}
