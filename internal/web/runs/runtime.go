package runs

import (
	"cmp"
	"context"
	"math"
	"slices"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/runs"
	"github.com/lineshaft/lineshaft/internal/web/page"
)

const (
	// maxSpans is how many stretches of time a page draws: the longest.
	maxSpans = 400
	// slowest is how many the side of a run names.
	slowest = 5
	// shortest is below what the time of a model is not worth a line.
	shortest = 10 * time.Millisecond
	// longLog is from how many events on a log is read less often: each time it is read from its beginning.
	longLog = 10_000
	// setUpsRead is of how many set-ups the steps are read: follow-ups on other machines have their own.
	setUpsRead = 10
	// stepsRead is how many steps of a set-up are read: there are at most 100 commands and 50 repositories.
	stepsRead = 500
	// longestStep is the longest that a step takes, in seconds, whatever a worker says.
	longestStep = 7 * 24 * 60 * 60
)

// span is a stretch of a run's time and what it went into.
type span struct {
	// Kind is wait, setup, ask, model or tool; or step, which is a part of a set-up.
	Kind, Name string
	Sequence   int64
	From       time.Time
	Until      time.Time
	// Failed says that it did not go well, Now that it still lasts.
	Failed, Now bool
	// last is the event that ended it; 0 for none yet.
	last int64
	// X and W are its place and its width, of 1000.
	X, W string
}

// Took is how long it lasted.
func (s span) Took() time.Duration { return s.Until.Sub(s.From) }

// spanner shows the events of a log as stretches of time.
type spanner struct {
	spans []span
	// calls are the places of the calls that have no result yet, state that of the present wait
	// or set-up; none is -1.
	calls map[string]int
	state int
	// thinks is since when the agent thinks; zero while a tool works or nobody does.
	thinks time.Time
}

func newSpanner() *spanner { return &spanner{calls: map[string]int{}, state: -1} }

// spanTypes are the types of events that a spanner knows.
var spanTypes = []lineshaft.EventType{lineshaft.EventState, lineshaft.EventToolCall, lineshaft.EventToolResult, lineshaft.EventUsage}

func (s *spanner) add(e lineshaft.Event) {
	switch e.Type {
	case lineshaft.EventState:
		if d, ok := decode[lineshaft.StateData](e); ok {
			s.enter(e, d.To)
		}
	case lineshaft.EventToolCall:
		d, ok := decode[lineshaft.ToolCallData](e)
		if !ok {
			return
		}
		s.thought(e, "Agent")
		s.thinks = time.Time{}
		_, text := summary(d.Input)
		s.calls[d.ID] = s.begin(span{Kind: "tool", Name: page.OneLine(d.Name+" "+text, 120), Sequence: e.Sequence, From: e.Time})
	case lineshaft.EventToolResult:
		d, ok := decode[lineshaft.ToolResultData](e)
		if !ok {
			return
		}
		if at, known := s.calls[d.ID]; known {
			s.spans[at].Until, s.spans[at].Failed = e.Time, wentWrong(e)
			delete(s.calls, d.ID)
		}
		if len(s.calls) == 0 {
			s.thinks = e.Time
		}
	case lineshaft.EventUsage:
		if d, ok := decode[lineshaft.UsageData](e); ok {
			s.thought(e, cmp.Or(page.OneLine(d.ModelID, 80), "Model"))
		}
	default:
	}
}

func (s *spanner) begin(one span) int {
	s.spans = append(s.spans, one)
	return len(s.spans) - 1
}

// thought ends what the agent thought about.
func (s *spanner) thought(e lineshaft.Event, name string) {
	if s.thinks.IsZero() {
		return
	}
	if e.Time.Sub(s.thinks) >= shortest {
		s.begin(span{Kind: "model", Name: name, Sequence: e.Sequence, From: s.thinks, Until: e.Time})
	}
	s.thinks = e.Time
}

