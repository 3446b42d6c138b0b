package agents

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/fakemodel"
)

// A run that continues a conversation knows a word that only the run before was given:
// its agent loads the session, or reads the transcript.
func TestR2RealAgentsContinue(t *testing.T) {
	t.Parallel()
	agents, server := installed(t)
	for _, c := range combinations() {
		t.Run(c.agent+" "+c.mode, func(t *testing.T) {
			t.Parallel()
			s := open(t, agents, server, "", nil)
			ctx, cancel := context.WithTimeout(t.Context(), patience)
			defer cancel()
			config := &client.AgentConfig{Harness: &client.Harness{Type: c.agent, Mode: c.mode}}
			first := s.whole(ctx, client.RunRequest{Prompt: "The word is heron-4711.\nSAY: noted", Config: config})
			s.whole(ctx, client.RunRequest{Prompt: "SAY: still here", ConversationID: first.ConversationID})
			if !knows(s.model.Requests(), "heron-4711", "still here") {
				t.Errorf("no request of the second run has the word\n%s", s.told())
			}
			if strings.Contains(s.told(), "gets the transcript") {
				t.Logf("%s in mode %s was given the transcript", c.agent, c.mode)
			}
		})
	}
}

// Another agent that continues the conversation cannot load the session: it is given the
// transcript as a file, and a line in its prompt.
func TestR2AnotherAgentContinues(t *testing.T) {
	t.Parallel()
	agents, server := installed(t)
	s := open(t, agents, server, "", nil)
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	first := s.whole(ctx, client.RunRequest{Prompt: "The word is heron-4711.\nSAY: noted", Config: &client.AgentConfig{Harness: &client.Harness{Type: "builtin"}}})
	s.whole(ctx, client.RunRequest{
		Prompt: "RUN: cat .lineshaft/conversation.md", ConversationID: first.ConversationID,
		Config: &client.AgentConfig{Harness: &client.Harness{Type: "claude", Mode: lineshaft.ModeACP}},
	})
	if !knows(s.model.Requests(), "heron-4711", "conversation.md has what was said") {
		t.Errorf("the word was not read\n%s", s.told())
	}
}

// whole does a run to its end.
func (s *stage) whole(ctx context.Context, request client.RunRequest) *client.Run {
	s.t.Helper()
	started, err := s.api.Runs.Create(ctx, request)
	if err != nil {
		s.t.Fatal(err)
	}
	s.runID = started.RunID
	run, err := s.api.Runs.Wait(ctx, s.runID, client.WaitOptions{Interval: 100 * time.Millisecond})
	if err != nil || run.State != client.StateSucceeded {
		s.t.Fatalf("run %s, %v\n%s", run.RawJSON(), err, s.told())
	}
	return run
}

// knows says whether one request holds all words.
func knows(requests []fakemodel.Request, words ...string) bool {
	for _, request := range requests {
		all := true
		for _, word := range words {
			all = all && strings.Contains(string(request.Body), word)
		}
		if all {
			return true
		}
	}
	return false
}
