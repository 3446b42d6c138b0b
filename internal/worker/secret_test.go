package worker

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

const (
	password = "correct-horse-battery"
	pem      = "-----BEGIN KEY-----\nMIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX\n6Ppy1tPf9Cnzj4p4WGeKLs1Pt8QuKUpRKfFLfRY=\n-----END KEY-----\n"
)

// text is everything an execution has reported, and its printed output alone.
func (c *fakeControl) text(id string) (all, printed string) {
	run, unlock := c.lock(id)
	defer unlock()
	for _, d := range run.events {
		all += string(d.Data) + "\n"
		if d.Type == lineshaft.EventOutput {
			var data lineshaft.OutputData
			if err := json.Unmarshal(d.Data, &data); err != nil {
				c.t.Error(err)
			}
			printed += data.Text
		}
	}
	for _, r := range run.results {
		all += r.Message + "\n"
	}
	for _, u := range run.uploads {
		all += u.FileName + " " + u.FilePath + "\n"
	}
	return all, printed
}

func TestS2AgentGetsItsSecretsAndPrintsOnlyMasks(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		real(t, c, s, Config{})
		j := job("a", script(
			`test "$PASSWORD" = correct-horse''-battery || { echo wrong; exit 1; }`,
			`printf %s "$PEM" | tail -c 1 | od -An -c`, // as it was stored, with its last line break
			`echo "plain $PASSWORD."`,
			`printf %s "${PASSWORD%battery}"; sleep 0.2; printf '%s\n' "${PASSWORD#correct-horse-}"`, // in two writes, some time apart
			`printf %s "x$PASSWORD" | base64`,
			`printf '%s' "$PASSWORD" | base64`,
			`printf '{"p":"%s"}\n' "$PASSWORD" >&2`,
			`printf %s "$PEM" | sed -n 2p`,
			`echo "short $PIN"`,
			`echo there > "$LINESHAFT_ARTIFACTS/of-$PASSWORD.txt"`,
			`env | grep -c '^PASSWORD='`,
			`exit 3`,
		))
		j.Secrets = lineshaft.SecretValues{"PASSWORD": password, "PEM": pem, "PIN": "1234567"}
		c.jobs <- j
		if result := c.ended("a", 1); result.State != lineshaft.Failed || !strings.Contains(result.Message, "3") {
			t.Fatalf("ended %+v", result)
		}
		all, printed := c.text("a")
		for _, shown := range []string{
			password, "MIIBOgIBAAJBAKj34GkxFhD90vcNLYLInFEX",
			base64.StdEncoding.EncodeToString([]byte(password))[:24], base64.StdEncoding.EncodeToString([]byte("x" + password))[4:24],
		} {
			if strings.Contains(all, shown) {
				t.Errorf("shows %q:\n%s", shown, all)
			}
		}
		for _, want := range []string{"plain ***PASSWORD***.", `\n`, "***PASSWORD***\n", `{"p":"***PASSWORD***"}`, "***PEM***", "short 1234567", "1\n"} {
			if !strings.Contains(printed, want) {
				t.Errorf("%q is not in\n%s", want, printed)
			}
		}
		if !strings.Contains(all, "of-***PASSWORD***.txt") || strings.Contains(printed, "wrong") {
			t.Errorf("told:\n%s", all)
		}
	})
}

func TestS1AJobWithAFaultFailsWithoutAnAgent(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		began := false
		begin(t, c, Config{}, scripted{func(context.Context, harness.Environment, lineshaft.Turn, harness.Emit) (lineshaft.TurnResult, error) {
			began = true
			return done()
		}})
		j := job("a", "")
		j.Fault = "secret TOKEN does not exist any more"
		c.jobs <- j
		c.jobs <- job("b", "")
		result := c.ended("a", 1)
		if result.State != lineshaft.Failed || result.Code != lineshaft.CodeEnvironmentSetupFailed || result.Message != j.Fault || !result.Dead {
			t.Errorf("ended %+v", result)
		}
		if c.ended("b", 1).State != lineshaft.Succeeded || !began {
			t.Error("another run is held up")
		}
		if strings.Contains(c.marks("a"), "started") {
			t.Errorf("the faulty one has begun: %s", c.marks("a"))
		}
	})
}

// Also agents in this process, and what they emit without thinking.
func TestS2SecretsOfInProcessAgents(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		c := newControl(t)
		begin(t, c, Config{}, scripted{func(_ context.Context, env harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
			for _, kv := range env.Env {
				if value, ok := strings.CutPrefix(kv, "PASSWORD="); ok {
					emit(lineshaft.NewDraft(lineshaft.EventMessage, time.Now(), lineshaft.MessageData{Role: "assistant", Text: "it is " + value}))
				}
			}
			return lineshaft.TurnResult{State: lineshaft.Failed, Message: "bad " + password}, nil
		}})
		j := job("a", "")
		j.Secrets = lineshaft.SecretValues{"PASSWORD": password}
		c.jobs <- j
		c.ended("a", 1)
		all, _ := c.text("a")
		if strings.Contains(all, password) || !strings.Contains(all, "it is ***PASSWORD***") || !strings.Contains(all, "bad ***PASSWORD***") {
			t.Errorf("told:\n%s", all)
		}
	})
}

// A command that is cut for the log is masked before: where it is cut, no part of a secret stays.
func TestS2CutCommandsOfTheSetUpHaveNoPartOfASecret(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		real(t, c, s, Config{})
		cut := func(command string) string {
			return command + strings.Repeat("x", 190-len(command)) + password + " and more"
		}
		j := preparing(job("a", script("echo never")), lineshaft.Preparation{SetupCommands: []string{cut("true # "), cut("exit 7 # ")}})
		j.Secrets = lineshaft.SecretValues{"PASSWORD": password}
		c.jobs <- j
		result := c.ended("a", 1)
		all, _ := c.text("a")
		if result.Code != lineshaft.CodeEnvironmentSetupFailed || !strings.Contains(result.Message, "xxx***PASSW") {
			t.Errorf("ended %+v", result)
		}
		if strings.Contains(all, password[:4]) || strings.Count(all, "xxx***PASSW") != 5 { // two that begin, two that took their time, one that failed
			t.Errorf("told:\n%s", all)
		}
	})
}
