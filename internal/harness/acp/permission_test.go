package acp_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"sync"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/acp"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

func policy(word string) acp.Options { return acp.Options{Policy: word} }

func decisions(t *testing.T, log *harnesstest.Log) []lineshaft.PermissionData {
	t.Helper()
	var out []lineshaft.PermissionData
	for _, d := range log.Drafts(lineshaft.EventPermission) {
		var data lineshaft.PermissionData
		if err := json.Unmarshal(d.Data, &data); err != nil {
			t.Fatal(err)
		}
		out = append(out, data)
	}
	return out
}

func TestX6ACPPermissionPolicies(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name     string
		policy   string
		flag     string
		outcome  string
		decision string
		state    string
	}{
		{"allow", lineshaft.PermissionsAllow, "", `{"outcome":"selected","optionId":"once"}`, "allow", "completed"},
		{"deny", lineshaft.PermissionsDeny, "", `{"outcome":"selected","optionId":"no"}`, "reject", "denied"},
		{"unknown", "whatever", "", `{"outcome":"selected","optionId":"once"}`, "allow", "completed"},
		{"nothing to allow", lineshaft.PermissionsAllow, "optionless", `{"outcome":"cancelled"}`, "reject", "denied"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
				log := harnesstest.NewLog()
				session := open(t, environment(t, s, test.flag), policy(test.policy))
				final := "completed"
				if test.decision == "reject" {
					final = "failed"
				}
				good(t, session, log, `update {"sessionUpdate":"tool_call","toolCallId":"7","title":"Terminal","kind":"execute","status":"pending","rawInput":{}}`,
					"ask 7", `update {"sessionUpdate":"tool_call_update","toolCallId":"7","status":"`+final+`"}`)
				if got := strings.Join(messages(log), ""); !strings.Contains(got, test.outcome) {
					t.Errorf("outcome %q", got)
				}
				all := decisions(t, log)
				if len(all) != 1 || all[0].Decision != test.decision || all[0].Title != "rm -rf 7" || all[0].ToolCallID != "7" {
					t.Errorf("decisions %+v", all)
				}
				got := story(log)
				call, ask, result := strings.Index(got, `tool_call {"id":"7","category":"command","name":"Terminal","input":{"command":"rm"}}`), strings.Index(got, "permission_request"), strings.Index(got, `"state":"`+test.state+`"`)
				if call < 0 || call > ask || ask > result {
					t.Errorf("story\n%s", got)
				}
			})
		})
	}
}

// asker answers questions in order.
type asker struct {
	mu      sync.Mutex
	answers []string
	asked   []lineshaft.PermissionData
}

func (a *asker) ask(ctx context.Context, q lineshaft.PermissionData) (string, error) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, q)
	if len(a.answers) == 0 {
		return "", errors.New("nobody is there")
	}
	text := a.answers[0]
	a.answers = a.answers[1:]
	return text, ctx.Err()
}

func asking(t *testing.T, s sandbox.Sandbox, answers ...string) (harness.Environment, *asker) {
	t.Helper()
	env := environment(t, s)
	a := &asker{answers: answers}
	env.Ask = a.ask
	return env, a
}

func TestX6ACPPermissionAsk(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		log := harnesstest.NewLog()
		env, people := asking(t, s, "yes", " No! ", "ALWAYS", "stop it", "2", "allow_always")
		session := open(t, env, policy(lineshaft.PermissionsAsk))
		good(t, session, log, "ask 1", "ask 2", "ask 3", "ask 4", "ask 5", "ask 6", "ask 7")
		var ids []string
		for _, line := range strings.Split(strings.TrimSpace(strings.Join(messages(log), "")), "\n") {
			_, id, _ := strings.Cut(line, `"optionId":"`)
			ids = append(ids, strings.Trim(id, `"}`))
		}
		if got := strings.Join(ids, " "); got != "once no always no once always no" {
			t.Errorf("chosen %q", got)
		}
		if len(people.asked) != 7 || people.asked[0].Title != "rm -rf 1" || len(people.asked[0].Options) != 3 || people.asked[0].Decision != "" {
			t.Errorf("asked %+v", people.asked)
		}
		if got := decisions(t, log); len(got) != 7 || got[0].Decision != "allow" || got[1].Decision != "reject" || got[6].Decision != "reject" {
			t.Errorf("decisions %+v", got)
		}
		if got := strings.Join(texts(log, lineshaft.EventNotice), ""); !strings.Contains(got, "nobody is there") {
			t.Errorf("notices %q", got)
		}
	})
}

// An answer that names no option rejects, and reaches the agent as a message.
func TestX6ACPPermissionOtherWords(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	env, _ := asking(t, none(), "say use the trash instead")
	session := open(t, env, policy(lineshaft.PermissionsAsk))
	good(t, session, log, "ask 1", `answer {"stopReason":"cancelled","usage":{"inputTokens":1,"outputTokens":1,"totalTokens":2}}`)
	got := strings.Join(messages(log), "|")
	if !strings.Contains(got, `"optionId":"no"`) || !strings.HasSuffix(got, "use the trash instead") {
		t.Errorf("messages %q", got)
	}
	if n := len(log.Drafts(lineshaft.EventUsage)); n != 1 {
		t.Errorf("%d usage events", n)
	}
}

// A number that no option has is a slip: people are notified, and asked again.
func TestX7ACPPermissionAskedAgain(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	env, people := asking(t, none(), "9", "yes")
	good(t, open(t, env, policy(lineshaft.PermissionsAsk)), log, "ask 1")
	if got := decisions(t, log); len(people.asked) != 2 || len(got) != 1 || got[0].Decision != "allow" {
		t.Errorf("asked %d times, decisions %+v", len(people.asked), got)
	}
	if got := strings.Join(texts(log, lineshaft.EventNotice), ""); !strings.Contains(got, "There is no answer 9") {
		t.Errorf("notices %q", got)
	}
}

// An interrupt withdraws the question.
func TestR8ACPInterruptWhileAsking(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	env := environment(t, none())
	asked := make(chan struct{})
	env.Ask = func(ctx context.Context, _ lineshaft.PermissionData) (string, error) {
		close(asked)
		<-ctx.Done()
		return "", context.Cause(ctx)
	}
	session := open(t, env, policy(lineshaft.PermissionsAsk))
	ctx, cancel := context.WithCancelCause(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := session.Turn(ctx, lineshaft.Turn{Message: "ask 1\nwait"}, log.Emit)
		ended <- err
	}()
	<-asked
	cause := errors.New("interrupted by the test")
	cancel(cause)
	if err := <-ended; !errors.Is(err, cause) {
		t.Errorf("turn ended with %v", err)
	}
	good(t, session, log, "say next")
	if got := strings.Join(messages(log), ""); !strings.Contains(got, `{"outcome":"cancelled"}`) || !strings.HasSuffix(got, "next") {
		t.Errorf("messages %q", got)
	}
}

// Codex does not ask in the mode that would: people are notified, once.
func TestX7ACPCodexIsToldWithAsk(t *testing.T) {
	t.Parallel()
	for word, want := range map[string]int{lineshaft.PermissionsAsk: 1, lineshaft.PermissionsAllow: 0} {
		log := harnesstest.NewLog()
		env := environment(t, none())
		env.Job.Config.Harness.Type = "codex"
		session := open(t, env, policy(word))
		good(t, session, log, "say one")
		good(t, session, log, "say two")
		if got := strings.Count(strings.Join(texts(log, lineshaft.EventNotice), ""), "read-only mode"); got != want {
			t.Errorf("%s: told %d times", word, got)
		}
	}
}
