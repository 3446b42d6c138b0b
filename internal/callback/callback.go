// Package callback makes the requests that notify endpoints of state changes: signed as
// Standard Webhooks, to public addresses only unless private ones are allowed, without
// following redirects and without keeping anything of an answer but its status.
//
// When something is sent, and how often, is the control plane's business. A Sender may
// be used from many goroutines.
package callback

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/peer"
	"github.com/lineshaft/lineshaft/internal/signature"
)

const (
	// maxAnswer is what is read of an answer, so that its connection can be used again.
	maxAnswer = 4 << 10
	// maxHeader bounds the headers of an answer.
	maxHeader = 32 << 10
	// dialTime is what a connection may take to be made; the whole has the caller's time.
	dialTime = 10 * time.Second
	scheme   = "standard_webhooks"
)

// errPrivate refuses an address (S-7).
var errPrivate = errors.New("it is in a private network or on this machine; if it is meant to be, start the server with --callback-allow-private")

// errSecret is for an endpoint that has none to sign with, or one that does not.
var errSecret = errors.New("its secret cannot be used; rotate it")

// Config has the settings of a Sender.
type Config struct {
	// AllowPrivate lets private addresses and http through.
	AllowPrivate bool
	// Version is that of the server, for User-Agent.
	Version string
	// Own says what the addresses of this server's own webhooks begin with. A callback to
	// one of them would start runs that make callbacks. Nil is none.
	Own func() []string
	// Resolve finds the addresses of a name; nil is the machine's resolver.
	Resolve func(ctx context.Context, host string) ([]netip.Addr, error)
}

// Sender makes requests to endpoints.
type Sender struct {
	cfg    Config
	client *http.Client
}

