package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net"
	"net/http"
	"strings"
	"time"
)

// Error is a refusal by the server.
type Error struct {
	// Status is the HTTP status.
	Status int
	// Code is the kind of error, such as "resource_not_found"; empty when something
	// other than a Lineshaft server answered.
	Code string
	// Title says what happened, Detail why in this case.
	Title  string
	Detail string
	// Type is the address of a page that explains the error.
	Type string
	// Instance is the path that the server saw.
	Instance string
	// RequestID and TraceID find the call in the server's log.
	RequestID string
	TraceID   string
	// Problems are the mistakes in the files of a definition.
	Problems []FileProblem
	// Retryable is what the server says: the same call may succeed later.
	Retryable bool
	// RetryAfter is how long the server asks to wait; zero when it did not say.
	RetryAfter time.Duration
	// Attempts is how often the call was sent.
	Attempts int
	// Method and Path are those of the call.
	Method string
	Path   string

	hasRetryAfter bool
	shouldRetry   *bool
	// acted says that the server may have acted on an attempt before this answer.
	acted bool
}

// Error names the call, the status, the code and the detail.
func (e *Error) Error() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s: %d", e.Method, e.Path, e.Status)
	if e.Code != "" {
		b.WriteString(" " + e.Code)
	}
	if text := e.Text(); text != "" {
		b.WriteString(": " + text)
	}
	if e.RequestID != "" {
		b.WriteString(" (request " + e.RequestID + ")")
	}
	if e.Status == http.StatusUnauthorized {
		b.WriteString(": check the API key that the client was made with; `lineshaft apikey create` makes a new one")
	}
	return b.String()
}

// Text is what the server says to a person: the detail, or else the title.
func (e *Error) Text() string {
	if e.Detail != "" {
		return e.Detail
	}
	return e.Title
}

// IsInvalid says that the server did not understand the request (400).
func IsInvalid(err error) bool { return hasStatus(err, http.StatusBadRequest) }

// IsUnauthenticated says that the key is missing, wrong, expired or revoked (401).
func IsUnauthenticated(err error) bool { return hasStatus(err, http.StatusUnauthorized) }

// IsDenied says that the key is good but not for this (403).
func IsDenied(err error) bool { return hasStatus(err, http.StatusForbidden) }

// IsNotFound says that there is no such thing, or not for this key (404).
func IsNotFound(err error) bool { return hasStatus(err, http.StatusNotFound) }

// IsConflict says that the thing's state forbids it (409).
func IsConflict(err error) bool { return hasStatus(err, http.StatusConflict) }

// IsTooLarge says that the body is over the server's limit (413).
func IsTooLarge(err error) bool { return hasStatus(err, http.StatusRequestEntityTooLarge) }

// IsNotSupported says that the server knows the field or operation but does not offer it (422).
func IsNotSupported(err error) bool { return hasStatus(err, http.StatusUnprocessableEntity) }

// IsRateLimited says that the caller must wait (429).
func IsRateLimited(err error) bool { return hasStatus(err, http.StatusTooManyRequests) }

func hasStatus(err error, status int) bool {
	apiErr, ok := asError(err)
	return ok && apiErr.Status == status
}

func asError(err error) (*Error, bool) { return errors.AsType[*Error](err) }

