package builtin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
)

// turn is one turn of a session.
type turn struct {
	*session
	emit harness.Emit
}

// Turn asks the model and runs its tools until it is done.
func (s *session) Turn(ctx context.Context, given lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	t := &turn{session: s, emit: emit}
	s.env.Started()
	t.joinServers(ctx)
	t.hear(ctx, given)
	defer t.save()
	nudged := false
	for range s.options.MaxCalls {
		answer, err := t.ask(ctx)
		if err != nil {
			return failure(ctx, err)
		}
		s.messages = append(s.messages, answer.Message)
		switch {
		case len(answer.Message.Calls) > 0:
			if err := t.use(ctx, answer.Message.Calls); err != nil {
				return lineshaft.TurnResult{}, err
			}
			t.saveSoon()
		case answer.Stop == chat.StopLength:
			s.messages = append(s.messages, chat.Message{Role: chat.User, Text: "Your answer was cut at its greatest length. Continue exactly where it stopped."})
		case answer.Stop == chat.StopRefused:
			return failed(lineshaft.CodeAgentProcessFailed, "the model endpoint ended the answer by its own rules; change the task or choose another model"), nil
		case !nudged && strings.TrimSpace(answer.Message.Text) == "":
			nudged = true // some models stop after a tool without a word
			s.messages = append(s.messages, chat.Message{Role: chat.User, Text: "Your answer was empty. Continue the work, or say what was done and what is left."})
		default:
			return lineshaft.TurnResult{State: lineshaft.Succeeded}, nil
		}
	}
	return failed(lineshaft.CodeAgentProcessFailed,
		"stopped: the model was asked %d times in one turn, which is the most; a follow-up such as \"continue\" resumes the work", s.options.MaxCalls), nil
}

// hear puts the turn's message into the conversation.
func (t *turn) hear(ctx context.Context, given lineshaft.Turn) {
	text := t.env.Prompt(given)
	if len(t.messages) == 0 && t.env.Continues() {
		var notice string
		text, notice = t.env.Recall(ctx, text)
		t.noticef("info", "%s", notice)
	}
	if t.resumed && t.env.Job.Continues == nil && given.FollowupID == "" {
		text = "The work was stopped from outside and begins again; above is what was done before. Look at the state of the workspace first. The task again:\n\n" + text
	}
	t.resumed = false
	if len(given.Attachments) > 0 {
		text += "\n\nAttached files, in the workspace:"
		for _, a := range given.Attachments {
			text += "\n- " + a.FileName
		}
	}
	t.messages = append(t.messages, chat.Message{Role: chat.User, Text: text})
}

// event emits what people see, without secrets.
func (t *turn) event(kind lineshaft.EventType, data any) {
	draft := lineshaft.NewDraft(kind, t.env.Now(), data)
	draft.Data = t.env.Mask().JSON(draft.Data)
	t.emit(draft)
}

func (t *turn) noticef(level, format string, args ...any) {
	t.event(lineshaft.EventNotice, lineshaft.NoticeData{Level: level, Text: fmt.Sprintf(format, args...)})
}

func failed(code lineshaft.Code, format string, args ...any) lineshaft.TurnResult {
	return lineshaft.TurnResult{State: lineshaft.Failed, Code: code, Message: fmt.Sprintf(format, args...)}
}

// failure is how a turn ends without an answer. The messages say what to check.
func failure(ctx context.Context, err error) (lineshaft.TurnResult, error) {
	if ctx.Err() != nil {
		return lineshaft.TurnResult{}, context.Cause(ctx)
	}
	e, ok := errors.AsType[*chat.Error](err)
	if !ok {
		return lineshaft.TurnResult{}, err
	}
	switch e.Kind {
	case chat.Spent:
		return failed(lineshaft.CodeBudgetExceeded, "the budget is used up: %s; raise it and send a follow-up to continue", e.Said), nil
	case chat.Denied:
		return failed(lineshaft.CodeNotAuthorized, "the model endpoint does not take the key it was given (%v); check the key of the endpoint and what it may use", e), nil
	case chat.TooLong:
		return failed(lineshaft.CodePayloadTooLarge, "the conversation does not fit into the model's window, also when shortened (%v); choose a model with a larger one, or give the task in smaller parts", e), nil
	case chat.Transient:
		return failed(lineshaft.CodeUnavailable, "the model endpoint gave no answer: %v; %s, then send a follow-up to continue", e, advice(e)), nil
	case chat.Refused:
		if fix := gatewayAdvice(e.Code); fix != "" {
			return failed(lineshaft.CodeAgentProcessFailed, "the worker did not pass the request on: %s; %s", e.Said, fix), nil
		}
	}
	return failed(lineshaft.CodeAgentProcessFailed, "the model endpoint refused the request: %v; check the model's name and that the endpoint speaks this protocol", e), nil
}

// gatewayAdvice is what to do about a refusal of the worker's own gateway.
func gatewayAdvice(code string) string {
	switch code {
	case "price_unknown":
		return "or choose a model that has a price" // the gateway's own words say the rest
	case "model_not_offered":
		return "choose another with config.model_id or `lineshaft run --model NAME`, or add it to the models of an endpoint in the file of --models-file"
	case "":
		return ""
	}
	return "check the settings of the worker's models with lineshaft doctor"
}

func advice(e *chat.Error) string {
	switch {
	case e.Status == 429:
		return "its limit of requests or tokens is reached: wait, raise the limit or run fewer agents at once"
	case e.Status >= 500:
		return "check the endpoint's own log or status page"
	}
	return "check that it runs and that the worker reaches its address (lineshaft doctor tries it)"
}
