package app_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
)

// createRun starts a run over HTTP and waits for its end.
func createRun(t *testing.T, a *app.App, key, body string) *lineshaft.Run {
	t.Helper()
	status, text := call(t, http.MethodPost, a.URL()+"/api/v1/agent/runs", key, body)
	var started struct {
		RunID string `json:"run_id"`
	}
	if err := json.Unmarshal(text, &started); err != nil || status != http.StatusOK {
		t.Fatalf("%d %s", status, text)
	}
	run, _ := ended(t, a, key, started.RunID, 0)
	return run
}

// The built-in agent that continues a conversation asks the model with the earlier
// messages; what the server gave to runs that chose nothing is in their configuration, and
// lists find them by it.
func TestR2BuiltinAgentContinues(t *testing.T) {
	t.Parallel()
	a, fake, key := builtinServer(t, "openai")
	first := createRun(t, a, key, `{"prompt":"The word is heron. SAY: noted"}`)
	second := createRun(t, a, key, fmt.Sprintf(`{"prompt":"SAY: still here","conversation_id":%q}`, first.ConversationID))
	if first.State != lineshaft.Succeeded || second.State != lineshaft.Succeeded {
		t.Fatalf("%+v\n%+v", first.Status, second.Status)
	}
	requests := fake.Requests()
	if last := string(requests[len(requests)-1].Body); !strings.Contains(last, "The word is heron.") || !strings.Contains(last, "still here") {
		t.Errorf("request %s", last)
	}
	for _, run := range []*lineshaft.Run{first, second} {
		if run.Config.ModelID != "fake-1" || run.Config.Harness == nil || run.Config.Harness.Type != "builtin" {
			t.Errorf("configuration %+v", run.Config)
		}
	}
	read := func(path string) string {
		status, text := call(t, http.MethodGet, a.URL()+"/api/v1/agent/"+path, key, "")
		if status != http.StatusOK {
			t.Errorf("%d %s", status, text)
		}
		return string(text)
	}
	text := read("runs/" + first.ID + "?explain=1")
	if !strings.Contains(text, `"model_id":"server"`) || !strings.Contains(text, `"harness":"server"`) {
		t.Errorf("run %s", text)
	}
	text = read("runs?model_id=fake-1")
	if !strings.Contains(text, first.ID) || !strings.Contains(text, second.ID) {
		t.Errorf("list %s", text)
	}
	text = read("conversations/" + first.ConversationID)
	if !strings.Contains(text, "The word is heron.") || strings.Index(text, "still here") < strings.Index(text, "The word is heron.") {
		t.Errorf("conversation %s", text)
	}
}

// With the shell harness the files of the run before are there: in the folder that the
// worker kept, and from the snapshot when it kept none.
func TestR2ShellContinues(t *testing.T) {
	t.Parallel()
	for _, idle := range []int{10, 0} {
		t.Run(fmt.Sprintf("kept %d minutes", idle), func(t *testing.T) {
			t.Parallel()
			a, _, key := builtinServer(t, "openai")
			config := fmt.Sprintf(`{"harness":{"type":"shell"},"idle_timeout_minutes":%d}`, idle)
			shell := func(command, more string) *lineshaft.Run {
				prompt, _ := json.Marshal("```sh\n" + command + "\n```")
				return createRun(t, a, key, fmt.Sprintf(`{"prompt":%s,"config":%s%s}`, prompt, config, more))
			}
			first := shell("echo heron >word.txt", "")
			second := shell("grep heron word.txt", fmt.Sprintf(`,"conversation_id":%q`, first.ConversationID))
			if first.State != lineshaft.Succeeded || second.State != lineshaft.Succeeded || second.Continues != first.ID {
				t.Fatalf("%+v\n%+v", first.Status, second.Status)
			}
		})
	}
}
