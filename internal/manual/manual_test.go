package manual

import (
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/fstest"

	"github.com/yuin/goldmark/ast"
)

// pages are parsed once for all tests, which only read them.
var pages = sync.OnceValues(New)

func load(t *testing.T) *Manual {
	t.Helper()
	m, err := pages()
	if err != nil {
		t.Fatal(err)
	}
	if len(m.Pages) < 60 || len(m.Groups) != 7 {
		t.Fatalf("%d pages, %d groups", len(m.Pages), len(m.Groups))
	}
	return m
}

// TestI7NoDeadLinks follows every link of every page: to pages, their headings, and files
// of the repository.
func TestI7NoDeadLinks(t *testing.T) {
	t.Parallel()
	m, followed := load(t), 0
	for _, page := range m.Pages {
		for _, link := range links(page.tree) {
			if strings.Contains(link, "://") || strings.HasPrefix(link, "mailto:") {
				continue
			}
			followed++
			if problem := m.dead(page, link); problem != "" {
				t.Errorf("%s: %s: %s", page.Name, link, problem)
			}
		}
	}
	if followed < 300 {
		t.Errorf("only %d links", followed)
	}
}

// dead says what is wrong with a link.
func (m *Manual) dead(from *Page, link string) string {
	_, fragment, _ := strings.Cut(link, "#")
	to := m.byName[resolve(from.Name, link)]
	if to == nil {
		name, _, _ := strings.Cut(link, "#")
		if _, err := os.Stat(filepath.Join("../../docs", filepath.Dir(from.Name), name)); err != nil {
			return "there is no such file"
		}
		return ""
	}
	if fragment != "" && !slices.ContainsFunc(to.sections, func(s section) bool { return s.id == fragment }) {
		return "there is no such heading"
	}
	return ""
}

func TestI7DeadLinksAreFound(t *testing.T) {
	t.Parallel()
	m, err := parse(fstest.MapFS{
		"README.md":   {Data: []byte("# All\n\n## Start\n\n- [a](a.md)\n- [folder](b)\n")},
		"a.md":        {Data: []byte("# A\n\n## One thing\n\nText\n")},
		"b/README.md": {Data: []byte("# B\n\n[a](../a.md#one-thing) [c](c.md)\n")},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := m.byName["b/README.md"]
	for link, want := range map[string]string{
		"../a.md": "", "../a.md#one-thing": "", "../a.md#two": "heading", "c.md": "file", "../../go.mod": "", "../../none.txt": "file", "#b": "", "#c": "heading",
	} {
		if got := m.dead(b, link); (want == "") != (got == "") || !strings.Contains(got, want) {
			t.Errorf("%s: %q, want %q", link, got, want)
		}
	}
	if got := m.Groups[0]; got.Name != "Start" || len(got.Pages) != 2 || got.Pages[1] != b || b.Group != "Start" {
		t.Errorf("%+v", got)
	}
}

// TestI7EveryPageIsNear: each page is within three clicks of the index.
func TestI7EveryPageIsNear(t *testing.T) {
	t.Parallel()
	m := load(t)
	clicks := map[*Page]int{m.byName[index]: 0}
	for queue := []*Page{m.byName[index]}; len(queue) > 0; queue = queue[1:] {
		for _, link := range links(queue[0].tree) {
			to := m.byName[resolve(queue[0].Name, link)]
			if _, seen := clicks[to]; to != nil && !seen {
				clicks[to] = clicks[queue[0]] + 1
				queue = append(queue, to)
			}
		}
	}
	for _, page := range m.Pages {
		if n, reached := clicks[page]; !reached || n > 3 {
			t.Errorf("%s: %d clicks, reached: %v", page.Name, n, reached)
		}
		if page.Group == "" && !strings.HasPrefix(page.Name, "decisions/") && page.Name != index {
			t.Errorf("%s is in no group of the index", page.Name)
		}
		first, ok := page.tree.FirstChild().(*ast.Heading)
		if !ok || first.Level != 1 {
			t.Errorf("%s does not begin with its title", page.Name)
		}
	}
}

// TestI7OneNameForEachPage: the index calls a page by its title, which is also its name in the menu, and no
// two pages have the same.
func TestI7OneNameForEachPage(t *testing.T) {
	t.Parallel()
	m := load(t)
	entry, listed, named := regexp.MustCompile(`(?m)^- \[([^]]+)\]\(([^)]+)\)`), 0, map[string]string{}
	for _, found := range entry.FindAllStringSubmatch(string(m.byName[index].source), -1) {
		page := m.byName[resolve(index, found[2])]
		if page == nil {
			continue // TestI7NoDeadLinks has it
		}
		if listed++; page.Title != found[1] {
			t.Errorf("%s: the index says %q, its title is %q", page.Name, found[1], page.Title)
		}
		if other := named[page.Title]; other != "" && other != page.Name {
			t.Errorf("%s and %s are both called %q", other, page.Name, page.Title)
		}
		named[page.Title] = page.Name
	}
	if listed < 60 {
		t.Errorf("only %d entries", listed)
	}
}

func get(t *testing.T, site *Site, path string) *httptest.ResponseRecorder {
	t.Helper()
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, path, nil))
	return w
}

