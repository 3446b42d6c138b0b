package gateway

import (
	"context"
	"io"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// TestX7BudgetAcrossExecutions: what earlier executions used counts.
func TestX7BudgetAcrossExecutions(t *testing.T) {
	t.Parallel()
	a := answers()["messages"]
	for name, test := range map[string]struct {
		budget lineshaft.Budget
		used   lineshaft.Usage
	}{
		"tokens":  {lineshaft.Budget{MaxTokens: 2100}, lineshaft.Usage{InputTokens: 1000}},
		"dollars": {lineshaft.Budget{MaxCostMicros: 2 * costOfOne}, lineshaft.Usage{CostMicros: costOfOne / 2}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, say(a.media, a.answer), budget(test.budget, test.used))
			if resp, body := r.post(a.path, a.body); resp.StatusCode != http.StatusOK {
				t.Fatalf("first: %d %s", resp.StatusCode, body)
			}
			for range 2 { // the second breaks it, the third is not even sent
				resp, body := r.post(a.path, a.body)
				if resp.StatusCode != http.StatusForbidden || resp.Header.Get("X-Lineshaft-Code") != "budget_exceeded" || !strings.Contains(body, `"permission_error"`) || !strings.Contains(body, "used up") {
					t.Errorf("beyond the budget: %d %s", resp.StatusCode, body)
				}
			}
			if len(r.counted()) != 2 || len(r.told()) != 1 || r.sent() != 2 {
				t.Errorf("counted %+v, told %q, asked %d times", r.counted(), r.told(), r.sent())
			}
		})
	}
}

// TestX7StreamStopsAtTheBudget: not at its end, but when what has come is too much.
func TestX7StreamStopsAtTheBudget(t *testing.T) {
	t.Parallel()
	var sent int
	done := make(chan struct{})
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		defer close(done)
		w.Header().Set("Content-Type", eventStream)
		_, _ = io.WriteString(w, stream(`{"type":"message_start","message":{"usage":{"input_tokens":10,"output_tokens":1}}}`))
		for req.Context().Err() == nil && sent < 100_000 {
			sent++
			_, _ = io.WriteString(w, stream(`{"type":"content_block_delta","delta":{"type":"text_delta","text":"`+strings.Repeat("w", 40)+`"}}`))
			_ = http.NewResponseController(w).Flush()
		}
	}, budget(lineshaft.Budget{MaxTokens: 1000}, lineshaft.Usage{}))
	_, body := r.post("/anthropic/v1/messages", `{"model":"m1","stream":true}`)
	<-done
	if !strings.HasSuffix(body, "\n\n") || !strings.Contains(body, "event: error\ndata: ") || !strings.Contains(body, "budget_exceeded") {
		t.Errorf("the stream ends with %q", body[max(0, len(body)-300):])
	}
	got := r.counted()
	if sent >= 100_000 || len(got) != 1 || !got[0].Estimated || got[0].OutputTokens < 990 || got[0].OutputTokens > 1010 || got[0].InputTokens != 10 {
		t.Errorf("%d pieces, counted %+v", sent, got)
	}
	if len(r.told()) != 1 || !strings.Contains(r.told()[0], "tokens of 1000") {
		t.Errorf("told %q", r.told())
	}
}

