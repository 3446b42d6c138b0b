package setup

import (
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/cli/factories"
)

func TestI1InitHears(t *testing.T) {
	t.Parallel()
	hook := &client.Webhook{Name: "ci", UID: "u", SignatureScheme: "github"}
	for i, tc := range []struct {
		trigger client.Trigger
		want    bool
	}{
		{client.Trigger{Provider: "webhook", Filter: client.TriggerFilter{Webhooks: []string{"ci"}}}, true},
		{client.Trigger{Provider: "webhook", Filter: client.TriggerFilter{WebhookIDs: []string{"u"}}}, true},
		{client.Trigger{Provider: "webhook", Filter: client.TriggerFilter{Webhooks: []string{"other"}}}, false},
		{client.Trigger{Provider: "github"}, true},
		{client.Trigger{Provider: "github", Filter: client.TriggerFilter{Webhooks: []string{"other"}}}, false},
		{client.Trigger{Provider: "schedule"}, false},
	} {
		if got := hears(tc.trigger, hook); got != tc.want {
			t.Errorf("%d: %v", i, got)
		}
	}
}

// TestI1InitFindsADelivery for a filter, or none rather than one that does not pass.
func TestI1InitFindsADelivery(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct{ kind, filter, want string }{
		{"token", `{"status": ["failed", "error"]}`, `{"status":"failed"}`},
		{"github", `{"action": {"in": ["opened"]}, "issue": {"user": {"login": ["ann"]}}}`, `{"action":"opened","issue":{"user":{"login":"ann"}}}`},
		{"token", `{"a": {"exists": true}, "n": [3]}`, `{"a":"test","n":3}`},
		{"token", `{"a": {"exists": false}}`, `{}`},
		{"token", `{"a": "no filter"}`, ""},
		{"token", `[1]`, ""},
		{"linear", `{"action": ["create"]}`, ""}, // it has its time in the body
	} {
		f := &firstRun{kind: tc.kind}
		if got := f.passes([]byte(tc.filter)); got != tc.want {
			t.Errorf("%s %s: %q, want %q", tc.kind, tc.filter, got, tc.want)
		}
	}
	if !slices.Contains(factories.SchemeNames(), "linear") {
		t.Error("there is no scheme linear")
	}
}
