package web

import (
	"testing"

	"github.com/lineshaft/lineshaft"
)

// the page shows plans, questions and usage in a readable way.
func TestX7LinesOfAPage(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		kind       lineshaft.EventType
		data, want string
	}{
		{lineshaft.EventPlan, `{"steps":[{"text":"a","state":"completed"},{"text":"b","state":"in_progress"},{"text":"c","state":"pending"}]}`, "[x] a\n[~] b\n[ ] c"},
		{lineshaft.EventPermission, `{"title":"rm x","options":[{"id":"y","name":"Allow"},{"id":"n","name":"Reject"}]}`, "? rm x\n  1. Allow\n  2. Reject\nAnswer with a follow-up, such as yes or no."},
		{lineshaft.EventPermission, `{"title":"ls","decision":"allow"}`, "ls\nanswered by the policy: allow"},
		{lineshaft.EventUsage, `{"model_id":"m","input_tokens":3,"output_tokens":4}`, "3 tokens in, 4 out  m"},
		{lineshaft.EventPlan, `[]`, `[]`},
		{lineshaft.EventPermission, `7`, `7`},
	} {
		if got := lineOf(lineshaft.Event{Type: tc.kind, Data: []byte(tc.data)}).Text; got != tc.want {
			t.Errorf("%s %s is shown as %q, want %q", tc.kind, tc.data, got, tc.want)
		}
	}
}
