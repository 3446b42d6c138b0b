package gateway

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// TestX7BudgetHoldsInParallel: requests at the same time do not each find the whole
// of it.
func TestX7BudgetHoldsInParallel(t *testing.T) {
	t.Parallel()
	a := answers()["messages"]
	for name, most := range map[string]lineshaft.Budget{"tokens": {MaxTokens: 1500}, "dollars": {MaxCostMicros: costOfOne * 3 / 2}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, say(a.media, a.answer), budget(most, lineshaft.Usage{}))
			var all sync.WaitGroup
			for range 100 {
				all.Go(func() { r.post(a.path, a.body) })
			}
			all.Wait()
			// One fits; the second finds something left and breaks the budget.
			if got := r.counted(); len(got) != 2 || r.sent() != 2 || len(r.told()) != 1 {
				t.Errorf("asked %d times, counted %+v, told %q", r.sent(), got, r.told())
			}
			r.await(nil, func() bool { return r.reserved == 0 })
			if r.heldTokens != 0 || r.heldCost != 0 {
				t.Errorf("%d tokens and %d are still held", r.heldTokens, r.heldCost)
			}
		})
	}
}

// TestX7RoomForSeveral: what fits runs at the same time, what does not waits until
// it is known what the others have used, and a wait ends with the request.
func TestX7RoomForSeveral(t *testing.T) {
	t.Parallel()
	running, goOn := make(chan struct{}, 10), make(chan struct{})
	a := answers()["chat"]
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		running <- struct{}{}
		<-goOn
		say(a.media, a.answer)(w, req)
	}, budget(lineshaft.Budget{MaxTokens: 10_000}, lineshaft.Usage{}))
	var all sync.WaitGroup
	for range 2 {
		all.Go(func() { r.post(a.path, `{"model":"m1","max_tokens":4000}`) })
		<-running // both are under way at once
	}
	ctx, leave := context.WithCancel(t.Context())
	gone := make(chan struct{})
	go func() {
		defer close(gone)
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.URL()+a.path, strings.NewReader(`{"model":"m1","max_tokens":4000}`))
		req.Header.Set("Authorization", "Bearer "+r.key)
		if resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
			_ = resp.Body.Close()
		}
	}()
	r.await(nil, func() bool { return r.handlers == 3 }) // or it could come after it has left
	select {
	case <-running:
		t.Error("a third was passed on that does not fit")
	case <-time.After(50 * time.Millisecond): // it cannot be seen that nothing comes
	}
	leave()
	<-gone
	r.await(nil, func() bool { return r.handlers == 2 }) // it has been seen that it is gone
	all.Go(func() { r.post(a.path, `{"model":"m1","max_tokens":4000}`) })
	goOn <- struct{}{} // 1,050 instead of 4,000 and some: now the third fits
	<-running
	close(goOn)
	all.Wait()
	if got := r.counted(); len(got) != 3 || len(r.told()) != 0 || r.sent() != 3 {
		t.Errorf("asked %d times, counted %+v, told %q", r.sent(), got, r.told())
	}
}

func TestX7Expected(t *testing.T) {
	t.Parallel()
	for of, bodies := range map[kind]map[string]int64{
		kindChat: {
			`{}`: usualOutput, `{"max_tokens":10}`: 10, `{"max_completion_tokens":20}`: 20, `{"max_output_tokens":30}`: usualOutput, `{"max_tokens":"many"}`: usualOutput, `{"max_tokens":-5}`: usualOutput,
			`{"max_tokens":10,"max_completion_tokens":20}`: 20, `{"max_tokens":-1,"max_completion_tokens":20}`: usualOutput, `{"max_tokens":null,"max_completion_tokens":20}`: 20,
			`{"max_tokens":10,"n":3}`: 30, `{"max_tokens":10,"n":null}`: 10, `{"max_tokens":1e300}`: usualOutput, `{"n":1e12}`: usualOutput * maxChoices, `{"max_tokens":10,"n":"3"}`: 10 * maxChoices,
			`{"max_tokens":9000000000}`: maxEstimate, `{"max_tokens":10,"candidateCount":3}`: 10,
		},
		kindResponses: {`{"max_output_tokens":30}`: 30, `{"max_tokens":10}`: usualOutput, `{"max_output_tokens":30,"n":3}`: 30},
		kindLook:      {`{}`: 0},
		kindMessages:  {`{"max_tokens":10}`: 10, `{"max_output_tokens":30}`: usualOutput, `{"max_tokens":10,"n":3}`: 10},
		kindGenerate: {
			`{"generationConfig":{"maxOutputTokens":40}}`: 40, `{"generation_config":{"max_output_tokens":50}}`: 50, `{"generationConfig":{"maxOutputTokens":40,"candidateCount":2}}`: 80,
			`{"generation_config":{"candidate_count":2},"generationConfig":{"maxOutputTokens":40}}`: 80, `{"maxOutputTokens":1}`: usualOutput, `{"generationConfig":7}`: usualOutput,
		},
	} {
		for body, want := range bodies {
			fields := map[string]json.RawMessage{}
			if err := json.Unmarshal([]byte(body), &fields); err != nil {
				t.Fatal(err)
			}
			if got := expected(&call{kind: of, body: []byte(body)}, fields); got.Output != want || got.Input != int64(len(body)/runesPerToken) {
				t.Errorf("%d %s: %+v, want %d", of, body, got, want)
			}
		}
	}
}

