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
	"slices"
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
	place
	query url.Values
	body  any
	out   any
	// keyed adds an Idempotency-Key, the same for every attempt.
	keyed bool
	// replay says that sending it again is harmless even if the server has acted on
	// an earlier attempt whose answer was lost.
	replay bool
}

// Do calls any path below /api/v1, even one that this package has no method for.
// The body, if not nil, is sent as JSON and the answer is decoded into out, if not
// nil; a *json.RawMessage gets it unchanged. POST and PATCH are retried only when
// the server cannot have acted on them.
func (c *Client) Do(ctx context.Context, method, path string, body, out any) error {
	replay := method != http.MethodPost && method != http.MethodPatch
	return c.do(ctx, call{method: method, place: place{path: path}, body: body, out: out, keyed: method == http.MethodPost, replay: replay})
}

func (c *Client) do(ctx context.Context, req call) error {
	target, err := c.endpoint(req.place, req.query)
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
		// net/http sends a request with that header again on its own when a kept
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

// keep stores an answer for anyone who asked for it with WithResponse.
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

// encodeJSON writes <, > and & as they are: no browser reads this.
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

// place is a path below /api/v1, or why there is none.
type place struct {
	path string
	err  error
}

// at fills ids into a path, in their order. An error calls an id by the text between its
// braces.
func at(pattern string, ids ...string) place {
	var path strings.Builder
	for _, id := range ids {
		before, rest, _ := strings.Cut(pattern, "{")
		noun, after, _ := strings.Cut(rest, "}")
		// An empty id, or one that changes the path, would address another thing.
		if slices.Contains([]string{"", ".", ".."}, id) {
			return place{err: &usageError{fmt.Sprintf("%q is not a %s id", id, noun)}}
		}
		path.WriteString(before + url.PathEscape(id))
		pattern = after
	}
	return place{path: path.String() + pattern}
}

// query makes a query from names and values; names without a value are left out.
func query(pairs ...string) url.Values {
	values := url.Values{}
	for i := 0; i < len(pairs); i += 2 {
		if pairs[i+1] != "" {
			values.Set(pairs[i], pairs[i+1])
		}
	}
	return values
}

func pageQuery(limit int, cursor string, more ...string) url.Values {
	values := query(append(more, "cursor", cursor)...)
	setLimit(values, limit)
	return values
}

// receive makes a call and reads its answer. Callers that forget to check the error
// never get half-filled values.
func receive[T any](ctx context.Context, c *Client, req call) (*T, error) {
	var out T
	req.out = &out
	if err := c.do(ctx, req); err != nil {
		return nil, err
	}
	return &out, nil
}

func get[T any](ctx context.Context, c *Client, from place, with url.Values) (*T, error) {
	return receive[T](ctx, c, call{method: http.MethodGet, place: from, query: with, replay: true})
}

// remove deletes what is at a place. When a retry finds nothing, an earlier attempt
// whose answer was lost has done it.
func (c *Client) remove(ctx context.Context, at place) error {
	err := c.do(ctx, call{method: http.MethodDelete, place: at, replay: true})
	if apiErr, ok := asError(err); ok && apiErr.Status == http.StatusNotFound && apiErr.acted {
		return nil
	}
	return err
}

// one is an answer with one wanted member, under the first of its names.
type one[T any] struct {
	keys  []string
	value T
	page  PageInfo
}

// UnmarshalJSON reads the member, and which page it is of.
func (o *one[T]) UnmarshalJSON(data []byte) error {
	var all map[string]json.RawMessage
	if err := json.Unmarshal(data, &all); err != nil {
		return err
	}
	if info, paged := all["page_info"]; paged {
		if err := json.Unmarshal(info, &o.page); err != nil {
			return err
		}
	}
	for _, key := range o.keys {
		if value, ok := all[key]; ok {
			return json.Unmarshal(value, &o.value)
		}
	}
	return nil
}

func member[T any](ctx context.Context, c *Client, from place, with url.Values, key string) (T, error) {
	out := one[T]{keys: []string{key}}
	err := c.do(ctx, call{method: http.MethodGet, place: from, query: with, out: &out, replay: true})
	return out.value, err
}

// readAll reads a list to its end, page by page.
func readAll[T any](ctx context.Context, c *Client, from place, with url.Values, keys ...string) ([]T, error) {
	all, cursor := []T{}, ""
	for item, err := range pages(&cursor, func() (*one[[]T], error) {
		if cursor != "" {
			with.Set("cursor", cursor)
		}
		out := one[[]T]{keys: keys}
		return &out, c.do(ctx, call{method: http.MethodGet, place: from, query: with, out: &out, replay: true})
	}, func(page *one[[]T]) ([]T, PageInfo) { return page.value, page.page }) {
		if err != nil {
			return nil, err
		}
		all = append(all, item)
	}
	return all, nil
}
