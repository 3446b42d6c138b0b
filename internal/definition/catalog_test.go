package definition

import (
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

// valueOf is a value that a key can have.
func valueOf(key catalog.KeySpec) string {
	values := map[string]string{
		"review_states": "approved", "conclusions": "success", "actions": "open", "repos": "acme/web", "states": "FAILED", "pr_numbers": "7", "prNumbers": "7",
	}
	if value := values[key.Name]; value != "" {
		return value
	}
	return "any"
}

// Every event with every one of its keys validates in files, by Parse and by the schema,
// and is exported as it was written.
func TestF6EveryTriggerOfTheCatalogIsKept(t *testing.T) {
	t.Parallel()
	schemas := compiled(t)
	for _, provider := range lineshaft.Providers() {
		events, _ := catalog.Catalog(provider)
		for _, spec := range events {
			event := strings.ReplaceAll(spec.Event, catalog.AnyEvent, "work_item_created")
			if strings.HasSuffix(spec.Event, "_*") {
				event = spec.Event
			}
			text := "---\ntriggers:\n"
			for _, key := range append(spec.Keys, catalog.KeySpec{}) {
				text += "  - provider: " + provider + "\n    event: " + event + "\n"
				if provider == lineshaft.ProviderSchedule && key.Name == "" {
					text += "    schedule: \"@daily\"\n"
				}
				filter := keyText(spec, key)
				if provider == lineshaft.ProviderWebhook {
					filter += "      webhooks:\n        - ci\n"
				}
				if filter != "" {
					text += "    filter:\n" + filter
				}
			}
			files := sound()
			files["automations/a/automation.md"] = text + "---\n\nGo.\n"
			def, problems := Parse(files)
			if len(problems) > 0 {
				t.Fatalf("%s %s: %+v\n%s", provider, event, problems, text)
			}
			if got := Render(def, nil)["automations/a/automation.md"]; got != files["automations/a/automation.md"] {
				t.Fatalf("%s %s is written as\n%s\nand was\n%s", provider, event, got, files["automations/a/automation.md"])
			}
			if err := complaint(t, schemas, "automations/a/automation.md", files["automations/a/automation.md"]); err != nil {
				t.Fatalf("%s %s: %v", provider, event, err)
			}
		}
	}
}

// keyText is a filter with one key, and those that every filter needs.
func keyText(spec catalog.EventSpec, only catalog.KeySpec) string {
	text := ""
	for _, key := range catalog.Keys() {
		at := slices.IndexFunc(spec.Keys, func(one catalog.KeySpec) bool { return one.Name == key.Name })
		if at >= 0 && (key.Name == only.Name || spec.Keys[at].Required) {
			text += "      " + key.Name + ":\n        - " + valueOf(key) + "\n"
		}
	}
	return text
}

// What imposes nothing is the same as leaving it out, wherever a filter has it.
func TestF6EmptyMatchersImposeNothing(t *testing.T) {
	t.Parallel()
	schemas := compiled(t)
	for _, filter := range []string{"~", "{}", "{labels: ~}", "{labels: []}", "{labels: {}}", "{labels: {in: [], not_in: ~}}", "{webhook_ids: ~, payload: ~, pr_numbers: {in: ~}}"} {
		files := sound()
		files["automations/a/automation.md"] = "---\ntriggers: [{provider: github, event: pull_request_opened, filter: " + filter + ", schedule: ~}]\n---\nGo.\n"
		def, problems := Parse(files)
		if len(problems) > 0 {
			t.Errorf("%s: %+v", filter, problems)
			continue
		}
		if got := def.Automations[0].Triggers[0].Filter; len(got.Sets)+len(got.WebhookIDs)+len(got.Payload) > 0 {
			t.Errorf("%s is kept as %+v", filter, got)
		}
		if err := complaint(t, schemas, "automations/a/automation.md", strings.Replace(files["automations/a/automation.md"], ", schedule: ~", "", 1)); err != nil && !strings.Contains(filter, "payload") {
			t.Errorf("%s: %v", filter, err)
		}
	}
	files := sound()
	files["automations/a/automation.md"] = "---\ntriggers: [{provider: webhook, event: received, filter: {webhook_ids: {in: [u]}}}]\n---\nGo.\n"
	if def, problems := Parse(files); len(problems) > 0 || def.Automations[0].Triggers[0].Filter.WebhookIDs[0] != "u" {
		t.Errorf("%+v", problems)
	}
}
