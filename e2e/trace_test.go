package e2e

import (
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/fakemodel"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

// What must never be in a span.
const (
	hookSecret    = "the-secret-of-the-sender-77d1"
	modelKey      = "sk-key-of-the-model-31c8"
	promptMarker  = "marker-of-the-prompt-b0a4"
	payloadMarker = "marker-of-the-payload-9e6f"
	queryMarker   = "marker-of-the-query-c4d2"
	senderTrace   = "4bf92f3577b34da6a3ce929d0e0e4736"
	senderSpan    = "00f067aa0ba902b7"
)

// tracedSite is a server without a worker, a worker of its own process, and what
// both send their spans to.
type tracedSite struct {
	*node

	collector *collector
	worker    *remoteWorker
	factory   string
	webhook   string
	// called gets the traceparent of each callback.
	called         chan string
	callbackSecret string
}

func newTracedSite(t *testing.T, database string, flags ...string) *tracedSite {
	t.Helper()
	s := &tracedSite{
		collector: newCollector(t), node: newNode(t, database, append([]string{"--no-worker", "--callback-allow-private"}, flags...)...), called: make(chan string, 100),
	}
	s.extraEnv = s.collector.env()
	s.start(t.Context())
	fake, err := fakemodel.Start(t.Context(), fakemodel.Options{Key: modelKey})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = fake.Close() })
	s.worker = prepareWorker(t, s.node, "mac")
	s.worker.env = append(s.collector.env(), "LINESHAFT_OPENAI_URL="+fake.OpenAI(), "LINESHAFT_OPENAI_API_KEY="+modelKey, "LINESHAFT_MODEL=fake-1")
	var f, w struct{ UID string }
	s.answerOf("POST", "/factory", `{"name": "works"}`, &f)
	s.answerOf("POST", "/factory/"+f.UID+"/webhooks", fmt.Sprintf(`{"name": "ci", "auth_mode": "signature", "signature_scheme": "github", "secret": %q}`, hookSecret), &w)
	s.factory, s.webhook = f.UID, w.UID
	return s
}

// listen has the site call back when a run has succeeded.
func (s *tracedSite) listen() {
	s.t.Helper()
	receiver := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { s.called <- r.Header.Get("Traceparent") }))
	s.t.Cleanup(receiver.Close)
	var made struct{ ID, Secret string }
	s.answerOf("POST", "/notifications", fmt.Sprintf(`{"url": %q, "states": ["SUCCEEDED"]}`, receiver.URL+"/?q="+queryMarker), &made)
	s.callbackSecret = made.Secret
}

// automation adds one that every delivery starts, with an agent of a kind.
func (s *tracedSite) automation(name, harness, prompt string) {
	s.t.Helper()
	var made struct{ UID string }
	s.answerOf("POST", "/factory/"+s.factory+"/automations", fmt.Sprintf(
		`{"name": %q, "prompt": %q, "config": {"worker_host": "mac", "harness": {"type": %q}},
		"triggers": [{"provider": "webhook", "event": "received", "filter": {"webhook_ids": [%q]}}]}`, name, prompt, harness, s.webhook), &made)
}

// deliver sends a signed body and gives the answer's traceparent.
func (s *tracedSite) deliver(id, traceparent string) string {
	s.t.Helper()
	body := fmt.Sprintf(`{"number": %q, "text": %q}`, id, payloadMarker)
	mac := hmac.New(sha256.New, []byte(hookSecret))
	_, _ = io.WriteString(mac, body)
	req, err := http.NewRequestWithContext(s.t.Context(), http.MethodPost, s.url+"/webhooks/w/"+s.webhook+"?q="+queryMarker, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	req.Header.Set("X-Github-Event", "push")
	req.Header.Set("X-Github-Delivery", id)
	req.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(mac.Sum(nil)))
	if traceparent != "" {
		req.Header.Set("Traceparent", traceparent)
	}
	res, err := browser().Do(req)
	if err != nil {
		s.t.Fatal(err)
	}
	text, err := io.ReadAll(res.Body)
	_ = res.Body.Close()
	if err != nil || res.StatusCode != http.StatusAccepted {
		s.t.Fatalf("delivery: %d %s %v", res.StatusCode, text, err)
	}
	return res.Header.Get("Traceparent")
}

// runs waits until that many runs have ended, and returns them.
func (s *tracedSite) runs(n int) []client.Run {
	s.t.Helper()
	var ended []client.Run
	eventually(s.t, fmt.Sprintf("%d runs have ended", n), func() bool {
		page, err := s.client().Runs.List(s.t.Context(), client.RunQuery{})
		if err != nil {
			s.t.Fatal(err)
		}
		ended = slices.DeleteFunc(page.Runs, func(r client.Run) bool { return !r.State.Terminal() })
		return len(ended) == n
	})
	return ended
}

