package runs

import (
	"fmt"
	"html"
	"regexp"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/web/page"
)

var (
	tagPattern  = regexp.MustCompile(`<\s*/?\s*([a-zA-Z][a-zA-Z0-9]*)([^>]*)>`)
	hrefPattern = regexp.MustCompile(`(?i)\bhref\s*=\s*"([^"]*)"`)
)

// checkSafe finds what must not be in a page: tags that our templates do not have,
// handlers, styles, and links that run something.
func checkSafe(t *testing.T, text string) {
	t.Helper()
	links := 0
	for _, found := range tagPattern.FindAllStringSubmatch(text, -1) {
		if strings.EqualFold(found[1], "a") {
			if links++; strings.HasPrefix(found[0], "</") {
				links -= 2
			}
			if links < 0 || links > 1 {
				t.Errorf("a link in a link, or none ends, at %s", found[0])
			}
		}
		switch strings.ToLower(found[1]) {
		case "script", "img", "iframe", "style", "object", "embed", "link", "meta", "base", "input", "video", "audio", "math":
			t.Errorf("tag %s", found[0])
		}
		attributes := regexp.MustCompile(`"[^"]*"`).ReplaceAllString(found[2], `""`)
		if regexp.MustCompile(`(?i)\s(on\w+|style|srcdoc|src)\s*=`).MatchString(attributes) {
			t.Errorf("attribute in %s", found[0])
		}
	}
	for _, found := range hrefPattern.FindAllStringSubmatch(text, -1) {
		address := strings.ToLower(strings.TrimSpace(html.UnescapeString(found[1])))
		if !strings.HasPrefix(address, "http://") && !strings.HasPrefix(address, "https://") && !strings.HasPrefix(address, "mailto:") && !strings.HasPrefix(address, "/runs/") {
			t.Errorf("link to %s", address)
		}
	}
}

func TestS4Markdown(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for _, tc := range []struct{ text, want string }{
		{"# Title", `<p class="h1"><strong>Title</strong></p>`},
		{"a **b** `c<d`", "<p>a <strong>b</strong> <code>c&lt;d</code></p>"},
		{"```go\nx < y\n```", "<pre><code class=\"language-go\">x &lt; y\n</code></pre>"},
		{"[t](https://x.example/?a=1&b=2)", `<a href="https://x.example/?a=1&amp;b=2" rel="noopener noreferrer nofollow">t</a>`},
		{"[t](mailto:a@x.example)", `<a href="mailto:a@x.example" rel="noopener noreferrer nofollow">t</a>`},
		{"[t](javascript:alert(1))", "<p>t (javascript:alert(1))</p>"},
		{"[t](/logout)", "<p>t (/logout)</p>"},
		{"[t](//evil.example)", "<p>t (//evil.example)</p>"},
		{"[t](data:text/html,x)", "<p>t (data:text/html,x)</p>"},
		{"<javascript:alert(1)>", "<p>javascript:alert(1)</p>"},
		{"<https://x.example>", `<a href="https://x.example" rel="noopener noreferrer nofollow">https://x.example</a>`},
		{"see https://x.example/a now", `<a href="https://x.example/a" rel="noopener noreferrer nofollow">https://x.example/a</a>`},
		{"![pic](https://x.example/p.png)", `<a href="https://x.example/p.png" rel="noopener noreferrer nofollow">pic</a>`},
		{"![](https://x.example/p.png)", `<a href="https://x.example/p.png" rel="noopener noreferrer nofollow">picture</a>`},
		{"![](javascript:x)", "<p>picture (javascript:x)</p>"},
		{"[![pic](http://x.example/p)](https://x.example/)", `<a href="https://x.example/" rel="noopener noreferrer nofollow">pic</a>`},
		{"[![](http://x.example/p)](https://x.example/)", `<a href="https://x.example/" rel="noopener noreferrer nofollow">picture</a>`},
		{"![![a](https://x.example/)](https://y.example/)", `<p><a href="https://y.example/" rel="noopener noreferrer nofollow">a</a></p>`},
		{"![*![a](https://x.example/)*](https://y.example/)", `<p><a href="https://y.example/" rel="noopener noreferrer nofollow"><em>a</em></a></p>`},
		{"![![![a](https://x.example/)](https://z.example/)](https://y.example/)", `<p><a href="https://y.example/" rel="noopener noreferrer nofollow">a</a></p>`},
		{"![[a](https://x.example/)](https://y.example/)", `<p><a href="https://y.example/" rel="noopener noreferrer nofollow">a (https://x.example/)</a></p>`},
		{"![<https://x.example/>](https://y.example/)", `<p><a href="https://y.example/" rel="noopener noreferrer nofollow">https://x.example/</a></p>`},
		{"![see https://x.example/](https://y.example/)", `<p><a href="https://y.example/" rel="noopener noreferrer nofollow">see https://x.example/</a></p>`},
		{"[<https://x.example/>](https://y.example/)", `<a href="https://`},
		{"![![a](https://x.example/)](javascript:y)", `<p><a href="https://x.example/" rel="noopener noreferrer nofollow">a</a> (javascript:y)</p>`},
		{"a <b onclick=x>c</b>", "<p>a &lt;b onclick=x&gt;c&lt;/b&gt;</p>"},
		{"<div>\n<script>x</script>\n</div>", "&lt;script&gt;x&lt;/script&gt;"},
		{"<!-- hidden\nwords -->", "&lt;!-- hidden\nwords --&gt;"},
		{"- [x] a\n- [ ] b", "<li>☑ a</li>\n<li>☐ b</li>"},
		{"|a|\n|:-:|\n|b|", "<td>b</td>"},
	} {
		got := string(s.Markdown(tc.text))
		if !strings.Contains(got, tc.want) {
			t.Errorf("%q becomes\n%s\nwithout\n%s", tc.text, got, tc.want)
		}
		checkSafe(t, got)
	}
}

