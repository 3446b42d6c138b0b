package gateway

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"context"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sse"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

const (
	// maxAnswer bounds an answer that comes whole, and one line of a stream.
	maxAnswer = 64 << 20
	// maxFaultBody bounds what is passed on of an endpoint's error.
	maxFaultBody = 1 << 20
)

// serveModel passes a request on to an endpoint and its answer back.
func (s *Session) serveModel(w http.ResponseWriter, r *http.Request, protocol model.Protocol, path string) {
	if !same(given(r), s.key) {
		errBadKey().write(w, protocol)
		return
	}
	if bad := s.join(r.Context()); bad != nil {
		bad.write(w, protocol)
		return
	}
	wanted, named, bad := route(protocol, r.Method, path)
	if bad != nil {
		bad.write(w, protocol)
		return
	}
	taken, bad := s.take(r.Context(), size(r))
	if bad != nil {
		bad.write(w, protocol)
		return
	}
	defer taken.leave()
	c, bad := s.read(w, r, wanted, named, taken)
	if bad != nil {
		bad.write(w, protocol)
		return
	}
	if c.metered() {
		s.asked.Store(true)
	}
	ctx, done, err := s.begin(r.Context())
	if err != nil {
		(&fault{http.StatusServiceUnavailable, codeNoAnswer, errClosed.Error()}).write(w, protocol)
		return
	}
	defer done()
	m := s.newMeter(c)
	if bad := m.admit(ctx); bad != nil {
		bad.write(w, protocol)
		return
	}
	ctx, span := s.trace(ctx, r.Header.Get(tracing.Header), c)
	defer endSpan(span, m)
	defer m.finish()
	// A client that does not read must not hold up the end of a turn.
	stop := context.AfterFunc(ctx, func() { _ = http.NewResponseController(w).SetWriteDeadline(time.Now()) })
	defer stop()
	s.exchange(ctx, w, c, m)
}

func (s *Session) exchange(ctx context.Context, w http.ResponseWriter, c *call, m *meter) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	wait := s.gateway.config.AnswerWait
	if c.stream || !c.metered() {
		wait = s.gateway.config.StreamWait
	}
	late := time.AfterFunc(wait, func() { cancel(errSlow) })
	s.seen()
	m.sent = true
	resp, err := s.gateway.send(ctx, c)
	if !late.Stop() && err == nil {
		err = errors.Join(errSlow, resp.Body.Close())
	}
	if err != nil {
		s.unanswered(ctx, w, c, m, wait)
		return
	}
	defer func() { _ = resp.Body.Close() }() // what is left of it is not wanted
	s.seen()
	m.status = resp.StatusCode
	if err := unzip(resp); err != nil {
		(&fault{http.StatusBadGateway, codeNoAnswer, "the answer of the model endpoint cannot be read"}).write(w, c.protocol)
		return
	}
	s.answer(w, resp, c, m)
}

// errSlow is the cause when an endpoint does not begin to answer.
var errSlow = errors.New("the model endpoint does not answer")

// send makes the request with the real key.
func (g *Gateway) send(ctx context.Context, c *call) (*http.Response, error) {
	e := c.choice.Endpoint
	req, err := http.NewRequestWithContext(ctx, c.method, strings.TrimRight(e.URL, "/")+c.path, bytes.NewReader(c.body))
	if err != nil {
		return nil, fmt.Errorf("make request: %w", err)
	}
	req.URL.RawQuery = c.query.Encode()
	req.Header = c.header
	req.Header.Set("Accept-Encoding", "identity")
	if c.method == http.MethodPost {
		req.Header.Set("Content-Type", "application/json") // the body was written here
	}
	switch key := string(e.Key); c.protocol {
	case model.Anthropic:
		set(req.Header, "X-Api-Key", key)
		if req.Header.Get("Anthropic-Version") == "" {
			req.Header.Set("Anthropic-Version", "2023-06-01")
		}
	case model.Gemini:
		set(req.Header, "X-Goog-Api-Key", key)
	default:
		if key != "" {
			req.Header.Set("Authorization", "Bearer "+key)
		}
	}
	return g.upstream.Do(req)
}

func set(h http.Header, name, value string) {
	if value != "" {
		h.Set(name, value)
	}
}

