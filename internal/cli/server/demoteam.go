package server

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"
)

// object is JSON on its way.
type object = map[string]any

// demoHost is the worker that plays the agents of the demo.
const demoHost = "demo"

// demoTeam fills a server with what a small team would have, over its API as anyone would.
type demoTeam struct {
	at, key string
	// receiver is where callbacks go.
	receiver string
	// held are the executions that keep running, live those that say something now and then, and
	// asked those that wait for an answer.
	held, live, asked []*demoJob

	http http.Client
}

// demoJob is an execution that the demo plays.
type demoJob struct {
	RunID       string `json:"run_id"`
	ExecutionID string `json:"execution_id"`
	Token       any    `json:"token"`
	Turn        struct {
		FollowupID string `json:"followup_id"`
	} `json:"turn"`
	title string
	next  int
}

func (j *demoJob) ref() object { return object{"execution_id": j.ExecutionID, "token": j.Token} }

func (t *demoTeam) call(ctx context.Context, method, path string, body, into any) error {
	raw, err := json.Marshal(body)
	if err != nil {
		return err
	}
	request, err := http.NewRequestWithContext(ctx, method, t.at+"/api/v1"+path, bytes.NewReader(raw))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+t.key)
	return t.answer(request, into)
}

// answer sends a request and reads what comes back.
func (t *demoTeam) answer(request *http.Request, into any) error {
	response, err := t.http.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		return err
	}
	if response.StatusCode >= http.StatusMultipleChoices {
		return fmt.Errorf("%s %s: %d %s", request.Method, request.URL.Path, response.StatusCode, text)
	}
	if into == nil || len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, into)
}

func (t *demoTeam) post(ctx context.Context, path string, body, into any) error {
	return t.call(ctx, http.MethodPost, path, body, into)
}

func (t *demoTeam) worker(ctx context.Context, path string, body object, into any) error {
	body["worker_host"], body["worker_id"] = demoHost, demoHost+"/1"
	return t.post(ctx, "/worker/"+path, body, into)
}

// demoHook is a webhook with its secret.
type demoHook struct {
	UID     string `json:"uid"`
	Address string `json:"ingress_url"`
	Secret  string `json:"secret"`
}

// github sends a delivery as GitHub does; another secret than the webhook's makes it refused.
func (t *demoTeam) github(ctx context.Context, h demoHook, event, delivery, secret, body string) error {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, h.Address, strings.NewReader(body))
	if err != nil {
		return err
	}
	sum := hmac.New(sha256.New, []byte(secret))
	sum.Write([]byte(body))
	request.Header.Set("X-Github-Event", event)
	request.Header.Set("X-Github-Delivery", delivery)
	request.Header.Set("X-Hub-Signature-256", "sha256="+hex.EncodeToString(sum.Sum(nil)))
	response, err := t.http.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close() // refused ones are part of the picture
}

// furnish makes the factories and what they have, and lets their runs happen.
func (t *demoTeam) furnish(ctx context.Context) error {
	if err := t.worker(ctx, "connect", object{"version": "demo", "protocol": 1}, nil); err != nil {
		return err
	}
	for _, make := range []func(context.Context) error{t.shared, t.callbacks, t.webShop, t.handbook, t.byHand} {
		if err := make(ctx); err != nil {
			return err
		}
	}
	return t.play(ctx)
}

// shared is what all factories of the team use.
func (t *demoTeam) shared(ctx context.Context) error {
	for _, name := range []string{"GITHUB_TOKEN", "NPM_TOKEN", "STRIPE_TEST_KEY"} {
		if err := t.post(ctx, "/secrets", object{"name": name, "value": "made-up-" + strings.ToLower(name), "description": "Example data of the demo"}, nil); err != nil {
			return err
		}
	}
	environment := object{"config": object{"name": "Node 24", "description": "Example data of the demo", "setup_commands": []string{"npm ci"}}}
	if err := t.post(ctx, "/agent/environments", environment, nil); err != nil {
		return err
	}
	return t.post(ctx, "/agent/schedules", object{
		"name": "Weekly dependency report", "cron_schedule": "0 7 * * 1", "prompt": "List outdated dependencies.", "enabled": true,
		"agent_config": object{"worker_host": demoHost},
	}, nil)
}