// TestI7DocsAreServed: pages, redirects, a search for what is not there, and nothing from elsewhere.
func TestI7DocsAreServed(t *testing.T) {
	t.Parallel()
	site := NewSite()
	for path, want := range map[string]struct {
		status int
		has    string
	}{
		"/docs":                       {301, `"/docs/"`},
		"/docs/":                      {200, "<h1 id=\"lineshaft-documentation\">"},
		"/docs/guides":                {301, `"/docs/guides/"`},
		"/docs/guides/":               {200, `href="github"`},
		"/docs/guides/github":         {200, `href="../triggers"`},
		"/docs/guides/github.md":      {301, `"/docs/guides/github"`},
		"/docs/webhooks":              {200, `href="guides/github"`},
		"/docs/concepts/overview":     {200, `aria-current="page">What Lineshaft is<`},
		"/docs/ci":                    {200, Source + "deploy/ci/lineshaft-run.sh"},
		"/docs/search?q=bubblewrap":   {200, `href="/docs/isolation`},
		"/docs/search?q=%3Cscript%3E": {200, "&lt;script&gt;"},
		"/docs/search?q=qqqq":         {200, "No page has these words"},
		"/docs/search":                {200, "<h1>Search</h1>"},
		"/docs/rotate-master-key":     {404, `href="/docs/secrets`},
		"/docs/../go.mod":             {404, "<h1>No such page</h1>"},
		"/docs/nosuch":                {404, "There is no page at this address. See the list of pages"},
	} {
		w := get(t, site, path)
		if w.Code != want.status || !strings.Contains(w.Body.String()+`"`+w.Header().Get("Location")+`"`, want.has) {
			t.Errorf("%s: %d %q, want %d with %q\n%.1500s", path, w.Code, w.Header().Get("Location"), want.status, want.has, w.Body)
		}
		if policy := w.Header().Get("Content-Security-Policy"); !strings.HasPrefix(policy, "default-src 'none'") {
			t.Errorf("%s: policy %q", path, policy)
		}
	}
	w := httptest.NewRecorder()
	site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodPost, "/docs/", nil))
	if w.Code != http.StatusMethodNotAllowed {
		t.Errorf("POST: %d", w.Code)
	}
}

var loads = regexp.MustCompile(`(?:src|action)="([^"]*)"|<(?:script|link|img|iframe)\b`)

// TestI7DocsWorkOffline: no page loads anything, and every link within the documentation leads to a page.
func TestI7DocsWorkOffline(t *testing.T) {
	t.Parallel()
	m := load(t)
	site := NewSite()
	for _, page := range m.Pages {
		address := Prefix + shortAddress(page.Name)
		w := httptest.NewRecorder()
		site.ServeHTTP(w, httptest.NewRequestWithContext(t.Context(), http.MethodGet, address, nil))
		if w.Code != http.StatusOK {
			t.Errorf("%s: %d", address, w.Code)
		}
		for _, found := range loads.FindAllStringSubmatch(w.Body.String(), -1) {
			if found[1] == "" || strings.Contains(found[1], "//") {
				t.Errorf("%s loads %s", address, found[0])
			}
		}
	}
}

func TestI7Addresses(t *testing.T) {
	t.Parallel()
	for _, c := range [][4]string{
		{"README.md", "webhooks.md", "webhooks", "webhooks.html"},
		{"README.md", "README.md", "./", "index.html"},
		{"README.md", "guides/README.md", "guides/", "guides/index.html"},
		{"guides/github.md", "README.md", "../", "../index.html"},
		{"guides/github.md", "guides/slack.md", "slack", "slack.html"},
		{"guides/github.md", "guides/README.md", "./", "index.html"},
		{"guides/github.md", "concepts/runs.md", "../concepts/runs", "../concepts/runs.html"},
	} {
		if got := address(c[0], c[1], "", ""); got != c[2] {
			t.Errorf("%s to %s: %q, want %q", c[0], c[1], got, c[2])
		}
		if got := address(c[0], c[1], ".html", "index.html"); got != c[3] {
			t.Errorf("%s to %s as files: %q, want %q", c[0], c[1], got, c[3])
		}
	}
	for path, want := range map[string]bool{"/docs": true, "/docs/": true, "/docs/webhooks": true, "/docs/errors": false, "/docs/errors/x": false, "/docsx": false, "/": false} {
		if Serves(path) != want {
			t.Errorf("Serves(%s) is %v", path, !want)
		}
	}
}

// TestI7DocsAsFiles writes the site and follows each relative link in it.
func TestI7DocsAsFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	count, err := Write(dir)
	if err != nil || count != len(load(t).Pages)+1 {
		t.Fatal(count, err)
	}
	href := regexp.MustCompile(`href="([^"#:]+)(?:#[^"]*)?"`)
	err = filepath.WalkDir(dir, func(name string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		text, err := os.ReadFile(name)
		for _, found := range href.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(name), found[1])); err != nil && !strings.HasPrefix(found[1], "/docs/errors") {
				t.Errorf("%s: %s leads nowhere", name, found[1])
			}
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	search, err := os.ReadFile(filepath.Join(dir, "search.html"))
	if err != nil || !strings.Contains(string(search), `"href":"guides/github.html#`) {
		t.Errorf("search.html: %v", err)
	}
}

// The pages at the root of the repository lead somewhere, too, and README.md to at most a few places.
func TestI7NoDeadLinksAtTheRoot(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md", "CHANGELOG.md"} {
		text, err := os.ReadFile("../../" + name)
		if err != nil {
			t.Fatal(err)
		}
		for _, found := range regexp.MustCompile(`\]\(([^)#:]+)(?:#[^)]*)?\)|(?:src|srcset)="([^":]+)"`).FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat("../../" + found[1] + found[2]); err != nil {
				t.Errorf("%s: %s leads nowhere", name, found[1]+found[2])
			}
		}
	}
}
