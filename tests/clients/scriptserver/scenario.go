// Package scriptserver answers clients by a script and judges what they did with it. It
// stands for the servers and networks that a client has to cope with and that a
// healthy server never is: limits, outages, cut connections, broken text. A scenario is
// data, so that clients in every language are held to the same one. It knows
// nothing of the real server.
//
// A Server is safe for many scenarios at once: each has a base address of its own.
package scriptserver

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
)

// Scenario is one call of a client and all that happens to it.
type Scenario struct {
	Name string `json:"name"`
	// Needs names abilities that not every client has; see the README.
	Needs []string `json:"needs,omitempty"`
	// Client is how the client is made, Call what is done with it.
	Client Options `json:"client,omitzero"`
	Call   Call    `json:"call"`
	// Answers are given in turn. A further request is a problem.
	Answers []Answer `json:"answers"`
	// Side answers "GET /path" however often it is asked, uncounted: what a client may
	// ask while it follows a stream.
	Side map[string]Answer `json:"side,omitempty"`
	// Result maps paths in the outcome to the values that they must have.
	Result map[string]any `json:"result,omitempty"`
	// Error is what the call must fail with, after what Result tells.
	Error *ExpectedError `json:"error,omitempty"`
}

// Options are those of a client or of a call; zero leaves the default.
type Options struct {
	TimeoutMS      int               `json:"timeout_ms,omitempty"`
	MaxRetries     *int              `json:"max_retries,omitempty"`
	StreamRetries  *int              `json:"stream_retries,omitempty"`
	StreamIdleMS   int               `json:"stream_idle_ms,omitempty"`
	IdempotencyKey string            `json:"idempotency_key,omitempty"`
	Headers        map[string]string `json:"headers,omitempty"`
}

// Call is what a driver does.
type Call struct {
	Op      string         `json:"op"`
	Args    map[string]any `json:"args,omitempty"`
	Options Options        `json:"options,omitzero"`
	// Times does it several times, one after the other; the value is then a list.
	Times int `json:"times,omitempty"`
	// Raw asks for the answer itself: {status, headers, value}.
	Raw bool `json:"raw,omitempty"`
	// StopAfter leaves a stream or a list after so many items.
	StopAfter int `json:"stop_after,omitempty"`
	// CancelAfterMS cancels the call from outside; it needs "cancel".
	CancelAfterMS int `json:"cancel_after_ms,omitempty"`
}

// Answer is what becomes of one request.
type Answer struct {
	Expect Expect `json:"expect,omitzero"`
	// Repeat gives the same answer to so many requests.
	Repeat int `json:"repeat,omitempty"`
	// Optional says that the request need not come.
	Optional bool `json:"optional,omitempty"`

	Status  int               `json:"status,omitempty"` // 200
	Headers map[string]string `json:"headers,omitempty"`
	// One of these is the body.
	JSON   json.RawMessage `json:"json,omitempty"`
	Body   string          `json:"body,omitempty"`
	Events []Frame         `json:"events,omitempty"`
	Log    *Log            `json:"log,omitempty"`
	// Huge puts so many letters into a field of JSON.
	Huge *Huge `json:"huge,omitempty"`

	// DelayMS passes before the headers.
	DelayMS int `json:"delay_ms,omitempty"`
	// Hang holds the connection "before_headers" or "after_body" until the client goes.
	Hang string `json:"hang,omitempty"`
	// Cut closes the connection "before_headers" or "mid_body", or resets it: "reset".
	Cut string `json:"cut,omitempty"`
	// CutAfterBytes says where "mid_body" is; without it, after the whole text.
	CutAfterBytes *int `json:"cut_after_bytes,omitempty"`
	// SlowBody sends the body in pieces.
	SlowBody *SlowBody `json:"slow_body,omitempty"`
	// LingerMS passes between the last byte and the end.
	LingerMS int `json:"linger_ms,omitempty"`
}