// callbacks are endpoints that are notified of runs: one takes callbacks, one is down.
func (t *demoTeam) callbacks(ctx context.Context) error {
	ends := []string{"SUCCEEDED", "FAILED", "ERROR", "CANCELLED"}
	for _, one := range []object{
		{
			"name": "Team chat", "url": t.receiver + "/chat", "states": append(ends[:4:4], "BLOCKED"),
			"description": "Example data of the demo",
		},
		{
			"name": "Release board", "url": t.receiver + demoBoard, "states": ends,
			"description": "Example data of the demo; it is down, so callbacks are tried again",
		},
	} {
		if err := t.post(ctx, "/notifications", one, nil); err != nil {
			return err
		}
	}
	return nil
}

func (t *demoTeam) factory(ctx context.Context, body object) (uid string, err error) {
	var made struct {
		UID string `json:"uid"`
	}
	err = t.post(ctx, "/factory", body, &made)
	return made.UID, err
}

func (t *demoTeam) automate(ctx context.Context, factory string, hook demoHook, name, prompt string, filter object) error {
	return t.post(ctx, "/factory/"+factory+"/automations", object{
		"name": name, "prompt": prompt, "config": object{"worker_host": demoHost},
		"triggers": []object{{"provider": "webhook", "event": "received", "filter": object{"webhook_ids": []string{hook.UID}, "payload": filter}}},
	}, nil)
}

// webShop is a factory that works on issues, with deliveries of every kind.
func (t *demoTeam) webShop(ctx context.Context) error {
	uid, err := t.factory(ctx, object{"name": "Web shop", "alias": "shop", "description": "Fixes bugs and explains failed builds of millrace/shop."})
	if err != nil {
		return err
	}
	if err := t.call(ctx, http.MethodPatch, "/factory/"+uid, object{"daily_budget": object{"max_cost_usd": 25}}, nil); err != nil {
		return err
	}
	var hook demoHook
	if err := t.post(ctx, "/factory/"+uid+"/webhooks", object{"name": "github", "auth_mode": "signature", "signature_scheme": "github"}, &hook); err != nil {
		return err
	}
	stripe := object{"name": "payments", "auth_mode": "signature", "signature_scheme": "stripe"}
	if err := t.post(ctx, "/factory/"+uid+"/webhooks", stripe, nil); err != nil { // waits for its secret
		return err
	}
	if err := t.automate(ctx, uid, hook, "fix-labelled-bugs", "Fix the bug in event-payload.json and open a pull request.", object{"action": []string{"labeled"}, "label": object{"name": []string{"bug"}}}); err != nil {
		return err
	}
	if err := t.automate(ctx, uid, hook, "explain-failed-build", "Explain why the build failed.", object{"workflow_run": object{"conclusion": []string{"failure"}}}); err != nil {
		return err
	}
	for i, one := range []struct{ event, secret, body string }{
		{"issues", hook.Secret, demoIssue(812, "Cart forgets the coupon after signing in", "bug")},
		{"issues", hook.Secret, demoIssue(815, "Checkout shows prices without tax", "bug")},
		{"issues", hook.Secret, demoIssue(819, "Add a dark theme", "enhancement")},
		{"workflow_run", hook.Secret, demoBuild(4021, "failure")},
		{"workflow_run", hook.Secret, demoBuild(4022, "success")},
		{"issues", hook.Secret, demoIssue(812, "Cart forgets the coupon after signing in", "bug")},
		{"issues", "not the secret", demoIssue(1, "Buy followers", "bug")},
		{"issues", hook.Secret, "action=opened"},
	} {
		delivery := fmt.Sprintf("00000000-0000-4000-8000-%012d", i)
		if i == 5 {
			delivery = fmt.Sprintf("00000000-0000-4000-8000-%012d", 0) // GitHub sends the first one again
		}
		if err := t.github(ctx, hook, one.event, delivery, one.secret, one.body); err != nil {
			return err
		}
	}
	return nil
}