func TestX7DollarsNeedAPrice(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`), budget(lineshaft.Budget{MaxCostMicros: 5}, lineshaft.Usage{}))
	resp, body := r.post("/openai/v1/responses", `{"model":"m2"}`)
	if resp.StatusCode != http.StatusForbidden || !strings.Contains(body, `"code":"price_unknown"`) || !strings.Contains(body, "--models-file") || r.sent() != 0 || len(r.told()) != 0 {
		t.Errorf("%d %s", resp.StatusCode, body)
	}
}

// TestX12CutStreamIsEstimated: whether the endpoint or the agent goes away.
func TestX12CutStreamIsEstimated(t *testing.T) {
	t.Parallel()
	begin := func(w http.ResponseWriter) {
		w.Header().Set("Content-Type", eventStream)
		_, _ = io.WriteString(w, stream(`{"choices":[{"delta":{"content":"`+strings.Repeat("abcd", 30)+`","tool_calls":[{"function":{"arguments":"12345678"}}]}}]}`))
		_ = http.NewResponseController(w).Flush()
	}
	t.Run("endpoint", func(t *testing.T) {
		t.Parallel()
		r := newRig(t, func(w http.ResponseWriter, _ *http.Request) {
			begin(w)
			panic(http.ErrAbortHandler)
		})
		r.post("/openai/v1/chat/completions", `{"model":"m1","stream":true}`)
		if got := r.counted(); len(got) != 1 || !got[0].Estimated || got[0].OutputTokens != 32 || got[0].CostMicros == 0 {
			t.Errorf("counted %+v", got)
		}
	})
	for name, early := range map[string]bool{"agent": false, "agent before the answer": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ctx, leave := context.WithCancel(t.Context())
			r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
				if early {
					leave()
				} else {
					begin(w)
				}
				<-req.Context().Done()
			})
			req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.URL()+"/openai/v1/chat/completions", strings.NewReader(`{"model":"m1","stream":true}`))
			req.Header.Set("Authorization", "Bearer "+r.key)
			if resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
				_, _ = resp.Body.Read(make([]byte, 10)) // the first event is here
				leave()
				_ = resp.Body.Close()
			}
			got := r.counted()
			if len(got) != 1 || !got[0].Estimated || got[0].InputTokens == 0 || !early && got[0].OutputTokens != 32 {
				t.Errorf("counted %+v", got)
			}
		})
	}
}

// TestX12PauseCutsAndHolds: nothing is counted between Pause and Resume.
func TestX12PauseCutsAndHolds(t *testing.T) {
	t.Parallel()
	running := make(chan struct{}, 2)
	var hang atomic.Bool
	hang.Store(true)
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		running <- struct{}{}
		if hang.Load() {
			<-req.Context().Done()
			return
		}
		say("application/json", answers()["chat"].answer)(w, req)
	})
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, "http://any/openai/v1/chat/completions", strings.NewReader(`{"model":"m1"}`))
		req.Header.Set("Authorization", "Bearer "+r.key)
		if resp, err := r.Transport().RoundTrip(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	<-running
	r.Pause(time.Millisecond)
	<-ended
	if len(r.counted()) != 1 {
		t.Fatalf("counted %+v", r.counted())
	}
	hang.Store(false)
	held := make(chan string)
	go func() {
		_, body := r.post("/openai/v1/chat/completions", `{"model":"m1"}`)
		held <- body
	}()
	select {
	case body := <-held:
		t.Errorf("a request during the pause was answered: %s", body)
	case <-running:
		t.Error("a request during the pause was passed on")
	case <-time.After(50 * time.Millisecond): // it cannot be seen that nothing comes
	}
	r.Resume()
	if body := <-held; !strings.Contains(body, "usage") || len(r.counted()) != 2 {
		t.Errorf("after the pause: %s, counted %+v", body, r.counted())
	}
	r.Pause(time.Minute) // nothing runs, so it does not wait
}

// TestX12CloseVoidsTheKey and counts what it cuts off.
func TestX12CloseVoidsTheKey(t *testing.T) {
	t.Parallel()
	running := make(chan struct{})
	r := newRig(t, func(_ http.ResponseWriter, req *http.Request) {
		close(running)
		<-req.Context().Done()
	})
	ended := make(chan error)
	go func() {
		req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://any/anthropic/v1/messages", strings.NewReader(`{"model":"m1"}`))
		req.Header.Set("X-Api-Key", r.key)
		resp, err := r.Transport().RoundTrip(req)
		if err == nil {
			err = resp.Body.Close()
		}
		ended <- err
	}()
	<-running
	r.Close()
	<-ended
	if len(r.counted()) != 1 || !r.counted()[0].Estimated {
		t.Errorf("counted %+v", r.counted())
	}
	req, _ := http.NewRequestWithContext(t.Context(), http.MethodGet, r.URL()+"/anthropic/v1/models", http.NoBody)
	req.Header.Set("X-Api-Key", r.key)
	if resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
		t.Errorf("a closed session answers %d", resp.StatusCode)
		_ = resp.Body.Close()
	}
	if _, err := r.Transport().RoundTrip(req); err == nil {
		t.Error("a closed session is reached from this process")
	}
	r.Resume() // does nothing
}
