package definition

import (
	"reflect"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestW15FilterTextHasPlaces(t *testing.T) {
	t.Parallel()
	webhook := lineshaft.Trigger{Provider: "webhook", Event: "received"}
	github := lineshaft.Trigger{Provider: "github", Event: "issue_opened"}
	for name, c := range map[string]struct {
		trigger      lineshaft.Trigger
		text         string
		line, column int
		message      string
		hint         string
	}{
		"no array":       {webhook, "action: opened\n", 1, 1, "action: is a string without an array around it", `write ["opened"]`},
		"second line":    {webhook, "action: [opened]\nissue:\n  number: 7\n", 3, 3, "issue.number: is a number", "write [7]"},
		"JSON":           {webhook, "{\n\t\"issue\": {\"state\": {\"in\": \"open\"}}}", 2, 22, "issue.state.in: is a string", "write an array"},
		"not YAML":       {webhook, "action: [opened\n", 1, 0, "", ""},
		"no object":      {webhook, "- opened\n", 1, 1, "is a list; expected an object", "payload: {action: [opened]}"},
		"twice":          {webhook, "a: [1]\na: [2]\n", 2, 1, "a: the key is written twice", "merge"},
		"unknown key":    {github, "label: [bug]\n", 1, 1, "label: there is no such key", "did you mean labels?"},
		"wrong place":    {github, "conclusions: [success]\n", 1, 0, "conclusions: ", ""},
		"payload of it":  {github, "payload:\n  action: opened\n", 2, 3, "payload.action: is a string", `["opened"]`},
		"state of a run": {lineshaft.Trigger{Provider: "run", Event: "finished"}, "states: [DONE]\n", 1, 0, `states: "DONE" is not a state`, "SUCCEEDED"},
	} {
		_, problems := ParseFilter(c.trigger, c.text)
		if len(problems) != 1 {
			t.Errorf("%s: %+v", name, problems)
			continue
		}
		p := problems[0]
		if p.Line != c.line || c.column > 0 && p.Column != c.column || !strings.Contains(p.Message, c.message) || !strings.Contains(p.Hint, c.hint) || strings.Contains(p.Message, "filter.") {
			t.Errorf("%s: %+v", name, p)
		}
	}
}

func TestW15FilterTextReadsBackTheSame(t *testing.T) {
	t.Parallel()
	named := lineshaft.TriggerFilter{Webhooks: []string{"issues"}}
	for _, c := range []struct{ provider, event, text string }{
		{"webhook", "received", ""},
		{"webhook", "received", "# nothing\n"},
		{"webhook", "received", "{}"},
		{"webhook", "received", `{"action": ["opened"], "issue": {"number": {"not_in": [9007199254740993]}}}`},
		{"github", "issue_opened", "labels: [bug]\npayload:\n  action: [opened]\n"},
		{"github", "push", "branches:\n  not_in: [main]\n"},
		{"run", "finished", "states: [FAILED]\nagents: [foreman]\n"},
	} {
		trigger := lineshaft.Trigger{Provider: c.provider, Event: c.event, Filter: named}
		read, problems := ParseFilter(trigger, c.text)
		if len(problems) > 0 || !reflect.DeepEqual(read.Webhooks, named.Webhooks) {
			t.Errorf("%q: %+v, %+v", c.text, problems, read)
			continue
		}
		trigger.Filter = read
		again, problems := ParseFilter(trigger, WriteFilter(trigger))
		if len(problems) > 0 || !reflect.DeepEqual(again, read) {
			t.Errorf("%q is written as %q and read as %+v (%+v)", c.text, WriteFilter(trigger), again, problems)
		}
	}
}

// Whatever is typed gets an answer.
func TestW15FilterTextOfAnyKind(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"\x00", "{", "&a [*a]", "? :", "---\na: [1]\n---\nb: [2]", strings.Repeat("[", 5000), strings.Repeat("a", 300<<10), "\t\t", "a: \xff", "!!str x: [1]"} {
		for _, provider := range []string{"webhook", "github", "run", "jira", "schedule"} {
			if _, problems := ParseFilter(lineshaft.Trigger{Provider: provider, Event: "x"}, text); len(problems) == 0 && strings.TrimSpace(text) != "" {
				t.Errorf("%.20q for %s is fine", text, provider)
			}
		}
	}
}
