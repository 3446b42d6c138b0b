package factories

import (
	"encoding/json"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestI2TriggersAreToldInWords(t *testing.T) {
	t.Parallel()
	hooked := func(payload string) lineshaft.Trigger {
		return lineshaft.Trigger{Provider: "webhook", Event: "received", Filter: lineshaft.TriggerFilter{Webhooks: []string{"issues"}, Payload: json.RawMessage(payload)}}
	}
	in := func(values ...string) *lineshaft.Choice { return &lineshaft.Choice{In: values} }
	for _, c := range []struct {
		trigger lineshaft.Trigger
		want    string
	}{
		{lineshaft.Trigger{Provider: "webhook"}, "A webhook gets a delivery"},
		{hooked(""), "Webhook issues gets a delivery"},
		{hooked("{}"), "Webhook issues gets a delivery"},
		{lineshaft.Trigger{Provider: "webhook", Filter: lineshaft.TriggerFilter{Webhooks: []string{"a"}, WebhookIDs: []string{"b"}}}, "Webhook a or b gets a delivery"},
		{lineshaft.Trigger{Provider: "webhook", Filter: lineshaft.TriggerFilter{WebhookIDs: []string{"known"}}}, "Webhook issues gets a delivery"},
		{hooked(`{"action": ["opened"]}`), "Webhook issues gets a delivery; action is opened"},
		{hooked(`{"z": ["1"], "a": [1, true, null]}`), "Webhook issues gets a delivery; z is 1; a is 1, true or null"},
		{hooked(`{"a": {"b": {"c": {"in": ["x", "y"], "not_in": ["z"], "exists": true}}}}`), "Webhook issues gets a delivery; a.b.c is x or y; a.b.c is not z; a.b.c is present"},
		{hooked(`{"a": {"exists": false}, "b": {"c": ["d"], "e": ["f"]}}`), "Webhook issues gets a delivery; a is missing; b.c is d; b.e is f"},
		{hooked(`{"n": [123456789012345678901234567890]}`), "Webhook issues gets a delivery; n is 123456789012345678901234567890"},
		{hooked(`{"a": []}`), "Webhook issues gets a delivery; a is one of an empty list"},
		{hooked(`not JSON`), "Webhook issues gets a delivery"},
		{lineshaft.Trigger{Provider: "schedule", Schedule: &lineshaft.Timing{Cron: "@daily"}}, "Every day at 00:00, UTC"},
		{lineshaft.Trigger{Provider: "schedule", Schedule: &lineshaft.Timing{Cron: "0 9 * * *", Timezone: "Asia/Tokyo"}}, "Every day at 09:00, Asia/Tokyo"},
		{lineshaft.Trigger{Provider: "schedule"}, "On schedule"},
		{lineshaft.Trigger{Provider: "run", Filter: lineshaft.TriggerFilter{Sets: map[string]*lineshaft.Choice{"states": in("FAILED", "ERROR"), "agents": in("a"), "automations": in("b"), "factories": in("f")}}}, "A run ends; agent is a; automation is b; state is FAILED or ERROR; factory is f"},
		{lineshaft.Trigger{Provider: "github", Event: "push", Filter: lineshaft.TriggerFilter{Sets: map[string]*lineshaft.Choice{"repos": in("acme/*"), "branches": {NotIn: []string{"main"}}, "paths": in("docs/**")}}}, "GitHub event push; repository is acme/*; branch is not main; changed path is docs/**"},
		{lineshaft.Trigger{Provider: "github", Event: "issue_*", Filter: lineshaft.TriggerFilter{Webhooks: []string{"hub"}, Sets: map[string]*lineshaft.Choice{"labels": in("bug"), "authors": in("ann")}}}, "GitHub event issue_*, by webhook hub; label is bug; author is ann"},
		{lineshaft.Trigger{Provider: "gitlab", Event: "pipeline", Filter: lineshaft.TriggerFilter{Payload: json.RawMessage(`{"x": [1]}`), Sets: map[string]*lineshaft.Choice{"conclusions": in("failed"), "base_branches": in("main")}}}, "GitLab event pipeline; base branch is main; conclusion is failed; x is 1"},
		{lineshaft.Trigger{Provider: "jira", Event: "issue_created"}, "Jira event issue_created"},
		{lineshaft.Trigger{Provider: "teams", Event: "app_mention"}, "Microsoft Teams event app_mention: kept, but never fires here"},
	} {
		if got := triggerText(c.trigger); got != c.want {
			t.Errorf("%+v is %q, want %q", c.trigger, got, c.want)
		}
	}
}

// triggerText is a trigger in words, as a page puts them together.
func triggerText(t lineshaft.Trigger) string {
	text := triggerHead(t, []lineshaft.Webhook{{UID: "known", Name: "issues"}})
	for _, c := range triggerConditions(t) {
		text += "; " + c.Field + " " + c.Text
	}
	return text
}
