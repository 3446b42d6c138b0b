package forge_test

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/forge"
)

var (
	docRow  = regexp.MustCompile("(?m)^\\| (`[^|]+`) \\| ([^|]+) \\|$")
	docWord = regexp.MustCompile("`([a-z_]+(?:_…)?)`")
)

// The tables of the documentation have the events that triggers may name.
func TestF6DocumentedEvents(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile("../../docs/triggers.md")
	if err != nil {
		t.Fatal(err)
	}
	for provider, part := range map[string][2]string{
		"github": {"### Events of GitHub", "### Events of GitLab"}, "gitlab": {"### Events of GitLab", "### Filters of both"},
	} {
		_, text, _ := strings.Cut(string(page), part[0])
		text, _, _ = strings.Cut(text, part[1])
		told := map[string]bool{}
		open := []string{} // families whose actions the page leaves to the forge's documentation
		for _, row := range docRow.FindAllStringSubmatch(text, -1) {
			for _, name := range docWord.FindAllStringSubmatch(row[1], -1) {
				family, acting := strings.CutSuffix(name[1], "_…")
				if !acting {
					told[family] = true
					continue
				}
				told[family+"_*"] = true
				if strings.Contains(row[2], "documents") {
					open = append(open, family+"_")
				}
				for _, action := range docWord.FindAllStringSubmatch(row[2], -1) {
					told[family+"_"+action[1]] = !strings.Contains(row[2], "documents")
				}
			}
		}
		if len(told) < 20 {
			t.Fatalf("%s: only %d names found; has the table another form?", provider, len(told))
		}
		events := forge.Events(provider)
		for name, sure := range told {
			if sure && !slices.Contains(events, name) && name != "merge_request_*" {
				t.Errorf("%s: %s is documented and not known", provider, name)
			}
		}
		for _, name := range events {
			if !told[name] && !slices.ContainsFunc(open, func(family string) bool { return strings.HasPrefix(name, family) }) {
				t.Errorf("%s: %s is not documented", provider, name)
			}
		}
	}
}