// TestI5OneTraceFromDeliveryToCallback: one delivery that a sender signed starts two
// runs on a worker of its own process, and both are called back about. All that is done
// for it is one trace, the sender's.
func TestI5OneTraceFromDeliveryToCallback(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		s := newTracedSite(t, database)
		s.automation("shell", "shell", "```sh\necho \"tp=$TRACEPARENT\" # "+promptMarker+"\n```")
		s.automation("builtin", "builtin", "RUN: echo hello "+promptMarker)
		s.listen()
		s.worker.start()
		answered := s.deliver("d-1", "00-"+senderTrace+"-"+senderSpan+"-01")
		if !strings.HasPrefix(answered, "00-"+senderTrace+"-") || strings.Contains(answered, senderSpan) {
			t.Errorf("the answer has traceparent %q", answered)
		}
		for _, run := range s.runs(2) {
			if run.State != client.StateSucceeded {
				t.Errorf("run %s is %s: %+v", run.RunID, run.State, run.StatusMessage)
			}
			if run.Title == "shell" {
				checkVariable(t, printed(t, s.client(), run.RunID))
			}
		}
		eventually(t, "two callbacks", func() bool { return len(s.called) == 2 })
		calls := []string{<-s.called, <-s.called}
		s.worker.stop() // what is left is sent at the end
		s.stop()
		s.checkTrace(t)
		s.checkCallbacks(t, calls)
		s.collector.mustNotHold(map[string]string{
			"the admin key": adminKey, "the worker's key": s.worker.key, "the webhook's secret": hookSecret, "the model's key": modelKey,
			"the prompt": promptMarker, "the payload": payloadMarker, "the query": queryMarker, "the collector's key": collectorKey, "the run token": "ls_run_",
			"the callback's secret": s.callbackSecret,
		})
		for name, log := range map[string]string{"request": s.log.tail(1 << 20), "execution ended": s.worker.log.tail(1 << 20)} {
			if !strings.Contains(log, `"trace_id":"`+senderTrace+`"`) {
				t.Errorf("no log line %q names the trace", name)
			}
		}
	})
}

// checkCallbacks checks what receivers learned of the trace.
func (s *tracedSite) checkCallbacks(t *testing.T, traceparents []string) {
	t.Helper()
	var sent []string
	for _, span := range named(s.collector.trace(senderTrace), "callback") {
		sent = append(sent, "00-"+senderTrace+"-"+hex.EncodeToString(span.GetSpanId())+"-01")
	}
	slices.Sort(sent)
	slices.Sort(traceparents)
	if !slices.Equal(sent, traceparents) {
		t.Errorf("receivers got %q, the spans are %q", traceparents, sent)
	}
}

// checkVariable looks at what an agent printed of its environment.
func checkVariable(t *testing.T, output string) {
	t.Helper()
	if !strings.Contains(output, "tp=00-"+senderTrace+"-") {
		t.Errorf("the agent's TRACEPARENT is not of the trace: %q", output)
	}
}

// checkTrace looks at the whole trace of a delivery with a shell and a built-in agent.
func (s *tracedSite) checkTrace(t *testing.T) {
	t.Helper()
	spans := s.collector.trace(senderTrace)
	claim := []string{"claim run", "start run", "webhook delivery", "(" + senderSpan + ")"}
	execution := append([]string{"execute run"}, claim...)
	turn := append([]string{"agent turn"}, execution...)
	for name, want := range map[string]struct {
		n       int
		service string
		above   []string
	}{
		"webhook delivery":             {1, "lineshaft", claim[3:]},
		"start run":                    {2, "lineshaft", claim[2:]},
		"wait in queue":                {2, "lineshaft", claim[1:]},
		"claim run":                    {2, "lineshaft", claim[1:]},
		"execute run":                  {2, "lineshaft-worker", claim},
		"prepare workspace":            {2, "lineshaft-worker", execution},
		"agent turn":                   {2, "lineshaft-worker", execution},
		"model call":                   {2, "lineshaft-worker", turn},
		"tool call":                    {1, "lineshaft-worker", turn},
		"store files":                  {2, "lineshaft-worker", execution},
		"POST /api/v1/worker/end-turn": {2, "lineshaft", execution},
		"callback":                     {2, "lineshaft", claim[1:]},
		"end turn":                     {2, "lineshaft", append([]string{"POST /api/v1/worker/end-turn"}, execution...)},
	} {
		found := named(spans, name)
		if len(found) != want.n {
			t.Errorf("%d spans %q, not %d", len(found), name, want.n)
		}
		for _, span := range found {
			if path := below(spans, span); !slices.Equal(path, want.above) || span.service != want.service {
				t.Errorf("%q of %s is below %q, not %q", name, span.service, path, want.above)
			}
			if span.GetEndTimeUnixNano() < span.GetStartTimeUnixNano() {
				t.Errorf("%q ends before it begins", name)
			}
		}
	}
	for _, span := range spans { // nothing hangs in the air
		if path := below(spans, span); len(path) == 0 || path[len(path)-1] != "("+senderSpan+")" {
			t.Errorf("%q is below %q", span.GetName(), path)
		}
	}
	for _, call := range named(spans, "model call") {
		if call.attribute("gen_ai.request.model") != "fake-1" || call.attribute("gen_ai.usage.input_tokens") == "0" || call.attribute("http.response.status_code") != "200" {
			t.Errorf("a model call says %v", call.GetAttributes())
		}
	}
	if t.Failed() {
		t.Logf("the trace:\n%s", picture(spans))
	}
}

