package remote

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"slices"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/tracing"
	"github.com/lineshaft/lineshaft/internal/workerwire"
)

const (
	// maxAnswer bounds an answer: jobs with their prompts and skills for every slot.
	maxAnswer = 256 << 20
	maxError  = 1 << 20
)

// outageError is a call that the server did not answer: it is made again.
type outageError struct {
	path   string
	status int
	cause  error
}

// Error says what was asked and what came instead of an answer.
func (e *outageError) Error() string {
	if e.status != 0 {
		return fmt.Sprintf("%s: status %d: %v", e.path, e.status, e.cause)
	}
	return fmt.Sprintf("%s: %v", e.path, e.cause)
}

// Unwrap returns the cause.
func (e *outageError) Unwrap() error { return e.cause }

// call sends one request and reads its whole answer within the time.
func (c *Client) call(ctx context.Context, within time.Duration, path string, in, out any) error {
	body, err := encode(in)
	if err != nil {
		return err
	}
	bounded, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	err = c.exchange(bounded, path, body, out)
	c.noted(ctx, err)
	return err
}

func (c *Client) exchange(ctx context.Context, path string, body io.Reader, out any) error {
	resp, err := c.send(ctx, path, body, http.Header{"Content-Type": {"application/json"}})
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	return decode(path, resp, out)
}

func encode(in any) (io.Reader, error) {
	body, err := json.Marshal(in)
	if err != nil {
		return nil, fmt.Errorf("encode request: %w", err)
	}
	return bytes.NewReader(body), nil
}

func decode(path string, resp *http.Response, out any) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxAnswer+1))
	switch {
	case err != nil:
		return &outageError{path: path, cause: fmt.Errorf("read the answer: %w", err)}
	case len(data) > maxAnswer:
		return fmt.Errorf("%s: the answer is larger than %d bytes", path, maxAnswer)
	}
	if err := json.Unmarshal(data, out); err != nil {
		return &outageError{path: path, cause: errors.New("the answer cannot be read")} // the reason could quote it
	}
	return nil
}

// send makes a request and returns its answer if it is a good one.
func (c *Client) send(ctx context.Context, path string, body io.Reader, header http.Header) (*http.Response, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.base+path, body)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	req.Header = header
	req.Header.Set("Authorization", "Bearer "+c.config.Key)
	req.Header.Set("User-Agent", "lineshaft-worker/"+c.config.Version)
	if parent := tracing.Parent(ctx); parent != "" {
		req.Header.Set(tracing.Header, parent)
	}
	resp, err := c.http.Do(req)
	if err != nil {
		return nil, &outageError{path: path, cause: err}
	}
	if resp.StatusCode == http.StatusOK && resp.Header.Get(workerwire.HeaderProtocol) != "" {
		return resp, nil
	}
	defer func() { _ = resp.Body.Close() }()
	return nil, refusal(path, resp)
}

// refusal makes an error of an answer that is not a good one. The server's own word
// keeps its code, which decides whether an agent is ended; whatever a proxy or
// another server says is an outage.
func refusal(path string, resp *http.Response) error {
	data, err := io.ReadAll(io.LimitReader(resp.Body, maxError))
	var problem struct {
		Code   lineshaft.Code `json:"code"`
		Title  string         `json:"title"`
		Detail string         `json:"detail"`
	}
	kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type"))
	if err != nil || kind != "application/problem+json" || json.Unmarshal(data, &problem) != nil || !slices.Contains(lineshaft.Codes(), problem.Code) {
		return &outageError{path: path, status: resp.StatusCode, cause: errors.New("this is not the answer of a Lineshaft server; check the address and what is in between")}
	}
	message := cmp.Or(problem.Detail, problem.Title)
	ours := resp.Header.Get(workerwire.HeaderProtocol) != ""
	switch {
	case resp.StatusCode >= http.StatusInternalServerError || resp.StatusCode == http.StatusTooManyRequests:
		return &outageError{path: path, status: resp.StatusCode, cause: errors.New(message)}
	case !ours && resp.StatusCode == http.StatusNotFound:
		return &outageError{path: path, status: resp.StatusCode, cause: errors.New("the server cannot use self-hosted workers; upgrade it")}
	case !ours && resp.StatusCode != http.StatusUnauthorized && resp.StatusCode != http.StatusForbidden:
		return &outageError{path: path, status: resp.StatusCode, cause: errors.New(message)}
	}
	return &lineshaft.Error{Code: problem.Code, Message: message}
}

// Refused says that the server answered, and that the same call would be refused again.
func Refused(err error) bool {
	if _, outage := errors.AsType[*outageError](err); outage {
		return false
	}
	_, public := errors.AsType[*lineshaft.Error](err)
	return public
}
