package fakemodel

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Options shape a server. The zero value is a server that takes every key.
type Options struct {
	// Key is the only one that is taken; empty takes every one.
	Key string
	// Models are the names in the list of models; fake-1 when empty.
	Models []string
	// Cached is how many of the input tokens of each answer came from a cache.
	Cached int64
	// Pace is the time between the pieces of a streamed answer.
	Pace time.Duration
	// Script decides what is answered; nil is Usual.
	Script Script
}

// Server is a running model.
type Server struct {
	opts Options
	addr string
	stop context.CancelFunc
	ctx  context.Context // the life of the server, which ends requests that hang

	mu       sync.Mutex
	http     *http.Server // nil while connections are refused
	serving  sync.WaitGroup
	requests []Request
	more     chan struct{} // closed and replaced at each request
	faults   []Fault
	calls    int
}

// Start listens on a free port of the loopback interface. The end of ctx ends
// requests that hang, Close ends the server.
func Start(ctx context.Context, opts Options) (*Server, error) {
	if opts.Script == nil {
		opts.Script = Usual
	}
	if len(opts.Models) == 0 {
		opts.Models = []string{"fake-1"}
	}
	ctx, stop := context.WithCancel(ctx)
	s := &Server{opts: opts, ctx: ctx, stop: stop, more: make(chan struct{})}
	for try := 0; ; try++ { // below the ports that the system gives out: nobody is given this one between Refuse and Accept
		s.addr = fmt.Sprintf("127.0.0.1:%d", 7_000+rand.IntN(5_000))
		if err := s.Accept(); err == nil || try == 100 {
			return s, err
		}
	}
}

// Accept listens again after Refuse, at the same address.
func (s *Server) Accept() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.http != nil {
		return nil
	}
	server := &http.Server{Handler: s, ReadHeaderTimeout: time.Minute, BaseContext: func(net.Listener) context.Context { return s.ctx }}
	if err := s.listen(server, "tcp", s.addr); err != nil {
		return err
	}
	s.http = server
	return nil
}

// Socket listens on a unix socket too, until Refuse or Close.
func (s *Server) Socket(path string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.listen(s.http, "unix", path)
}

func (s *Server) listen(server *http.Server, network, address string) error {
	listener, err := (&net.ListenConfig{}).Listen(s.ctx, network, address)
	if err != nil {
		return fmt.Errorf("listen for model requests: %w", err)
	}
	s.serving.Go(func() { _ = server.Serve(listener) }) // it ends with ErrServerClosed
	return nil
}

// Refuse ends all connections and lets none be made until Accept.
func (s *Server) Refuse() error {
	s.mu.Lock()
	server := s.http
	s.http = nil
	s.mu.Unlock()
	if server == nil {
		return nil
	}
	return server.Close()
}

// Close ends the server with all requests.
func (s *Server) Close() error {
	s.stop()
	err := s.Refuse()
	s.serving.Wait()
	return err
}

// Address is the host and port.
func (s *Server) Address() string { return s.addr }

// Anthropic is the URL for clients of the Messages API.
func (s *Server) Anthropic() string { return "http://" + s.addr }

// OpenAI is the URL for clients of Chat Completions and Responses.
func (s *Server) OpenAI() string { return "http://" + s.addr + "/v1" }

// Gemini is the URL for clients of generateContent.
func (s *Server) Gemini() string { return "http://" + s.addr }

// ServeHTTP answers one request.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(r.Body)
	if err != nil {
		return
	}
	api, ok := route(r)
	if !ok {
		http.Error(w, `{"error":{"message":"no such path"}}`, http.StatusNotFound)
		return
	}
	record := Request{Path: r.URL.Path, Key: keyOf(r), Header: r.Header.Clone(), Body: body, Protocol: api.name, Status: http.StatusOK}
	switch {
	case s.opts.Key != "" && record.Key != s.opts.Key:
		record.Status = http.StatusUnauthorized
		s.record(record)
		api.fail(w, http.StatusUnauthorized, "authentication_error", "the key is wrong")
	case api.fixed != nil:
		s.record(record)
		writeJSON(w, api.fixed(s.opts.Models))
	default:
		s.answer(w, r, api, record)
	}
}

