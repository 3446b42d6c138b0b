package catalog_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// FuzzMatch reads odd bodies with triggers of all events.
func FuzzMatch(f *testing.F) {
	for _, body := range []string{pullRequest, labeled, push, pushTag, suite, mergeReq, pipeline, `{}`, `[]`, `{"commits":{"added":[["x"]]},"action":{"x":1}}`} {
		for _, header := range []string{"issues", "pull_request", "push", "check_suite", "create", "Note Hook", "Push Hook", ""} {
			f.Add(header, body)
		}
	}
	var matchers []*catalog.Matcher
	for _, provider := range lineshaft.SendingProviders() {
		events, _ := catalog.Catalog(provider)
		for _, spec := range events {
			matchers = append(matchers, compile(f, provider, spec.Event, lineshaft.TriggerFilter{}))
			for _, key := range spec.Keys {
				for _, some := range []*lineshaft.Choice{in("a/b"), notIn("success"), in("**"), {In: []string{"7"}, Whole: true}} {
					if m, err := catalog.Compile(lineshaft.Trigger{Provider: provider, Event: spec.Event, Filter: lineshaft.TriggerFilter{Sets: sets{key.Name: some}}}, "bot"); err == nil {
						matchers = append(matchers, m)
					}
				}
			}
		}
	}
	f.Fuzz(func(t *testing.T, header, body string) {
		doc, err := filter.Parse([]byte(body))
		if err != nil {
			return
		}
		for _, provider := range append(lineshaft.SendingProviders(), "") {
			e := catalog.Read(provider, header, doc)
			for _, m := range matchers {
				match(t, m, e)
			}
		}
	})
}

// FuzzCompile writes odd triggers: one that is taken matches without a panic, and
// only events of its own name.
func FuzzCompile(f *testing.F) {
	f.Add("github", "issue_*", `{"labels":["x"],"repos":{"not_in":["a/b"]}}`)
	f.Add("gitlab", "merge_request", `{"base_branches":["**/["],"paths":["(?"]}`)
	f.Add("github", "push", `{"paths":["**/**?*"],"payload":{"ref":["x"]}}`)
	f.Fuzz(func(t *testing.T, provider, name, text string) {
		var given lineshaft.TriggerFilter
		if json.Unmarshal([]byte(text), &given) != nil {
			return
		}
		m, err := catalog.Compile(lineshaft.Trigger{Provider: provider, Event: name, Filter: given}, "bot")
		if err != nil {
			return
		}
		if !slices.Contains(catalog.Events(provider), name) {
			t.Errorf("%s has no event %q", provider, name)
		}
		for header, body := range map[string]string{"issues": labeled, "push": push, "pull_request": pullRequest, "Merge Request Hook": mergeReq} {
			e := event(t, provider, header, body)
			if match(t, m, e) && !slices.ContainsFunc(e.Names(), func(n string) bool {
				return n == name || strings.HasPrefix(n, strings.TrimSuffix(name, "*")) || strings.HasSuffix(name, "_created")
			}) {
				t.Errorf("%s matches %q", name, e.Names())
			}
		}
	})
}
