package acp

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
)

// Decisions as events name them.
const (
	decisionAllow  = "allow"
	decisionReject = "reject"
)

// question is a request for permission that waits.
type question struct {
	call    callUpdate
	options []lineshaft.PermissionOption
	size    int          // in bytes
	outcome chan outcome // takes one
}

// outcome is the answer to the agent.
type outcome struct {
	Outcome struct {
		Outcome string `json:"outcome"`
		Option  string `json:"optionId,omitempty"`
	} `json:"outcome"`
}

// answer is what people said to a question.
type answer struct {
	question *question
	text     string
	err      error
}

// request are the parameters of a request for permission.
type request struct {
	Call    callUpdate `json:"toolCall"`
	Options []choice   `json:"options"`
}

// choice is one of the answers that an agent offers.
type choice struct {
	ID   string `json:"optionId"`
	Name string `json:"name"`
	Kind string `json:"kind"`
}

func readRequest(raw json.RawMessage) request {
	var params struct {
		Call    json.RawMessage `json:"toolCall"`
		Options []choice        `json:"options"`
	}
	lenient(raw, &params)
	r := request{Options: params.Options}
	lenient(params.Call, &r.Call)
	return r
}

// maxOptions is how many answers of an agent are kept of a long request.
const maxOptions = 32

// shorten keeps the part of a long request that is reported. An option or a call whose id
// is not valid is left out: it could not be named any more.
func shorten(raw json.RawMessage) request {
	r := readRequest(raw)
	r.Options = slices.DeleteFunc(r.Options, func(o choice) bool { return len(o.ID) > maxID })
	r.Options = r.Options[:min(len(r.Options), maxOptions)]
	for i := range r.Options {
		r.Options[i].Name, r.Options[i].Kind = clip(r.Options[i].Name, maxMessage), clip(r.Options[i].Kind, maxMessage)
	}
	c := &r.Call
	if len(c.ID) > maxID {
		c.ID = ""
	}
	c.Kind, c.Title, c.Status = clip(c.Kind, maxMessage), clip(c.Title, maxMessage), clip(c.Status, maxMessage)
	if len(c.Input) > harness.MaxToolText {
		c.Input, _ = json.Marshal(harness.Middle(string(c.Input))) // a text always can be
	}
	for _, field := range []*json.RawMessage{&c.Input, &c.Output, &c.Content, &c.Places, &c.Meta} {
		if len(*field) > 2*harness.MaxToolText {
			*field = nil
		}
	}
	return r
}

func newQuestion(raw json.RawMessage) *question {
	r := readRequest(raw)
	q := &question{call: r.Call, size: len(raw), outcome: make(chan outcome, 1)}
	for _, o := range r.Options {
		q.options = append(q.options, lineshaft.PermissionOption{ID: o.ID, Name: o.Name, Kind: o.Kind})
	}
	return q
}

// refused is the answer that says no without asking anyone.
func (q *question) refused() outcome {
	if choice, ok := harness.Decide(lineshaft.PermissionsDeny, q.options); ok {
		return selected(choice.ID)
	}
	return cancelled()
}

func selected(option string) outcome {
	var o outcome
	o.Outcome.Outcome, o.Outcome.Option = "selected", option
	return o
}

func cancelled() outcome {
	var o outcome
	o.Outcome.Outcome = "cancelled"
	return o
}

// give answers the agent; only the first answer counts.
func (q *question) give(o outcome) {
	select {
	case q.outcome <- o:
	default:
	}
}

// ask lets the policy answer, or people.
func (t *turn) ask(ctx context.Context, q *question) {
	t.text.flush()
	if q.call.ID != "" {
		pending := q.call
		pending.Status = "" // the request describes the call, it does not move it
		t.known.update(t, true, pending)
		t.known.announce(t, "")
	}
	if t.session.launch.policy == lineshaft.PermissionsAsk {
		t.questions = append(t.questions, q)
		t.askNext(ctx)
		return
	}
	choice, ok := harness.Decide(t.session.launch.policy, q.options)
	t.decide(q, choice, ok)
}

// askNext puts the first question to people, one at a time.
func (t *turn) askNext(ctx context.Context) {
	if t.asking || len(t.questions) == 0 {
		return
	}
	t.asking = true
	q, data, s := t.questions[0], t.describe(t.questions[0]), t.session
	s.running.Go(func() {
		text, err := s.env.Ask(ctx, data)
		s.queue.put(item{answer: &answer{q, text, err}})
	})
}

// answered takes the answer of people. An answer that names no option rejects the request,
// and the agent gets the text as a message of its own.
func (t *turn) answered(ctx context.Context, a *answer) {
	if len(t.questions) == 0 || t.questions[0] != a.question {
		return // the turn was ended
	}
	if ctx.Err() != nil {
		return // nobody answered: closing the turn withdraws the question
	}
	t.asking = false
	if wrong := harness.Astray(a.question.options, a.text); a.err == nil && wrong != "" {
		t.event(lineshaft.EventNotice, lineshaft.NoticeData{Level: "warning", Text: wrong})
		t.askNext(ctx)
		return
	}
	t.questions = t.questions[1:]
	choice, ok := harness.Choose(a.question.options, a.text)
	switch {
	case a.err != nil:
		t.event(lineshaft.EventNotice, lineshaft.NoticeData{Level: "warning", Text: t.mask("Nobody could be asked: " + clip(a.err.Error(), maxMessage))})
		t.deny(a.question)
	case ok:
		t.decide(a.question, choice, true)
	default:
		t.deny(a.question)
		t.said = append(t.said, a.text)
	}
	t.askNext(ctx)
}

func (t *turn) deny(q *question) {
	choice, ok := harness.Decide(lineshaft.PermissionsDeny, q.options)
	t.decide(q, choice, ok)
}

// decide answers the agent and reports the decision. Without a choice, as when the
// agent offers none that fits, the answer is that nothing was chosen.
func (t *turn) decide(q *question, choice lineshaft.PermissionOption, chosen bool) {
	data := t.describe(q)
	data.Decision = decisionAllow
	if !chosen || !strings.HasPrefix(choice.Kind, "allow") {
		data.Decision = decisionReject
		t.denied = true
		if call := t.known.calls[q.call.ID]; call != nil {
			call.denied = true
		}
	}
	t.event(lineshaft.EventPermission, data)
	if !chosen {
		q.give(cancelled())
		return
	}
	q.give(selected(choice.ID))
}

// describe is a question for people and for the log.
func (t *turn) describe(q *question) lineshaft.PermissionData {
	data := lineshaft.PermissionData{ToolCallID: t.mask(q.call.ID), Title: t.mask(clip(q.call.Title, maxMessage))}
	if call := t.known.calls[q.call.ID]; data.Title == "" && call != nil {
		data.Title = t.mask(clip(call.title, maxMessage))
	}
	data.Title = cmp.Or(data.Title, "The agent asks for permission")
	for _, c := range q.options {
		data.Options = append(data.Options, lineshaft.PermissionOption{ID: t.mask(c.ID), Name: t.mask(c.Name), Kind: c.Kind})
	}
	return data
}
