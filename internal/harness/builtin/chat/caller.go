package chat

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/sse"
)

const (
	// maxRefusal bounds what is read of a refusal.
	maxRefusal = 64 << 10
	// maxEvent bounds one event of a stream.
	maxEvent = 16 << 20
	// maxAnswer bounds an answer: an endpoint may send for ever.
	maxAnswer = 64 << 20
)

// errSilent ends a request whose answer does not come or does not continue.
var errSilent = errors.New("the endpoint sent nothing")

// caller is what the two protocols share.
type caller struct {
	options Options
	http    *http.Client
}

// post sends a request and gives each event's data to take, until take is done or
// fails. A stream that ends before that was cut off.
func (c *caller) post(ctx context.Context, path string, header http.Header, body any, take func(data []byte) (done bool, err error)) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return fmt.Errorf("encode model request: %w", err)
	}
	silence, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	waiting := time.AfterFunc(c.options.FirstByte, func() { cancel(errSilent) })
	defer waiting.Stop()
	request, err := http.NewRequestWithContext(silence, http.MethodPost, c.options.URL+path, bytes.NewReader(raw))
	if err != nil {
		return &Error{Kind: Refused, Said: "the address of the endpoint cannot be used", Cause: err}
	}
	request.Header = header
	request.Header.Set("Content-Type", "application/json")
	request.Header.Set("Accept", "text/event-stream")
	response, err := c.http.Do(request)
	if err != nil {
		return c.lost(ctx, silence, "no connection to the model endpoint", err)
	}
	defer func() { _ = response.Body.Close() }()
	waiting.Reset(c.options.Idle)
	incoming := &awake{Reader: response.Body, stay: func() { waiting.Reset(c.options.Idle) }}
	if response.StatusCode != http.StatusOK {
		text, _ := io.ReadAll(io.LimitReader(incoming, maxRefusal)) // what came is what there is to say
		return refusal(response.StatusCode, response.Header, text, time.Now())
	}
	if kind := response.Header.Get("Content-Type"); strings.HasPrefix(kind, "application/json") || strings.HasPrefix(kind, "text/html") {
		text, _ := io.ReadAll(io.LimitReader(incoming, maxRefusal))
		return &Error{Kind: Refused, Said: "the endpoint did not answer with a stream but with " + kind + ": " + lineshaft.Clip(string(text), 200)}
	}
	return c.read(ctx, silence, incoming, take)
}

func (c *caller) read(ctx, silence context.Context, body io.Reader, take func([]byte) (bool, error)) error {
	left := &io.LimitedReader{R: body, N: c.options.answer()}
	for stream := sse.NewReader(left, maxEvent); ; {
		data, err := stream.Next()
		if err != nil && left.N <= 0 {
			return &Error{Kind: Refused, Said: fmt.Sprintf("the answer has more than %d bytes", c.options.answer())}
		}
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return c.lost(ctx, silence, "the answer of the model was cut off", err)
		}
		if done, err := take(data); done || err != nil {
			return err
		}
	}
}

// lost says why the connection is gone: because we ended it, or on its own.
func (c *caller) lost(ctx, silence context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if errors.Is(context.Cause(silence), errSilent) {
		err = errSilent
	}
	return &Error{Kind: Transient, Said: what, Cause: err}
}

// awake reports every byte that comes.
type awake struct {
	io.Reader
	stay func()
}

func (a *awake) Read(p []byte) (int, error) {
	n, err := a.Reader.Read(p)
	if n > 0 {
		a.stay()
	}
	return n, err
}

// malformed is an event that is not what the protocol says: another try may go better.
func malformed(data []byte, err error) error {
	return &Error{Kind: Transient, Said: "the endpoint sent an event that cannot be read: " + lineshaft.Clip(string(data), 200), Cause: err}
}
