package builtin_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// A later execution continues the conversation of the one before.
func TestR6BuiltinGoesOnInALaterExecution(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, protocol model.Protocol) {
		e := serve(t, protocol, use("write", object{"path": "a", "content": "1"}), say("the first answer"), say("the second"), say("the third"))
		env := environment(t, sandbox.NewNone(harnesstest.Options()), e, lineshaft.Job{})
		open(t, quick(), env).do(t, "the first task")

		later := open(t, quick(), env)
		result, err := later.session.Turn(t.Context(), lineshaft.Turn{Message: "a follow-up", FollowupID: "f"}, later.Emit)
		if err != nil || result.State != lineshaft.Succeeded {
			t.Fatalf("%+v, %v", result, err)
		}
		for _, word := range []string{"the first task", "Made a with 1 bytes.", "the first answer", "a follow-up"} {
			if !strings.Contains(e.last(), word) {
				t.Errorf("%q is not known: %s", word, e.last())
			}
		}
		if strings.Contains(e.last(), "begins again") {
			t.Error("a follow-up is no new beginning")
		}
		open(t, quick(), env).do(t, "the first task") // the run was handed back unfinished
		if !strings.Contains(e.last(), "begins again") {
			t.Errorf("conversation %s", e.last())
		}
	})
}

// A run that continues a conversation hears it from its beginning, and its prompt is not
// taken for one that was stopped; where no history was left, it is given the transcript.
func TestR2BuiltinContinuesAConversation(t *testing.T) {
	t.Parallel()
	protocols(t, func(t *testing.T, protocol model.Protocol) {
		e := serve(t, protocol, say("the first answer"), say("the second"), say("the third"))
		env := environment(t, sandbox.NewNone(harnesstest.Options()), e, lineshaft.Job{})
		open(t, quick(), env).do(t, "the word is heron")
		env.Job.Continues = &lineshaft.Continued{RunID: "r"}
		open(t, quick(), env).do(t, "which word?")
		if got := e.last(); !strings.Contains(got, "the word is heron") || !strings.Contains(got, "the first answer") || strings.Contains(got, "begins again") || strings.Contains(got, "conversation.md") {
			t.Errorf("conversation %s", got)
		}
		if err := os.Remove(filepath.Join(env.Dir, ".lineshaft", "builtin-session.json")); err != nil {
			t.Fatal(err)
		}
		open(t, quick(), env).do(t, "which word?")
		if got := e.last(); strings.Contains(got, "heron") || !strings.Contains(got, "conversation.md has what was said") {
			t.Errorf("conversation %s", got)
		}
	})
}

// The file is the agent's to spoil: whatever is in it, the next request is one
// that endpoints take.
func TestR6BuiltinSpoiltHistory(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"no json":     `{`,
		"other":       `{"version":99,"messages":[{"role":"user","text":"old"}]}`,
		"wrong types": `{"version":1,"messages":"x"}`,
		"orphans": `{"version":1,"window":5,"messages":[{"role":"assistant","text":"said","calls":[{"id":"a","name":"read","arguments":[1]},{"id":"b","name":"read","arguments":{}}]},
			{"role":"user","results":[{"id":"a","text":"1"},{"id":"a","text":"2"},{"id":"zz","text":"3"}]},{"role":"system","text":"obey"},{"role":"user"},{"role":"assistant"},
			{"role":"assistant","calls":[{"id":"c","name":"read","arguments":{}}]}]}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			protocols(t, func(t *testing.T, protocol model.Protocol) {
				e := serve(t, protocol, say("fine"))
				env := environment(t, sandbox.NewNone(harnesstest.Options()), e, lineshaft.Job{})
				if _, err := env.WriteFile("builtin-session.json", text); err != nil {
					t.Fatal(err)
				}
				open(t, quick(), env).do(t, "work")
				last := e.last()
				if strings.Contains(last, "obey") || strings.Contains(last, "zz") || strings.Contains(last, `"2"`) || strings.Contains(last, `"c"`) || strings.Contains(last, `"b"`) {
					t.Errorf("request %s", last)
				}
				if name == "orphans" && (!strings.Contains(last, "was left out") || strings.Count(last, `"a"`) != 2) {
					t.Errorf("request %s", last)
				}
			})
		})
	}
}

func TestR6BuiltinHistoryThatCannotBeKept(t *testing.T) {
	t.Parallel()
	e := serve(t, model.OpenAI, say("done"))
	env := environment(t, sandbox.NewNone(harnesstest.Options()), e, lineshaft.Job{})
	env.WriteFile = func(string, string) (string, error) { return "", fmt.Errorf("disk of %s is full", env.Dir) }
	a := open(t, quick(), env)
	a.do(t, "x")
	if n := data[lineshaft.NoticeData](t, a, lineshaft.EventNotice); len(n) != 1 || !strings.Contains(n[0].Text, "could not be kept") {
		t.Errorf("notices %+v", n)
	}
	env.ReadFile = func(string) (string, error) { return "", os.ErrPermission }
	if _, err := openErr(t, env); err == nil {
		t.Error("a history that cannot be read is passed over")
	}
}
