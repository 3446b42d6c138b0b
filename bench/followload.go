package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"sync"
	"time"
)

// followOrder is what the followers of B8 get.
type followOrder struct {
	URL       string `json:"url"`
	Key       string `json:"key"`
	RunID     string `json:"run_id"`
	Followers int    `json:"followers"`
}

// followFound is what they found.
type followFound struct {
	// Events is the length of the log.
	Events int `json:"events"`
	// Lost counts events that a follower did not get, got twice or out of order.
	Lost int           `json:"lost"`
	P50  time.Duration `json:"p50_ns"`
	P99  time.Duration `json:"p99_ns"`
	// Took is the time from the first event to the last.
	Took time.Duration `json:"took_ns"`
}

// describe says how many of the events arrived.
func (f followFound) describe(followers int) string {
	sent := f.Events * followers
	return fmt.Sprintf("%s of %s events lost; %s arrived", thousands(int64(f.Lost)), thousands(int64(sent)),
		figure{ratio(float64(sent-f.Lost), f.Took.Seconds()), perSecond})
}

// followChild is the load generator of B8: it says how many followers are
// connected, then what they found.
func followChild(ctx context.Context, in io.Reader, out io.Writer) error {
	var order followOrder
	if err := json.NewDecoder(in).Decode(&order); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	caller := &http.Client{Transport: &http.Transport{DisableCompression: true}}
	followers := make([]*follower, order.Followers)
	for i := range followers {
		f, err := connect(ctx, caller, order)
		if err != nil {
			return fmt.Errorf("follower %d: %w", i+1, err)
		}
		followers[i] = f
	}
	answers := json.NewEncoder(out)
	if err := answers.Encode(len(followers)); err != nil {
		return err
	}
	errs := make([]error, len(followers))
	var wg sync.WaitGroup
	for i, f := range followers {
		wg.Go(func() { errs[i] = f.read() })
	}
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		return err
	}
	return answers.Encode(summarise(followers))
}

// follower reads one stream.
type follower struct {
	body io.ReadCloser
	// last is the newest sequence, wrong counts those that were not the next.
	last, wrong int
	delays      []time.Duration
	began       time.Time
	ended       time.Time
}

func connect(ctx context.Context, caller *http.Client, order followOrder) (*follower, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, order.URL+"/api/v1/agent/runs/"+order.RunID+"/events", nil)
	if err != nil {
		return nil, err
	}
	request.Header.Set("Accept", "text/event-stream")
	request.Header.Set("Authorization", "Bearer "+order.Key)
	answer, err := caller.Do(request)
	if err != nil {
		return nil, err
	}
	if answer.StatusCode != http.StatusOK {
		return nil, errors.Join(fmt.Errorf("the server answered %s", answer.Status), answer.Body.Close())
	}
	return &follower{body: answer.Body}, nil
}

// read takes the stream to its end.
func (f *follower) read() error {
	defer func() { _ = f.body.Close() }()
	lines := bufio.NewScanner(f.body)
	lines.Buffer(make([]byte, 16<<10), 1<<20)
	for lines.Scan() {
		f.line(lines.Bytes(), time.Now)
	}
	return lines.Err()
}

// line takes one line of the stream. It looks for the two things it needs and
// parses nothing else: a thousand followers share the machine with the server.
func (f *follower) line(line []byte, now func() time.Time) {
	if id, ok := bytes.CutPrefix(line, []byte("id: ")); ok {
		sequence, err := strconv.Atoi(string(id))
		if err != nil || sequence != f.last+1 {
			f.wrong++
		}
		f.last = max(f.last, sequence)
		return
	}
	_, text, ok := bytes.Cut(line, []byte(`"text":"`))
	if !ok || !bytes.HasPrefix(line, []byte("data: ")) {
		return
	}
	digits, _, ok := bytes.Cut(text, []byte(" "))
	if !ok {
		return
	}
	said, err := strconv.ParseInt(string(digits), 10, 64)
	if err != nil { // another writer's text
		return
	}
	f.ended = now()
	if f.began.IsZero() {
		f.began = f.ended
	}
	f.delays = append(f.delays, f.ended.Sub(time.Unix(0, said)))
}

// summarise puts the followers' findings together.
func summarise(followers []*follower) (found followFound) {
	var delays []time.Duration
	for _, f := range followers {
		found.Events = max(found.Events, f.last)
		found.Took = max(found.Took, f.ended.Sub(f.began))
		delays = append(delays, f.delays...)
	}
	for _, f := range followers {
		found.Lost += f.wrong + found.Events - f.last
	}
	found.P50, found.P99 = percentile(delays, 50), percentile(delays, 99)
	return found
}
