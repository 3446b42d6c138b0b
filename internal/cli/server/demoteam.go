package server

import (
	"cmp"
	"context"
	"crypto/hmac"
	"crypto/rand"
	"crypto/sha256"
	_ "embed" // of the story
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/goccy/go-yaml"
)

// object is JSON on its way.
type object = map[string]any

//go:embed demo.yaml
var demoStory []byte

// demoStep is something that happens in the story of the demo: a call of the API, or a delivery, and
// what a worker reports of the run that it starts.
type demoStep struct {
	// Ago is how long before now it happens; without it, right after the step before.
	Ago time.Duration
	// Call is a method and a path of the API. Send is the webhook that gets Body instead, as an Event
	// if it is GitHub's, signed with Secret if that is another than its own.
	Call, Send, Event, Secret string
	Body                      any
	// As is the name of what was made, for later steps.
	As string
	// By is the worker that takes the run, with Model. It reports Log and Rest and, having Took that
	// long, Ends; without Ends all is well. A run that Lives does not end, and reports Then in turn.
	By, Model       string
	Took            time.Duration
	Log, Rest, Then []demoEntry
	Lives           bool
	Ends            object
}

// demoClock shows the time that the story has reached, which is now at its end.
type demoClock struct{ behind atomic.Int64 }

func (c *demoClock) now() time.Time { return time.Now().Add(-time.Duration(c.behind.Load())) }

// pass lets time pass, though not beyond now.
func (c *demoClock) pass(d time.Duration) { c.behind.Store(max(0, c.behind.Load()-int64(d))) }

// reach goes to some time before now, or stays where it is.
func (c *demoClock) reach(ago time.Duration) { c.behind.Store(min(c.behind.Load(), int64(ago))) }

// demoTeam fills a server with what a small team would have, over its API as anyone would.
type demoTeam struct {
	at, key string
	clock   demoClock
	steps   []demoStep
	made    map[string]demoThing
	// hosts are the workers that the team plays, held the runs that they have.
	hosts []string
	held  []*demoJob

	http http.Client
}

// demoThing is what a step made.
type demoThing struct {
	UID     string `json:"uid"`
	ID      string `json:"id"`
	RunID   string `json:"run_id"`
	Address string `json:"ingress_url"`
	Secret  string `json:"secret"`
	Scheme  string `json:"signature_scheme"`
}

func newDemoTeam(key, receiver string) (*demoTeam, error) {
	days := func(n int) demoThing { return demoThing{ID: time.Now().AddDate(0, 0, n).UTC().Format(time.RFC3339)} }
	t := &demoTeam{key: key, made: map[string]demoThing{
		"receiver": {ID: receiver}, "in 14 days": days(14), "in 90 days": days(90), "signing secret": {ID: "whsec_" + rand.Text()},
	}}
	var story any
	err := yaml.Unmarshal(demoStory, &story)
	if err == nil {
		plain, _ := json.Marshal(story) // which has no anchors any more
		err = yaml.UnmarshalWithOptions(plain, &t.steps, yaml.Strict())
	}
	if err != nil {
		return nil, fmt.Errorf("read the story of the demo: %w", err)
	}
	t.clock.behind.Store(int64(t.steps[0].Ago))
	for _, step := range t.steps {
		if step.By != "" && !slices.Contains(t.hosts, step.By) {
			t.hosts = append(t.hosts, step.By)
		}
	}
	return t, nil
}

// furnish lets the story happen.
func (t *demoTeam) furnish(ctx context.Context) error {
	for _, host := range t.hosts {
		if err := t.worker(ctx, host, "connect", object{"version": "demo", "protocol": 1}, nil); err != nil {
			return err
		}
	}
	for i, step := range t.steps {
		if step.Ago > 0 {
			t.clock.reach(step.Ago)
		}
		if err := t.do(ctx, step); err != nil {
			return fmt.Errorf("step %d, %s%s: %w", i+1, step.Call, step.Send, err)
		}
		if step.By == "" {
			continue
		}
		if err := t.play(ctx, step, time.Duration(6+i%7)*time.Second); err != nil {
			return fmt.Errorf("run of step %d, %s%s: %w", i+1, step.Call, step.Send, err)
		}
	}
	t.clock.reach(0)
	t.beat(ctx)
	return nil
}