// withoutPrivate removes credentials and what is for one connection only.
func withoutPrivate(h http.Header) {
	for _, names := range h.Values("Connection") {
		for name := range strings.SplitSeq(names, ",") {
			h.Del(strings.TrimSpace(name))
		}
	}
	for _, name := range []string{
		"Connection", "Keep-Alive", "Proxy-Connection", "Proxy-Authenticate", "Proxy-Authorization", "Te", "Trailer", "Transfer-Encoding", "Upgrade",
		"Content-Length", "Authorization", "X-Api-Key", "X-Goog-Api-Key", "Cookie", "Set-Cookie", "Traceparent", "Tracestate", "Baggage", "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Real-Ip",
	} {
		h.Del(name)
	}
}

// unanswered reports that an endpoint is dead or slow. The reason stays here: it may
// name hosts that are not the agent's business.
func (s *Session) unanswered(ctx context.Context, w http.ResponseWriter, c *call, m *meter, wait time.Duration) {
	name := c.choice.Endpoint.Name
	switch cause := context.Cause(ctx); {
	case errors.Is(cause, errSlow):
		s.gateway.config.Logger.WarnContext(ctx, "model endpoint does not answer", "endpoint", name, "waited", wait)
		(&fault{http.StatusGatewayTimeout, codeSlow, fmt.Sprintf("the model endpoint %q did not begin to answer within %s; it may be overloaded", name, wait)}).write(w, c.protocol)
	case cause != nil: // the agent has disconnected, or was cut off; what it sent may still cost
		m.cut = true
	default:
		s.gateway.config.Logger.WarnContext(ctx, "model endpoint cannot be reached", "endpoint", name)
		(&fault{http.StatusBadGateway, codeNoAnswer, fmt.Sprintf("the model endpoint %q cannot be reached from the worker; check its address and that it runs", name)}).write(w, c.protocol)
	}
}

// unzip undoes a compression that was not asked for.
func unzip(resp *http.Response) error {
	switch resp.Header.Get("Content-Encoding") {
	case "", "identity":
		return nil
	case "gzip":
		body := resp.Body
		plain, err := gzip.NewReader(body)
		if err != nil {
			return fmt.Errorf("unzip answer: %w", err)
		}
		resp.Body = struct {
			io.Reader
			io.Closer
		}{plain, body}
		return nil
	}
	return errors.New("unzip answer: unknown encoding")
}

// answer passes the answer back: a stream line by line, anything else whole. Both
// are searched for the key, which an endpoint should never send.
func (s *Session) answer(w http.ResponseWriter, resp *http.Response, c *call, m *meter) {
	header := resp.Header.Clone()
	withoutPrivate(header)
	header.Del("Content-Encoding")
	header.Del("Location")
	masker := s.masks[c.choice.Endpoint.Name]
	for name, values := range header {
		for _, value := range values {
			if masker == nil || masker.String(value) == value {
				w.Header().Add(name, value)
			}
		}
	}
	media, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if resp.StatusCode < 300 && media == sse.ContentType {
		w.WriteHeader(resp.StatusCode)
		s.passStream(w, resp.Body, c, m)
		return
	}
	limit := int64(maxAnswer)
	if resp.StatusCode >= 300 {
		limit = maxFaultBody
	}
	body, err := io.ReadAll(&watched{io.LimitReader(resp.Body, limit), s.seen})
	if err != nil {
		m.cut = true
		(&fault{http.StatusBadGateway, codeNoAnswer, "the answer of the model endpoint was cut off"}).write(w, c.protocol)
		return
	}
	if c.metered() && resp.StatusCode < 300 {
		if bad := m.whole(body); bad != nil {
			clear(w.Header())
			bad.write(w, c.protocol)
			return
		}
	}
	w.WriteHeader(resp.StatusCode)
	_, _ = w.Write(masker.Bytes(body)) // a client that has disconnected has been counted
}

// watched reports each piece that comes.
type watched struct {
	io.Reader
	seen func()
}

func (r *watched) Read(p []byte) (int, error) {
	n, err := r.Reader.Read(p)
	if n > 0 {
		r.seen()
	}
	return n, err
}

