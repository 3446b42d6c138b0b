package client

import (
	"errors"
	"fmt"
	"net/http"
	"reflect"
	"strings"
	"testing"
)

func TestH4ProblemIsRead(t *testing.T) {
	t.Parallel()
	body := `{"type":"http://h/docs/errors/resource_not_found","title":"Not found","status":404,"detail":"no run \"x\" here",` +
		`"instance":"/api/v1/agent/runs/x","error":"Not found (no run)","retryable":true,"trace_id":"tr1","code":"resource_not_found"}`
	c, _ := scripted(t, answer(404, body, "X-Request-Id", "req1"))
	_, err := c.Runs.Get(t.Context(), "x")
	got, ok := asError(err)
	if !ok {
		t.Fatalf("Get = %v, want an *Error", err)
	}
	want := Error{
		Status: 404, Code: "resource_not_found", Title: "Not found", Detail: `no run "x" here`,
		Type: "http://h/docs/errors/resource_not_found", Instance: "/api/v1/agent/runs/x",
		RequestID: "req1", TraceID: "tr1", Retryable: true, Attempts: 1, Method: "GET", Path: "/agent/runs/x",
	}
	if !reflect.DeepEqual(*got, want) {
		t.Errorf("got  %+v\nwant %+v", *got, want)
	}
	if text := `GET /agent/runs/x: 404 resource_not_found: no run "x" here (request req1)`; err.Error() != text {
		t.Errorf("Error() = %q, want %q", err.Error(), text)
	}
}

func TestH4OtherBodies(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ name, kind, body, code, text string }{
		{"code only in type", "application/json", `{"type":"https://x/errors/not-authorized/","title":"No"}`, "not_authorized", "No"},
		{"about:blank", "application/json", `{"type":"about:blank","title":"No"}`, "", "No"},
		{"no title", "application/json", `{}`, "", "Bad Gateway"},
		{"html", "text/html", `<html>secret internals</html>`, "", "Bad Gateway"},
		{"text", "text/plain; charset=utf-8", " upstream is down \n", "", "upstream is down"},
		{"long text", "text/plain", strings.Repeat("x", 10_000), "", strings.Repeat("x", 299) + "…"},
		{"empty", "", "", "", "Bad Gateway"},
		{"wrong types", "application/json", `{"title":7}`, "", "Bad Gateway"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			c, _ := scripted(t, answer(502, tc.body, "Content-Type", tc.kind, "x-should-retry", "false"))
			got, ok := asError(c.Do(t.Context(), http.MethodGet, "/x", nil, nil))
			if !ok || got.Code != tc.code || got.Text() != tc.text {
				t.Errorf("got %+v, want code %q and text %q", got, tc.code, tc.text)
			}
		})
	}
}

func TestH5StatusHelpers(t *testing.T) {
	t.Parallel()
	helpers := map[int]func(error) bool{
		400: IsInvalid, 401: IsUnauthenticated, 403: IsDenied, 404: IsNotFound,
		409: IsConflict, 413: IsTooLarge, 422: IsNotSupported, 429: IsRateLimited,
	}
	for status := range helpers {
		wrapped := fmt.Errorf("outer: %w", &Error{Status: status})
		for of, is := range helpers {
			if is(wrapped) != (status == of) {
				t.Errorf("helper of %d says %v about %d", of, is(wrapped), status)
			}
		}
	}
	if IsNotFound(errors.New("404")) || IsNotFound(nil) {
		t.Error("another error is not an answer")
	}
}

// A refused caller learns where the key comes from.
func TestI3UnauthenticatedTellsOfTheKey(t *testing.T) {
	t.Parallel()
	c, _ := scripted(t, answer(401, `{"detail":"send a key"}`))
	if _, err := c.Whoami(t.Context()); err == nil || !strings.Contains(err.Error(), "send a key") || !strings.Contains(err.Error(), "`lineshaft apikey create`") {
		t.Errorf("it says %v", err)
	}
}