// do makes the call of a step, or sends its delivery.
func (t *demoTeam) do(ctx context.Context, step demoStep) error {
	raw, _ := json.Marshal(step.Body) // it was JSON before
	body := t.fill(string(raw))
	switch text := step.Body.(type) {
	case nil:
		body = ""
	case string:
		body = text
	}
	if step.Send != "" {
		return t.deliver(ctx, step, body)
	}
	method, path, _ := strings.Cut(t.fill(step.Call), " ")
	if step.As == "" {
		return t.call(ctx, method, path, body, nil)
	}
	var made struct {
		demoThing
		Agents []struct {
			UID  string `json:"uid"`
			Name string `json:"name"`
		} `json:"agents"`
	}
	_ = json.Unmarshal([]byte(body), &made.demoThing) // a secret that the answer leaves out
	err := t.call(ctx, method, path, body, &made)
	for _, agent := range made.Agents {
		if agent.Name == step.As {
			made.UID = agent.UID
		}
	}
	t.made[step.As] = made.demoThing
	return err
}

// fill puts what was made in place of its name in braces.
func (t *demoTeam) fill(text string) string {
	for name, thing := range t.made {
		text = strings.ReplaceAll(text, "{"+name+"}", cmp.Or(thing.UID, thing.ID, thing.RunID))
	}
	return text
}

// deliver sends a delivery as its provider does. The same body is the same delivery, sent again.
func (t *demoTeam) deliver(ctx context.Context, step demoStep, body string) error {
	hook := t.made[step.Send]
	secret := cmp.Or(step.Secret, hook.Secret)
	sum := func(text string) string {
		mac := hmac.New(sha256.New, []byte(secret))
		mac.Write([]byte(text))
		return hex.EncodeToString(mac.Sum(nil))
	}
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, hook.Address, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	switch id := sum(body); hook.Scheme {
	case "github":
		request.Header.Set("X-Github-Event", step.Event)
		request.Header.Set("X-Github-Delivery", fmt.Sprintf("%s-%s-%s-%s-%s", id[:8], id[8:12], id[12:16], id[16:20], id[20:32]))
		request.Header.Set("X-Hub-Signature-256", "sha256="+id)
	case "stripe":
		at := t.clock.now().Unix()
		request.Header.Set("Stripe-Signature", fmt.Sprintf("t=%d,v1=%s", at, sum(fmt.Sprintf("%d.%s", at, body))))
	case "":
		request.Header.Set("Authorization", "Bearer "+secret)
	}
	response, err := t.http.Do(request)
	if err != nil {
		return err
	}
	return response.Body.Close() // refused ones are part of the picture
}

func (t *demoTeam) call(ctx context.Context, method, path, body string, into any) error {
	request, err := http.NewRequestWithContext(ctx, method, t.at+"/api/v1"+path, strings.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Authorization", "Bearer "+t.key)
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
		return fmt.Errorf("%d %s", response.StatusCode, text)
	}
	if into == nil || len(text) == 0 {
		return nil
	}
	return json.Unmarshal(text, into)
}

// worker calls as a worker does.
func (t *demoTeam) worker(ctx context.Context, host, path string, body object, into any) error {
	body["worker_host"], body["worker_id"] = host, host+"/demo"
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return t.call(ctx, http.MethodPost, "/worker/"+path, string(text), into)
}

// beat says that the workers are alive, and what they hold.
func (t *demoTeam) beat(ctx context.Context) {
	for _, host := range t.hosts {
		held := []object{}
		for _, job := range t.held {
			if job.host == host {
				held = append(held, job.ref())
			}
		}
		_ = t.worker(ctx, host, "heartbeat", object{"held": held}, nil) // the next one may get through
	}
}

// goOn lets the runs that live report something now and then, until ctx ends.
func (t *demoTeam) goOn(ctx context.Context) {
	const pause = 3 * time.Second
	every := time.NewTicker(pause)
	defer every.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-every.C:
		}
		t.beat(ctx)
		t.held = slices.DeleteFunc(t.held, func(job *demoJob) bool { return job.asks && t.answered(ctx, job) })
		for _, job := range t.held {
			if entries := job.then; len(entries) > 0 {
				_ = t.log(ctx, job, time.Now().Add(-pause), entries[n%len(entries)].numbered(n)) // a run that was cancelled takes no more
			}
		}
	}
}
