package client

import (
	"context"
	"crypto/tls"
	"errors"
	"math/rand/v2"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// longestRetryAfter is the longest pause that a server can ask for and get. Past it
// the caller decides: the error has the pause.
const longestRetryAfter = 60 * time.Second

type backoff struct {
	first, longest time.Duration
	// jitter returns a number in [0, 1).
	jitter func() float64
}

func defaultBackoff() backoff {
	return backoff{first: 500 * time.Millisecond, longest: 8 * time.Second, jitter: rand.Float64}
}

// pause returns the wait before retry n, counted from 0.
func (b backoff) pause(n int) time.Duration {
	d := b.longest
	if n < 30 && b.first<<n < b.longest {
		d = b.first << n
	}
	return d - time.Duration(float64(d)*b.jitter()/4)
}

// again says whether and when a call whose attempt failed is tried again.
func (c *Client) again(err error, replay bool, attempt int) (time.Duration, bool) {
	if attempt > c.retries || !retryable(err, replay) {
		return 0, false
	}
	wait := c.backoff.pause(attempt - 1)
	if apiErr, ok := asError(err); ok && apiErr.hasRetryAfter {
		wait = apiErr.RetryAfter
	}
	return wait, wait <= longestRetryAfter
}

// retryable says whether another attempt may help, and cannot harm.
func retryable(err error, replay bool) bool {
	if apiErr, ok := asError(err); ok {
		if apiErr.shouldRetry != nil {
			return *apiErr.shouldRetry
		}
		return retryableStatus(apiErr.Status) && (replay || refusedUnread(apiErr.Status))
	}
	transport, ok := errors.AsType[*transportError](err)
	return ok && !transport.permanent() && (replay || transport.unsent())
}

func retryableStatus(status int) bool {
	return status == http.StatusRequestTimeout || status == http.StatusConflict ||
		status == http.StatusTooManyRequests || status >= http.StatusInternalServerError
}

// refusedUnread names the statuses with which a server says that it did nothing.
func refusedUnread(status int) bool {
	return status == http.StatusTooManyRequests || status == http.StatusServiceUnavailable
}

// mayHaveActed says that the server may have done what it was asked although the
// attempt failed: no answer came, or one whose sender does not know.
func mayHaveActed(err error) bool {
	if apiErr, ok := asError(err); ok {
		return apiErr.Status >= http.StatusInternalServerError && !refusedUnread(apiErr.Status)
	}
	transport, ok := errors.AsType[*transportError](err)
	return ok && !transport.unsent()
}

// transportError is a request that got no whole answer.
type transportError struct {
	op  string
	err error
}

func (e *transportError) Error() string { return e.op + ": " + e.err.Error() }

func (e *transportError) Unwrap() error { return e.err }

// unsent says that the request never left: no connection came up.
func (e *transportError) unsent() bool {
	op, ok := errors.AsType[*net.OpError](e.err)
	return ok && (op.Op == "dial" || op.Op == "proxyconnect")
}

// permanent says that trying again cannot help. A timeout of one attempt is not
// permanent; the end of the caller's context is found by the caller.
func (e *transportError) permanent() bool {
	if errors.Is(e.err, context.Canceled) {
		return true
	}
	if _, ok := errors.AsType[*redirectError](e.err); ok {
		return true
	}
	_, ok := errors.AsType[*tls.CertificateVerificationError](e.err)
	return ok
}

// retryAfter reads how long the server asks to wait: retry-after-ms, or
// Retry-After in seconds or as a date.
func retryAfter(h http.Header, now time.Time) (time.Duration, bool) {
	if ms, err := strconv.ParseFloat(h.Get("Retry-After-Ms"), 64); err == nil && ms >= 0 {
		return seconds(ms / 1000), true
	}
	value := strings.TrimSpace(h.Get("Retry-After"))
	if s, err := strconv.ParseFloat(value, 64); err == nil && s >= 0 {
		return seconds(s), true
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0), true
	}
	return 0, false
}

// seconds clips what no caller waits for, so that no number overflows.
func seconds(s float64) time.Duration {
	return time.Duration(min(s, 1e6) * float64(time.Second))
}

func shouldRetry(h http.Header) *bool {
	switch h.Get("X-Should-Retry") {
	case "true":
		return new(true)
	case "false":
		return new(false)
	}
	return nil
}
