package gateway

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/mask"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// SessionConfig says what one execution may do. The functions may be nil, and are
// called from several goroutines.
type SessionConfig struct {
	// Socket is the unix socket to listen on, and Port the TCP port that leads to it
	// inside the sandbox. Without a socket it is a free port of the loopback interface.
	Socket string
	Port   int
	// Key opens the session; empty makes a new one.
	Key string
	// Models replaces the endpoints of the gateway, for a run with a key of its own.
	Models *model.Set
	// Model is what the run asks for; empty leaves it to the settings.
	Model string
	// RunToken is the only one that /api/v1/ takes.
	RunToken string
	// Confined says that the agent reaches no network, or only some hosts: then no
	// vendor may fetch addresses for it either.
	Confined bool
	// LeftOut gets the name of what is not passed on to a vendor for that reason, once.
	LeftOut func(name string)
	// Budget is the run's, nil for none; Used is what its earlier executions consumed.
	Budget *lineshaft.Budget
	Used   lineshaft.Usage
	// TraceParent is the traceparent of the present turn, if there is one.
	TraceParent func() string
	// Usage gets what each request has consumed. It is never called after Close
	// has returned, nor between Pause and Resume.
	Usage func(lineshaft.UsageData)
	// Seen is called when bytes of a model come.
	Seen func()
	// Exceeded is called, once, when the budget is used up.
	Exceeded func(message string)
}

// Session is one execution's gateway.
type Session struct {
	gateway *Gateway
	config  SessionConfig
	key     string
	base    url.URL
	server  *http.Server
	pipe    *pipe
	offered model.Set
	masks   map[string]*mask.Masker // by name of endpoint
	reach   *http.Transport

	life   context.Context
	end    context.CancelFunc
	served sync.WaitGroup // accept loops
	asked  atomic.Bool    // a model was asked for something

	mu                   sync.Mutex
	closed               bool
	strangers            []*guest // connections that have not shown the key, oldest first,
	known                int      // and those that have
	handlers             int
	models               int           // model requests among the handlers
	requests             int           // model requests that have room, and
	bodies               int64         // the bytes of their bodies
	changed              chan struct{} // closed and replaced when something that others wait for has changed
	resumed              chan struct{} // nil unless paused; closed at the end of the pause
	turn                 context.Context
	endTurn              context.CancelFunc
	tools                map[string]tool
	left                 []string        // what was left out of requests
	spent                lineshaft.Usage // of the run, present requests included
	reserved             int             // requests that have a reservation, and what is left of those
	heldTokens, heldCost int64
	over                 string // why the budget is used up; empty while it is not
}

// errClosed ends what a session still does.
var errClosed = errors.New("the execution is over")

// Open starts a session. It lasts until Close, whatever becomes of ctx.
func (g *Gateway) Open(ctx context.Context, config SessionConfig) (*Session, error) {
	s := &Session{
		gateway: g, config: config, key: cmp.Or(config.Key, "lsx-"+rand.Text()), pipe: newPipe(), changed: make(chan struct{}),
		tools: map[string]tool{}, spent: config.Used, offered: g.config.Models, masks: g.masks,
	}
	if config.Models != nil {
		s.offered, s.masks = *config.Models, keyMasks(*config.Models)
	}
	l, err := s.listen(ctx)
	if err != nil {
		return nil, fmt.Errorf("open gateway: %w", err)
	}
	s.life, s.end = context.WithCancel(context.WithoutCancel(ctx))
	s.turn, s.endTurn = context.WithCancel(s.life)
	s.server = &http.Server{
		Handler: s, ConnContext: withGuest, ReadHeaderTimeout: 15 * time.Second, IdleTimeout: time.Minute, MaxHeaderBytes: 256 << 10,
		ErrorLog:    log.New(io.Discard, "", 0), // it would quote what agents send
		BaseContext: func(net.Listener) context.Context { return s.life },
	}
	s.reach = &http.Transport{DialContext: s.pipe.dial, DisableCompression: true, MaxIdleConnsPerHost: 8}
	for _, listener := range []net.Listener{entrance{l, s}, s.pipe} {
		s.served.Go(func() { _ = s.server.Serve(listener) }) // it ends with Close
	}
	return s, nil
}

func (s *Session) listen(ctx context.Context) (net.Listener, error) {
	var lc net.ListenConfig
	if s.config.Socket == "" {
		l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
		if err == nil {
			s.base = url.URL{Scheme: "http", Host: l.Addr().String()}
		}
		return l, err
	}
	s.base = url.URL{Scheme: "http", Host: net.JoinHostPort("127.0.0.1", strconv.Itoa(s.config.Port))}
	l, err := lc.Listen(ctx, "unix", s.config.Socket)
	if err != nil {
		return nil, err
	}
	// The agent's user is another than the worker's; the key is what opens it.
	if err := os.Chmod(s.config.Socket, 0o666); err != nil {
		return nil, errors.Join(err, l.Close())
	}
	return l, nil
}

// URL is the address as the agent sees it.
func (s *Session) URL() string { return s.base.String() }

// ProxyURL is the address for HTTP_PROXY and its like.
func (s *Session) ProxyURL() string {
	proxy := s.base
	proxy.User = url.UserPassword("lineshaft", s.key)
	return proxy.String()
}

