package ingress

import (
	"bytes"
	"context"
	"errors"
	"net"
	"net/http"
	"net/url"
	"strings"

	"github.com/lineshaft/lineshaft/internal/signature"
)

// testEvent marks the context of a request that this server signed itself. Nothing that comes
// from outside can have it.
type testEvent struct{}

func isTest(ctx context.Context) bool { return ctx.Value(testEvent{}) != nil }

// SendTest handles a request that the control plane signed for someone at that address like
// any other delivery, and returns what a sender would be answered.
func (in *Ingress) SendTest(ctx context.Context, signed signature.Request, remoteAddr string) (status int, body []byte, err error) {
	at, err := url.Parse(signed.URL)
	if err != nil {
		return 0, nil, errors.New("the address of the webhook cannot be read") // its text may hold a token
	}
	// Below another path, a proxy leads here without it.
	_, uid, _ := strings.Cut(at.EscapedPath(), Prefix)
	ctx = context.WithValue(ctx, testEvent{}, true)
	request, err := http.NewRequestWithContext(ctx, signed.Method, Prefix+uid, bytes.NewReader(signed.Body))
	if err != nil {
		return 0, nil, errors.New("the address of the webhook cannot be called")
	}
	request.URL.RawQuery, request.Header, request.Host = at.RawQuery, signed.Header, at.Host
	request.RemoteAddr = net.JoinHostPort(remoteAddr, "0")
	got := &keptAnswer{status: http.StatusOK}
	in.ServeHTTP(got, request)
	return got.status, got.body.Bytes(), nil
}

// keptAnswer is an answer that stays in the program.
type keptAnswer struct {
	header http.Header
	status int
	body   bytes.Buffer
}

// Header implements http.ResponseWriter.
func (k *keptAnswer) Header() http.Header {
	if k.header == nil {
		k.header = http.Header{}
	}
	return k.header
}

// WriteHeader implements http.ResponseWriter.
func (k *keptAnswer) WriteHeader(status int) { k.status = status }

// Write implements http.ResponseWriter.
func (k *keptAnswer) Write(p []byte) (int, error) { return k.body.Write(p) }