// TestI5TraceGoesOnAfterTheServerWasKilled: the trace of a run is in its row, so that
// a server that dies between the delivery and the claim loses nothing of it.
func TestI5TraceGoesOnAfterTheServerWasKilled(t *testing.T) {
	t.Parallel()
	storetest.EachDatabase(t, func(t *testing.T, database string) {
		s := newTracedSite(t, database)
		s.automation("shell", "shell", "```sh\necho hello\n```")
		traceparent := s.deliver("d-1", "")
		trace := strings.Split(traceparent, "-")[1]
		s.collector.await(trace, "webhook delivery", 1)
		s.collector.await(trace, "start run", 1)
		s.kill()
		s.start(t.Context())
		s.worker.start()
		s.runs(1)
		s.collector.await(trace, "execute run", 1)
		s.collector.await(trace, "end turn", 1)
		spans := s.collector.trace(trace)
		for _, span := range named(spans, "execute run") {
			if path := below(spans, span); !slices.Equal(path, []string{"claim run", "start run", "webhook delivery"}) {
				t.Errorf("the execution is below %q\n%s", path, picture(spans))
			}
		}
	})
}

// TestI5FollowUpsStayInTheTraceOfTheRun: a follow-up is a turn of the same trace, and
// the request that brought it is linked to it.
func TestI5FollowUpsStayInTheTraceOfTheRun(t *testing.T) {
	t.Parallel()
	s := newTracedSite(t, storetest.SQLite(t))
	s.worker.start()
	run := onMac(t, s.client(), "echo one", 1)
	waitEnd(t.Context(), t, s.client(), run)
	if _, err := s.client().Runs.Followup(t.Context(), run, client.FollowupRequest{Message: "```sh\necho two\n```"}); err != nil {
		t.Fatal(err)
	}
	waitEnd(t.Context(), t, s.client(), run)
	s.worker.stop()
	s.stop()
	var start, link []byte
	s.collector.mu.Lock()
	for _, span := range s.collector.spans {
		switch span.GetName() {
		case "start run":
			start = span.GetTraceId()
		case "follow up":
			if len(span.GetLinks()) == 1 {
				link = span.GetLinks()[0].GetTraceId()
			}
		}
	}
	s.collector.mu.Unlock()
	if start == nil || !bytes.Equal(start, link) {
		t.Errorf("the follow-up is linked to %x, the run is %x", link, start)
	}
	if turns := named(s.collector.trace(hex.EncodeToString(start)), "agent turn"); len(turns) != 2 {
		t.Errorf("%d turns in the trace of the run", len(turns))
	}
}

// TestI5CollectorAway: a collector that is not there costs one warning, and neither
// requests nor the stop wait for it.
func TestI5CollectorAway(t *testing.T) {
	t.Parallel()
	n := newNode(t, storetest.SQLite(t), "--otlp-endpoint", "http://"+freeAddress(t))
	n.extraEnv = []string{"OTEL_BSP_SCHEDULE_DELAY=20", "OTEL_BSP_MAX_QUEUE_SIZE=16", "OTEL_BSP_EXPORT_TIMEOUT=200"}
	n.start(t.Context())
	checkUnhindered(t, n)
	if warnings := strings.Count(n.log.tail(1<<22), "the trace collector does not take spans"); warnings != 1 {
		t.Errorf("%d warnings", warnings)
	}
}

// TestI5CollectorSlow: nor do they for one that takes connections and never answers.
func TestI5CollectorSlow(t *testing.T) {
	t.Parallel()
	c := newCollector(t)
	c.stuck = make(chan struct{})
	t.Cleanup(func() { close(c.stuck) })
	n := newNode(t, storetest.SQLite(t))
	n.extraEnv = append(c.env(), "OTEL_BSP_MAX_QUEUE_SIZE=16", "OTEL_BSP_EXPORT_TIMEOUT=60000")
	n.start(t.Context())
	checkUnhindered(t, n)
	if c.requests() == 0 {
		t.Error("the collector was never asked")
	}
}

// checkUnhindered has runs executed, and the server stopped in time.
func checkUnhindered(t *testing.T, n *node) {
	t.Helper()
	for range 30 {
		started, err := n.client().Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\necho hello\n```"})
		if err != nil {
			t.Fatal(err)
		}
		if run := waitEnd(t.Context(), t, n.client(), started.RunID); run.State != client.StateSucceeded {
			t.Errorf("run %s is %s", run.RunID, run.State)
		}
	}
	begun := time.Now()
	n.stop()
	if took := time.Since(begun); took > 30*time.Second {
		t.Errorf("the stop took %s", took)
	}
}
