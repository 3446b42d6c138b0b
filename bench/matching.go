package main

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft/internal/filter"
)

// matchingSizes are the numbers of automations on one webhook, with the most that
// matching may take as a multiple of the anchor; 0 for none.
func matchingSizes() []matchingSize {
	return []matchingSize{{1, 0}, {100, 1.5}, {1_000, 0}, {10_000, 5}}
}

type matchingSize struct {
	automations int
	bar         float64
}

const (
	// matchingRounds are measured in turn with the anchor, each of matchingCalls.
	matchingRounds = 40
	matchingCalls  = 50
)

// matchingFilter is the filter of automation number i: its own repository, the
// usual actions, some label.
func matchingFilter(i int) string {
	return fmt.Sprintf(`{"action":["opened","synchronize"],"repository":{"full_name":["acme/orchard-%d"]},"pull_request":{"draft":[false],"labels":{"name":["area/%d"]}}}`, i, i%50)
}

// similarFilter cannot be told apart from the others by the repository: all of them
// must be evaluated, and some match.
func similarFilter(i int) string {
	return fmt.Sprintf(`{"action":["opened"],"pull_request":{"base":{"ref":["main"]},"user":{"login":{"not_in":["robot-%d"]}},"labels":{"name":["area/%d"]}}}`, i, i%16)
}

// benchMatching is B4: a body against the automations of one webhook.
func benchMatching(ctx context.Context, s *session) error {
	body := pullBody()
	var anchor []time.Duration
	for _, kind := range []struct {
		name   string
		filter func(i int) string
		judged bool
	}{{"matching", matchingFilter, true}, {"matching, filters that look alike", similarFilter, false}} {
		for _, size := range matchingSizes() {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			s.progress.stepf("B4: %s, %d automations", kind.name, size.automations)
			found, err := s.measureMatching(body, size.automations, kind.filter)
			if err != nil {
				return err
			}
			if !kind.judged {
				size.bar = 0
			}
			s.matchingRow(kind.name, size, found)
			anchor = append(anchor, found.Anchor...)
		}
	}
	first, last := ends(anchor)
	s.report.anchor("B4", "json.Unmarshal", inMicros(percentile(first, 50)), inMicros(percentile(last, 50)))
	return nil
}

// matchingFound are the times of one call.
type matchingFound struct {
	Matched  int             `json:"matched"`
	Match    []time.Duration `json:"match"`
	Anchor   []time.Duration `json:"anchor"`
	BodySize int             `json:"body_bytes"`
}

// measureMatching parses and matches, in turn with the anchor.
func (s *session) measureMatching(body []byte, automations int, text func(i int) string) (found matchingFound, err error) {
	filters := make([]*filter.Filter, automations)
	for i := range filters {
		if filters[i], err = filter.Compile([]byte(text(i))); err != nil {
			return found, fmt.Errorf("compile filter: %w", err)
		}
	}
	set := filter.NewSet(filters)
	var matched []int
	found.BodySize = len(body)
	calls := s.opts.count(matchingCalls, 5)
	for range s.opts.count(matchingRounds, 4) {
		took, err := timed(calls, func() error {
			var value any
			return json.Unmarshal(body, &value)
		})
		if err != nil {
			return found, err
		}
		found.Anchor = append(found.Anchor, took)
		took, err = timed(calls, func() error {
			doc, err := filter.Parse(body)
			matched = set.Match(doc, matched)
			return err
		})
		if err != nil {
			return found, err
		}
		found.Match = append(found.Match, took)
	}
	found.Matched = len(matched)
	return found, nil
}

// timed is how long one of several calls takes.
func timed(calls int, call func() error) (time.Duration, error) {
	began := time.Now()
	for range calls {
		if err := call(); err != nil {
			return 0, err
		}
	}
	return time.Since(began) / time.Duration(calls), nil
}

// matchingRow writes what was found. The middle counts: there is no I/O, so all
// that differs from round to round comes from other processes.
func (s *session) matchingRow(name string, size matchingSize, found matchingFound) {
	measured, anchor := percentile(found.Match, 50), percentile(found.Anchor, 50)
	line := row{
		ID: "B4", What: name + ", " + plural(size.automations, "automation"), Measured: inMicros(measured), Anchor: inMicros(anchor), AnchorName: "one json.Unmarshal of the body into any",
		Ratio: ratio(float64(measured), float64(anchor)), Verdict: shown, Detail: found, Note: fmt.Sprintf("%s of them match", thousands(int64(found.Matched))),
	}
	if size.bar > 0 {
		line.Bar, line.Verdict = fmt.Sprintf("≤ %.1f ×", size.bar), judge(line.Ratio <= size.bar)
	}
	s.report.add(line)
}

func inMicros(d time.Duration) figure {
	return figure{float64(d) / float64(time.Microsecond), microseconds}
}
