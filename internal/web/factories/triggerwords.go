package factories

import (
	"bytes"
	"encoding/json"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/factories"
)

// condition is one condition of a trigger in plain words.
type condition struct{ Field, Text string }

// triggerHead says in words what a trigger waits for, without its conditions.
func triggerHead(t lineshaft.Trigger, known []lineshaft.Webhook) string {
	names := slices.Clone(t.Filter.Webhooks)
	for _, uid := range t.Filter.WebhookIDs {
		if at := slices.IndexFunc(known, func(w lineshaft.Webhook) bool { return w.UID == uid }); at >= 0 {
			uid = known[at].Name
		}
		names = append(names, uid)
	}
	hooks := strings.Join(names, " or ")
	switch {
	case t.Provider == lineshaft.ProviderWebhook && hooks == "":
		return "A webhook gets a delivery"
	case t.Provider == lineshaft.ProviderWebhook:
		return "Webhook " + hooks + " gets a delivery"
	case t.Provider == lineshaft.ProviderSchedule && t.Schedule != nil:
		return timingWords(*t.Schedule)
	case t.Provider == lineshaft.ProviderSchedule:
		return "On schedule"
	case t.Provider == lineshaft.ProviderRun:
		return "A run ends"
	case t.Sent():
		head := providerName(t.Provider) + " event " + t.Event
		if hooks != "" {
			head += ", by webhook " + hooks
		}
		return head
	}
	return providerName(t.Provider) + " event " + t.Event + ": kept, but never fires here"
}

func providerName(provider string) string {
	names := map[string]string{
		lineshaft.ProviderWebhook: "Webhook", lineshaft.ProviderSchedule: "Schedule", lineshaft.ProviderRun: "End of a run",
		lineshaft.ProviderGitHub: "GitHub", lineshaft.ProviderGitLab: "GitLab",
		lineshaft.ProviderLinear: "Linear", lineshaft.ProviderSlack: "Slack", lineshaft.ProviderJira: "Jira", lineshaft.ProviderTeams: "Microsoft Teams",
		lineshaft.ProviderAzureDevOps: "Azure DevOps", lineshaft.ProviderFactory: "Factory",
	}
	if name, ok := names[provider]; ok {
		return name
	}
	return provider
}

// triggerConditions are what must also hold, in the order of the text.
func triggerConditions(t lineshaft.Trigger) []condition {
	var list []condition
	for _, spec := range factories.FilterKeys() {
		choice := t.Filter.Set(spec.Name)
		if choice == nil {
			continue
		}
		name := keyWords(spec.Name)
		if len(choice.In) > 0 {
			list = append(list, condition{name, "is " + oneOf(choice.In)})
		}
		if len(choice.NotIn) > 0 {
			list = append(list, condition{name, "is not " + oneOf(choice.NotIn)})
		}
	}
	return append(list, payloadConditions(t.Filter.Payload, "")...)
}

// keyWords is the key of a filter as people say it of one value.
func keyWords(key string) string {
	words := map[string]string{
		"repos": "repository", "branches": "branch", "base_branches": "base branch", "baseBranches": "base branch", "paths": "changed path", "prNumbers": "PR number",
		"factories": "factory", "mentioned": "mentioned", "itemUsers": "item user", "status_ids": "status id",
	}
	if word, ok := words[key]; ok {
		return word
	}
	return strings.TrimSuffix(strings.ReplaceAll(key, "_", " "), "s")
}

func oneOf(values []string) string {
	switch len(values) {
	case 0:
		return "one of an empty list"
	case 1:
		return values[0]
	}
	return strings.Join(values[:len(values)-1], ", ") + " or " + values[len(values)-1]
}

// payloadConditions reads a payload filter that can be compiled, field by field.
func payloadConditions(payload json.RawMessage, path string) []condition {
	var list []condition
	for _, f := range jsonMembers(payload) {
		at := f.key
		if path != "" {
			at = path + "." + f.key
		}
		switch {
		case bytes.HasPrefix(f.value, []byte("[")):
			list = append(list, condition{at, "is " + oneOf(jsonElements(f.value))})
		case operatorsOnly(f.value):
			for _, op := range jsonMembers(f.value) {
				list = append(list, condition{at, conditionWords(op.key, op.value)})
			}
		default:
			list = append(list, payloadConditions(f.value, at)...)
		}
	}
	return list
}

func conditionWords(operator string, value json.RawMessage) string {
	switch {
	case operator == "in":
		return "is " + oneOf(jsonElements(value))
	case operator == "not_in":
		return "is not " + oneOf(jsonElements(value))
	case string(value) == "true":
		return "is present"
	}
	return "is missing"
}

func operatorsOnly(object json.RawMessage) bool {
	for _, m := range jsonMembers(object) {
		if m.key == "in" || m.key == "not_in" || m.key == "exists" {
			return true // the compiler refuses these beside field names
		}
	}
	return false
}

type jsonMember struct {
	key   string
	value json.RawMessage
}

// jsonMembers are those of an object, in the order of the text; none of anything else.
func jsonMembers(object json.RawMessage) []jsonMember {
	decoder := json.NewDecoder(bytes.NewReader(object))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil
	}
	var list []jsonMember
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return list
		}
		var m jsonMember
		m.key, _ = key.(string)
		if decoder.Decode(&m.value) != nil {
			return list
		}
		list = append(list, m)
	}
	return list
}

// jsonElements are the values of an array as people read them: texts without quotes.
func jsonElements(array json.RawMessage) []string {
	var values []json.RawMessage
	if json.Unmarshal(array, &values) != nil {
		return nil
	}
	var list []string
	for _, v := range values {
		var text string
		if json.Unmarshal(v, &text) == nil && text != "" && string(v) != "null" {
			list = append(list, text)
		} else {
			list = append(list, string(v))
		}
	}
	return list
}
