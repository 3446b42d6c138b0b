package oidc

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"golang.org/x/oauth2"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/peer"
)

// maxAnswer bounds what is read of one answer of a provider.
const maxAnswer = 1 << 20

// errPrivate refuses an address (S-7).
var errPrivate = errors.New("it is in a private network or on this machine; if it is meant to be, set --oidc-allow-private")

// newClient speaks to providers: it follows no redirects, reads no more than it needs
// and, unless private ones are allowed, reaches public addresses only. The address is
// checked when it is dialled, so that no answer of a name server gets round it.
func newClient(cfg Config) *http.Client {
	dialer := peer.Guard{AllowPrivate: cfg.AllowPrivate, Timeout: 5 * time.Second, Resolve: cfg.Resolve}
	return &http.Client{
		Timeout: within,
		Transport: limited{&http.Transport{
			DialContext: dialer.DialContext, ForceAttemptHTTP2: true, TLSHandshakeTimeout: 5 * time.Second,
			MaxResponseHeaderBytes: 64 << 10, MaxIdleConns: 4, IdleConnTimeout: 30 * time.Second,
		}},
		CheckRedirect: func(*http.Request, []*http.Request) error { return errors.New("it redirects, which is not followed") },
	}
}

// limited bounds the answers.
type limited struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper.
func (l limited) RoundTrip(r *http.Request) (*http.Response, error) {
	res, err := l.next.RoundTrip(r)
	if _, private := errors.AsType[*peer.PrivateError](err); private {
		return nil, errPrivate
	}
	if err != nil {
		return nil, err
	}
	res.Body = &limitedBody{from: res.Body, left: maxAnswer}
	return res, nil
}

type limitedBody struct {
	from io.ReadCloser
	left int
}

// Read implements io.Reader. What is too long is an error, not a shorter answer.
func (b *limitedBody) Read(into []byte) (int, error) {
	if b.left <= 0 {
		return 0, errors.New("the answer is too long")
	}
	if len(into) > b.left {
		into = into[:b.left]
	}
	n, err := b.from.Read(into)
	b.left -= n
	return n, err
}

// Close implements io.Closer.
func (b *limitedBody) Close() error { return b.from.Close() }

// away is what people hear when the provider does not work; the log has the cause.
func away(cause error) error {
	return &lineshaft.Error{
		Code: lineshaft.CodeUnavailable, Message: "the identity provider does not answer as it should; try again in a minute, or sign in with a key", Cause: cause,
	}
}

// plainError keeps of an error what may be logged. Answers of a token endpoint may
// echo what was sent there, so of these only the code of the error is kept.
func plainError(err error) error {
	if answer, ok := errors.AsType[*oauth2.RetrieveError](err); ok {
		status := 0
		if answer.Response != nil {
			status = answer.Response.StatusCode
		}
		return fmt.Errorf("status %d, error %q", status, word(answer.ErrorCode))
	}
	if failed, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("%s: %w", failed.Op, failed.Err) // without the address
	}
	return errors.New(lineshaft.Clip(err.Error(), 200))
}

// word is a code of the protocol, or nothing: what else is there is not ours to repeat.
func word(text string) string {
	if len(text) > 64 || strings.Trim(text, "abcdefghijklmnopqrstuvwxyz_") != "" {
		return ""
	}
	return text
}
