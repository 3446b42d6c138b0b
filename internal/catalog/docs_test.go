package catalog_test

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

var updateDocs = flag.Bool("update-docs", false, "write the tables of docs/triggers.md again")

const triggersPage = "../../docs/triggers.md"

// The tables of the documentation are those of the catalogue.
func TestF6DocumentedEvents(t *testing.T) {
	t.Parallel()
	page, err := os.ReadFile(triggersPage)
	if err != nil {
		t.Fatal(err)
	}
	text := string(page)
	for _, provider := range append(lineshaft.SendingProviders(), lineshaft.DormantProviders()...) {
		part := regexp.MustCompile(`(?s)<!-- events of ` + provider + ` -->\n.*?<!-- end -->`)
		want := "<!-- events of " + provider + " -->\n\n" + eventTable(provider) + "\n<!-- end -->"
		found := part.FindString(text)
		switch {
		case found == "":
			t.Errorf("there is no table of %s", provider)
		case found != want && !*updateDocs:
			t.Errorf("the table of %s is not what the catalogue says; run go test ./internal/catalog -run Documented -update-docs", provider)
		}
		text = part.ReplaceAllLiteralString(text, want)
	}
	if *updateDocs {
		if err := os.WriteFile(triggersPage, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// eventTable has a row for events with the same keys, and one for each key.
func eventTable(provider string) string {
	events, _ := catalog.Catalog(provider)
	groups, order := map[string][]string{}, []string{}
	keys := map[string]catalog.KeySpec{}
	var names []string
	for _, e := range events {
		var list []string
		for _, k := range e.Keys {
			list = append(list, "`"+k.Name+"`")
			if _, known := keys[k.Name]; !known {
				names = append(names, k.Name)
			}
			k.Unseen = ""
			keys[k.Name] = k
		}
		group := strings.Join(list, ", ")
		if groups[group] == nil {
			order = append(order, group)
		}
		groups[group] = append(groups[group], "`"+e.Event+"`")
	}
	var b strings.Builder
	b.WriteString("| events | filter keys |\n| --- | --- |\n")
	for _, group := range order {
		fmt.Fprintf(&b, "| %s | %s |\n", strings.Join(groups[group], ", "), group)
	}
	b.WriteString("\n| key | a value is | compared |\n| --- | --- | --- |\n")
	slices.Sort(names)
	for _, name := range names {
		fmt.Fprintf(&b, "| `%s` | %s%s | %s |\n", name, keys[name].Value, aliasWords(keys[name]), comparison(keys[name]))
	}
	return b.String()
}

func aliasWords(k catalog.KeySpec) string {
	if k.Alias == "" {
		return ""
	}
	return "; instead of `" + k.Alias + "`"
}

func comparison(k catalog.KeySpec) string {
	words := []string{"as it is"}
	switch {
	case k.Part:
		words = []string{"part of the text, in any case"}
	case k.AnyCase:
		words = []string{"in any case"}
	}
	if k.Patterns {
		words = append(words, "`*` and `**` are patterns")
	}
	switch {
	case k.List:
		words = append(words, "a plain list")
	case k.InOnly:
		words = append(words, "no `not_in`")
	}
	if k.Required {
		words = append(words, "required")
	}
	return strings.Join(words, "; ")
}
