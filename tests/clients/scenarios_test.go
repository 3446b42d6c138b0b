package clients_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/tests/clients/scriptserver"
)

// TestI3Scenarios drives the Go client through every scenario.
func TestI3Scenarios(t *testing.T) {
	t.Parallel()
	scenarios, err := scriptserver.Load("scenarios")
	if err != nil {
		t.Fatal(err)
	}
	if len(scenarios) < 60 {
		t.Fatalf("%d scenarios: the suite has shrunk", len(scenarios))
	}
	server := scriptserver.New(scenarios)
	t.Cleanup(server.Close)
	for _, scenario := range scenarios {
		t.Run(scenario.Name, func(t *testing.T) {
			t.Parallel()
			play(t, server, scenario.Name)
		})
	}
}

// play starts a scenario, does its call and asks for the verdict.
func play(t *testing.T, server *scriptserver.Server, name string) {
	t.Helper()
	var started scriptserver.Started
	exchange(t, server.URL()+"/_/start", map[string]string{"scenario": name}, &started)
	c, err := client.New(started.BaseURL, started.APIKey, options(started.Client, client.WithBackoff(time.Millisecond, 5*time.Millisecond))...)
	if err != nil {
		t.Fatal(err)
	}
	defer c.CloseIdleConnections()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	if ms := started.Call.CancelAfterMS; ms > 0 {
		time.AfterFunc(time.Duration(ms)*time.Millisecond, cancel)
	}
	value, err := perform(ctx, c, started.Call)
	var verdict scriptserver.Verdict
	exchange(t, server.URL()+"/_/finish", scriptserver.Outcome{ID: started.ID, Value: value, Error: tell(err)}, &verdict)
	if !verdict.OK {
		t.Errorf("%s\nrequests:\n%s", strings.Join(verdict.Problems, "\n"), strings.Join(verdict.Requests, "\n"))
	}
}

func options(o scriptserver.Options, more ...client.Option) []client.Option {
	if o.TimeoutMS > 0 {
		more = append(more, client.WithTimeout(time.Duration(o.TimeoutMS)*time.Millisecond))
	}
	if o.MaxRetries != nil {
		more = append(more, client.WithMaxRetries(*o.MaxRetries))
	}
	if o.StreamRetries != nil {
		more = append(more, client.WithStreamRetries(*o.StreamRetries))
	}
	if o.StreamIdleMS > 0 {
		more = append(more, client.WithStreamIdleTimeout(time.Duration(o.StreamIdleMS)*time.Millisecond))
	}
	if o.IdempotencyKey != "" {
		more = append(more, client.WithIdempotencyKey(o.IdempotencyKey))
	}
	for name, value := range o.Headers {
		more = append(more, client.WithHeader(name, value))
	}
	return more
}

// perform does a call as the README says.
func perform(ctx context.Context, c *client.Client, call scriptserver.Call) (any, error) {
	if call.Times > 1 {
		times := call.Times
		call.Times = 0
		values := []any{}
		for range times {
			value, err := perform(ctx, c, call)
			if err != nil {
				return values, err
			}
			values = append(values, value)
		}
		return values, nil
	}
	var raw client.Response
	opts := options(call.Options)
	if call.Raw {
		opts = append(opts, client.WithResponse(&raw))
	}
	op, ok := ops()[call.Op]
	if !ok {
		return nil, errors.New("the driver has no op " + call.Op)
	}
	args := arguments{call: call}
	args.read()
	value, err := op(ctx, c.With(opts...), args)
	if !call.Raw || err != nil {
		return value, err
	}
	headers := map[string]string{}
	for name := range raw.Header {
		headers[name] = raw.Header.Get(name)
	}
	return map[string]any{"status": raw.Status, "headers": headers, "value": value}, nil
}

// tell says an error in the words that all drivers share.
func tell(err error) *scriptserver.ToldError {
	if err == nil {
		return nil
	}
	told := &scriptserver.ToldError{Kind: kindOf(err), Message: err.Error()}
	if api, ok := errors.AsType[*client.Error](err); ok {
		told.Status, told.Code, told.Detail, told.RequestID, told.TraceID = api.Status, api.Code, api.Detail, api.RequestID, api.TraceID
		if api.RetryAfter > 0 {
			told.RetryAfterMS = new(float64(api.RetryAfter.Milliseconds()))
		}
	}
	return told
}

func kindOf(err error) string {
	for _, kind := range []struct {
		err  error
		name string
	}{
		{context.Canceled, "cancelled"},
		{context.DeadlineExceeded, "timeout"},
		{client.ErrTimeout, "timeout"},
		{client.ErrInvalid, "bad_request"},
		{client.ErrUnauthenticated, "authentication"},
		{client.ErrDenied, "permission_denied"},
		{client.ErrNotFound, "not_found"},
		{client.ErrConflict, "conflict"},
		{client.ErrTooLarge, "too_large"},
		{client.ErrNotSupported, "unprocessable"},
		{client.ErrRateLimited, "rate_limit"},
		{client.ErrServer, "server"},
		{client.ErrConnection, "connection"},
		{client.ErrAnswer, "response"},
		{client.ErrUsage, "usage"},
	} {
		if errors.Is(err, kind.err) {
			return kind.name
		}
	}
	if _, ok := errors.AsType[*client.Error](err); ok {
		return "status"
	}
	return "unknown"
}

// exchange speaks with the script server itself.
func exchange(t *testing.T, address string, body, out any) {
	t.Helper()
	text, err := json.Marshal(body)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := http.Post(address, "application/json", bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		t.Fatalf("%s answered %s", address, resp.Status)
	}
	if err := json.NewDecoder(resp.Body).Decode(out); err != nil {
		t.Fatal(err)
	}
}