// TestX12EveryFormOfAnswerCounts: an answer that cannot be read counts by its size.
func TestX12EveryFormOfAnswerCounts(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		path, media, answer string
		least               int64
	}{
		"protobuf":       {"/gemini/v1beta/models/m1:generateContent", "application/x-protobuf", strings.Repeat("\x0a\x04word", 200), 300},
		"no usage":       {"/gemini/v1beta/models/m1:generateContent", "application/json", `{"candidates":[{"content":{"parts":[{"inlineData":"` + strings.Repeat("x", 2000) + `"}]}}]}`, 500},
		"a call":         {"/gemini/v1beta/models/m1:streamGenerateContent?alt=sse", eventStream, stream(`{"candidates":[{"content":{"parts":[{"functionCall":{"args":"` + strings.Repeat("x", 2000) + `"}}]}}]}`), 500},
		"broken list":    {"/gemini/v1beta/models/m1:streamGenerateContent", "application/json", `[{"candidates":[` + strings.Repeat(`{"content":`, 100), 250},
		"text":           {"/openai/v1/responses", "text/plain", strings.Repeat("word", 100), 100},
		"unknown events": {"/anthropic/v1/messages", eventStream, strings.Repeat("other: abcdefgh\n", 100), 400},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, say(test.media, test.answer))
			r.post(test.path, `{"model":"m1","text":"abcdefgh"}`)
			if got := r.counted(); len(got) != 1 || !got[0].Estimated || got[0].OutputTokens < test.least || got[0].InputTokens == 0 || got[0].CostMicros == 0 {
				t.Errorf("counted %+v", got)
			}
		})
	}
}

// TestX12CutAnswerIsEstimated: what was asked for whole, and not waited for, costs.
func TestX12CutAnswerIsEstimated(t *testing.T) {
	t.Parallel()
	ctx, leave := context.WithCancel(t.Context())
	r := newRig(t, func(_ http.ResponseWriter, req *http.Request) {
		leave()
		<-req.Context().Done()
	})
	req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.URL()+"/anthropic/v1/messages", strings.NewReader(`{"model":"m1","max_tokens":700}`))
	req.Header.Set("X-Api-Key", r.key)
	if resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
		_ = resp.Body.Close()
	}
	if got := r.counted(); len(got) != 1 || !got[0].Estimated || got[0].OutputTokens != 700 || got[0].InputTokens == 0 {
		t.Errorf("counted %+v", got)
	}
}

// TestX7WaitForRoomEndsWithThePause: what waits for a part of the budget is not sent
// when its turn is over, and holds nothing.
func TestX7WaitForRoomEndsWithThePause(t *testing.T) {
	t.Parallel()
	running := make(chan struct{}, 10)
	r := newRig(t, func(_ http.ResponseWriter, req *http.Request) {
		running <- struct{}{}
		<-req.Context().Done()
	}, budget(lineshaft.Budget{MaxTokens: 5000}, lineshaft.Usage{}))
	var all sync.WaitGroup
	for range 3 {
		all.Go(func() {
			req, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://any/openai/v1/responses", strings.NewReader(`{"model":"m1","stream":true,"max_output_tokens":4000}`))
			req.Header.Set("Authorization", "Bearer "+r.key)
			if resp, err := r.Transport().RoundTrip(req); err == nil {
				_ = resp.Body.Close()
			}
		})
	}
	<-running
	r.Pause(time.Millisecond)
	r.Close() // late requests are refused
	all.Wait()
	if r.sent() != 1 || len(r.counted()) != 1 {
		t.Errorf("asked %d times, counted %+v", r.sent(), r.counted())
	}
	if r.reserved != 0 || r.heldTokens != 0 || r.requests != 0 || r.Session.bodies != 0 {
		t.Errorf("held are %d requests with %d tokens, %d with %d bytes", r.reserved, r.heldTokens, r.requests, r.Session.bodies)
	}
}

