package client

import (
	"context"
	"errors"
	"net"
	"net/http"
)

// The kinds of failures, for errors.Is. An answer of the server that says no is also
// an *Error, which tells more.
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

// Is makes errors.Is tell the kind.
func (e *Error) Is(target error) bool {
	kind := ErrServer
	switch e.Status {
	case http.StatusBadRequest:
		kind = ErrInvalid
	case http.StatusUnauthorized:
		kind = ErrUnauthenticated
	case http.StatusForbidden:
		kind = ErrDenied
	case http.StatusNotFound:
		kind = ErrNotFound
	case http.StatusConflict:
		kind = ErrConflict
	case http.StatusRequestEntityTooLarge:
		kind = ErrTooLarge
	case http.StatusUnprocessableEntity:
		kind = ErrNotSupported
	case http.StatusTooManyRequests:
		kind = ErrRateLimited
	default:
		if e.Status < http.StatusInternalServerError {
			return false
		}
	}
	return target == kind
}

// Is makes errors.Is tell the kind.
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

// Is makes errors.Is tell the kind.
func (e *brokenFrameError) Is(target error) bool { return target == ErrAnswer }

// usageError is a call that was not made.
type usageError struct{ text string }

func (e *usageError) Error() string { return e.text }

func (e *usageError) Is(target error) bool { return target == ErrUsage }