func demoIssue(number int, title, label string) string {
	return fmt.Sprintf(`{"action":"labeled","issue":{"number":%d,"title":%q,"state":"open","labels":[{"name":%q}],"user":{"login":"ada"}},"label":{"name":%q},"repository":{"full_name":"millrace/shop"},"sender":{"login":"ada"}}`,
		number, title, label, label)
}

func demoBuild(number int, conclusion string) string {
	return fmt.Sprintf(`{"action":"completed","workflow_run":{"name":"CI","run_number":%d,"conclusion":%q,"head_branch":"main","html_url":"https://github.com/millrace/shop/actions"},"repository":{"full_name":"millrace/shop"}}`,
		number, conclusion)
}

// handbook is a factory with an agent of its own.
func (t *demoTeam) handbook(ctx context.Context) error {
	uid, err := t.factory(ctx, object{"name": "Handbook", "alias": "handbook", "description": "Keeps the handbook up to date."})
	if err != nil {
		return err
	}
	var agent struct {
		UID string `json:"uid"`
	}
	writer := object{"name": "writer", "factory_uid": uid, "prompt": "You write for people in a hurry.", "description": "Writes what others read.", "worker_host": demoHost}
	if err := t.post(ctx, "/agent/identities", writer, &agent); err != nil {
		return err
	}
	for _, title := range []string{"Shorten the page about holidays", "Translate the onboarding guide"} {
		if err := t.post(ctx, "/agent/runs", object{"title": title, "prompt": title + ".", "agent_identity_uid": agent.UID}, nil); err != nil {
			return err
		}
	}
	return nil
}

// byHand are runs that people started.
func (t *demoTeam) byHand(ctx context.Context) error {
	for _, title := range []string{"Upgrade React to 20", "Find last week's slowest query", "Deploy the preview of branch tax", "Write a migration for the coupons table", "Clean up feature flags", "Review the security headers"} {
		if err := t.post(ctx, "/agent/runs", object{"title": title, "prompt": title + ".", "config": object{"worker_host": demoHost}}, nil); err != nil {
			return err
		}
	}
	// Its worker never connects, so the demo has a run that waits.
	return t.post(ctx, "/agent/runs", object{"title": "Build the iOS app", "prompt": "Build it.", "config": object{"worker_host": "mac-mini"}}, nil)
}

// play takes all runs that wait and lets each of them happen in its way.
func (t *demoTeam) play(ctx context.Context) error {
	for {
		var waiting struct {
			Runs []struct {
				RunID string `json:"run_id"`
				Title string `json:"title"`
			} `json:"runs"`
		}
		if err := t.call(ctx, http.MethodGet, "/agent/runs?state=QUEUED&limit=100&worker_host="+demoHost, nil, &waiting); err != nil || len(waiting.Runs) == 0 {
			return err
		}
		titles := map[string]string{}
		for _, run := range waiting.Runs {
			titles[run.RunID] = run.Title
		}
		var claimed struct {
			Jobs []*demoJob `json:"jobs"`
		}
		claim := object{"version": "demo", "limit": len(waiting.Runs), "capacity": 100, "known": []string{}}
		if err := t.worker(ctx, "claim", claim, &claimed); err != nil {
			return err
		}
		for _, job := range claimed.Jobs {
			job.title, job.next = titles[job.RunID], 1
			if err := t.perform(ctx, job); err != nil {
				return err
			}
		}
	}
}

// goOn lets the runs that are live say something now and then, until ctx ends.
func (t *demoTeam) goOn(ctx context.Context) {
	every := time.NewTicker(3 * time.Second)
	defer every.Stop()
	for step := 1; ; step++ {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		held := make([]object, len(t.held))
		for i, job := range t.held {
			held[i] = job.ref()
		}
		_ = t.worker(ctx, "heartbeat", object{"held": held}, nil) // the next one may get through
		t.asked = slices.DeleteFunc(t.asked, func(job *demoJob) bool { return t.answered(ctx, job) })
		for _, job := range t.live {
			_ = t.tell(ctx, job, demoStep(step)...) // a run that was cancelled takes no more
		}
	}
}
