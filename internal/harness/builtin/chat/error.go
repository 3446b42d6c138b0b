package chat

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Kind says what can be done about an Error.
type Kind string

// The kinds of errors.
const (
	// Transient may be gone at the next try: no connection, too busy, a cut answer.
	Transient Kind = "transient"
	// TooLong means that the conversation is larger than the model's window.
	TooLong Kind = "too_long"
	// Denied means that the key is not accepted.
	Denied Kind = "denied"
	// Spent means that a budget is used up.
	Spent Kind = "spent"
	// Refused is everything else that the endpoint refuses.
	Refused Kind = "refused"
)

// Error is why there is no answer.
type Error struct {
	Kind Kind
	// Status is the HTTP status; 0 when there was no answer, or it was cut.
	Status int
	// Code is set when the worker's gateway refused, not the endpoint.
	Code string
	// Said is the endpoint's own message, at most a few lines of it.
	Said string
	// RetryAfter is how long the endpoint asks to wait.
	RetryAfter time.Duration
	// Window is the number of tokens that fit, where the message of TooLong says it.
	Window int
	Cause  error
}

// Error says what happened.
func (e *Error) Error() string {
	switch {
	case e.Status != 0 && e.Said != "":
		return fmt.Sprintf("status %d: %s", e.Status, e.Said)
	case e.Status != 0:
		return fmt.Sprintf("status %d %s", e.Status, http.StatusText(e.Status))
	case e.Cause != nil && e.Said != "":
		return e.Said + ": " + e.Cause.Error()
	case e.Cause != nil:
		return e.Cause.Error()
	}
	return e.Said
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

const (
	// statusOverloaded is what Anthropic answers when it is too busy.
	statusOverloaded = 529
	maxSaid          = 600
)

// refusal makes an error from a refused request. now is for dates of Retry-After.
func refusal(status int, header http.Header, body []byte, now time.Time) *Error {
	said := parseSaid(body)
	e := &Error{Kind: Refused, Status: status, Code: header.Get("X-Lineshaft-Code"), Said: lineshaft.Clip(said.text, maxSaid), RetryAfter: retryAfter(header.Get("Retry-After"), now)}
	switch {
	case said.is("budget_exceeded") || status == http.StatusPaymentRequired:
		e.Kind = Spent
	case tooLong(status, said):
		e.Kind, e.Window = TooLong, windowIn(said.text)
	case said.is("price_unknown"): // the gateway cannot hold a budget without; the key is fine
	case status == http.StatusUnauthorized || status == http.StatusForbidden:
		e.Kind = Denied
	case transient(status):
		e.Kind = Transient
	}
	return e
}

func transient(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooEarly, http.StatusTooManyRequests, statusOverloaded:
		return true
	case http.StatusNotImplemented, http.StatusHTTPVersionNotSupported:
		return false
	}
	return status >= http.StatusInternalServerError
}

// streamed makes an error from an event that reports one.
func streamed(raw []byte) *Error {
	said := parseSaid(raw)
	e := &Error{Kind: Transient, Said: lineshaft.Clip(said.text, maxSaid)}
	switch {
	case said.is("budget_exceeded"):
		e.Kind = Spent
	case tooLong(http.StatusBadRequest, said):
		e.Kind, e.Window = TooLong, windowIn(said.text)
	case said.is("authentication_error"), said.is("permission_error"):
		e.Kind = Denied
	case said.is("invalid_request_error"), said.is("not_found_error"):
		e.Kind = Refused
	}
	return e
}

// said is the message of an error with the words that class it.
type said struct {
	text  string
	words []string
}

func (s said) is(word string) bool {
	return slices.ContainsFunc(s.words, func(w string) bool { return strings.EqualFold(w, word) })
}

// parseSaid reads the forms in which endpoints, proxies and our own gateway say
// what is wrong. Any other text is kept as it is.
func parseSaid(body []byte) said {
	var outer struct {
		Error   json.RawMessage `json:"error"`
		Message string          `json:"message"`
		Detail  any             `json:"detail"`
		Title   string          `json:"title"`
		Code    any             `json:"code"`
		Type    string          `json:"type"`
	}
	if json.Unmarshal(body, &outer) != nil {
		return said{text: strings.TrimSpace(string(body))}
	}
	var inner struct {
		Message string `json:"message"`
		Type    string `json:"type"`
		Code    any    `json:"code"`
	}
	var plain string
	if json.Unmarshal(outer.Error, &inner) != nil {
		_ = json.Unmarshal(outer.Error, &plain) // neither: then the other fields speak
	}
	detail, _ := outer.Detail.(string)
	s := said{text: cmp.Or(inner.Message, outer.Message, detail, plain, outer.Title)}
	for _, word := range []any{inner.Type, inner.Code, outer.Code, outer.Type, plain} {
		if w, ok := word.(string); ok && w != "" {
			s.words = append(s.words, w)
		}
	}
	s.text = cmp.Or(s.text, strings.TrimSpace(string(body)))
	return s
}

// tooLong recognises how endpoints say that a conversation does not fit. There is no
// common code.
func tooLong(status int, s said) bool {
	if s.is("context_length_exceeded") || status == http.StatusRequestEntityTooLarge {
		return true
	}
	if status != http.StatusBadRequest && status != http.StatusUnprocessableEntity && status != http.StatusInternalServerError {
		return false
	}
	text := strings.ToLower(s.text)
	for _, phrase := range []string{
		"context length", "context window", "context size", "maximum context", "prompt is too long",
		"too many tokens", "input is too long", "exceeds the available context", "exceed context limit", "input length and",
	} {
		if strings.Contains(text, phrase) {
			return true
		}
	}
	return false
}

// windowIn finds the size of the window in a message, which also names the size of
// the request: that is larger.
func windowIn(text string) int {
	window := 0
	for _, digits := range regexp.MustCompile(`\d[\d,_]*`).FindAllString(text, 20) {
		n, err := strconv.Atoi(strings.NewReplacer(",", "", "_", "").Replace(digits))
		if err == nil && n >= 1000 && (window == 0 || n < window) {
			window = n
		}
	}
	return window
}

func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseFloat(value, 64); err == nil && seconds > 0 && seconds < 1e6 {
		return time.Duration(seconds * float64(time.Second))
	}
	if at, err := http.ParseTime(value); err == nil && at.After(now) {
		return at.Sub(now)
	}
	return 0
}