// Access is the way to a protocol's models: the prefix of its paths, the key,
// and the model to ask for.
func (s *Session) Access(protocol model.Protocol) (base, key, id string, ok bool) {
	choice, ok := s.offered.ForRun(protocol, s.config.Model)
	if !ok {
		return "", "", "", false
	}
	base = s.URL() + "/" + string(protocol)
	if protocol == model.OpenAI {
		base += "/v1"
	}
	return base, s.key, choice.Model, true
}

// Transport reaches the session from this process, whatever the host of a request.
func (s *Session) Transport() http.RoundTripper { return s.reach }

// Counts says that a model was asked for something, so that the usage comes from here.
func (s *Session) Counts() bool { return s.asked.Load() }

// Pause lets no request to a model begin until Resume, and waits until those that
// run have ended. Requests that take longer than grace are cut off.
func (s *Session) Pause(grace time.Duration) {
	s.mu.Lock()
	if s.resumed == nil {
		s.resumed = make(chan struct{})
	}
	s.mu.Unlock()
	timer := time.NewTimer(grace)
	defer timer.Stop()
	if !s.await(timer.C, func() bool { return s.models == 0 }) {
		s.endTurn()
		s.await(nil, func() bool { return s.models == 0 })
	}
}

// Resume ends a pause.
func (s *Session) Resume() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.resumed == nil || s.closed {
		return
	}
	s.endTurn()
	s.turn, s.endTurn = context.WithCancel(s.life)
	close(s.resumed)
	s.resumed = nil
}

// Close ends everything and returns when nothing is left. The key is void then.
func (s *Session) Close() {
	s.mu.Lock()
	s.closed = true
	s.mu.Unlock()
	s.end()
	_ = s.server.Close() // closes the listeners; nobody needs the error
	s.reach.CloseIdleConnections()
	s.await(nil, func() bool { return s.handlers == 0 })
	s.served.Wait()
	s.endTurn()
}

// await returns true when the condition, which is evaluated with the lock held, is met.
func (s *Session) await(until <-chan time.Time, met func() bool) bool {
	for {
		s.mu.Lock()
		ok, changed := met(), s.changed
		s.mu.Unlock()
		if ok {
			return true
		}
		select {
		case <-changed:
		case <-until:
			return false
		}
	}
}

// enter counts a handler; it is false when the session is closed.
func (s *Session) enter() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.closed {
		return false
	}
	s.handlers++
	return true
}

func (s *Session) leave(handlers, models int) {
	s.change(func() {
		s.handlers -= handlers
		s.models -= models
	})
}

// change does something that others wait for.
func (s *Session) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
	close(s.changed)
	s.changed = make(chan struct{})
}

// begin waits for the end of a pause and counts a model request. The context ends
// with the request, the session, and a pause that does not wait any longer.
func (s *Session) begin(ctx context.Context) (context.Context, func(), error) {
	for {
		s.mu.Lock()
		resumed := s.resumed
		if resumed == nil && !s.closed {
			s.models++
			turn := s.turn
			s.mu.Unlock()
			ctx, cancel := context.WithCancel(ctx)
			stop := context.AfterFunc(turn, cancel)
			return ctx, func() { stop(); cancel(); s.leave(0, 1) }, nil
		}
		s.mu.Unlock()
		select {
		case <-resumed:
		case <-s.life.Done():
			return nil, nil, errClosed
		case <-ctx.Done():
			return nil, nil, ctx.Err()
		}
	}
}

// trace begins the span of a request to a model. Its parent is the span that the agent
// names, if that is in the run's own trace, and otherwise the turn. The endpoint does
// not learn of it.
func (s *Session) trace(ctx context.Context, given string, c *call) (context.Context, tracing.Span) {
	tracer := s.gateway.config.Tracer
	if !tracer.On() || !c.metered() {
		return ctx, tracing.Span{}
	}
	parent := ""
	if s.config.TraceParent != nil {
		parent = s.config.TraceParent()
	}
	if id := tracing.TraceIDOf(given); id != "" && id == tracing.TraceIDOf(parent) {
		parent = given
	}
	ctx, span := tracer.Start(tracing.WithParent(ctx, parent), "model call", tracing.Options{Kind: tracing.Client})
	span.String("gen_ai.provider.name", string(c.protocol))
	span.String("gen_ai.request.model", c.choice.Model)
	span.String("lineshaft.model.endpoint", c.choice.Endpoint.Name)
	span.Bool("lineshaft.model.stream", c.stream)
	return ctx, span
}

// endSpan records the result of the request.
func endSpan(span tracing.Span, m *meter) {
	if !span.On() {
		return
	}
	span.Int("gen_ai.usage.input_tokens", int(m.counted.Input))
	span.Int("gen_ai.usage.output_tokens", int(m.counted.Output))
	switch {
	case m.status >= http.StatusBadRequest:
		span.Int("http.response.status_code", m.status)
		span.Failed(strconv.Itoa(m.status))
	case m.status == 0:
		span.Failed("no answer")
	case m.cut && !m.usage.final: // some agents hang up as soon as they have everything
		span.Failed("cut off")
	default:
		span.Int("http.response.status_code", m.status)
	}
	span.End(nil)
}
