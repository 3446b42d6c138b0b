package lineshaft

import (
	"errors"
	"fmt"
	"strings"
	"time"
)

// Code classifies an Error. The list is closed: package problem has one HTTP
// status and one documentation page for each.
type Code string

// The codes of H-5. The last group only ever appears in a run's status message.
const (
	CodeInvalidRequest         Code = "invalid_request"
	CodeAuthenticationRequired Code = "authentication_required"
	CodeNotAuthorized          Code = "not_authorized"
	CodeFeatureNotAvailable    Code = "feature_not_available"
	CodeBudgetExceeded         Code = "budget_exceeded"
	CodeNotFound               Code = "resource_not_found"
	CodeMethodNotAllowed       Code = "method_not_allowed"
	CodeConflict               Code = "conflict"
	CodePayloadTooLarge        Code = "payload_too_large"
	CodeNotSupported           Code = "operation_not_supported"
	CodeIdempotencyMismatch    Code = "idempotency_mismatch"
	CodeUnavailable            Code = "resource_unavailable"
	CodeInternal               Code = "internal_error"
	CodeEnvironmentSetupFailed Code = "environment_setup_failed"

	CodeAgentProcessFailed    Code = "agent_process_failed"
	CodeRunTimeout            Code = "run_timeout"
	CodeInfrastructureTimeout Code = "infrastructure_timeout"
)

// Codes lists every code, in the order of the documentation.
func Codes() []Code {
	return []Code{
		CodeInvalidRequest, CodeAuthenticationRequired, CodeNotAuthorized, CodeFeatureNotAvailable,
		CodeBudgetExceeded, CodeNotFound, CodeMethodNotAllowed, CodeConflict, CodePayloadTooLarge,
		CodeNotSupported, CodeIdempotencyMismatch, CodeUnavailable, CodeInternal,
		CodeEnvironmentSetupFailed, CodeAgentProcessFailed, CodeRunTimeout, CodeInfrastructureTimeout,
	}
}

// Error is a failure that may be shown to a caller. Message is public and says
// what to do next; Cause is for the log only.
type Error struct {
	Code    Code
	Message string
	// Field is the path of the offending input field ("config.name"), if one is to blame.
	Field string
	// Retryable says that the same call may succeed later without any change.
	Retryable bool
	// Limited distinguishes a caller's own limit (429) from a part that is down (503);
	// only CodeUnavailable has both.
	Limited bool
	// RetryAfter is how long to wait before a retry; zero leaves it to the caller.
	RetryAfter time.Duration
	// Problems are the places to fix, when files of a definition are to blame.
	Problems []FileProblem
	Cause    error
}

// Error returns the public message with its code; the cause is left out, so that
// it cannot reach a caller by accident.
func (e *Error) Error() string {
	if e.Field != "" {
		return fmt.Sprintf("%s: %s: %s", e.Code, e.Field, e.Message)
	}
	return fmt.Sprintf("%s: %s", e.Code, e.Message)
}

// Unwrap returns the private cause.
func (e *Error) Unwrap() error { return e.Cause }

// Invalid reports bad input in field.
func Invalid(field, format string, args ...any) *Error {
	return &Error{Code: CodeInvalidRequest, Field: field, Message: fmt.Sprintf(format, args...)}
}

// NotFound reports that a thing does not exist, or not for this caller.
func NotFound(noun, id string) *Error {
	return &Error{Code: CodeNotFound, Message: fmt.Sprintf("no %s %q here; check the id, and that your key may see it", noun, id)}
}

// NotSupported names a published field or operation that this server does not offer.
func NotSupported(field, format string, args ...any) *Error {
	return &Error{Code: CodeNotSupported, Field: field, Message: fmt.Sprintf(format, args...)}
}

// Conflict reports a state that does not change on its own.
func Conflict(format string, args ...any) *Error {
	return &Error{Code: CodeConflict, Message: fmt.Sprintf(format, args...)}
}

// Denied reports a valid key without the needed permission.
func Denied(format string, args ...any) *Error {
	return &Error{Code: CodeNotAuthorized, Message: fmt.Sprintf(format, args...)}
}

// Unavailable reports a part that cannot answer now, such as the database.
func Unavailable(cause error, format string, args ...any) *Error {
	return &Error{
		Code: CodeUnavailable, Message: fmt.Sprintf(format, args...),
		Retryable: true, RetryAfter: time.Second, Cause: cause,
	}
}

// RateLimited reports that the caller must wait.
func RateLimited(after time.Duration, format string, args ...any) *Error {
	return &Error{
		Code: CodeUnavailable, Message: fmt.Sprintf(format, args...),
		Retryable: true, Limited: true, RetryAfter: after,
	}
}

// CodeOf finds the code in err's chain; anything unknown is internal.
func CodeOf(err error) Code {
	if pub, ok := errors.AsType[*Error](err); ok {
		return pub.Code
	}
	return CodeInternal
}

// Rename gives the field that an error blames another name; other errors stay as they are.
func Rename(err error, name func(field string) string) error {
	public, ok := errors.AsType[*Error](err)
	if !ok {
		return err
	}
	renamed := *public
	if renamed.Field = name(public.Field); renamed.Field == public.Field {
		return err
	}
	return &renamed
}

// Below is the name of a field of something that is at a field itself.
func Below(field string) func(string) string {
	return func(below string) string { return strings.TrimSuffix(field+"."+below, ".") }
}
