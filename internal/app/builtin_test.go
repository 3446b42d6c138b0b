package app_test

import (
	"encoding/json"
	"net/http"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/fakemodel"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/builtin"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

const realKey = "sk-the-real-key-of-the-endpoint"

// builtinServer is a server whose default is the built-in agent, without any
// network for the agents where that can be had.
func builtinServer(t *testing.T, protocol string, harnesses ...harness.Harness) (*app.App, *fakemodel.Server, string) {
	t.Helper()
	fake, err := fakemodel.Start(t.Context(), fakemodel.Options{Key: realKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fake.Close() })
	cfg := settings(t)
	cfg.Model = "fake-1"
	switch protocol {
	case "anthropic":
		cfg.AnthropicURL, cfg.AnthropicAPIKey = fake.Anthropic(), config.Secret(realKey)
	default:
		cfg.OpenAIURL, cfg.OpenAIAPIKey = fake.OpenAI(), config.Secret(realKey)
	}
	opts := options(t, nil)
	opts.Harnesses = harnesses // none: the usual ones
	if sandbox.NewBubblewrap(sandbox.Options{Supervisor: opts.Supervisor}).Check(t.Context()) == nil {
		cfg.Isolation, cfg.Egress = "bubblewrap", "none"
	} else if os.Getenv("CI") != "" {
		t.Fatal("bubblewrap must work in CI")
	}
	a := start(t, cfg, opts)
	raw, err := os.ReadFile(cfg.AdminKeyFile())
	if err != nil {
		t.Fatal(err)
	}
	return a, fake, strings.TrimSpace(string(raw))
}

// ended follows a run from an event on to its end, and gives the run with all events.
func ended(t *testing.T, a *app.App, key, runID string, after int64) (*lineshaft.Run, []lineshaft.Event) {
	t.Helper()
	admin, err := a.Control().Authenticate(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	follower, err := a.Control().Follow(t.Context(), admin, runID, after)
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	var events []lineshaft.Event
	for {
		more, err := follower.Next(t.Context())
		if err != nil {
			break // the end of the log
		}
		for _, item := range more {
			events = append(events, item.Event)
		}
	}
	run, err := a.Control().GetRun(t.Context(), admin, runID)
	if err != nil {
		t.Fatal(err)
	}
	return run, events
}

// The built-in agent is what runs get where a model is set up: its commands are
// sandboxed, its tokens are counted by the gateway, and a follow-up continues the
// conversation when nothing but the snapshot is left.
func TestX6BuiltinIsTheDefaultWithAModel(t *testing.T) {
	t.Parallel()
	for _, protocol := range []string{"anthropic", "openai"} {
		t.Run(protocol, func(t *testing.T) {
			t.Parallel()
			a, fake, key := builtinServer(t, protocol)
			status, text := call(t, "POST", a.URL()+"/api/v1/agent/runs", key,
				`{"prompt": "RUN: echo made >file; env; cat file\nTHINK: hm\nSAY: it is done", "config": {"idle_timeout_minutes": 0}}`)
			var started struct {
				RunID string `json:"run_id"`
			}
			if err := json.Unmarshal(text, &started); err != nil || status != http.StatusOK {
				t.Fatalf("%d %s", status, text)
			}
			run, events := ended(t, a, key, started.RunID, 0)
			log := encode(t, events)
			if run.State != lineshaft.Succeeded || !strings.Contains(log, "it is done") || !strings.Contains(log, `made\n`) || strings.Contains(log, realKey) {
				t.Fatalf("%s %s: %s", run.State, run.Status.Message, log)
			}
			if used := fake.Usage("fake-1"); run.Usage.InputTokens != used.Input || run.Usage.OutputTokens != used.Output || used.Input == 0 {
				t.Errorf("usage %+v, want %+v", run.Usage, used)
			}
			status, text = call(t, "POST", a.URL()+"/api/v1/agent/runs/"+started.RunID+"/followups", key, `{"message": "RUN: cat file\nSAY: again"}`)
			if status != http.StatusOK {
				t.Fatalf("%d %s", status, text)
			}
			run, events = ended(t, a, key, started.RunID, events[len(events)-1].Sequence)
			if log = encode(t, events); run.State != lineshaft.Succeeded || !strings.Contains(log, "again") || !strings.Contains(log, `made\n`) {
				t.Fatalf("%s %s: %s", run.State, run.Status.Message, log)
			}
			requests := fake.Requests()
			if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "echo made") || !strings.Contains(last, "it is done") {
				t.Errorf("the conversation was forgotten: %s", last)
			}
		})
	}
}

// A cancel in the middle of a command ends it, and an interrupt lets a follow-up continue.
func TestR7CancelAndInterruptOfTheBuiltinAgent(t *testing.T) {
	t.Parallel()
	a, fake, key := builtinServer(t, "anthropic")
	admin, err := a.Control().Authenticate(t.Context(), key)
	if err != nil {
		t.Fatal(err)
	}
	status, text := call(t, "POST", a.URL()+"/api/v1/agent/runs", key, `{"prompt": "RUN: echo up; sleep 1000"}`)
	var started struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal(text, &started); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	follower, err := a.Control().Follow(t.Context(), admin, started.RunID, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer follower.Close()
	await := func(word string) {
		t.Helper()
		for {
			items, err := follower.Next(t.Context())
			if err != nil {
				t.Fatalf("%q did not come: %v", word, err)
			}
			for _, item := range items {
				if strings.Contains(string(item.Event.Data), word) {
					return
				}
			}
		}
	}
	await(`"text":"up`)
	if err := a.Control().Interrupt(t.Context(), admin, started.RunID); err != nil {
		t.Fatal(err)
	}
	await("The turn was interrupted")
	if status, text := call(t, "POST", a.URL()+"/api/v1/agent/runs/"+started.RunID+"/followups", key, `{"message": "RUN: echo second; sleep 1000"}`); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	await(`"text":"second`)
	requests := fake.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "echo up") || !strings.Contains(last, "tool_result") {
		t.Errorf("the interrupted turn was forgotten: %s", last)
	}
	if status, text := call(t, "POST", a.URL()+"/api/v1/agent/runs/"+started.RunID+"/cancel", key, ""); status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	if run, _ := ended(t, a, key, started.RunID, 0); run.State != lineshaft.Cancelled {
		t.Errorf("state %s", run.State)
	}
}

// Every way in which an endpoint can fail ends the run as the documentation says,
// and a follow-up continues it when the endpoint is well again.
func TestX13EndpointsThatFailTheBuiltinAgent(t *testing.T) {
	t.Parallel()
	always := func(kind fakemodel.FaultKind, status int) func(*fakemodel.Server) error {
		return func(s *fakemodel.Server) error {
			s.Break(fakemodel.Fault{Kind: kind, Status: status, Times: fakemodel.Always})
			return nil
		}
	}
	tests := map[string]struct {
		fail func(*fakemodel.Server) error
		code lineshaft.Code
		says string
	}{
		"dead":    {(*fakemodel.Server).Refuse, lineshaft.CodeUnavailable, "cannot be reached"},
		"busy":    {always(fakemodel.Reject, 429), lineshaft.CodeUnavailable, "status 429"},
		"broken":  {always(fakemodel.Reject, 500), lineshaft.CodeUnavailable, "status 500"},
		"silent":  {always(fakemodel.Hang, 0), lineshaft.CodeUnavailable, "sent nothing"},
		"stuck":   {always(fakemodel.HangStream, 0), lineshaft.CodeUnavailable, "sent nothing"},
		"cut":     {always(fakemodel.CutStream, 0), lineshaft.CodeUnavailable, "cut off"},
		"dropped": {always(fakemodel.Drop, 0), lineshaft.CodeUnavailable, "the model endpoint gave no answer"},
		"garbage": {always(fakemodel.Malformed, 0), lineshaft.CodeUnavailable, "the model endpoint gave no answer"},
		"key":     {always(fakemodel.Reject, 401), lineshaft.CodeNotAuthorized, "check the key"},
		"small":   {always(fakemodel.TooLong, 0), lineshaft.CodePayloadTooLarge, "larger one"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			patience := time.Minute
			if test.says == "sent nothing" { // only then is it waited for
				patience = 2 * time.Second
			}
			agent := builtin.New(builtin.Options{Tries: 3, FirstPause: time.Millisecond, FirstByte: patience, Idle: patience})
			a, fake, key := builtinServer(t, "openai", agent)
			if err := test.fail(fake); err != nil {
				t.Fatal(err)
			}
			status, text := call(t, "POST", a.URL()+"/api/v1/agent/runs", key, `{"prompt": "SAY: hello"}`)
			var started struct {
				RunID string `json:"run_id"`
			}
			if err := json.Unmarshal(text, &started); err != nil || status != http.StatusOK {
				t.Fatalf("%d %s", status, text)
			}
			run, events := ended(t, a, key, started.RunID, 0)
			if run.State != lineshaft.Failed || run.Status.ErrorCode != test.code || !strings.Contains(run.Status.Message, test.says) {
				t.Fatalf("%s %+v: %s", run.State, run.Status, encode(t, events))
			}
			fake.Fix()
			if err := fake.Accept(); err != nil {
				t.Fatal(err)
			}
			if status, text := call(t, "POST", a.URL()+"/api/v1/agent/runs/"+started.RunID+"/followups", key, `{"message": "SAY: well again"}`); status != http.StatusOK {
				t.Fatalf("%d %s", status, text)
			}
			run, events = ended(t, a, key, started.RunID, events[len(events)-1].Sequence)
			if run.State != lineshaft.Succeeded || !strings.Contains(encode(t, events), "well again") {
				t.Errorf("%s %+v: %s", run.State, run.Status, encode(t, events))
			}
		})
	}
}

func encode(t *testing.T, events []lineshaft.Event) string {
	t.Helper()
	var out strings.Builder
	for _, e := range events {
		out.WriteString(string(e.Type) + " " + string(e.Data) + "\n")
	}
	return out.String()
}
