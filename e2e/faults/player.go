//go:build linux

package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft/e2e/faults/history"
)

// player is one client of the workload.
type player struct {
	*workload
	random *rand.Rand
	name   string
	count  int
	runs   []string
	// first is true for the one who rotates the secret: versions come in their order.
	first   bool
	version int
}

// step makes one call.
func (p *player) step(ctx context.Context) {
	p.count++
	key := fmt.Sprintf("%s-%d", p.name, p.count)
	dice := p.random.IntN(100)
	switch {
	case p.first && dice < 12:
		p.rotate(ctx)
	case dice < 40:
		p.deliver(ctx, key)
	case dice < 65 || len(p.runs) == 0:
		p.run(ctx, key)
	case dice < 78:
		p.followup(ctx, key)
	case dice < 84:
		p.cancel(ctx, key)
	case dice < 87:
		p.apply(ctx, key)
	default:
		p.get(ctx, key)
	}
}

// own is a run that this client started, mostly a recent one.
func (p *player) own() string {
	recent := p.runs[max(0, len(p.runs)-10):]
	return recent[p.random.IntN(len(recent))]
}

func (p *player) deliver(ctx context.Context, key string) {
	odd := p.random.IntN(2) == 1
	p.insist(ctx, request{
		op: history.Deliver, key: key, method: http.MethodPost, path: "/webhooks/w/" + p.webhook, answer: []string{"delivery_id"},
		args:   map[string]string{"odd": fmt.Sprint(odd)},
		body:   map[string]any{"key": key, "odd": odd, "text": strings.Repeat("x", p.random.IntN(2000))},
		header: map[string]string{"Authorization": "Bearer " + p.secret, "X-Service-Delivery-Id": key},
	})
}

func (p *player) run(ctx context.Context, key string) {
	config := map[string]any{"harness": map[string]any{"type": "shell"}, "retry": map[string]any{"max_attempts": 5}}
	args := map[string]string{}
	if p.random.IntN(2) == 0 {
		config["worker_host"] = fleetID
	}
	if p.random.IntN(4) == 0 {
		config["secrets"], args["secret"] = []map[string]any{{"name": "PROBE"}}, "PROBE"
	}
	if p.random.IntN(4) == 0 {
		config["environment_id"], args["environment"] = p.environment, p.environment
	}
	seconds := p.random.Float64() / 2
	if p.random.IntN(10) == 0 {
		seconds = 4 // longer than a lease
	}
	e := p.insist(ctx, request{
		op: history.Run, key: key, method: http.MethodPost, path: "/api/v1/agent/runs", answer: []string{"run_id"}, args: args,
		body:   map[string]any{"prompt": p.script("", seconds), "config": config, "metadata": map[string]string{"key": key}},
		header: map[string]string{"Idempotency-Key": key},
	})
	if e.OK() {
		p.runs = append(p.runs, e.Answer["run_id"])
	}
}

func (p *player) followup(ctx context.Context, key string) {
	id, word := p.own(), "word-"+key+"-end"
	p.insist(ctx, request{
		op: history.Followup, key: word, method: http.MethodPost, path: "/api/v1/agent/runs/" + id + "/followups",
		answer: []string{"followup_id", "outcome"},
		args:   map[string]string{"run_id": id}, body: map[string]any{"message": p.script(word, p.random.Float64()/4)},
		header: map[string]string{"Idempotency-Key": key},
	})
}

// cancel is mostly of a run that was just started, so that there is something to end.
func (p *player) cancel(ctx context.Context, key string) {
	id := p.own()
	if p.random.IntN(4) > 0 {
		long := p.quickRun(key+"-run", map[string]any{"retry": map[string]any{"max_attempts": 5}})
		long.body = map[string]any{"prompt": p.script("", 5), "metadata": map[string]string{"key": long.key}}
		e := p.insist(ctx, long)
		if !e.OK() {
			return
		}
		id = e.Answer["run_id"]
		pause(ctx, time.Duration(p.random.IntN(600))*time.Millisecond)
	}
	p.insist(ctx, request{
		op: history.Cancel, key: key, method: http.MethodPost, path: "/api/v1/agent/runs/" + id + "/cancel",
		args:   map[string]string{"run_id": id},
		header: map[string]string{"Idempotency-Key": key},
	})
}

func (p *player) get(ctx context.Context, key string) {
	id := p.own()
	p.try(ctx, request{
		op: history.Get, key: key, method: http.MethodGet, path: "/api/v1/agent/runs/" + id, args: map[string]string{"run_id": id},
		answer: []string{"state"},
	})
}

func (p *player) apply(ctx context.Context, key string) {
	p.insist(ctx, request{
		op: history.Apply, key: key, method: http.MethodPost, path: "/api/v1/factory/" + p.definition + "/definition/apply",
		answer: []string{"revision"},
		body: map[string]any{"comment": key, "files": map[string]string{
			"factory.yaml":            "schemaVersion: v1alpha1\nname: drawings\n",
			"agents/foreman/agent.md": "---\nagentType: FOREMAN\n---\nThis is " + key + ".\n",
		}},
	})
}

func (p *player) rotate(ctx context.Context) {
	p.version++
	p.insist(ctx, request{
		op: history.Rotate, key: fmt.Sprint(p.version), method: http.MethodPut, path: "/api/v1/secrets/PROBE",
		body: map[string]any{"value": fmt.Sprintf("v%d-abcdefgh", p.version)}, args: map[string]string{"name": "PROBE"},
	})
}
