package lineshaft_test

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
)

func TestF6ChoiceOnTheWire(t *testing.T) {
	t.Parallel()
	type choice = lineshaft.Choice
	for text, want := range map[string]struct {
		choice  choice
		written string
	}{
		`["a","b"]`:                   {choice{In: []string{"a", "b"}}, `["a","b"]`},
		` [ "a" ] `:                   {choice{In: []string{"a"}}, `["a"]`},
		`[]`:                          {choice{In: []string{}}, `[]`},
		`{"in":["a"]}`:                {choice{In: []string{"a"}}, `["a"]`},
		`{"not_in":["a"]}`:            {choice{NotIn: []string{"a"}}, `{"not_in":["a"]}`},
		`{"in":["a"],"not_in":["b"]}`: {choice{In: []string{"a"}, NotIn: []string{"b"}}, `{"in":["a"],"not_in":["b"]}`},
		`{"in":[],"not_in":["b"]}`:    {choice{In: []string{}, NotIn: []string{"b"}}, `{"in":[],"not_in":["b"]}`},
		`{"in":["a"],"not_in":[]}`:    {choice{In: []string{"a"}, NotIn: []string{}}, `{"in":["a"],"not_in":[]}`},
		`{}`:                          {choice{}, `{}`},
	} {
		got := choice{In: []string{"left over"}, NotIn: []string{"left over"}}
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want.choice) {
			t.Errorf("%s is read as %#v (%v)", text, got, err)
		}
		if written, err := json.Marshal(&got); err != nil || string(written) != want.written {
			t.Errorf("%s is written as %s (%v)", text, written, err)
		}
	}
	for _, text := range []string{`"a"`, `7`, `true`, `[1]`, `[["a"]]`, `{"in":"a"}`, `{"in":["a"],"or":["b"]}`, `{"in":[null],"x":1}`} {
		if err := json.Unmarshal([]byte(text), new(lineshaft.Choice)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// What is written and read again says the same.
func TestF6ChoiceRoundTrip(t *testing.T) {
	t.Parallel()
	values := rapid.SliceOfN(rapid.String(), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		var before, after lineshaft.Choice
		if rapid.Bool().Draw(t, "has in") {
			before.In = values.Draw(t, "in")
		}
		if rapid.Bool().Draw(t, "has not in") {
			before.NotIn = values.Draw(t, "not in")
		}
		text, err := json.Marshal(lineshaft.TriggerFilter{Labels: &before})
		if err != nil {
			t.Fatal(err)
		}
		var read lineshaft.TriggerFilter
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		after = *read.Labels
		if (before.In == nil) != (after.In == nil) || !slices.Equal(before.In, after.In) || !slices.Equal(before.NotIn, after.NotIn) {
			t.Fatalf("%#v is written as %s and read as %#v", before, text, after)
		}
	})
}

func TestF6ChoiceAllows(t *testing.T) {
	t.Parallel()
	type choice = lineshaft.Choice
	for name, test := range map[string]struct {
		choice  *choice
		yes, no []string
	}{
		"none":    {nil, []string{"a", ""}, nil},
		"in":      {&choice{In: []string{"a", "b"}}, []string{"a", "b"}, []string{"", "c", "A"}},
		"not in":  {&choice{NotIn: []string{"a"}}, []string{"", "b"}, []string{"a"}},
		"both":    {&choice{In: []string{"a", "b"}, NotIn: []string{"b"}}, []string{"a"}, []string{"", "b", "c"}},
		"nothing": {&choice{In: []string{}}, nil, []string{"", "a"}},
	} {
		for _, value := range test.yes {
			if !test.choice.Allows(value) {
				t.Errorf("%s refuses %q", name, value)
			}
		}
		for _, value := range test.no {
			if test.choice.Allows(value) {
				t.Errorf("%s allows %q", name, value)
			}
		}
	}
}

func TestF6ChoiceLimits(t *testing.T) {
	t.Parallel()
	many := make([]string, lineshaft.MaxChoices+1)
	for i := range many {
		many[i] = strings.Repeat("x", i+1)
	}
	for name, test := range map[string]struct {
		choice *lineshaft.Choice
		field  string
	}{
		"none":         {nil, ""},
		"one":          {&lineshaft.Choice{In: []string{"a"}}, ""},
		"most":         {&lineshaft.Choice{NotIn: many[:lineshaft.MaxChoices]}, ""},
		"empty":        {&lineshaft.Choice{In: []string{}}, "f"},
		"nothing":      {&lineshaft.Choice{}, "f"},
		"too many":     {&lineshaft.Choice{In: many}, "f"},
		"too many not": {&lineshaft.Choice{NotIn: many}, "f"},
		"empty value":  {&lineshaft.Choice{In: []string{"a", ""}}, "f"},
		"long value":   {&lineshaft.Choice{NotIn: []string{strings.Repeat("x", 257)}}, "f"},
		"both":         {&lineshaft.Choice{In: []string{"a"}, NotIn: []string{"b", "a"}}, "f"},
		"NUL":          {&lineshaft.Choice{In: []string{"\x00"}}, "f"},
		"no text":      {&lineshaft.Choice{NotIn: []string{"\xff"}}, "f"},
	} {
		wantField(t, test.choice.Validate("f"), test.field, name)
	}
}

func TestF6TriggerLimits(t *testing.T) {
	t.Parallel()
	type filter = lineshaft.TriggerFilter
	type trigger = lineshaft.Trigger
	some := &lineshaft.Choice{In: []string{"a"}}
	states := func(names ...string) filter { return filter{States: &lineshaft.Choice{In: names}} }
	daily := &lineshaft.Timing{Cron: "@daily"}
	for name, test := range map[string]struct {
		trigger trigger
		field   string
	}{
		"webhook by name":       {trigger{Provider: "webhook", Event: "received", Filter: filter{Webhooks: []string{"ci"}}}, ""},
		"webhook by uid":        {trigger{Provider: "webhook", Event: "received", Filter: filter{WebhookIDs: []string{"x"}, Payload: json.RawMessage(`{}`)}}, ""},
		"no provider":           {trigger{Event: "received"}, "t"},
		"no event":              {trigger{Provider: "webhook"}, "t"},
		"unknown provider":      {trigger{Provider: "svn", Event: "commit"}, "t.provider"},
		"other event":           {trigger{Provider: "webhook", Event: "sent"}, "t.event"},
		"other run event":       {trigger{Provider: "run", Event: "started"}, "t.event"},
		"other schedule event":  {trigger{Provider: "schedule", Event: "fired"}, "t.event"},
		"webhook without one":   {trigger{Provider: "webhook", Event: "received"}, "t.filter"},
		"too many webhooks":     {trigger{Provider: "webhook", Event: "received", Filter: filter{Webhooks: make([]string, lineshaft.MaxTriggerHooks+1)}}, "t.filter"},
		"webhook with labels":   {trigger{Provider: "webhook", Event: "received", Filter: filter{Webhooks: []string{"ci"}, Labels: some}}, "t.filter.labels"},
		"schedule":              {trigger{Provider: "schedule", Event: "cron_fired", Schedule: daily}, ""},
		"schedule without time": {trigger{Provider: "schedule", Event: "cron_fired"}, "t.schedule"},
		"schedule with webhook": {trigger{Provider: "schedule", Event: "cron_fired", Schedule: daily, Filter: filter{Webhooks: []string{"ci"}}}, "t.filter"},
		"webhook with time":     {trigger{Provider: "webhook", Event: "received", Filter: filter{Webhooks: []string{"ci"}}, Schedule: daily}, "t.schedule"},
		"run":                   {trigger{Provider: "run", Event: "finished"}, ""},
		"run with all":          {trigger{Provider: "run", Event: "finished", Filter: filter{Agents: some, Automations: some, Factories: some, States: &lineshaft.Choice{NotIn: []string{"CANCELLED"}}}}, ""},
		"run in a live state":   {trigger{Provider: "run", Event: "finished", Filter: states("SUCCEEDED", "INPROGRESS")}, "t.filter.states"},
		"run in no state":       {trigger{Provider: "run", Event: "finished", Filter: states("succeeded")}, "t.filter.states"},
		"run with payload":      {trigger{Provider: "run", Event: "finished", Filter: filter{Payload: json.RawMessage(`{}`)}}, "t.filter.payload"},
		"run with repos":        {trigger{Provider: "run", Event: "finished", Filter: filter{Repos: some}}, "t.filter.repos"},
		"run with webhooks":     {trigger{Provider: "run", Event: "finished", Filter: filter{WebhookIDs: []string{"x"}}}, "t.filter"},
		"github":                {trigger{Provider: "github", Event: "issue_opened"}, ""},
		"github, many":          {trigger{Provider: "github", Event: "issue_*", Filter: filter{Webhooks: []string{"ci"}, Repos: some, Labels: some, Authors: some}}, ""},
		"github, star within":   {trigger{Provider: "github", Event: "issue_*_x"}, "t.event"},
		"github, long event":    {trigger{Provider: "github", Event: strings.Repeat("e", 81)}, "t.event"},
		"github with agents":    {trigger{Provider: "github", Event: "push", Filter: filter{Agents: some}}, "t.filter.agents"},
		"github, empty choice":  {trigger{Provider: "github", Event: "push", Filter: filter{Paths: &lineshaft.Choice{}}}, "t.filter.paths"},
		"gitlab":                {trigger{Provider: "gitlab", Event: "merge_request", Filter: filter{BaseBranches: some, Branches: some, Conclusions: some, Paths: some}}, ""},
		"dormant":               {trigger{Provider: "slack", Event: "app_mention", Filter: filter{Labels: some}}, ""},
		"dormant with a star":   {trigger{Provider: "slack", Event: "app_*"}, "t.event"},
		"dormant, bad choice":   {trigger{Provider: "jira", Event: "issue_created", Filter: filter{Labels: &lineshaft.Choice{}}}, "t.filter.labels"},
	} {
		wantField(t, test.trigger.Validate("t"), test.field, name)
	}
}

func TestF6Providers(t *testing.T) {
	t.Parallel()
	all := lineshaft.Providers()
	if len(slices.Compact(slices.Sorted(slices.Values(all)))) != len(all) {
		t.Errorf("some stand twice: %q", all)
	}
	for _, provider := range all {
		trigger := lineshaft.Trigger{Provider: provider}
		forge := provider == "github" || provider == "gitlab"
		fires := forge || provider == "webhook" || provider == "schedule" || provider == "run"
		if trigger.Forge() != forge || trigger.Dormant() == fires {
			t.Errorf("%s: forge %v, dormant %v", provider, trigger.Forge(), trigger.Dormant())
		}
	}
	if (lineshaft.Trigger{Provider: "svn"}).Dormant() {
		t.Error("an unknown provider is dormant")
	}
}
