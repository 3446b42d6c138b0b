package acp

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/mask"
)

// bare is a session without a process.
func bare(t *testing.T) (*session, *harnesstest.Log, *turn) {
	t.Helper()
	masker := mask.New(map[string]string{"LINESHAFT_RUN_TOKEN": harnesstest.Token})
	env := harness.Environment{
		Mask: func() *mask.Masker { return masker }, Now: time.Now,
		WriteFile: func(string, string) (string, error) { return "", nil },
	}
	s := newSession(t.Context(), Options{}.withDefaults(), env, &launch{form: form{name: "acp"}, policy: lineshaft.PermissionsAllow})
	log := harnesstest.NewLog()
	return s, log, newTurn(s, log.Emit)
}

// Story is what a turn of these updates reports, one event on a line.
func Story(t *testing.T, updates ...string) string {
	t.Helper()
	_, log, turn := bare(t)
	defer turn.close()
	for _, u := range updates {
		turn.update(json.RawMessage(`{"sessionId":"s","update":` + u + `}`))
	}
	turn.finish(false)
	var out strings.Builder
	for _, d := range log.Drafts("") {
		out.WriteString(string(d.Type) + " " + string(d.Data) + "\n")
	}
	return out.String()
}

// Digest takes the output of an agent as a session does and checks the events.
func Digest(t *testing.T, output []byte) error {
	t.Helper()
	s, log, turn := bare(t)
	defer turn.close()
	w := &wire{queue: s.queue, calls: io.Discard, noise: io.Discard, tooLong: func(bool) {}}
	half := len(output) / 2
	for _, part := range [][]byte{output[:half], output[half:], []byte("\n")} {
		if _, err := w.Write(part); err != nil {
			return err
		}
	}
	turn.drain(t.Context())
	turn.ask(t.Context(), newQuestion(output))
	turn.usage(promptAnswer{Usage: output, Meta: output})
	s.choose(t.Context(), nil, sessionAnswer{Options: nil, Modes: output})
	turn.finish(true)
	for _, d := range log.Drafts("") {
		if !json.Valid(d.Data) || !utf8.Valid(d.Data) || d.Type == lineshaft.EventNotice {
			return fmt.Errorf("event %s %q", d.Type, d.Data)
		}
	}
	return nil
}

// Left waits until the process of a session is known to be gone.
func Left(s harness.Session) {
	own := s.(*session) //nolint:errcheck // there is no other
	own.mu.Lock()
	a := own.agent
	own.mu.Unlock()
	<-a.gone
}
