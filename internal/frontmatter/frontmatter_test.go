package frontmatter_test

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft/internal/frontmatter"
)

func TestF2FrontMatterIsSplit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		text string
		want frontmatter.Parts
	}{
		"both":          {"---\na: 1\n---\n\nDo it.\n", frontmatter.Parts{YAML: "a: 1", YAMLLine: 2, Body: "Do it.", BodyLine: 5, Found: true}},
		"windows":       {"---\r\na: 1\r\n---\r\nDo\r\nit.", frontmatter.Parts{YAML: "a: 1", YAMLLine: 2, Body: "Do\nit.", BodyLine: 4, Found: true}},
		"byte mark":     {"\ufeff---\n---\nx", frontmatter.Parts{YAMLLine: 2, Body: "x", BodyLine: 3, Found: true}},
		"none":          {"\n\nOnly text.\n---\n", frontmatter.Parts{Body: "Only text.\n---", BodyLine: 3}},
		"no end":        {"---\na: 1\nb: 2", frontmatter.Parts{YAML: "a: 1\nb: 2", YAMLLine: 2, BodyLine: 3, Found: true, Open: true}},
		"rule in body":  {"---\na: 1\n---\nx\n---\ny", frontmatter.Parts{YAML: "a: 1", YAMLLine: 2, Body: "x\n---\ny", BodyLine: 4, Found: true}},
		"longer dashes": {"----\na", frontmatter.Parts{Body: "----\na", BodyLine: 1}},
		"empty":         {"", frontmatter.Parts{BodyLine: 2}},
	} {
		if got := frontmatter.Split(c.text); got != c.want {
			t.Errorf("%s: split into %+v, want %+v", name, got, c.want)
		}
	}
}

func TestF2FrontMatterRoundTrips(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		yaml := strings.Join(rapid.SliceOf(rapid.StringMatching(`[a-z]+: [a-z0-9 ]*\n`)).Draw(t, "yaml"), "")
		body := rapid.StringMatching(`[A-Za-z#-][ -~\n]*[A-Za-z.]`).Draw(t, "body")
		got := frontmatter.Split(frontmatter.Join(yaml, body))
		if got.YAML != strings.TrimSuffix(yaml, "\n") || got.Body != body || !got.Found || got.Open {
			t.Fatalf("%q and %q came back as %+v", yaml, body, got)
		}
	})
}
