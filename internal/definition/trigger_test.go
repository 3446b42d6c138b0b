package definition

import (
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// The triggers that mistakes are looked for in have none themselves.
func TestF6SoundTriggersAreSound(t *testing.T) {
	t.Parallel()
	for _, provider := range lineshaft.Providers() {
		if err := checkFired(soundTrigger(provider)); err != nil {
			t.Errorf("%s: %v", provider, err)
		}
	}
}

// Filters of files match as those of the API do: numbers by value at any size, yes and
// on as texts.
func TestF7PayloadsKeepTheirValues(t *testing.T) {
	t.Parallel()
	files := sound()
	files["automations/a/automation.md"] = `---
triggers:
  - provider: webhook
    event: received
    filter:
      webhooks: [ci]
      payload:
        id: [9007199254740993, 0x10]
        answer: [yes, on, ~, true, "1"]
        a b: {not_in: [1.50]}
---
Go.
`
	def, problems := Parse(files)
	if len(problems) > 0 {
		t.Fatal(problems)
	}
	raw := def.Automations[0].Triggers[0].Filter.Payload
	if want := `{"id":[9007199254740993,16],"answer":["yes","on",null,true,"1"],"a b":{"not_in":[1.50]}}`; string(raw) != want {
		t.Errorf("kept as %s", raw)
	}
	compiled, err := filter.Compile(raw)
	if err != nil {
		t.Fatal(err)
	}
	for body, want := range map[string]bool{
		`{"id":9007199254740993,"answer":"yes"}`:             true,
		`{"id":9007199254740992,"answer":"yes"}`:             false,
		`{"id":16.0,"answer":null,"a b":2}`:                  true,
		`{"id":16,"answer":"true"}`:                          false,
		`{"id":16,"answer":"on","a b":1.5}`:                  false,
		`{"id":9007199254740993,"answer":["no","1"],"x":{}}`: true,
	} {
		doc, err := filter.Parse([]byte(body))
		if err != nil {
			t.Fatal(err)
		}
		if got := compiled.Match(doc); got != want {
			t.Errorf("%s matches: %v", body, got)
		}
	}
}

// Money is exact.
func TestF2Dollars(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]int64{"0": 0, "1": 1_000_000, "0.000001": 1, "2.5": 2_500_000, "2.500000000": 2_500_000, "1000000000": maxCostMicros, "0.1": 100_000, "123.456789": 123_456_789, ".25": 250_000} {
		files := sound()
		files[factoryFile] += "\nagentDefaults:\n  budget:\n    maxCostUsd: " + text + "\n"
		def, problems := Parse(files)
		if len(problems) > 0 || def.Factory.Defaults.Budget.MaxCostMicros != want {
			t.Errorf("%s is %+v with %v", text, def.Factory.Defaults.Budget, problems)
		}
	}
	for _, text := range []string{"-1", "1e3", "0.0000001", "1000000000.000001", "99999999999", "1.2345678", "'1'", "true"} {
		files := sound()
		files[factoryFile] += "\nagentDefaults:\n  budget:\n    maxCostUsd: " + text + "\n"
		if _, problems := Parse(files); len(problems) != 1 || problems[0].Line != 5 || problems[0].Column != 17 {
			t.Errorf("%s: %+v", text, problems)
		}
	}
}
