package lineshaft_test

import (
	"encoding/json"
	"errors"
	"reflect"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
)

// sets are the keys of a filter.
type sets = map[string]*lineshaft.Choice

func TestF6ChoiceOnTheWire(t *testing.T) {
	t.Parallel()
	type choice = lineshaft.Choice
	for text, want := range map[string]struct {
		choice  choice
		written string
	}{
		`["a","b"]`:                   {choice{In: []string{"a", "b"}}, `["a","b"]`},
		` [ "a" ] `:                   {choice{In: []string{"a"}}, `["a"]`},
		`[]`:                          {choice{}, `[]`},
		`[7, 12]`:                     {choice{In: []string{"7", "12"}, Whole: true}, `[7,12]`},
		`{"not_in":[7]}`:              {choice{NotIn: []string{"7"}, Whole: true}, `{"not_in":[7]}`},
		`{"in":["a"]}`:                {choice{In: []string{"a"}}, `["a"]`},
		`{"not_in":["a"]}`:            {choice{NotIn: []string{"a"}}, `{"not_in":["a"]}`},
		`{"in":["a"],"not_in":["b"]}`: {choice{In: []string{"a"}, NotIn: []string{"b"}}, `{"in":["a"],"not_in":["b"]}`},
		`{"in":[],"not_in":["b"]}`:    {choice{NotIn: []string{"b"}}, `{"not_in":["b"]}`},
		`{"in":["a"],"not_in":[]}`:    {choice{In: []string{"a"}}, `["a"]`},
		`{}`:                          {choice{}, `[]`},
		`{"in":null}`:                 {choice{}, `[]`},
	} {
		got := choice{In: []string{"left over"}, NotIn: []string{"left over"}}
		if err := json.Unmarshal([]byte(text), &got); err != nil || !reflect.DeepEqual(got, want.choice) {
			t.Errorf("%s is read as %#v (%v)", text, got, err)
		}
		if written, err := json.Marshal(&got); err != nil || string(written) != want.written {
			t.Errorf("%s is written as %s (%v)", text, written, err)
		}
	}
	for _, text := range []string{`"a"`, `7`, `true`, `[1.5]`, `[1,"a"]`, `{"in":["a"],"not_in":[1]}`, `[1e3]`, `[["a"]]`, `{"in":"a"}`, `{"in":["a"],"or":["b"]}`, `{"in":[null],"x":1}`} {
		if err := json.Unmarshal([]byte(text), new(lineshaft.Choice)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// A choice that is written and read again says the same.
func TestF6ChoiceRoundTrip(t *testing.T) {
	t.Parallel()
	values := rapid.SliceOfN(rapid.String(), 0, 4)
	rapid.Check(t, func(t *rapid.T) {
		var before lineshaft.Choice
		if rapid.Bool().Draw(t, "has in") {
			before.In = values.Draw(t, "in")
		}
		if rapid.Bool().Draw(t, "has not in") {
			before.NotIn = values.Draw(t, "not in")
		}
		text, err := json.Marshal(lineshaft.TriggerFilter{Sets: sets{"labels": &before}})
		if err != nil {
			t.Fatal(err)
		}
		var read lineshaft.TriggerFilter
		if err := json.Unmarshal(text, &read); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
		after := read.Set("labels")
		if after == nil {
			after = &lineshaft.Choice{}
		}
		if !slices.Equal(before.In, after.In) || !slices.Equal(before.NotIn, after.NotIn) {
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
		"nothing": {&choice{In: []string{}, NotIn: []string{}}, []string{"", "a"}, nil},
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

// Keys of a filter are read whatever they are called: the catalogue refuses those that
// it does not have, and nothing is dropped in silence.
func TestF6FilterOnTheWire(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`{"channel_ids":["C1"],"keywords":{"not_in":["x"]},"pr_numbers":[7]}`:     `{"channel_ids":["C1"],"keywords":{"not_in":["x"]},"pr_numbers":[7]}`,
		`{"labels":null,"repos":[],"authors":{},"paths":{"in":[],"not_in":null}}`: `{}`,
		`{"webhook_ids":{"in":["u"]},"webhooks":["w"],"payload":{"a":["<b>"]}}`:   `{"payload":{"a":["<b>"]},"webhook_ids":["u"],"webhooks":["w"]}`,
		`{"baseBranches":["main"],"payload":null}`:                                `{"baseBranches":["main"]}`,
	} {
		var f lineshaft.TriggerFilter
		if err := json.Unmarshal([]byte(text), &f); err != nil {
			t.Errorf("%s: %v", text, err)
		}
		if got, err := f.MarshalJSON(); err != nil || string(got) != want {
			t.Errorf("%s is written as %s (%v)", text, got, err)
		}
	}
	for text, field := range map[string]string{
		`{"labels":"x"}`: "labels", `{"webhook_ids":{"not_in":["u"]}}`: "webhook_ids", `{"webhooks":[1]}`: "webhooks", `[]`: "", `{"labels":{"or":["x"]}}`: "labels",
	} {
		var f lineshaft.TriggerFilter
		err := f.UnmarshalJSON([]byte(text))
		pub, ok := errors.AsType[*lineshaft.Error](err)
		if !ok || pub.Field != field {
			t.Errorf("%s: %v", text, err)
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
		"empty":        {&lineshaft.Choice{In: []string{}}, ""},
		"nothing":      {&lineshaft.Choice{}, ""},
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
		"webhook without one":   {trigger{Provider: "webhook", Event: "received"}, "t.filter"},
		"too many webhooks":     {trigger{Provider: "webhook", Event: "received", Filter: filter{Webhooks: make([]string, lineshaft.MaxTriggerHooks+1)}}, "t.filter"},
		"schedule":              {trigger{Provider: "schedule", Event: "cron_fired", Schedule: daily}, ""},
		"schedule without time": {trigger{Provider: "schedule", Event: "cron_fired"}, "t.schedule"},
		"schedule with webhook": {trigger{Provider: "schedule", Event: "cron_fired", Schedule: daily, Filter: filter{Webhooks: []string{"ci"}}}, "t.filter"},
		"webhook with time":     {trigger{Provider: "webhook", Event: "received", Filter: filter{Webhooks: []string{"ci"}}, Schedule: daily}, "t.schedule"},
		"run":                   {trigger{Provider: "run", Event: "finished"}, ""},
		"run with all":          {trigger{Provider: "run", Event: "finished", Filter: filter{Sets: sets{"agents": some, "automations": some, "factories": some, "states": &lineshaft.Choice{NotIn: []string{"CANCELLED"}}}}}, ""},
		"run with payload":      {trigger{Provider: "run", Event: "finished", Filter: filter{Payload: json.RawMessage(`{}`)}}, "t.filter.payload"},
		"run with webhooks":     {trigger{Provider: "run", Event: "finished", Filter: filter{WebhookIDs: []string{"x"}}}, "t.filter"},
		"github":                {trigger{Provider: "github", Event: "issue_opened"}, ""},
		"github, many":          {trigger{Provider: "github", Event: "issue_*", Filter: filter{Webhooks: []string{"ci"}, Sets: sets{"repos": some, "labels": some, "authors": some}}}, ""},
		"github, star within":   {trigger{Provider: "github", Event: "issue_*_x"}, "t.event"},
		"github, long event":    {trigger{Provider: "github", Event: strings.Repeat("e", 81)}, "t.event"},
		"github, long choice":   {trigger{Provider: "github", Event: "push", Filter: filter{Sets: sets{"paths": {In: []string{strings.Repeat("x", 257)}}}}}, "t.filter.paths"},
		"gitlab":                {trigger{Provider: "gitlab", Event: "merge_request", Filter: filter{Sets: sets{"base_branches": some, "branches": some, "conclusions": some, "paths": some}}}, ""},
		"dormant":               {trigger{Provider: "teams", Event: "app_mention", Filter: filter{Sets: sets{"labels": some}}}, ""},
		"dormant with a star":   {trigger{Provider: "teams", Event: "app_*"}, "t.event"},
		"dormant with webhooks": {trigger{Provider: "teams", Event: "app_mention", Filter: filter{Webhooks: []string{"ci"}}}, "t.filter"},
		"named schedules":       {trigger{Provider: "schedule", Event: "cron_fired", Filter: filter{Sets: sets{"schedule_ids": some}}}, ""},
		"two kinds of schedule": {trigger{Provider: "schedule", Event: "cron_fired", Schedule: daily, Filter: filter{Sets: sets{"schedule_ids": some}}}, "t.filter.schedule_ids"},
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
		sent := slices.Contains([]string{"github", "gitlab", "linear", "slack", "jira"}, provider)
		fires := sent || provider == "webhook" || provider == "schedule" || provider == "run"
		if trigger.Sent() != sent || trigger.Delivered() != (sent || provider == "webhook") || trigger.Dormant() == fires {
			t.Errorf("%s: sent %v, dormant %v", provider, trigger.Sent(), trigger.Dormant())
		}
	}
	if (lineshaft.Trigger{Provider: "svn"}).Dormant() {
		t.Error("an unknown provider is dormant")
	}
}
