package cli

import (
	"strings"
	"testing"
)

// TestS2YAMLOfARunIsClean through the commands, on a terminal.
func TestS2YAMLOfARunIsClean(t *testing.T) {
	t.Parallel()
	s := newStage(t).library()
	s.terminal(80)
	for _, args := range [][]string{{"runs", "get", "run-1"}, {"runs", "list"}, {"runs", "logs", "run-1"}} {
		r := s.run(t.Context(), append(args, "-o", "yaml")...)
		if r.code != 0 || strings.ContainsAny(r.out, "\x1b\a") || !strings.Contains(r.out, `\x1b[`) && !strings.Contains(r.out, `\x1b]0;owned\a`) {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