// answer does a request that a model answers.
func (s *Server) answer(w http.ResponseWriter, r *http.Request, api api, record Request) {
	var body object
	if err := json.Unmarshal(record.Body, &body); err != nil {
		record.Status = http.StatusBadRequest
		s.record(record)
		api.fail(w, http.StatusBadRequest, "invalid_request_error", "the body is not JSON: "+err.Error())
		return
	}
	c := api.read(r, body)
	record.Conversation, record.Model = c, c.Model
	fault := s.nextFault()
	if fault.Kind != "" && (!c.Stream || !fault.partial()) {
		record.Status = fault.status()
		s.record(record)
		fault.serve(w, r, api)
		return
	}
	reply := s.opts.Script(c)
	s.number(reply.Calls)
	answer := answer{Reply: reply, conversation: c, id: fmt.Sprintf("%s-%d", api.name, s.count()), usage: s.cost(reply)}
	if fault.Kind == "" {
		record.Usage = answer.usage
	}
	s.record(record)
	if !c.Stream {
		writeJSON(w, api.whole(answer))
		return
	}
	out := &stream{w: w, ctx: r.Context(), pace: s.opts.Pace, fault: fault}
	w.Header().Set("Content-Type", "text/event-stream")
	if err := api.stream(out, answer); err == nil {
		_ = out.disturb() // an answer of one event; the client sees what happens
	}
}

// number gives calls their ids.
func (s *Server) number(calls []Call) {
	for i := range calls {
		if calls[i].ID == "" {
			calls[i].ID = fmt.Sprintf("call_%d", s.count())
		}
	}
}

func (s *Server) count() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls++
	return s.calls
}

// keyOf is the key of a request, wherever it is.
func keyOf(r *http.Request) string {
	bearer, _ := strings.CutPrefix(r.Header.Get("Authorization"), "Bearer ")
	for _, key := range []string{r.Header.Get("X-Api-Key"), r.Header.Get("X-Goog-Api-Key"), bearer, r.URL.Query().Get("key")} {
		if key != "" {
			return key
		}
	}
	return ""
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // the client has gone
}

// Request is one that came, with what was made of it.
type Request struct {
	Path   string
	Key    string
	Header http.Header
	Body   []byte
	// Protocol is anthropic, chat, responses or gemini.
	Protocol     string
	Model        string
	Conversation Conversation
	// Status is what was answered; zero when the connection was cut or hung.
	Status int
	// Usage is what was counted for it; zero when no answer was completed.
	Usage Usage
}

func (s *Server) record(r Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, r)
	close(s.more)
	s.more = make(chan struct{})
}

// Requests are those that came so far, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// Await returns when the requests so far satisfy a test.
func (s *Server) Await(ctx context.Context, test func([]Request) bool) error {
	for {
		s.mu.Lock()
		more, requests := s.more, slices.Clone(s.requests)
		s.mu.Unlock()
		if test(requests) {
			return nil
		}
		select {
		case <-more:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// Usage is what an answer costs in tokens. Cached is part of Input.
type Usage struct{ Input, Cached, Output int64 }

// CallUsage is what an answer with tool calls costs, before the cached share of
// [Options] is taken into account.
func CallUsage() Usage { return Usage{Input: 100, Output: 20} }

// TextUsage is what every other answer costs.
func TextUsage() Usage { return Usage{Input: 200, Output: 10} }

// Plus adds.
func (u Usage) Plus(v Usage) Usage {
	return Usage{u.Input + v.Input, u.Cached + v.Cached, u.Output + v.Output}
}

func (s *Server) cost(reply Reply) Usage {
	usage := TextUsage()
	if len(reply.Calls) > 0 {
		usage = CallUsage()
	}
	usage.Cached = min(s.opts.Cached, usage.Input)
	return usage
}

// Usage is the sum of all answers so far, of one model if it is named.
func (s *Server) Usage(model string) Usage {
	var sum Usage
	for _, r := range s.Requests() {
		if model == "" || r.Model == model {
			sum = sum.Plus(r.Usage)
		}
	}
	return sum
}
