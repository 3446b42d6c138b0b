package manual

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page, its style sheet and the search of static files
	"encoding/base64"
	"encoding/json"
	"fmt"
	"html/template"
	"net/http"
	"os"
	"path"
	"path/filepath"
	"strings"
	"sync"
	"unicode/utf8"
)

// Prefix is where a server shows the documentation.
const Prefix = "/docs/"

//go:embed page.html
var pageSource string

//go:embed page.css
var pageStyle string

//go:embed search.js
var searchScript string

// maxQuestion is how much of a question counts, in bytes.
const maxQuestion = 200

// Site shows the documentation over HTTP. It is parsed when somebody asks for it first.
type Site struct{ load func() (*shown, error) }

// shown is the documentation with the template of its pages.
type shown struct {
	*Manual
	tmpl *template.Template
	// suffix and folder end the addresses of pages and of indexes: static files have both.
	suffix, folder string
}

// NewSite makes the pages of a server.
func NewSite() *Site {
	return &Site{load: sync.OnceValues(func() (*shown, error) { return newShown("", "") })}
}

func newShown(suffix, folder string) (*shown, error) {
	tmpl, err := template.New("page").Parse(pageSource)
	if err != nil {
		return nil, fmt.Errorf("parse page of the documentation: %w", err)
	}
	m, err := New()
	return &shown{Manual: m, tmpl: tmpl, suffix: suffix, folder: folder}, err
}

// Serves says whether an address belongs to the documentation. The pages of errors below
// it are not among them.
func Serves(address string) bool {
	return (address+"/" == Prefix || strings.HasPrefix(address, Prefix)) && address != "/docs/errors" && !strings.HasPrefix(address, "/docs/errors/")
}

// ServeHTTP answers what is below Prefix.
func (s *Site) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	head := w.Header()
	head.Set("X-Content-Type-Options", "nosniff")
	head.Set("Referrer-Policy", "no-referrer")
	head.Set("Content-Security-Policy", policy())
	if r.Method != http.MethodGet && r.Method != http.MethodHead {
		head.Set("Allow", "GET, HEAD")
		http.Error(w, "the documentation can only be read", http.StatusMethodNotAllowed)
		return
	}
	site, err := s.load()
	if err != nil {
		http.Error(w, "the documentation cannot be read", http.StatusInternalServerError)
		return
	}
	name, moved := site.named(r.URL.Path)
	if moved != "" {
		http.Redirect(w, r, moved, http.StatusMovedPermanently)
		return
	}
	status := http.StatusOK
	var body []byte
	switch page := site.byName[name]; {
	case name == "search":
		body, err = site.searched("Search", r.URL.Query().Get("q"))
	case page != nil:
		body, err = site.page(page)
	default: // what was looked for may be elsewhere
		status = http.StatusNotFound
		body, err = site.searched(noPage, strings.NewReplacer("/", " ", "-", " ", ".md", "").Replace(strings.TrimPrefix(r.URL.Path, Prefix)))
	}
	if err != nil {
		http.Error(w, "the page cannot be shown", http.StatusInternalServerError)
		return
	}
	head.Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	_, _ = w.Write(body) // the reader is gone
}

