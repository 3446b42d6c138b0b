package client

import (
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"time"
)

// Option changes a Client while New makes it.
type Option func(*Client)

// WithHTTPClient sends through h, for own proxies, certificates or tests. Leave
// its Timeout zero: it would also end streams; use WithTimeout.
func WithHTTPClient(h *http.Client) Option { return func(c *Client) { c.http = h } }

// WithTimeout bounds each attempt of a call, answer included; 0 means no bound.
// The default is 60 s. A whole call, with its retries, is bounded by its context.
// Streams are not bounded; see WithStreamIdleTimeout.
func WithTimeout(d time.Duration) Option { return func(c *Client) { c.timeout = max(d, 0) } }

// WithMaxRetries sets how often a failed call is tried again; the default is 2.
func WithMaxRetries(n int) Option { return func(c *Client) { c.retries = max(n, 0) } }

// WithBackoff sets the first and the longest pause between attempts; the defaults
// are 0.5 s and 8 s. Each pause doubles the one before and is shortened by up to a quarter.
func WithBackoff(first, longest time.Duration) Option {
	return func(c *Client) { c.backoff.first, c.backoff.longest = first, longest }
}

// WithStreamRetries sets how many connections in a row may fail without a sign of life
// before Stream and Wait give up; the default is 10, which outlasts a server's restart.
// Life is an event, a heartbeat, or a stream that was cut only after longer than the
// pause that the server asks for, as a proxy does when a run is quiet.
func WithStreamRetries(n int) Option { return func(c *Client) { c.streamRetries = max(n, 0) } }

// WithStreamIdleTimeout sets how long a stream may be silent before it is
// connected again; the default is 60 s. The server sends a sign of life every 15 s.
func WithStreamIdleTimeout(d time.Duration) Option {
	return func(c *Client) {
		if d > 0 {
			c.streamIdle = d
		}
	}
}

// WithHeader adds a header to every request. An Idempotency-Key is only added to
// POSTs, as with WithIdempotencyKey.
func WithHeader(name, value string) Option {
	if http.CanonicalHeaderKey(name) == keyHeader {
		return WithIdempotencyKey(value)
	}
	return func(c *Client) { c.header().Set(name, value) }
}

// WithIdempotencyKey sends this key instead of a random one, for a caller that may
// start again after a crash: c.With(client.WithIdempotencyKey("order-42")).Runs.Create.
// It is for one call: another with the same key gets the first one's answer.
func WithIdempotencyKey(key string) Option {
	return func(c *Client) { c.ownKey = key }
}

// Response is an answer as it came.
type Response struct {
	Status int
	Header http.Header
	Body   []byte
}

// WithResponse keeps the last answer of the calls through this client in r, also a
// refusal. It is for one call at a time.
func WithResponse(r *Response) Option { return func(c *Client) { c.response = r } }

// hidden keeps a value where neither fmt nor reflection finds it: they see a function.
type hidden[T any] func() T

func hide[T any](value T) hidden[T] { return func() T { return value } }

// Format shows the server alone, whatever the verb. For a Client by value fmt shows the
// fields, none of which is secret.
func (c *Client) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, c.told()) }

// LogValue is what log/slog shows of a client.
func (c *Client) LogValue() slog.Value { return slog.StringValue(c.told()) }

func (c *Client) told() string {
	if c == nil || c.base == nil {
		return "lineshaft client without a server: make it with client.New"
	}
	return "lineshaft client of " + c.base.String()
}
