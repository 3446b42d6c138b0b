package clients_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/tests/clients/cutproxy"
	"github.com/lineshaft/lineshaft/tests/clients/runseed"
)

// quick are pauses for a server that is there.
func quick() client.Option { return client.WithBackoff(time.Millisecond, 5*time.Millisecond) }

// TestI3RetriedCreateNeverMakesTwoRuns loses the answers to creates after the server
// has acted: each create is one run.
func TestI3RetriedCreateNeverMakesTwoRuns(t *testing.T) {
	t.Parallel()
	address := serve(t, "--no-worker")
	proxy := through(t, address)
	direct := connect(t, address)
	for i := range 20 {
		lost := proxy.Begin(cutproxy.Damage{LosePosts: 2})
		name := fmt.Sprintf("lost-%d", i)
		started, err := connect(t, lost.BaseURL, quick()).Runs.Create(t.Context(), client.RunRequest{
			Prompt: "once", Config: &client.AgentConfig{Name: name},
		})
		if err != nil {
			t.Fatal(err)
		}
		if state, _ := proxy.State(lost.ID); state.PostsLost != 2 || state.Requests != 3 {
			t.Errorf("the proxy lost %d of %d answers, want 2 of 3", state.PostsLost, state.Requests)
		}
		page, err := direct.Runs.List(t.Context(), client.RunQuery{Name: name})
		if err != nil {
			t.Fatal(err)
		}
		if len(page.Runs) != 1 || page.Runs[0].RunID != started.RunID {
			t.Errorf("%d runs were made for one create", len(page.Runs))
		}
	}
}

// TestI3StreamCutHundredTimesYieldsEachEventOnce reads the log of a run through a
// proxy that cuts the stream at random bytes.
func TestI3StreamCutHundredTimesYieldsEachEventOnce(t *testing.T) {
	t.Parallel()
	const cuts = 100
	address := serve(t)
	direct := connect(t, address)
	var prompt strings.Builder
	for i := range 120 {
		fmt.Fprintf(&prompt, "```sh\nprintf %%1800d %d\n```\n", i)
	}
	started, err := direct.Runs.Create(t.Context(), client.RunRequest{Prompt: prompt.String()})
	if err != nil {
		t.Fatal(err)
	}
	proxy := through(t, address)
	session := proxy.Begin(cutproxy.Damage{Cuts: cuts, MaxBytes: 7000, Seed: 42})
	var got []string
	for event, err := range connect(t, session.BaseURL, quick()).Runs.Stream(t.Context(), started.RunID, 0) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, event.ID)
	}
	if state, _ := proxy.State(session.ID); state.Cut != cuts {
		t.Errorf("the stream was cut %d times, want %d: the log is too short", state.Cut, cuts)
	}
	var want []string
	for event, err := range direct.Runs.AllEvents(t.Context(), started.RunID, client.EventQuery{}) {
		if err != nil {
			t.Fatal(err)
		}
		want = append(want, event.ID)
	}
	if len(want) < 360 || strings.Join(got, " ") != strings.Join(want, " ") {
		t.Errorf("%d events came over the cut stream, the log has %d", len(got), len(want))
	}
}

// TestI3PagingWalks10000Runs.
func TestI3PagingWalks10000Runs(t *testing.T) {
	t.Parallel()
	const count = 10_000
	c := connect(t, serve(t, "--no-worker"))
	if err := runseed.Fill(t.Context(), c, "paging", count); err != nil {
		t.Fatal(err)
	}
	for _, limit := range []int{500, 333} {
		seen := map[string]bool{}
		for run, err := range c.Runs.All(t.Context(), client.RunQuery{Name: "paging", Limit: limit, SortBy: "created_at"}) {
			if err != nil {
				t.Fatal(err)
			}
			if seen[run.RunID] {
				t.Fatalf("run %s came twice", run.RunID)
			}
			seen[run.RunID] = true
		}
		if len(seen) != count {
			t.Errorf("pages of %d: %d runs, want %d", limit, len(seen), count)
		}
	}
}

// TestI3TimeoutAndCancelFreeTheConnection looks at a proxy that never answers.
func TestI3TimeoutAndCancelFreeTheConnection(t *testing.T) {
	t.Parallel()
	address := serve(t, "--no-worker")
	started, err := connect(t, address).Runs.Create(t.Context(), client.RunRequest{Prompt: "wait"})
	if err != nil {
		t.Fatal(err)
	}
	proxy := through(t, address)
	for name, end := range map[string]func(ctx context.Context, t *testing.T, address string){
		"timeout": func(_ context.Context, t *testing.T, address string) {
			t.Helper()
			c := connect(t, address, client.WithTimeout(time.Second), client.WithMaxRetries(1), quick())
			if _, err := c.Runs.Get(t.Context(), started.RunID); !errors.Is(err, client.ErrTimeout) {
				t.Errorf("error %v, want ErrTimeout", err)
			}
		},
		"cancel": func(ctx context.Context, t *testing.T, address string) {
			t.Helper()
			if _, err := connect(t, address).Runs.Get(ctx, started.RunID); !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", err)
			}
		},
		"cancelled stream": func(ctx context.Context, t *testing.T, address string) {
			t.Helper()
			for _, err := range connect(t, address).Runs.Stream(ctx, started.RunID, 0) {
				if !errors.Is(err, context.Canceled) {
					t.Errorf("error %v, want context.Canceled", err)
				}
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			session := proxy.Begin(cutproxy.Damage{Hang: true})
			ctx, cancel := context.WithCancel(t.Context())
			var call sync.WaitGroup
			call.Go(func() { end(ctx, t, session.BaseURL) })
			await(t, proxy, session.ID, func(s cutproxy.State) bool { return s.Requests > 0 })
			cancel()
			call.Wait()
			free(t, proxy, session.ID)
		})
	}
	t.Run("left stream", func(t *testing.T) {
		t.Parallel()
		session := proxy.Begin(cutproxy.Damage{})
		for _, err := range connect(t, session.BaseURL).Runs.Stream(t.Context(), started.RunID, 0) {
			if err != nil {
				t.Fatal(err)
			}
			break
		}
		free(t, proxy, session.ID)
	})
}

// free waits until the proxy has nothing open; it is told of a closed connection
// when the kernel sees fit.
func free(t *testing.T, proxy *cutproxy.Proxy, id string) {
	t.Helper()
	await(t, proxy, id, func(s cutproxy.State) bool { return s.Requests > 0 && s.Open == 0 })
}

// await waits until a session of the proxy is as described.
func await(t *testing.T, proxy *cutproxy.Proxy, id string, is func(cutproxy.State) bool) {
	t.Helper()
	deadline := time.After(time.Minute)
	for {
		state, _ := proxy.State(id)
		if is(state) {
			return
		}
		select {
		case <-deadline:
			t.Fatalf("%d of %d requests are open", state.Open, state.Requests)
		case <-time.After(5 * time.Millisecond):
		}
	}
}
