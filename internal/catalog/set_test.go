package catalog_test

import (
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

func TestF6Globs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, yes, no string
	}{
		{"main", "main", "mainline Main a/main"},
		{"*", "main .x", "a/b"},
		{"**", "main a/b a/b/c", ""},
		{"release/*", "release/1 release/", "release release/1/2"},
		{"release/**", "release/1 release/1/2", "release xrelease/1"},
		{"**/README.md", "README.md a/README.md a/b/README.md", "xREADME.md a/README.mdx"},
		{"src/**/*.go", "src/a.go src/x/a.go src/x/y/a.go", "src/a.gox a/src/a.go srcx/a.go"},
		{"v?.?", "v1.2", "v12.3 v1.23 v1/2"},
		{"a**b", "ab axb a/x/b", "abc"},
		{"a+(b)[c].d", "a+(b)[c].d", "aab a+(b)cxd"},
		{"*.*", "a.b .", "ab"},
		{"***", "a/b/c", ""},
		{"über/*", "über/ä", "uber/a"},
	} {
		m := compile(t, "gitlab", "merge_request", lineshaft.TriggerFilter{Sets: sets{"branches": in(c.glob)}})
		for i, values := range []string{c.yes, c.no} {
			for _, value := range strings.Fields(values) {
				e := event(t, "gitlab", "Merge Request Hook", `{"object_kind":"merge_request","object_attributes":{"source_branch":"`+value+`"}}`)
				if got := match(t, m, e); got != (i == 0) {
					t.Errorf("%s matches %s: %v", c.glob, value, got)
				}
			}
		}
	}
}

// Whatever people write, a long name takes no noticeable time.
func TestF6GlobsAreLinear(t *testing.T) {
	t.Parallel()
	m := compile(t, "gitlab", "merge_request", lineshaft.TriggerFilter{Sets: sets{"branches": in(strings.Repeat("**/*a", 50) + "b")}})
	e := event(t, "gitlab", "Merge Request Hook", `{"object_kind":"merge_request","object_attributes":{"source_branch":"`+strings.Repeat("a/", 20_000)+`"}}`)
	if match(t, m, e) {
		t.Error("matches")
	}
}