// passStream passes events on as they come. A line is passed on when it is whole,
// so that the key cannot slip through in two halves.
func (s *Session) passStream(w http.ResponseWriter, body io.Reader, c *call, m *meter) {
	out, masker := http.NewResponseController(w), s.masks[c.choice.Endpoint.Name]
	in := bufio.NewReaderSize(body, 32<<10)
	_ = out.Flush() // the first line shows whether the client has disconnected
	for {
		line, err := sse.ReadLine(in, maxAnswer)
		if len(line) > 0 {
			s.seen()
			if bad := m.line(line); bad != nil {
				_, _ = w.Write(bad.event(c.protocol))
				_ = out.Flush()
				return
			}
			if _, failed := w.Write(masker.Bytes(line)); failed != nil {
				m.cut = true
				return
			}
			if in.Buffered() == 0 {
				_ = out.Flush()
			}
		}
		if err != nil {
			m.cut = !errors.Is(err, io.EOF)
			_ = out.Flush()
			return
		}
	}
}

func (s *Session) seen() {
	if s.config.Seen != nil {
		s.config.Seen()
	}
}

// pipe is a listener that only this process can dial.
type pipe struct {
	conns chan net.Conn
	done  chan struct{}
	once  sync.Once
}

func newPipe() *pipe { return &pipe{conns: make(chan net.Conn), done: make(chan struct{})} }

func (p *pipe) dial(ctx context.Context, _, _ string) (net.Conn, error) {
	near, far := net.Pipe()
	select {
	case p.conns <- far:
		return near, nil
	case <-p.done:
		return nil, errClosed
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// Accept is net.Listener's.
func (p *pipe) Accept() (net.Conn, error) {
	select {
	case conn := <-p.conns:
		return conn, nil
	case <-p.done:
		return nil, net.ErrClosed
	}
}

// Close is net.Listener's.
func (p *pipe) Close() error {
	p.once.Do(func() { close(p.done) })
	return nil
}

// Addr is net.Listener's.
func (p *pipe) Addr() net.Addr { return &net.UnixAddr{Name: "in process", Net: "pipe"} }

// passedQuery is the part of a query that is passed on: parameters that the agents' programs
// send and that cannot change the answer in a way that hides its usage.
func passedQuery(c *call, given url.Values) url.Values {
	passed := url.Values{}
	keep := func(name string, values ...string) {
		value := given.Get(name)
		for _, known := range values {
			if value == known {
				passed.Set(name, value)
			}
		}
		if len(values) == 0 && value != "" {
			passed.Set(name, value)
		}
	}
	switch {
	case c.method == http.MethodGet: // lists come in pages
		for _, name := range []string{"limit", "after", "after_id", "before_id", "pageSize", "pageToken"} {
			keep(name)
		}
	case c.protocol == model.Anthropic:
		keep("beta", "true")
	case c.kind == kindGenerate && c.stream:
		keep("alt", "sse")
	}
	return passed
}

// passedHeader is the part of the headers that is passed on: those of the agents' programs
// that name versions, features and sessions. Headers that select an account, a project,
// a method or a part of the answer are not among them.
func passedHeader(given http.Header) http.Header {
	given = given.Clone()
	withoutPrivate(given)
	passed := http.Header{}
	for name, values := range given {
		if passes(name) {
			passed[name] = values
		}
	}
	if !plainAccept(given.Values("Accept")) {
		passed.Set("Accept", "application/json")
	}
	return passed
}

func passes(name string) bool {
	switch name {
	case "Accept", "Accept-Language", "User-Agent", "Idempotency-Key", "Anthropic-Version", "Anthropic-Beta", "Anthropic-Dangerous-Direct-Browser-Access", "Openai-Beta",
		"Originator", "Version", "Session-Id", "Session_id", "Thread-Id", "Conversation_id", "Conversation-Id", "X-App", "X-Client-Request-Id", "X-Goog-Api-Client",
		"X-Session-Affinity", "X-Session-Id":
		return true
	}
	return slices.ContainsFunc([]string{"X-Stainless-", "X-Claude-Code-", "X-Codex-"}, func(prefix string) bool {
		return strings.HasPrefix(name, prefix)
	})
}

// plainAccept says whether the client asks only for forms whose usage can be read.
func plainAccept(lists []string) bool {
	for _, list := range lists {
		for part := range strings.SplitSeq(list, ",") {
			media, _, _ := strings.Cut(part, ";")
			switch strings.TrimSpace(media) {
			case "application/json", "text/event-stream", "*/*", "":
			default:
				return false
			}
		}
	}
	return true
}