// New returns a Sender.
func New(cfg Config) *Sender {
	dialer := peer.Guard{AllowPrivate: cfg.AllowPrivate, Timeout: dialTime, Resolve: cfg.Resolve}
	return &Sender{cfg: cfg, client: &http.Client{
		// No proxy of the environment: it would be what is dialled and checked, instead of
		// the endpoint.
		Transport: &http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: dialTime, MaxResponseHeaderBytes: maxHeader, DisableCompression: true,
			MaxIdleConns: 100, MaxIdleConnsPerHost: 4, IdleConnTimeout: 90 * time.Second,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Close ends the connections that are kept for the next request.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

// Check says whether an address may be sent to, as far as it tells by itself. What a
// name stands for is checked when it is dialled.
func (s *Sender) Check(text string) error {
	u, err := lineshaft.ParseCallbackURL(text)
	if err != nil {
		return err
	}
	if s.own(u) {
		return lineshaft.Invalid("url", "leads to a webhook of this server: each callback would start runs, and each of these makes callbacks; chain automations instead")
	}
	if s.cfg.AllowPrivate {
		return nil
	}
	if u.Scheme != "https" {
		return lineshaft.Invalid("url", "must begin with https://; http is for servers that run with --callback-allow-private")
	}
	if peer.Private(u.Hostname()) {
		return lineshaft.Invalid("url", "%s", errPrivate)
	}
	return nil
}

// own says whether an address is one of this server's webhooks.
func (s *Sender) own(u *url.URL) bool {
	if s.cfg.Own == nil {
		return false
	}
	return slices.ContainsFunc(s.cfg.Own(), func(prefix string) bool {
		own, err := url.Parse(prefix)
		return err == nil && place(own) == place(u) && strings.HasPrefix(path.Clean("/"+u.Path)+"/", path.Clean("/"+own.Path)+"/")
	})
}

func place(u *url.URL) string {
	port := u.Port()
	if port == "" {
		port = map[string]string{"https": "443", "http": "80"}[u.Scheme]
	}
	return net.JoinHostPort(strings.TrimSuffix(strings.ToLower(u.Hostname()), "."), port)
}

// Send makes one request. Nothing of the answer is kept but its status.
func (s *Sender) Send(ctx context.Context, c lineshaft.Callback) lineshaft.CallbackResult {
	began := time.Now()
	result := s.send(ctx, c)
	result.Took = time.Since(began)
	return result
}

func (s *Sender) send(ctx context.Context, c lineshaft.Callback) lineshaft.CallbackResult {
	if err := s.Check(c.URL); err != nil { // the setting may have changed since it was stored
		return lineshaft.CallbackResult{Error: plain(err)}
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL, bytes.NewReader(c.Body))
	if err != nil {
		return lineshaft.CallbackResult{Error: plain(err)}
	}
	if req.Header, err = headers(c); err != nil {
		return lineshaft.CallbackResult{Error: plain(err)}
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "lineshaft/"+s.cfg.Version)
	if c.TraceParent != "" {
		req.Header.Set("Traceparent", c.TraceParent)
	}
	res, err := s.client.Do(req)
	if err != nil {
		return lineshaft.CallbackResult{Error: plain(err)}
	}
	defer res.Body.Close()
	if res.StatusCode >= http.StatusOK {
		// The body of a 101 is the bare connection: reading it would wait for the receiver,
		// however long that takes, since the context ends it no more.
		_, _ = io.CopyN(io.Discard, res.Body, maxAnswer) // it is the status that counts
	}
	return answer(res)
}

// headers signs a request with each secret; a receiver that knows one of them can check
// it.
func headers(c lineshaft.Callback) (http.Header, error) {
	var all http.Header
	var signatures []string
	for _, secret := range c.Secrets {
		signed := &signature.Request{Body: c.Body, Now: c.Time}
		if err := signature.Sign(scheme, signature.HMAC{}, secret, signed, c.ID); err != nil {
			return nil, errors.Join(errSecret, err)
		}
		all = signed.Header
		signatures = append(signatures, signed.Header.Get("Webhook-Signature"))
	}
	if all == nil {
		return nil, errSecret
	}
	all.Set("Webhook-Signature", strings.Join(signatures, " "))
	return all, nil
}

func answer(res *http.Response) lineshaft.CallbackResult {
	result := lineshaft.CallbackResult{StatusCode: res.StatusCode}
	switch {
	case result.Delivered():
	case res.StatusCode >= 300 && res.StatusCode < 400:
		result.Error = "it answered " + strconv.Itoa(res.StatusCode) + ": redirects are not followed; enter the address that it leads to"
	default:
		result.Error = "it answered " + strings.TrimSpace(strconv.Itoa(res.StatusCode)+" "+http.StatusText(res.StatusCode))
	}
	if res.StatusCode == http.StatusTooManyRequests || res.StatusCode == http.StatusServiceUnavailable {
		result.RetryAfter = retryAfter(res.Header.Get("Retry-After"), time.Now())
	}
	return result
}

func retryAfter(text string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseUint(text, 10, 31); err == nil {
		return time.Duration(seconds) * time.Second
	}
	if at, err := http.ParseTime(text); err == nil {
		return max(0, at.Sub(now))
	}
	return 0
}

// plain is what is told of an error. The words are all ours: those of net/http quote
// what a receiver answered and name the resolver that was asked.
func plain(err error) string {
	if ours, ok := errors.AsType[*lineshaft.Error](err); ok {
		return ours.Message
	}
	name, unknown := errors.AsType[*net.DNSError](err)
	failed, slow := errors.AsType[*url.Error](err)
	_, private := errors.AsType[*peer.PrivateError](err)
	switch {
	case private:
		return errPrivate.Error()
	case errors.Is(err, errSecret):
		return errSecret.Error()
	case unknown && name.IsNotFound:
		return "its name is not known"
	case unknown:
		return "its name could not be looked up"
	case slow && failed.Timeout():
		return "it did not answer in time"
	case errors.Is(err, context.Canceled):
		return "the request was broken off"
	}
	return trouble(err)
}

// trouble says what became of a connection.
func trouble(err error) string {
	op, network := errors.AsType[*net.OpError](err)
	switch {
	case errors.Is(err, syscall.ECONNREFUSED):
		return "it refused the connection"
	case errors.Is(err, syscall.ECONNRESET), errors.Is(err, syscall.EPIPE), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF):
		return "it ended the connection without an answer"
	case errors.Is(err, syscall.EHOSTUNREACH), errors.Is(err, syscall.ENETUNREACH), errors.Is(err, syscall.EADDRNOTAVAIL):
		return "there is no way to its network"
	case untrusted(err):
		return "its certificate is not trusted: it has expired, is for another name, or is from an unknown authority"
	case network && op.Op == "remote error", errors.As(err, new(tls.RecordHeaderError)), errors.As(err, new(tls.AlertError)):
		return "it does not speak TLS as this server does"
	case network && op.Op == "dial":
		return "it could not be connected to"
	case network:
		return "the connection to it broke"
	}
	return "its answer is not HTTP"
}

func untrusted(err error) bool {
	_, refused := errors.AsType[*tls.CertificateVerificationError](err)
	return refused
}