// enter ends what lasted in the state before, and begins what lasts in the next.
func (s *spanner) enter(e lineshaft.Event, to lineshaft.RunState) {
	if s.state >= 0 {
		s.spans[s.state].Until, s.spans[s.state].last = e.Time, e.Sequence
	}
	s.thought(e, "Agent")
	s.thinks, s.state = time.Time{}, -1
	if to != lineshaft.Blocked && to != lineshaft.InProgress {
		s.endCalls(e.Time, false)
	}
	one := span{Sequence: e.Sequence, From: e.Time}
	switch to {
	case lineshaft.Queued, lineshaft.Pending:
		one.Kind, one.Name = "wait", "Waiting for a worker"
	case lineshaft.Claimed:
		one.Kind, one.Name = "setup", "Set-up"
	case lineshaft.Blocked:
		one.Kind, one.Name = "ask", "Waiting for an answer"
	case lineshaft.InProgress:
		s.thinks = e.Time
		return
	default:
		return
	}
	s.state = s.begin(one)
}

// setUps are the places of the longest set-ups so far.
func (s *spanner) setUps(now time.Time) (places []int) {
	for i, one := range s.spans {
		if one.Kind == "setup" {
			places = append(places, i)
		}
	}
	took := func(place int) time.Duration {
		if place == s.state {
			return now.Sub(s.spans[place].From)
		}
		return s.spans[place].Took()
	}
	slices.SortStableFunc(places, func(a, b int) int { return cmp.Compare(took(b), took(a)) })
	return places[:min(len(places), setUpsRead)]
}

// explain says how a set-up began, and adds its steps: what its part of the log says of the environment.
func (s *spanner) explain(place int, events []lineshaft.Event) {
	for _, e := range events {
		d, ok := decode[lineshaft.NoticeData](e)
		if !ok || d.Environment == nil {
			continue
		}
		if how := startOf(*d.Environment); how != "" {
			s.spans[place].Name = "Set-up: " + how
		}
		name := partOf(*d.Environment)
		if name == "" {
			continue
		}
		from := e.Time.Add(-time.Duration(min(max(0, d.Environment.TookSeconds), longestStep) * float64(time.Second)))
		if began := s.spans[place].From; from.Before(began) { // the clocks of a worker and a server differ
			from = began
		}
		s.begin(span{Kind: "step", Name: name, Sequence: e.Sequence, From: from, Until: e.Time})
	}
}

// startOf says how an environment was made ready; empty for other steps.
func startOf(step lineshaft.EnvironmentStep) string {
	switch step.Step {
	case "warm":
		return "warm, on layer " + page.OneLine(step.Layer, 40)
	case "newer":
		return "warm, on layer " + page.OneLine(step.Layer, 40) + " of an earlier commit"
	case "cold":
		return "cold: " + page.OneLine(step.Reason, 160)
	}
	return ""
}

// partOf names a part of the work; empty for other steps.
func partOf(step lineshaft.EnvironmentStep) string {
	name := page.OneLine(step.Name, 120)
	switch step.Step {
	case "warm", "files":
		return "Files of layer " + page.OneLine(step.Layer, 40)
	case "clone":
		return "Clone of " + name
	case "checkout":
		return "Check-out of " + name
	case "command":
		return "Set-up command: " + name
	case "refresh":
		return "Refresh command: " + name
	}
	return ""
}

func (s *spanner) endCalls(at time.Time, now bool) {
	for _, place := range s.calls {
		s.spans[place].Until, s.spans[place].Now = at, now
	}
	s.calls = map[string]int{}
}

// finish ends what lasts, and keeps the longest of too many.
func (s *spanner) finish(now time.Time) []span {
	if s.state >= 0 {
		s.spans[s.state].Until, s.spans[s.state].Now = now, true
	}
	s.endCalls(now, true)
	if !s.thinks.IsZero() && now.Sub(s.thinks) >= shortest {
		s.begin(span{Kind: "model", Name: "Agent", From: s.thinks, Until: now, Now: true})
	}
	list := slices.DeleteFunc(s.spans, func(one span) bool { return one.Until.Sub(one.From) < time.Millisecond })
	if len(list) > maxSpans {
		slices.SortFunc(list, longer)
		list = list[:maxSpans]
	}
	slices.SortStableFunc(list, func(a, b span) int { return cmp.Or(a.From.Compare(b.From), cmp.Compare(a.Sequence, b.Sequence)) })
	return list
}

func longer(a, b span) int {
	return cmp.Or(cmp.Compare(b.Took(), a.Took()), cmp.Compare(a.Sequence, b.Sequence))
}

// spent is how much of a run's time went into one kind of thing.
type spent struct {
	Kind, Name string
	Took       time.Duration
}

