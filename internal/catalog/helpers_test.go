package catalog_test

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
	"github.com/lineshaft/lineshaft/internal/filter"
)

// event reads a request as the ingress would.
func event(tb testing.TB, provider, header, body string) *catalog.Event {
	tb.Helper()
	doc, err := filter.Parse([]byte(body))
	if err != nil {
		tb.Fatalf("%s: %v", body, err)
	}
	return catalog.Read(provider, header, doc)
}

func compile(tb testing.TB, provider, name string, f lineshaft.TriggerFilter) *catalog.Matcher {
	tb.Helper()
	m, err := catalog.Compile(lineshaft.Trigger{Provider: provider, Event: name, Filter: f}, "builder")
	if err != nil {
		tb.Fatalf("%s %s: %v", provider, name, err)
	}
	return m
}

// match also holds the explanation against the verdict.
func match(tb testing.TB, m *catalog.Matcher, e *catalog.Event) bool {
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

func both(in, notIn string) *lineshaft.Choice {
	return &lineshaft.Choice{In: []string{in}, NotIn: []string{notIn}}
}

// about writes GitLab's name for what a comment is about.
func about(body string) string {
	return strings.Replace(body, `"about"`, `"noteable_type"`, 1) //nolint:misspell // GitLab's spelling
}

// sets are the keys of a filter.
type sets = map[string]*lineshaft.Choice