// readError makes an Error from an answer, whatever its body is.
func (c *Client) readError(method, path string, resp *http.Response) *Error {
	out := &Error{
		Status: resp.StatusCode, Title: http.StatusText(resp.StatusCode), Method: method, Path: path,
		RequestID: resp.Header.Get("X-Request-ID"), shouldRetry: shouldRetry(resp.Header),
	}
	out.RetryAfter, out.hasRetryAfter = retryAfter(resp.Header, time.Now())
	// What could be read of a broken body is still the best there is.
	body, _ := io.ReadAll(io.LimitReader(resp.Body, maxErrorBytes))
	c.keep(resp, body)
	// A proxy that shows what it was sent must not put the key into someone's log.
	body = bytes.ReplaceAll(body, []byte(c.key()), []byte("ls_…"))
	var problem struct {
		Type      string `json:"type"`
		Title     string `json:"title"`
		Detail    string `json:"detail"`
		Instance  string `json:"instance"`
		Code      string `json:"code"`
		TraceID   string `json:"trace_id"`
		Retryable bool   `json:"retryable"`

		Problems []FileProblem `json:"problems"`
	}
	if json.Unmarshal(body, &problem) != nil {
		if kind, _, _ := mime.ParseMediaType(resp.Header.Get("Content-Type")); kind == "text/plain" {
			out.Detail = clip(strings.TrimSpace(string(body)), 300)
		}
		return out
	}
	out.Type, out.Detail, out.Instance = problem.Type, problem.Detail, problem.Instance
	out.TraceID, out.Retryable, out.Code, out.Problems = problem.TraceID, problem.Retryable, problem.Code, problem.Problems
	if problem.Title != "" {
		out.Title = problem.Title
	}
	if out.Code == "" {
		out.Code = codeFromType(problem.Type)
	}
	return out
}

// codeFromType takes the code from the last part of the type, where other servers
// of the same API have it alone.
func codeFromType(kind string) string {
	kind = strings.TrimRight(kind, "/")
	if kind == "" || kind == "about:blank" {
		return ""
	}
	return strings.ReplaceAll(kind[strings.LastIndexByte(kind, '/')+1:], "-", "_")
}

// The kinds of failures, for errors.Is. A refusal by the server is also
// an *Error, which says more.
var (
	ErrInvalid         = errors.New("the server did not understand the request")            // 400
	ErrUnauthenticated = errors.New("the key is missing, wrong, expired or revoked")        // 401
	ErrDenied          = errors.New("the key is not for this")                              // 403
	ErrNotFound        = errors.New("there is no such thing, or not for this key")          // 404
	ErrConflict        = errors.New("the state of the thing forbids it")                    // 409
	ErrTooLarge        = errors.New("the body is over the server's limit")                  // 413
	ErrNotSupported    = errors.New("the server does not offer it")                         // 422
	ErrRateLimited     = errors.New("the caller has to wait")                               // 429
	ErrServer          = errors.New("the server failed")                                    // 500 and above
	ErrConnection      = errors.New("no whole answer came")                                 // not in time: ErrTimeout
	ErrTimeout         = errors.New("no whole answer came in time")                         // of an attempt, or of the context
	ErrAnswer          = errors.New("the server's answer could not be understood")          // broken, or no answer of a Lineshaft server
	ErrUsage           = errors.New("nothing was sent because the arguments are not right") // such as an empty id
)

// Is makes errors.Is match the kind.
func (e *Error) Is(target error) bool {
	if e.Status >= http.StatusInternalServerError {
		return target == ErrServer
	}
	kind := map[int]error{
		http.StatusBadRequest: ErrInvalid, http.StatusUnauthorized: ErrUnauthenticated, http.StatusForbidden: ErrDenied,
		http.StatusNotFound: ErrNotFound, http.StatusConflict: ErrConflict, http.StatusRequestEntityTooLarge: ErrTooLarge,
		http.StatusUnprocessableEntity: ErrNotSupported, http.StatusTooManyRequests: ErrRateLimited,
	}[e.Status]
	return kind != nil && target == kind
}

// Is makes errors.Is match the kind.
func (e *transportError) Is(target error) bool {
	late := errors.Is(e.err, context.DeadlineExceeded)
	if timeout, ok := errors.AsType[net.Error](e.err); ok {
		late = late || timeout.Timeout()
	}
	if late {
		return target == ErrTimeout
	}
	return target == ErrConnection && !errors.Is(e.err, context.Canceled)
}

// answerError is an answer that does not help, and would not help a second time.
type answerError struct{ err error }

func (e *answerError) Error() string { return e.err.Error() }

func (e *answerError) Unwrap() error { return e.err }

func (e *answerError) Is(target error) bool { return target == ErrAnswer }

// Is makes errors.Is match the kind.
func (e *brokenFrameError) Is(target error) bool { return target == ErrAnswer }

// usageError is a call that was not made.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func (e *usageError) Is(target error) bool { return target == ErrUsage }
