package forge_test

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/filter"
	"github.com/lineshaft/lineshaft/internal/forge"
)

// event reads a request as the ingress would.
func event(tb testing.TB, provider, header, body string) *forge.Event {
	tb.Helper()
	doc, err := filter.Parse([]byte(body))
	if err != nil {
		tb.Fatalf("%s: %v", body, err)
	}
	return forge.Read(provider, header, doc)
}

func compile(tb testing.TB, provider, name string, f lineshaft.TriggerFilter) *forge.Matcher {
	tb.Helper()
	m, err := forge.Compile(lineshaft.Trigger{Provider: provider, Event: name, Filter: f})
	if err != nil {
		tb.Fatalf("%s %s: %v", provider, name, err)
	}
	return m
}

// match also holds the explanation against the verdict.
func match(tb testing.TB, m *forge.Matcher, e *forge.Event) bool {
	tb.Helper()
	matched, all := m.Match(e), true
	for _, check := range m.Explain(e) {
		all = all && check.Passed
	}
	if matched != all {
		tb.Errorf("matches: %v, but the checks say %v", matched, all)
	}
	return matched
}

func in(values ...string) *lineshaft.Choice    { return &lineshaft.Choice{In: values} }
func notIn(values ...string) *lineshaft.Choice { return &lineshaft.Choice{NotIn: values} }

// about writes GitLab's name for what a comment is about.
func about(body string) string {
	return strings.Replace(body, `"about"`, `"noteable_type"`, 1) //nolint:misspell // GitLab's spelling
}