// S-4: a text that costs far more than it is long is shown as it is.
func TestS4CostlyMarkdown(t *testing.T) {
	t.Parallel()
	s := newServer(t)
	for name, text := range costlyTexts() {
		got := string(s.Markdown(text))
		if !strings.HasPrefix(got, "<pre>\n") || html.UnescapeString(strings.TrimSuffix(strings.TrimPrefix(got, "<pre>\n"), "</pre>\n")) != text {
			t.Errorf("%s becomes %d bytes: %.80s", name, len(got), got)
		}
	}
	for name, text := range map[string]string{
		"table":   strings.Repeat("|a", 20) + "\n" + strings.Repeat("|-", 20) + "\n" + strings.Repeat(strings.Repeat("|b", 20)+"\n", 200),
		"tables":  strings.Repeat("|a|b|\n|-|-|\n|c|d|\n\n", 500),
		"lines":   strings.Repeat("12\n", 8000),
		"rules":   strings.Repeat("- - - -\n\n", 1000),
		"links":   strings.Repeat("- [a](https://x.example/1234567890)\n", 400),
		"names":   strings.Repeat("a_long_name is *here*\n", 1000),
		"quotes":  strings.Repeat("> ", 20) + "said",
		"list":    strings.Repeat("- [ ] do it\n", 900),
		"a table": "> |a|b|\n> |-|-|\n" + strings.Repeat("> |c|d|\n", 1000),
	} {
		if got := string(s.Markdown(text)); strings.HasPrefix(got, "<pre>\n") || len(got) > 10*page.MaxShown {
			t.Errorf("%s is not rendered, or to %d bytes", name, len(got))
		}
	}
}

// costlyTexts are of the length that a page shows.
func costlyTexts() map[string]string {
	texts := map[string]string{}
	for _, part := range []string{"[a](", "[", "![", "[a]", ">", "> ", "1. ", "- ", "* ", ">- ", "> 1) ", "*a_", "_a_*b*"} {
		texts[part] = strings.Repeat(part, page.MaxShown/len(part))
	}
	for _, columns := range []int{100, 1000, 4000} {
		table := strings.Repeat("|", columns) + "\n" + strings.Repeat("|-", columns) + "\n"
		rows := (page.MaxShown - len(table)) / 2
		texts[fmt.Sprintf("table of %d columns", columns)] = table + strings.Repeat("a\n", rows)
		texts[fmt.Sprintf("quoted table of %d columns", columns)] = "> " + strings.ReplaceAll(strings.TrimSpace(table), "\n", "\n> ") + "\n" + strings.Repeat("a\n", rows/2)
		texts[fmt.Sprintf("table of %d columns in a list", columns)] = "- " + strings.ReplaceAll(strings.TrimSpace(table), "\n", "\n  ") + "\n" + strings.Repeat("a\n", rows/2)
	}
	texts["links without end"] = strings.Repeat("[a](", 900) + strings.Repeat("x", page.MaxShown-3600)
	texts["one long address for many links"] = strings.Repeat("[a] ", 990) + "\n\n[a]: https://x.example/" + strings.Repeat("y", page.MaxShown/2)
	return texts
}

// S-4: no text makes anything but text and links.
func FuzzMarkdown(f *testing.F) {
	s := newServer(f)
	for _, seed := range []string{
		"<script>alert(1)</script>", "[x](javascript:alert(1))", "![x](javascript:alert(1) \"t\")", "<a href=javascript:x>", "[a]: javascript:x\n[a]",
		"<javascript:alert(1)>", "```\"><script>\n```", "| a |\n|---|\n| <img src=x onerror=y> |", "[x](\x01javascript:y)", "&#106;avascript:", "<?php ?>", "<![CDATA[x]]>", "www.x.example",
		"[x](JaVaScRiPt:y)", "[x](https:javascript:y)", "[x](http://\"onclick=y)",
	} {
		f.Add(seed, 1)
	}
	for part := range costlyTexts() {
		if len(part) <= 6 {
			f.Add(part, page.MaxShown)
		}
	}
	f.Add("|", 9000)
	f.Add("|-|\n", 9000)
	f.Fuzz(func(t *testing.T, text string, times int) {
		text = strings.Repeat(text, max(1, min(times, page.MaxShown/max(1, len(text)))))
		got := string(s.Markdown(page.ShowText(text).Text))
		checkSafe(t, got)
		if len(got) > 10*page.MaxShown {
			t.Errorf("%d bytes become %d", len(text), len(got))
		}
	})
}
