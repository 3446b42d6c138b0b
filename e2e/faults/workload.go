//go:build linux

package main

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"sync/atomic"
	"time"

	"github.com/lineshaft/lineshaft/e2e/faults/history"
)

// workload calls a server as its users do, and writes down each call with its answer. It
// decides nothing.
type workload struct {
	url    string
	ledger string // folder of the agents' signs
	book   *history.Writer
	seed   uint64
	http   *http.Client

	factory, webhook, secret, definition, environment string
	number                                            atomic.Int64
	acknowledged                                      atomic.Int64
}

func newWorkload(url, ledger string, book *history.Writer, seed uint64) *workload {
	return &workload{
		url: url, ledger: ledger, book: book, seed: seed,
		http: &http.Client{Timeout: 6 * time.Second, Transport: &http.Transport{MaxIdleConnsPerHost: 8}},
	}
}

// request is one call to make.
type request struct {
	op, key      string
	method, path string
	body         any
	args         map[string]string
	header       map[string]string
	// answer names the fields of the answer that are written down.
	answer []string
}

// try makes the call once and writes it down.
func (w *workload) try(ctx context.Context, q request) history.Entry {
	id := fmt.Sprintf("q-%d-%d", w.seed, w.number.Add(1))
	e := history.Entry{Kind: history.Call, Op: q.op, Key: q.key, Begin: time.Now(), Request: id, Args: q.args}
	status, answer := w.send(ctx, q, id)
	e.End, e.Status = time.Now(), status
	fields := map[string]any{}
	if json.Unmarshal(answer, &fields) == nil {
		e.Answer = map[string]string{}
		for _, name := range q.answer {
			if value, ok := fields[name]; ok {
				e.Answer[name] = fmt.Sprint(value)
			}
		}
		if e.Status/100 != 2 {
			e.Answer["code"] = fmt.Sprint(fields["code"], " ", fields["detail"])
		}
	}
	if q.op == history.Setup && e.OK() {
		e.Answer["id"] = e.Answer[q.answer[0]]
	}
	w.book.Add(e)
	return e
}

func (w *workload) send(ctx context.Context, q request, id string) (int, []byte) {
	var body io.Reader
	if q.body != nil {
		text, err := json.Marshal(q.body)
		if err != nil {
			return 0, nil
		}
		body = bytes.NewReader(text)
	}
	req, err := http.NewRequestWithContext(ctx, q.method, w.url+q.path, body)
	if err != nil {
		return 0, nil
	}
	req.Header.Set("Authorization", "Bearer "+adminKey)
	req.Header.Set("X-Request-ID", id)
	for name, value := range q.header {
		req.Header.Set(name, value)
	}
	res, err := w.http.Do(req)
	if err != nil {
		return 0, nil
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err != nil {
		return 0, nil // half an answer is none
	}
	return res.StatusCode, text
}

// insist makes a call until it is answered for good.
func (w *workload) insist(ctx context.Context, q request) history.Entry {
	for {
		e := w.try(ctx, q)
		final := e.Status/100 == 4 && e.Status != http.StatusConflict && e.Status != http.StatusTooManyRequests
		if e.OK() {
			w.acknowledged.Add(1)
		}
		if e.OK() || final || ctx.Err() != nil {
			return e
		}
		pause(ctx, 100*time.Millisecond)
	}
}

// prepare makes what the calls are about.
func (w *workload) prepare(ctx context.Context, receiver string) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	made := map[string]history.Entry{}
	for _, q := range w.setUp(receiver) {
		q := q(made)
		q.op, q.method = history.Setup, http.MethodPost
		if made[q.key] = w.insist(ctx, q); !made[q.key].OK() {
			return fmt.Errorf("make %s: %d %v", q.key, made[q.key].Status, made[q.key].Answer)
		}
	}
	w.factory, w.definition = made["factory"].Answer["id"], made["definition"].Answer["id"]
	w.environment = made["environment"].Answer["id"]
	w.webhook, w.secret = made["webhook"].Answer["id"], made["webhook"].Answer["secret"]
	return nil
}

