package page

import (
	"encoding/json"
	"html"
	"regexp"
	"strings"
	"testing"
)

// unmarked is what a reader sees of marked text.
func unmarked(marked string) string {
	return html.UnescapeString(regexp.MustCompile(`</?(?:span|details|summary)[^>]*>`).ReplaceAllString(marked, ""))
}

func TestPaintMarksWhatAPayloadHas(t *testing.T) {
	t.Parallel()
	text, _ := LayOut([]byte(`{"a":"x: \"1\"","b":{"c":[-1.5e3,true,{"d":null}]},"e":{},"f":"{"}`), 1<<20)
	got := string(Paint(text))
	for _, want := range []string{
		`<span class="key">&#34;a&#34;</span>: <span class="string">&#34;x: \&#34;1\&#34;&#34;</span>`,
		`<details open><summary>  <span class="key">&#34;b&#34;</span>: {`,
		`<details open><summary>    <span class="key">&#34;c&#34;</span>: [`,
		`<span class="literal">-1.5e3</span>`, `<span class="literal">true</span>`, `<span class="literal">null</span>`,
	} {
		if !strings.Contains(got, want) {
			t.Errorf("%s\nhas no %s", got, want)
		}
	}
	if folds := strings.Count(got, "<details"); folds != 2 {
		t.Errorf("%d parts can be folded, want 2: the outermost and what is deep inside cannot\n%s", folds, got)
	}
	if unmarked(got) != text {
		t.Errorf("without its marks it is\n%s\nwant\n%s", unmarked(got), text)
	}
}

func FuzzPaint(f *testing.F) {
	for _, body := range []string{`{"a":{"b":[{}]}}`, `</pre><script>x</script>`, `]}{[`, `"\`, "{\"a\":[\n\"b", `{"a": "}", "b": "{"}`} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		text, _ := LayOut([]byte(body), 4096)
		got := string(Paint(text))
		if strings.ContainsAny(body, "<&") {
			if rest := regexp.MustCompile(`</?(?:span class="(?:key|string|literal)"|span|details open|details|summary)>`).ReplaceAllString(got, ""); strings.Contains(rest, "<") {
				t.Fatalf("%q became %q", body, got)
			}
		} else if unmarked(got) != strings.ReplaceAll(text, "\x00", "\ufffd") {
			t.Fatalf("%q became %q", text, got)
		}
		if strings.Count(got, "<details") != strings.Count(got, "</details>") || strings.Count(got, "<details") != strings.Count(got, "<summary>") {
			t.Fatalf("not balanced: %q", got)
		}
		if depth := strings.Count(got, "<details"); json.Valid([]byte(body)) && !strings.Contains(body, ":") && !strings.Contains(body, ",") && depth > deepestFold {
			t.Fatalf("%d folds for %q", depth, body)
		}
	})
}
