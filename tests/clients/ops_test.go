package clients_test

import (
	"context"
	"encoding/json"
	"fmt"
	"iter"
	"net/http"
	"net/url"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/tests/clients/scriptserver"
)

// arguments are those of a call, of every op at once.
type arguments struct {
	call scriptserver.Call

	RunID      string         `json:"run_id"`
	FactoryUID string         `json:"factory_uid"`
	After      int64          `json:"after"`
	IntervalMS int            `json:"interval_ms"`
	TimeoutMS  int            `json:"timeout_ms"`
	Path       string         `json:"path"`
	Query      map[string]any `json:"query"`
	Body       any            `json:"body"`
}

func (a *arguments) read() {
	text, _ := json.Marshal(a.call.Args)
	_ = json.Unmarshal(text, a) // what is missing fails the scenario
}

// into reads the body into a request of the client, as a caller would have written it.
func (a *arguments) into(request any) {
	text, _ := json.Marshal(a.Body)
	_ = json.Unmarshal(text, request)
}

type operation func(context.Context, *client.Client, arguments) (any, error)

func ops() map[string]operation {
	return map[string]operation{
		"runs.create": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
			var req client.RunRequest
			a.into(&req)
			return c.Runs.Create(ctx, req)
		},
		"runs.followup": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
			var req client.FollowupRequest
			a.into(&req)
			return c.Runs.Followup(ctx, a.RunID, req)
		},
		"factories.run": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
			var req client.FactoryRunRequest
			a.into(&req)
			return c.Factories.Run(ctx, a.FactoryUID, req)
		},
		"runs.get": func(ctx context.Context, c *client.Client, a arguments) (any, error) { return c.Runs.Get(ctx, a.RunID) },
		"runs.rerun": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
			return c.Runs.Rerun(ctx, a.RunID)
		},
		"runs.cancel": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
			return nil, c.Runs.Cancel(ctx, a.RunID)
		},
		"runs.delete": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
			return nil, c.Runs.Delete(ctx, a.RunID)
		},
		"runs.list": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
			return c.Runs.List(ctx, a.runQuery())
		},
		"server.whoami": func(ctx context.Context, c *client.Client, _ arguments) (any, error) { return c.Whoami(ctx) },
		"runs.wait":     wait,
		"runs.list_all": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
			return gather(c.Runs.All(ctx, a.runQuery()), a.call.StopAfter)
		},
		"factories.list_all": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
			return gather(c.Factories.All(ctx, client.FactoryQuery{}), a.call.StopAfter)
		},
		"runs.stream": func(ctx context.Context, c *client.Client, a arguments) (any, error) {
			return gather(c.Runs.Stream(ctx, a.RunID, a.After), a.call.StopAfter)
		},
		"get":    direct(http.MethodGet),
		"post":   direct(http.MethodPost),
		"put":    direct(http.MethodPut),
		"patch":  direct(http.MethodPatch),
		"delete": direct(http.MethodDelete),
	}
}

func wait(ctx context.Context, c *client.Client, a arguments) (any, error) {
	if a.TimeoutMS > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, time.Duration(a.TimeoutMS)*time.Millisecond)
		defer cancel()
	}
	return c.Runs.Wait(ctx, a.RunID, client.WaitOptions{Interval: time.Duration(a.IntervalMS) * time.Millisecond})
}

func direct(method string) operation {
	return func(ctx context.Context, c *client.Client, a arguments) (any, error) {
		path := a.Path
		if len(a.Query) > 0 {
			query := url.Values{}
			for name, value := range a.Query {
				query.Set(name, fmt.Sprint(value))
			}
			path += "?" + query.Encode()
		}
		var out json.RawMessage
		target := any(&out)
		if method == http.MethodDelete {
			target = nil
		}
		err := c.Do(ctx, method, path, a.Body, target)
		return out, err
	}
}

func (a *arguments) runQuery() client.RunQuery {
	var q struct {
		State    []client.RunState `json:"state"`
		Name     string            `json:"name"`
		Limit    int               `json:"limit"`
		Cursor   string            `json:"cursor"`
		Metadata map[string]string `json:"metadata"`
	}
	text, _ := json.Marshal(a.Query)
	_ = json.Unmarshal(text, &q)
	return client.RunQuery{States: q.State, Name: q.Name, Limit: q.Limit, Cursor: q.Cursor, Metadata: q.Metadata}
}

func gather[T any](items iter.Seq2[T, error], stopAfter int) (any, error) {
	all := []T{}
	for item, err := range items {
		if err != nil {
			return all, err
		}
		if all = append(all, item); len(all) == stopAfter {
			break
		}
	}
	return all, nil
}
