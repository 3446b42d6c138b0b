package worker

import (
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/gateway"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// keyed is a job of an agent that calls its model with a key of its own.
func keyed(source string) lineshaft.Job {
	j := job("a", "")
	j.Config.Harness = &lineshaft.HarnessConfig{Type: "codex", ModelID: "m1", Auth: &lineshaft.HarnessAuth{Source: source}}
	return j
}

// codexLike is an agent in this process that goes by the name of codex.
type codexLike struct{ scripted }

func (codexLike) Name() string { return "codex" }

// TestX12OwnKeyStaysOutside: the endpoint gets the run's own key instead of the worker's,
// and neither the agent nor the log ever has it.
func TestX12OwnKeyStaysOutside(t *testing.T) {
	t.Parallel()
	const own = "sk-own-key-of-this-run-alone"
	for source, j := range map[string]lineshaft.Job{"secret": keyed(lineshaft.AuthManagedSecret), "environment": keyed(lineshaft.AuthWorkerEnvironment)} {
		t.Run(source, func(t *testing.T) {
			t.Parallel()
			upstream := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				w.Header().Set("Content-Type", "application/json")
				_, _ = fmt.Fprintf(w, `{"got":%q,"usage":{"input_tokens":1,"output_tokens":1}}`, r.Header.Get("Authorization"))
				if r.Header.Get("Authorization") != "Bearer "+own {
					t.Errorf("the endpoint got %q", r.Header.Get("Authorization"))
				}
			}))
			t.Cleanup(upstream.Close)
			gate := gateway.New(gateway.Config{Models: model.Set{Endpoints: []model.Endpoint{{Name: "e", Protocol: model.OpenAI, URL: upstream.URL, Key: modelKey, Models: []string{"m1"}}}}})
			c := newControl(t)
			agent := codexLike{scripted{func(ctx context.Context, env harness.Environment, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
				status, body := askModel(ctx, env)
				if status != http.StatusOK || strings.Contains(body, own) || strings.Contains(fmt.Sprintf("%+v %q", env.Job, string(env.Job.ModelKey)), own) || strings.Contains(fmt.Sprint(env.Env), own) {
					t.Errorf("%d %s, and the agent has %v", status, body, env.Env)
				}
				emit(lineshaft.NewDraft(lineshaft.EventNotice, env.Now(), lineshaft.NoticeData{Text: "the key is " + own}))
				return done()
			}}}
			variables := map[string]string{"OPENAI_API_KEY": own}
			if source == "secret" {
				j.ModelKey, variables = own, nil
			}
			start(t, c, Config{Gateway: gate, Getenv: func(name string) string { return variables[name] }, Harnesses: harness.Set{Harnesses: []harness.Harness{agent}}})
			c.jobs <- j
			if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
				t.Fatalf("result %+v", result)
			}
			run, unlock := c.lock("a")
			defer unlock()
			var log strings.Builder
			for _, e := range run.events {
				log.Write(e.Data)
			}
			if strings.Contains(log.String(), own) || !strings.Contains(log.String(), "the key is ***") {
				t.Errorf("the log is %s", log.String())
			}
		})
	}
}

// TestX12WithoutItsOwnKeyARunFails rather than being paid for with the worker's.
func TestX12WithoutItsOwnKeyARunFails(t *testing.T) {
	t.Parallel()
	other := keyed(lineshaft.AuthManagedSecret)
	other.Config.Harness.Type, other.ModelKey = "oz", "sk-key-for-nobody-here"
	for want, j := range map[string]lineshaft.Job{
		"has no OPENAI_API_KEY": keyed(lineshaft.AuthWorkerEnvironment), "sent no value of secret": keyed(lineshaft.AuthManagedSecret), "key of the run's own": other,
	} {
		e := newExecution(&Worker{config: Config{WorkerID: "w1", Gateway: gateway.New(gateway.Config{}), Getenv: func(string) string { return "" }}, life: t.Context()}, j, 0)
		if err := e.takeKey(); lineshaft.CodeOf(err) != lineshaft.CodeEnvironmentSetupFailed || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

// TestX5UnusedImageIsTold: a sandbox without containers cannot use an image, and the log
// says so.
func TestX5UnusedImageIsTold(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		config Config
		told   bool
	}{
		"bubblewrap": {Config{Sandbox: named{name: "bubblewrap"}}, true},
		"container":  {Config{Sandbox: named{name: "container"}}, false},
		"pod":        {Config{Sandbox: named{name: "none"}, Imaged: true}, false},
	} {
		j := job("a", "")
		j.Prepare.Runner.PlatformParts = &lineshaft.PlatformParts{Linux: &lineshaft.LinuxPlatform{RegistryCredentialSecretName: "REGISTRY"}}
		j.Prepare.Image, j.Config.Harness = "debian:13", &lineshaft.HarnessConfig{Type: "command", ReasoningLevel: "high"}
		w := &Worker{config: test.config.withDefaults(), life: t.Context()}
		e := newExecution(w, j, 0)
		e.harnessName = "command"
		e.noticeUnused()
		var log strings.Builder
		for _, entry := range e.outbox.entries {
			log.Write(entry.draft.Data)
		}
		if got := log.String(); strings.Contains(got, "Image debian:13 is not used") != test.told || !strings.Contains(got, "Reasoning level high is not used") || !strings.Contains(got, "Secret REGISTRY") {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// named is a sandbox of which only the name matters.
type named struct {
	sandbox.Sandbox
	name string
}

func (n named) Name() string { return n.name }
