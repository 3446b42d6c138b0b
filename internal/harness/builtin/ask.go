package builtin

import (
	"context"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
)

const (
	// longestPause is the longest that an endpoint can make us wait before a try.
	longestPause = 2 * time.Minute
	// patience is how long after the first try the last one may begin.
	patience = 12 * time.Minute
)

// ask gets the model's next answer. A conversation that turns out too long is
// shortened and asked again.
func (t *turn) ask(ctx context.Context) (chat.Answer, error) {
	if err := t.fit(ctx, t.window*fillPercent/100); err != nil {
		return chat.Answer{}, err
	}
	for squeezed := 0; ; squeezed++ {
		request := t.request()
		answer, err := t.persist(ctx, request, t.show())
		if err == nil {
			t.count(request, answer.Usage)
			return answer, nil
		}
		e, ok := errors.AsType[*chat.Error](err)
		if !ok || e.Kind != chat.TooLong || squeezed == 2 {
			return chat.Answer{}, err
		}
		t.learn(request, e.Window)
		if err := t.fit(ctx, t.window*fillPercent/100*2/3); err != nil {
			return chat.Answer{}, err
		}
	}
}

// request is the question with the whole conversation.
func (s *session) request() chat.Request {
	request := chat.Request{System: s.system(), Messages: s.messages, MaxTokens: s.options.MaxTokens}
	if h := s.env.Job.Config.Harness; h != nil {
		request.Effort = h.ReasoningLevel
	}
	for _, tool := range s.tools {
		request.Tools = append(request.Tools, tool.Tool)
	}
	return request
}

// count says what an answer consumed, and learns from it how long texts are.
func (t *turn) count(request chat.Request, usage chat.Usage) {
	if usage == (chat.Usage{}) {
		return
	}
	t.event(lineshaft.EventUsage, lineshaft.UsageData{ModelID: t.model, InputTokens: usage.Input, OutputTokens: usage.Output})
	if guess := estimate(request); usage.Input > 0 && guess > 1000 {
		t.factor = min(max(float64(usage.Input)/float64(guess), 0.5), 3)
	}
}

// persist asks until there is an answer, the error is lasting, or the
// tries are used up. What people saw of an answer that was cut is followed by a
// notice, and is not part of the conversation.
func (t *turn) persist(ctx context.Context, request chat.Request, show *speakers) (chat.Answer, error) {
	begin := time.Now()
	for try := 1; ; try++ {
		answer, err := t.client.Stream(ctx, request, show.add)
		if err == nil {
			show.end()
			t.name(answer.Message.Calls)
			return answer, nil
		}
		void := show.discard()
		e, ok := errors.AsType[*chat.Error](err)
		if ctx.Err() != nil || !ok || e.Kind != chat.Transient || try >= t.options.Tries || e.RetryAfter > longestPause || time.Since(begin) > patience {
			return chat.Answer{}, err
		}
		pause := max(jitter(t.options.FirstPause<<(try-1)), e.RetryAfter)
		t.noticef("warning", "%s%v. Try %d of %d in %s.", void, e, try+1, t.options.Tries, pause.Round(time.Millisecond))
		if !t.options.Wait(ctx, pause) {
			return chat.Answer{}, context.Cause(ctx)
		}
	}
}

// jitter makes a part of a pause random, so that many agents do not come back at once.
func jitter(pause time.Duration) time.Duration { return pause/2 + rand.N(pause/2+1) }
