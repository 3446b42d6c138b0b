package manual

import (
	"bytes"
	"fmt"
	"io/fs"
	"path"
	"slices"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	"github.com/yuin/goldmark/parser"
	"github.com/yuin/goldmark/text"

	"github.com/lineshaft/lineshaft/docs"
)

// Source is where files are that belong to the repository but are not pages.
const Source = "https://github.com/lineshaft/lineshaft/blob/main/"

// index is the page that lists all others: its headings are the sections of the menu.
const index = "README.md"

// Page is one file of the documentation.
type Page struct {
	Name     string // its path, such as guides/github.md
	Title    string
	Group    string // the heading of the index that lists it; empty where none does
	sections []section
	source   []byte
	tree     ast.Node
}

// section is what stands below one heading.
type section struct {
	title, id, text string
}

// Group is a heading of the index and the pages that it lists.
type Group struct {
	Name  string
	Pages []*Page
}

// Manual is the documentation, parsed.
type Manual struct {
	Pages  []*Page
	Groups []Group
	byName map[string]*Page
	md     goldmark.Markdown
	found  *finder
}

// New parses the pages that the binary has.
func New() (*Manual, error) { return parse(docs.Files) }

func parse(files fs.FS) (*Manual, error) {
	m := &Manual{byName: map[string]*Page{}, md: goldmark.New(
		goldmark.WithExtensions(extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)), extension.Strikethrough),
		goldmark.WithParserOptions(parser.WithAutoHeadingID()),
	)}
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".md" {
			return err
		}
		source, err := fs.ReadFile(files, name)
		if err != nil {
			return fmt.Errorf("read %s: %w", name, err)
		}
		page := &Page{Name: name, source: source, tree: m.md.Parser().Parse(text.NewReader(source))}
		page.read()
		m.Pages, m.byName[name] = append(m.Pages, page), page
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("documentation: %w", err)
	}
	if m.byName[index] == nil {
		return nil, fmt.Errorf("documentation: there is no %s", index)
	}
	m.group()
	m.found = newFinder(m.Pages)
	return m, nil
}

// read takes the title and the sections of a page from its tree.
func (p *Page) read() {
	p.Title = strings.TrimSuffix(path.Base(p.Name), ".md")
	current, titled := section{}, false
	for node := p.tree.FirstChild(); node != nil; node = node.NextSibling() {
		heading, ok := node.(*ast.Heading)
		if !ok {
			current.text += plain(node, p.source) + " "
			continue
		}
		if current.title != "" || strings.TrimSpace(current.text) != "" {
			p.sections = append(p.sections, current)
		}
		id, _ := heading.AttributeString("id")
		name, _ := id.([]byte)
		current = section{title: strings.TrimSpace(plain(node, p.source)), id: string(name)}
		if !titled {
			p.Title, titled = current.title, true
		}
	}
	p.sections = append(p.sections, current)
}

// plain is the text of a node without its marks.
func plain(node ast.Node, source []byte) string {
	var out strings.Builder
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // plain never fails
		if !entering {
			if n.Type() == ast.TypeBlock {
				out.WriteByte(' ')
			}
			return ast.WalkContinue, nil
		}
		switch n := n.(type) {
		case *ast.Text:
			out.Write(n.Segment.Value(source))
			if n.SoftLineBreak() || n.HardLineBreak() {
				out.WriteByte(' ')
			}
		case *ast.String:
			out.Write(n.Value)
		case *ast.FencedCodeBlock, *ast.CodeBlock:
			for i := range n.Lines().Len() {
				line := n.Lines().At(i)
				out.Write(line.Value(source))
			}
		}
		return ast.WalkContinue, nil
	})
	return out.String()
}

// group reads the sections of the menu from the index.
func (m *Manual) group() {
	page := m.byName[index]
	for node := page.tree.FirstChild(); node != nil; node = node.NextSibling() {
		if heading, ok := node.(*ast.Heading); ok && heading.Level == 2 {
			m.Groups = append(m.Groups, Group{Name: strings.TrimSpace(plain(node, page.source))})
			continue
		}
		if len(m.Groups) == 0 {
			continue
		}
		group := &m.Groups[len(m.Groups)-1]
		for _, link := range links(node) {
			if to := m.byName[resolve(index, link)]; to != nil && to != page && !slices.Contains(group.Pages, to) {
				group.Pages = append(group.Pages, to)
				if to.Group == "" {
					to.Group = group.Name
				}
			}
		}
	}
}

// links lists where the links below a node lead.
func links(node ast.Node) (found []string) {
	_ = ast.Walk(node, func(n ast.Node, entering bool) (ast.WalkStatus, error) { // links never fails
		if link, ok := n.(*ast.Link); ok && entering {
			found = append(found, string(link.Destination))
		}
		return ast.WalkContinue, nil
	})
	return found
}

// resolve is the path that a relative link of a page means, without its fragment.
func resolve(from, link string) string {
	link, _, _ = strings.Cut(link, "#")
	if link == "" {
		return from
	}
	to := path.Join(path.Dir(from), link)
	if path.Ext(to) == "" && !strings.HasPrefix(to, "../") {
		to += "/" + index // a folder
	}
	return to
}

// html renders a page with links as address gives them.
func (m *Manual) html(page *Page, address func(from, to string) string) ([]byte, error) {
	tree := m.md.Parser().Parse(text.NewReader(page.source)) // a copy: links are changed in it
	err := ast.Walk(tree, func(n ast.Node, entering bool) (ast.WalkStatus, error) {
		switch n := n.(type) {
		case *ast.Link:
			if entering {
				n.Destination = []byte(m.target(page.Name, string(n.Destination), address))
			}
		case *ast.Image:
			if !entering {
				return ast.WalkContinue, nil
			}
			said := ast.NewString([]byte("[picture: " + plain(n, page.source) + "]"))
			n.Parent().ReplaceChild(n.Parent(), n, said)
			return ast.WalkSkipChildren, nil
		}
		return ast.WalkContinue, nil
	})
	if err != nil {
		return nil, fmt.Errorf("links of %s: %w", page.Name, err)
	}
	var out bytes.Buffer
	if err := m.md.Renderer().Render(&out, page.source, tree); err != nil {
		return nil, fmt.Errorf("render %s: %w", page.Name, err)
	}
	return out.Bytes(), nil
}

// target is where a link leads on the site.
func (m *Manual) target(from, link string, address func(from, to string) string) string {
	if strings.Contains(link, "://") || strings.HasPrefix(link, "#") || strings.HasPrefix(link, "mailto:") || strings.HasPrefix(link, "/") {
		return link
	}
	_, fragment, marked := strings.Cut(link, "#")
	if marked {
		fragment = "#" + fragment
	}
	if to := resolve(from, link); m.byName[to] != nil {
		return address(from, to) + fragment
	}
	return Source + path.Join("docs", path.Dir(from), strings.TrimSuffix(link, fragment)) + fragment
}

// address is a relative link from one page to another, with a suffix for files.
func address(from, to, suffix, folder string) string {
	up := strings.Repeat("../", strings.Count(from, "/"))
	if path.Dir(from) == path.Dir(to) {
		up, to = "", path.Base(to)
	}
	if path.Base(to) == index {
		if to = strings.TrimSuffix(to, index) + folder; up+to == "" {
			return "./"
		}
		return up + to
	}
	return up + strings.TrimSuffix(to, ".md") + suffix
}
