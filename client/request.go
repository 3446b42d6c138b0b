package client

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
)

const (
	keyHeader = "Idempotency-Key"

	maxAnswerBytes = 256 << 20
	maxErrorBytes  = 1 << 20
)

// call is one logical request, sent once or several times.
type call struct {
	method string
	path   string
	query  url.Values
	body   any
	out    any
	// keyed adds an Idempotency-Key, the same for every attempt.
	keyed bool
	// replay says that sending it again is harmless even if the server has acted on
	// an earlier attempt whose answer was lost.
	replay bool
}

// Do calls any path below /api/v1, also one that this package has no method for.
// The body, if not nil, is sent as JSON and the answer is decoded into out, if not
// nil; a *json.RawMessage takes it as it is. POST and PATCH are retried only when
// the server cannot have acted on them.
func (c *Client) Do(ctx context.Context, method, path string, body, out any) error {
	replay := method != http.MethodPost && method != http.MethodPatch
	return c.do(ctx, call{method: method, path: path, body: body, out: out, keyed: method == http.MethodPost, replay: replay})
}

func (c *Client) do(ctx context.Context, req call) error {
	target, err := c.endpoint(req.path, req.query)
	if err != nil {
		return err
	}
	payload, err := encodeBody(req.body)
	if err != nil {
		return fmt.Errorf("%s %s: encode the request: %w", req.method, req.path, err)
	}
	header := http.Header{"Accept": {"application/json"}}
	if payload != nil {
		header.Set("Content-Type", "application/json")
	}
	c.addKey(header, req)
	var answer []byte
	err = c.retrying(ctx, req.replay, func() (err error) {
		answer, err = c.attempt(ctx, req, target, payload, header)
		return err
	})
	if err != nil {
		return err
	}
	return decodeAnswer(req, answer)
}

// addKey adds the caller's own key to a POST, or else a new one if the server keeps it.
func (c *Client) addKey(header http.Header, req call) {
	key := c.ownKey
	if key == "" && req.keyed {
		key = rand.Text()
	}
	switch {
	case key == "" || req.method != http.MethodPost:
	case req.replay:
		header.Set(keyHeader, key)
	default:
		// net/http sends a request with that header again by itself when a kept
		// connection turns out to be closed; it does not know it in lower case.
		header[strings.ToLower(keyHeader)] = []string{key}
	}
}

// retrying makes attempts until one succeeds or another cannot help, or could harm.
func (c *Client) retrying(ctx context.Context, replay bool, attempt func() error) error {
	acted := false
	for n := 1; ; n++ {
		err := attempt()
		if err == nil {
			return nil
		}
		if apiErr, ok := asError(err); ok {
			apiErr.Attempts, apiErr.acted = n, acted
		}
		acted = acted || mayHaveActed(err)
		wait, again := c.again(err, replay, n)
		if !again || ctx.Err() != nil {
			return err
		}
		if stopped := c.sleep(ctx, wait); stopped != nil {
			return fmt.Errorf("%w while waiting to try again: %w", stopped, err)
		}
	}
}

// attempt sends the request once and reads the whole answer within the timeout.
func (c *Client) attempt(ctx context.Context, req call, target string, payload []byte, header http.Header) ([]byte, error) {
	if c.timeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, c.timeout)
		defer cancel()
	}
	resp, err := c.send(ctx, req.method, target, payload, header)
	if err != nil {
		return nil, &transportError{op: req.method + " " + req.path, err: err}
	}
	defer resp.Body.Close()
	if resp.StatusCode >= http.StatusMultipleChoices {
		return nil, c.readError(req.method, req.path, resp)
	}
	answer, err := io.ReadAll(io.LimitReader(resp.Body, c.maxAnswer+1))
	if err != nil {
		return nil, &transportError{op: req.method + " " + req.path + ": read the answer", err: err}
	}
	if int64(len(answer)) > c.maxAnswer {
		return nil, &answerError{fmt.Errorf("%s %s: the answer is larger than %d bytes: ask for less with limit", req.method, req.path, c.maxAnswer)}
	}
	c.keep(resp, answer)
	return answer, nil
}

func (c *Client) send(ctx context.Context, method, target string, payload []byte, header http.Header) (*http.Response, error) {
	var body io.Reader
	if payload != nil {
		body = bytes.NewReader(payload)
	}
	req, err := http.NewRequestWithContext(ctx, method, target, body)
	if err != nil {
		return nil, err
	}
	for _, h := range []http.Header{c.header(), header} {
		for name, values := range h {
			req.Header[name] = values
		}
	}
	req.Header.Set("Authorization", "Bearer "+c.key())
	return c.http.Do(req)
}

// keep stores an answer for whoever asked for it with WithResponse.
func (c *Client) keep(resp *http.Response, body []byte) {
	if c.response != nil {
		*c.response = Response{Status: resp.StatusCode, Header: resp.Header, Body: body}
	}
}

func encodeBody(body any) ([]byte, error) {
	if body == nil {
		return nil, nil
	}
	return encodeJSON(body)
}

// encodeJSON writes <, > and & as they are: what is written here is for no browser.
func encodeJSON(v any) ([]byte, error) {
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	err := encoder.Encode(v)
	return bytes.TrimSuffix(text.Bytes(), []byte("\n")), err
}

func decodeAnswer(req call, answer []byte) error {
	if req.out == nil {
		return nil
	}
	if err := json.Unmarshal(answer, req.out); err != nil {
		return &answerError{fmt.Errorf("%s %s: decode the answer: %w", req.method, req.path, err)}
	}
	return nil
}