// TestX7ForeignLimitsReserveNothing: a field of another protocol is not what the answer
// keeps to, so that it makes no room for more requests than the budget has.
func TestX7ForeignLimitsReserveNothing(t *testing.T) {
	t.Parallel()
	const each, most = 5010, 6000
	usage := map[string]string{
		"/openai/v1/chat/completions":              `{"usage":{"prompt_tokens":10,"completion_tokens":5000}}`,
		"/openai/v1/responses":                     `{"usage":{"input_tokens":10,"output_tokens":5000}}`,
		"/anthropic/v1/messages":                   `{"usage":{"input_tokens":10,"output_tokens":5000}}`,
		"/gemini/v1beta/models/m1:generateContent": `{"usageMetadata":{"promptTokenCount":10,"candidatesTokenCount":5000}}`,
	}
	for path, bodies := range map[string][]string{
		"/openai/v1/chat/completions":              {`"max_output_tokens":1`, `"Max_Tokens":1`, `"max_tokens":0`, `"generationConfig":{"maxOutputTokens":1}`},
		"/openai/v1/responses":                     {`"max_tokens":1`, `"max_completion_tokens":1`},
		"/anthropic/v1/messages":                   {`"max_output_tokens":1`, `"max_completion_tokens":1`},
		"/gemini/v1beta/models/m1:generateContent": {`"max_tokens":1`, `"max_output_tokens":1`, `"generationConfig":{"MAXOUTPUTTOKENS":1}`},
	} {
		for _, body := range bodies {
			t.Run(path+" "+body, func(t *testing.T) {
				t.Parallel()
				r := newRig(t, say("application/json", usage[path]), budget(lineshaft.Budget{MaxTokens: most}, lineshaft.Usage{}))
				var all sync.WaitGroup
				for range 16 {
					all.Go(func() { r.post(path, `{"model":"m1",`+body+`}`) })
				}
				all.Wait()
				var shown int64
				for _, u := range r.counted() {
					shown += u.InputTokens + u.OutputTokens
				}
				if r.sent() > 2 || shown != int64(r.sent())*each {
					t.Errorf("%d of 16 reached the endpoint and made %d tokens; the run shows %d of %d", r.sent(), r.sent()*each, shown, most)
				}
			})
		}
	}
}

// TestX7SettingsMeanOneThing: a limit that occurs twice is passed on as it was counted.
func TestX7SettingsMeanOneThing(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`))
	r.post("/gemini/v1beta/models/m1:generateContent", `{"generationConfig":{"maxOutputTokens":90000,"maxOutputTokens":7}}`)
	if _, sent := r.request(0); sent != `{"generationConfig":{"maxOutputTokens":7}}` {
		t.Errorf("passed on %s", sent)
	}
}

// TestX7CutAnswersCountWhatWasReserved: also when a foreign field says less.
func TestX7CutAnswersCountWhatWasReserved(t *testing.T) {
	t.Parallel()
	for body, want := range map[string]int64{
		`{"model":"m1","max_output_tokens":1}`:              usualOutput,
		`{"model":"m1","max_completion_tokens":9000,"n":2}`: 18_000,
	} {
		ctx, leave := context.WithCancel(t.Context())
		r := newRig(t, func(_ http.ResponseWriter, req *http.Request) {
			leave()
			<-req.Context().Done()
		})
		req, _ := http.NewRequestWithContext(ctx, http.MethodPost, r.URL()+"/openai/v1/chat/completions", strings.NewReader(body))
		req.Header.Set("Authorization", "Bearer "+r.key)
		if resp, err := (&http.Transport{DisableKeepAlives: true}).RoundTrip(req); err == nil {
			_ = resp.Body.Close()
		}
		if got := r.counted(); len(got) != 1 || !got[0].Estimated || got[0].OutputTokens != want {
			t.Errorf("%s: counted %+v, want %d", body, got, want)
		}
	}
}