// timeData is where the time of a run went.
type timeData struct {
	Run     *lineshaft.Run
	Spans   []span
	Slowest []span
	Sums    []spent
	// All is how long it is from the first to the last.
	All time.Duration
	// Cut says that the log is longer than was read.
	Cut bool
	// Again is after how many seconds it is read again next to the transcript; 0 once the run has ended.
	Again int
}

// runTime shows where the time of a run went: on its own page, or next to the transcript.
func (s pages) runTime(r *page.Request) error {
	run, err := s.Control.GetRun(r.Context(), r.Caller, r.PathValue("id"))
	if err != nil {
		return err
	}
	all, end := newSpanner(), s.Now()
	last, cut, err := s.scan(r, run.ID, 0, runs.EventMatch{Types: spanTypes}, func(e lineshaft.Event) bool {
		all.add(e)
		end = e.Time
		return true
	})
	if err != nil {
		return err
	}
	if !run.State.Terminal() && !cut {
		end = s.Now()
	}
	for _, place := range all.setUps(end) {
		from, until := all.spans[place].Sequence, cmp.Or(all.spans[place].last, math.MaxInt64)
		steps, err := s.setUpSteps(r.Context(), r.Caller, run.ID, from, until)
		if err != nil {
			return err
		}
		all.explain(place, steps)
	}
	data := timeOf(all.finish(end))
	data.Run, data.Cut, data.Again = run, cut, againAfter(run.State, last)
	if r.Asked() {
		return r.Fragment("runtime", "beside", data)
	}
	p := page.Below("runs", run.Title, data)
	p.Mark, p.Icon = stateMark(run.State), stateKind(run.State)
	return r.Render("runtime", p)
}

// setUpSteps reads what a stretch of a log, or its beginning if it is long, says of how the environment was made ready.
func (s pages) setUpSteps(ctx context.Context, c lineshaft.Caller, runID string, after, until int64) ([]lineshaft.Event, error) {
	match := runs.EventMatch{Types: []lineshaft.EventType{lineshaft.EventNotice}, Words: []string{"environment"}, Until: until}
	found, err := s.Control.FindEvents(ctx, c, runID, after, match, stepsRead)
	return found.Events, err
}

// againAfter is after how many seconds the time of a run is read again.
func againAfter(state lineshaft.RunState, events int64) int {
	switch {
	case state.Terminal():
		return 0
	case events > longLog:
		return 60
	}
	return 10
}

// idle is how much of a stretch people were waited for.
func idle(one span, spans []span) (d time.Duration) {
	for _, ask := range spans {
		if ask.Kind != "ask" {
			continue
		}
		from, until := one.From, one.Until
		if ask.From.After(from) {
			from = ask.From
		}
		if ask.Until.Before(until) {
			until = ask.Until
		}
		d += max(0, until.Sub(from))
	}
	return d
}

// timeOf places the stretches next to each other and adds them up.
func timeOf(spans []span) timeData {
	data := timeData{Spans: spans, Slowest: slices.Clone(spans)}
	slices.SortFunc(data.Slowest, longer)
	data.Slowest = data.Slowest[:min(len(data.Slowest), slowest)]
	for _, kind := range []spent{{Kind: "wait", Name: "Waiting for a worker"}, {Kind: "setup", Name: "Set-up"}, {Kind: "ask", Name: "Waiting for an answer"}, {Kind: "model", Name: "Model"}, {Kind: "tool", Name: "Tools"}} {
		for _, one := range spans {
			if one.Kind == kind.Kind {
				kind.Took += one.Took()
				if one.Kind == "tool" { // a call that waits for people does nothing
					kind.Took -= idle(one, spans)
				}
			}
		}
		if kind.Took > 0 {
			data.Sums = append(data.Sums, kind)
		}
	}
	if len(spans) == 0 {
		return data
	}
	first, last := spans[0].From, spans[0].Until
	for _, one := range spans {
		if one.Until.After(last) {
			last = one.Until
		}
	}
	data.All = max(last.Sub(first), time.Millisecond)
	of := func(d time.Duration) float64 { return 1000 * float64(d) / float64(data.All) }
	for i := range spans {
		wide := max(of(spans[i].Took()), 2)
		spans[i].X = strconv.FormatFloat(min(of(spans[i].From.Sub(first)), 1000-wide), 'f', 1, 64)
		spans[i].W = strconv.FormatFloat(wide, 'f', 1, 64)
	}
	return data
}
