package client_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

// pretend is a server that knows one run, so that the examples can run.
func pretend() *httptest.Server {
	run := `{"run_id":"run-1","title":"Say hello","prompt":"Say hello","state":"SUCCEEDED","created_at":"2026-01-02T03:04:05.000000Z",` +
		`"updated_at":"2026-01-02T03:04:09.000000Z","finished_at":"2026-01-02T03:04:09.000000Z","status_message":{"message":"done"}}`
	mux := http.NewServeMux()
	reply := func(pattern, body string) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, body) })
	}
	reply("POST /api/v1/agent/runs", `{"run_id":"run-1","task_id":"run-1","state":"QUEUED","at_capacity":false}`)
	reply("GET /api/v1/agent/runs", `{"runs":[`+run+`],"page_info":{"has_next_page":false}}`)
	reply("GET /api/v1/agent/runs/run-1", run)
	reply("POST /api/v1/agent/runs/run-1/followups", `{"followup_id":"f-1","outcome":"handoff_execution"}`)
	mux.HandleFunc("GET /api/v1/agent/runs/run-1/events", func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/event-stream")
		for i, e := range []string{
			`"type":"message","data":{"role":"assistant","text":"Hello!"}`,
			`"type":"output","data":{"stream":"stdout","text":"hello\n"}`,
			`"type":"state","data":{"from":"INPROGRESS","to":"SUCCEEDED"}`,
		} {
			fmt.Fprintf(w, "id: %d\ndata: {\"id\":\"e\",\"sequence\":%d,\"time\":\"2026-01-02T03:04:05Z\",%s}\n\n", i+1, i+1, e)
		}
	})
	mux.HandleFunc("GET /api/v1/agent/runs/", func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"type":"/docs/errors/resource_not_found","title":"Not found","status":404,"detail":"no run \"run-9\" here","code":"resource_not_found"}`)
	})
	return httptest.NewServer(mux)
}

// connect makes the client of an example; yours has the address of your server.
func connect() (*client.Client, func()) {
	server := pretend()
	c, err := client.New(server.URL, "ls_example", client.WithTimeout(10*time.Second))
	if err != nil {
		panic(err)
	}
	return c, func() { c.CloseIdleConnections(); server.Close() }
}

// Start a run and wait for its end.
func Example() {
	c, done := connect() // client.New("https://lineshaft.example.com", os.Getenv("LINESHAFT_API_KEY"))
	defer done()
	ctx := context.Background()

	started, err := c.Runs.Create(ctx, client.RunRequest{
		Prompt: "Say hello",
		Config: &client.AgentConfig{Name: "greeter"},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	run, err := c.Runs.Wait(ctx, started.RunID, client.WaitOptions{})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(run.State, run.StatusMessage.Message)
	// Output: SUCCEEDED done
}

// Follow a run while it works. Lost connections are resumed.
func ExampleRunsService_Stream() {
	c, done := connect()
	defer done()

	for event, err := range c.Runs.Stream(context.Background(), "run-1", 0) {
		if err != nil {
			fmt.Println(err)
			return
		}
		var output client.OutputData
		if event.Type == client.EventOutput && event.Decode(&output) == nil {
			fmt.Print(output.Text)
		}
	}
	// Output: hello
}

// Go through all runs that match, page by page.
func ExampleRunsService_All() {
	c, done := connect()
	defer done()

	query := client.RunQuery{Name: "greeter", States: []client.RunState{client.StateSucceeded}}
	for run, err := range c.Runs.All(context.Background(), query) {
		if err != nil {
			fmt.Println(err)
			return
		}
		fmt.Println(run.RunID, run.Title)
	}
	// Output: run-1 Say hello
}

// Continue a run that has ended.
func ExampleRunsService_Followup() {
	c, done := connect()
	defer done()

	sent, err := c.Runs.Followup(context.Background(), "run-1", client.FollowupRequest{Message: "Now in French"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(sent.Outcome)
	// Output: handoff_execution
}

// Tell kinds of errors apart.
func ExampleError() {
	c, done := connect()
	defer done()

	_, err := c.Runs.Get(context.Background(), "run-9")
	if client.IsNotFound(err) {
		fmt.Println(err)
	}
	// Output: GET /agent/runs/run-9: 404 resource_not_found: no run "run-9" here
}

// Call a path that has no method of its own.
func ExampleClient_Do() {
	c, done := connect()
	defer done()

	var page struct {
		Runs []struct {
			Title string `json:"title"`
		} `json:"runs"`
	}
	if err := c.Do(context.Background(), http.MethodGet, "/agent/runs?limit=1", nil, &page); err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(strings.ToUpper(page.Runs[0].Title))
	// Output: SAY HELLO
}

// Give one call a time-out and a key of its own, and look at the answer itself.
func ExampleClient_With() {
	c, done := connect()
	defer done()

	var answer client.Response
	once := c.With(client.WithTimeout(5*time.Second), client.WithIdempotencyKey("order-42"), client.WithResponse(&answer))
	started, err := once.Runs.Create(context.Background(), client.RunRequest{Prompt: "Say hello"})
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println(started.RunID, answer.Status, answer.Header.Get("Content-Type"))
	// Output: run-1 200 text/plain; charset=utf-8
}

// Tell kinds of errors apart with the standard library.
func ExampleError_Is() {
	c, done := connect()
	defer done()

	_, err := c.Runs.Get(context.Background(), "run-9")
	switch {
	case errors.Is(err, client.ErrNotFound):
		fmt.Println("there is no such run")
	case errors.Is(err, client.ErrRateLimited), errors.Is(err, client.ErrTimeout):
		fmt.Println("try again later")
	}
	// Output: there is no such run
}