// Frame is an event of a run's log, or any text of a stream.
type Frame struct {
	Sequence int64           `json:"sequence,omitempty"`
	Type     string          `json:"type,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
	// Huge makes the data a text of so many letters.
	Huge int    `json:"huge,omitempty"`
	Raw  string `json:"raw,omitempty"`
}

// Log is a run's log that is cut after one byte more at each connection, and then
// sent whole. Each connection gets what comes after the place that the client names.
type Log struct {
	Events []Frame `json:"events"`
	Cuts   int     `json:"cuts"`
}

// Huge makes an answer large.
type Huge struct {
	Field string `json:"field"`
	Bytes int    `json:"bytes"`
}

// SlowBody is a body that trickles.
type SlowBody struct {
	Chunk   int `json:"chunk"`
	EveryMS int `json:"every_ms"`
}

// Expect is what a request must be. Every request must also carry the key, and carry
// it to this server alone.
type Expect struct {
	Method string `json:"method,omitempty"`
	// Path is below /api/v1, escaped as it was sent.
	Path string `json:"path,omitempty"`
	// Query holds parameters; "-" means absent.
	Query map[string]string `json:"query,omitempty"`
	// Headers: "*" means present, "-" absent, "same:N" as in request N, "new:N" another
	// than in request N.
	Headers map[string]string `json:"headers,omitempty"`
	JSON    json.RawMessage   `json:"json,omitempty"`
	// Origin "other" says that the request must come to the other address.
	Origin string `json:"origin,omitempty"`
	// ResumeAfter is the sequence that a stream is resumed after.
	ResumeAfter *int64 `json:"resume_after,omitempty"`
	// NotBeforeMS is the least time since the answer before.
	NotBeforeMS int `json:"not_before_ms,omitempty"`
}

// ExpectedError is an error as a driver tells it.
type ExpectedError struct {
	// Kind is one of the kinds of the README.
	Kind         Kinds    `json:"kind"`
	Status       int      `json:"status,omitempty"`
	Code         string   `json:"code,omitempty"`
	Detail       string   `json:"detail,omitempty"`
	RequestID    string   `json:"request_id,omitempty"`
	TraceID      string   `json:"trace_id,omitempty"`
	RetryAfterMS *int     `json:"retry_after_ms,omitempty"`
	Contains     []string `json:"message_contains,omitempty"`
}

// Kinds is one kind or several of which any will do.
type Kinds []string

// UnmarshalJSON takes a text or a list of texts.
func (k *Kinds) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*k = Kinds{one}
		return nil
	}
	return json.Unmarshal(text, (*[]string)(k))
}

// Load reads all scenarios of a folder.
func Load(dir string) ([]Scenario, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.json"))
	if err != nil || len(files) == 0 {
		return nil, fmt.Errorf("no scenarios in %s: name the folder with --scenarios", dir)
	}
	var all []Scenario
	for _, file := range files {
		found, err := loadFile(file)
		if err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		all = append(all, found...)
	}
	return all, nil
}

func loadFile(file string) ([]Scenario, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var out []Scenario
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(&out); err != nil {
		return nil, err
	}
	for i := range out {
		if err := out[i].check(); err != nil {
			return nil, fmt.Errorf("scenario %q: %w", out[i].Name, err)
		}
	}
	return out, nil
}

// check refuses what would make a scenario pass for nothing.
func (s *Scenario) check() error {
	switch {
	case s.Name == "" || s.Call.Op == "":
		return errors.New("it needs a name and call.op")
	case len(s.Answers) == 0:
		return errors.New("it needs answers")
	case len(s.Result) == 0 && s.Error == nil:
		return errors.New("it needs a result or an error")
	}
	for i, a := range s.Answers {
		bodies := 0
		for _, has := range []bool{a.JSON != nil, a.Body != "", a.Events != nil, a.Log != nil} {
			if has {
				bodies++
			}
		}
		if bodies > 1 {
			return fmt.Errorf("answer %d has %d bodies", i+1, bodies)
		}
		if a.Log != nil && i != len(s.Answers)-1 {
			return fmt.Errorf("answer %d: nothing can follow a log", i+1)
		}
	}
	return nil
}

// requests is how many requests the client must send at least. More than there are
// answers for is a problem by itself.
func (s *Scenario) requests() int {
	count := 0
	for i := range s.Answers {
		if !s.Answers[i].Optional {
			count += s.Answers[i].times()
		}
	}
	return count
}

func (a *Answer) times() int {
	if a.Log != nil {
		return a.Log.Cuts + 1
	}
	return max(a.Repeat, 1)
}

// answer returns the answer to request n, counted from 0, and which time it is given.
func (s *Scenario) answer(n int) (a *Answer, time int, ok bool) {
	for i := range s.Answers {
		if n < s.Answers[i].times() {
			return &s.Answers[i], n, true
		}
		n -= s.Answers[i].times()
	}
	return nil, 0, false
}