// setUp is what is made first; each may need what was made before.
func (w *workload) setUp(receiver string) []func(made map[string]history.Entry) request {
	type m = map[string]any
	automation := func(name string, payload any) func(map[string]history.Entry) request {
		return func(made map[string]history.Entry) request {
			filter := m{"webhook_ids": []string{made["webhook"].Answer["id"]}}
			if payload != nil {
				filter["payload"] = payload
			}
			return request{
				key: name, path: "/api/v1/factory/" + made["factory"].Answer["id"] + "/automations",
				answer: []string{"uid"}, body: m{
					"name": name, "prompt": w.script("", 0.1), "config": m{"harness": m{"type": "shell"}, "retry": m{"max_attempts": 5}},
					"triggers": []m{{"provider": "webhook", "event": "received", "filter": filter}},
				},
			}
		}
	}
	all := []func(map[string]history.Entry) request{
		func(map[string]history.Entry) request {
			return request{key: "factory", path: "/api/v1/factory", body: m{"name": "works"}, answer: []string{"uid"}}
		},
		func(map[string]history.Entry) request {
			return request{key: "definition", path: "/api/v1/factory", body: m{"name": "drawings"}, answer: []string{"uid"}}
		},
		func(made map[string]history.Entry) request {
			return request{
				key: "webhook", path: "/api/v1/factory/" + made["factory"].Answer["id"] + "/webhooks",
				body:   m{"name": "ci", "rate_limit": 0},
				answer: []string{"uid", "secret"},
			}
		},
		automation("all", nil),
		automation("odd", m{"odd": []bool{true}}),
		func(map[string]history.Entry) request {
			return request{key: "endpoint", path: "/api/v1/notifications", answer: []string{"id"}, body: m{
				"url": receiver, "states": []string{"SUCCEEDED", "FAILED", "ERROR", "CANCELLED"},
			}}
		},
		func(map[string]history.Entry) request {
			return request{
				key: "secret", path: "/api/v1/secrets",
				body: m{"name": "PROBE", "value": "v0-abcdefgh", "access": "runs"}, answer: []string{"name"},
			}
		},
	}
	all = append(all, func(map[string]history.Entry) request {
		return request{key: "environment", path: "/api/v1/agent/environments", answer: []string{"uid"}, body: m{"config": m{
			"name": "shop", "github_repos": []m{{"owner": "acme", "repo": "shop"}}, "setup_commands": []string{"test -d shop/.git"},
		}}}
	})
	for i := range 3 {
		all = append(all, func(map[string]history.Entry) request {
			return request{key: fmt.Sprint("schedule", i), path: "/api/v1/agent/schedules", answer: []string{"id"}, body: m{
				"name": fmt.Sprint("clock", i), "cron_schedule": "* * * * *", "prompt": w.script("", 0.1),
				"agent_config": m{"harness": m{"type": "shell"}},
			}}
		})
	}
	return all
}

// script is an agent that proves to be alone: it holds a lock on its run's file for its whole
// life, and the kernel releases the lock when the process ends.
func (w *workload) script(word string, seconds float64) string {
	done := ""
	if word != "" {
		done = "echo did " + word + "\n"
	}
	return fmt.Sprintf("```sh\n%[2]sexec 9>>%[1]s/$LINESHAFT_RUN_ID.lock\n"+
		"sign() { echo \"$LINESHAFT_RUN_ID $$ $1 $(date +%%s%%N)\" >>%[1]s/ledger; }\n"+
		"flock -n 9\ncase $? in 0) ;; 1) sign second ;; *) exit 1 ;; esac # it may be killed itself\n"+
		"sign begin\n[ -z \"$PROBE\" ] || echo secret ${PROBE%%%%-*}\n"+
		"sleep %.3[3]f\nsign end\n```", w.ledger, done, seconds)
}

// play calls until the context is over, with so many clients at once.
func (w *workload) play(ctx context.Context, clients int) {
	var all sync.WaitGroup
	for i := range clients {
		all.Go(func() {
			p := &player{workload: w, random: rand.New(rand.NewPCG(w.seed, uint64(i)+1000)), name: fmt.Sprint("c", i), first: i == 0}
			for ctx.Err() == nil {
				p.step(ctx)
				pause(ctx, time.Duration(50+p.random.IntN(300))*time.Millisecond)
			}
		})
	}
	all.Wait()
}

// burst starts some runs at once, and tries each once.
func (w *workload) burst(ctx context.Context, n int) {
	var all sync.WaitGroup
	for range n {
		key := fmt.Sprint("burst-", w.number.Add(1))
		all.Go(func() { w.try(ctx, w.quickRun(key, nil)) })
	}
	all.Wait()
}

// quickRun is a run that ends at once.
func (w *workload) quickRun(key string, config map[string]any) request {
	return request{
		op: history.Run, key: key, method: http.MethodPost, path: "/api/v1/agent/runs", answer: []string{"run_id"},
		body:   map[string]any{"prompt": w.script("", 0.01), "config": config, "metadata": map[string]string{"key": key}},
		header: map[string]string{"Idempotency-Key": key},
	}
}

// probeServers returns when a delivery was taken.
func (w *workload) probeServers(ctx context.Context) error {
	key := fmt.Sprint("probe-", w.number.Add(1))
	return await(ctx, "a delivery is taken", func(ctx context.Context) bool {
		return w.try(ctx, request{
			op: history.Deliver, key: key, method: http.MethodPost, path: "/webhooks/w/" + w.webhook, answer: []string{"delivery_id"},
			args: map[string]string{"odd": "false"}, body: map[string]any{"key": key},
			header: map[string]string{"Authorization": "Bearer " + w.secret, "X-Service-Delivery-Id": key},
		}).OK()
	})
}