func policy() string {
	sum := sha256.Sum256([]byte(pageStyle))
	return "default-src 'none'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}

// named is the page that an address means, or where else it is.
func (s *shown) named(address string) (name, moved string) {
	if address+"/" == Prefix {
		return "", Prefix
	}
	name = strings.TrimPrefix(address, Prefix)
	switch {
	case name == "" || strings.HasSuffix(name, "/"):
		return name + index, ""
	case s.byName[name+"/"+index] != nil:
		return "", address + "/"
	case s.byName[name] != nil: // with .md, as in the repository
		return "", Prefix + shortAddress(name)
	}
	if name != "search" {
		name += ".md"
	}
	return name, ""
}

// shortAddress is the address of a page below Prefix.
func shortAddress(name string) string { return strings.TrimPrefix(address(index, name, "", ""), "./") }

type menuLink struct {
	Name, Href string
	Here       bool
}

type menuGroup struct {
	Name  string
	Open  bool
	Links []menuLink
}

type hitLink struct {
	Hit
	Name, Href string
}

// view is what the template gets.
type view struct {
	Title, Home, Search, Query string
	Style                      template.CSS
	Script                     template.JS
	Body                       template.HTML
	Menu                       []menuGroup
	Found, Lost, Dashboard     bool
	Hits                       []hitLink
}

func (s *shown) view(from string, here *Page) view {
	link := func(to string) string { return address(from, to, s.suffix, s.folder) }
	v := view{Style: template.CSS(pageStyle), Home: link(index), Search: link("search.md"), Dashboard: s.suffix == ""}
	for _, group := range s.Groups {
		g := menuGroup{Name: group.Name, Open: here != nil && here.Group == group.Name || here == nil || here.Name == index}
		for _, page := range group.Pages {
			g.Links = append(g.Links, menuLink{Name: page.Title, Href: link(page.Name), Here: page == here})
		}
		v.Menu = append(v.Menu, g)
	}
	return v
}

func (s *shown) render(v view) ([]byte, error) {
	var out bytes.Buffer
	if err := s.tmpl.Execute(&out, v); err != nil {
		return nil, fmt.Errorf("render page of the documentation: %w", err)
	}
	return out.Bytes(), nil
}

func (s *shown) page(page *Page) ([]byte, error) {
	body, err := s.html(page, func(from, to string) string { return address(from, to, s.suffix, s.folder) })
	if err != nil {
		return nil, err
	}
	v := s.view(page.Name, page)
	v.Title, v.Body = page.Title, template.HTML(body) // our own pages, and goldmark leaves out HTML
	return s.render(v)
}

// noPage is the title of what is shown instead of a page that does not exist.
const noPage = "No such page"

func (s *shown) searched(title, question string) ([]byte, error) {
	if len(question) > maxQuestion {
		question = strings.ToValidUTF8(question[:maxQuestion], "")
	}
	v := s.view(index, nil)
	v.Home, v.Search = Prefix, Prefix+"search"
	for _, group := range v.Menu {
		for i := range group.Links {
			group.Links[i].Href = Prefix + strings.TrimPrefix(group.Links[i].Href, "./")
		}
	}
	v.Title, v.Found, v.Lost, v.Query = title, true, title == noPage, question
	for _, hit := range s.Find(question) {
		link := hitLink{Hit: hit, Name: hit.Page.Title, Href: Prefix + shortAddress(hit.Page.Name)}
		if hit.ID != "" {
			link.Name, link.Href = link.Name+": "+hit.Section, link.Href+"#"+hit.ID
		}
		v.Hits = append(v.Hits, link)
	}
	return s.render(v)
}

// Write puts the documentation into a folder as static files, and says how many.
func Write(dir string) (count int, err error) {
	s, err := newShown(".html", "index.html")
	if err != nil {
		return 0, err
	}
	put := func(name string, body []byte, err error) error {
		if err == nil {
			count++
			name = filepath.Join(dir, filepath.FromSlash(name))
			if err = os.MkdirAll(filepath.Dir(name), 0o755); err == nil {
				err = os.WriteFile(name, body, 0o644)
			}
		}
		return err
	}
	for _, page := range s.Pages {
		body, err := s.page(page)
		if err := put(staticName(page.Name), body, err); err != nil {
			return count, err
		}
	}
	body, err := s.searchFile()
	return count, put("search.html", body, err)
}

func staticName(name string) string {
	if path.Base(name) == index {
		return path.Join(path.Dir(name), "index.html")
	}
	return strings.TrimSuffix(name, ".md") + ".html"
}

// searchFile is a page that searches in the browser.
func (s *shown) searchFile() ([]byte, error) {
	type entry struct {
		Title string `json:"title"`
		Href  string `json:"href"`
		Text  string `json:"text"`
	}
	var all []entry
	for _, page := range s.Pages {
		for i, part := range page.sections {
			one := entry{Title: page.Title, Href: address(index, page.Name, s.suffix, s.folder), Text: strings.Join(strings.Fields(part.text), " ")}
			if i > 0 {
				one.Title, one.Href = one.Title+": "+part.title, one.Href+"#"+part.id
			}
			for len(one.Text) > 4000 || !utf8.ValidString(one.Text) {
				one.Text = one.Text[:min(4000, len(one.Text)-1)]
			}
			all = append(all, one)
		}
	}
	data, err := json.Marshal(all)
	if err != nil {
		return nil, fmt.Errorf("index of the documentation: %w", err)
	}
	v := s.view(index, nil)
	v.Title, v.Found, v.Script = "Search", true, template.JS("const sections = "+string(data)+";\n"+searchScript)
	return s.render(v)
}
