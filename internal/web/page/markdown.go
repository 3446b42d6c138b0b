package page

import (
	"errors"
	"html/template"
	"net/url"
	"strings"

	"github.com/yuin/goldmark"
	"github.com/yuin/goldmark/ast"
	"github.com/yuin/goldmark/extension"
	extended "github.com/yuin/goldmark/extension/ast"
	"github.com/yuin/goldmark/renderer"
	"github.com/yuin/goldmark/util"
)

// newMarkdown makes the renderer of what people and agents say. Agents repeat what
// strangers wrote, so HTML stays text, pictures are not loaded, and links lead to the
// web or to a mailbox only.
func newMarkdown() goldmark.Markdown {
	return goldmark.New(
		goldmark.WithExtensions(
			extension.NewTable(extension.WithTableCellAlignMethod(extension.TableCellAlignNone)),
			extension.Strikethrough, extension.TaskList,
			extension.NewLinkify(extension.WithLinkifyAllowedProtocols([]string{"http:", "https:"})),
		),
		goldmark.WithRendererOptions(renderer.WithNodeRenderers(util.Prioritized(careful{}, 100))),
	)
}

// Markdown renders a text. A text that would cost too much, or that the renderer does not
// accept, is shown as it is.
func (s *Site) Markdown(text string) template.HTML {
	out := bounded{most: maxHTML}
	if costly(text) || s.md.Convert([]byte(text), &out) != nil {
		return template.HTML("<pre>\n" + template.HTMLEscapeString(text) + "</pre>\n") // escaped here
	}
	return template.HTML(out.String()) // careful and goldmark escape all text
}

// careful renders what could reach out of the text.
type careful struct{}

// RegisterFuncs says which parts are rendered here.
func (c careful) RegisterFuncs(r renderer.NodeRendererFuncRegisterer) {
	r.Register(ast.KindLink, c.link)
	r.Register(ast.KindAutoLink, c.autoLink)
	r.Register(ast.KindImage, c.image)
	r.Register(ast.KindRawHTML, c.rawHTML)
	r.Register(ast.KindHTMLBlock, c.htmlBlock)
	r.Register(ast.KindHeading, c.heading)
	r.Register(extended.KindTaskCheckBox, c.checkBox)
}

// SafeLink is the address of a link, if it is one that may be followed.
func SafeLink(address string) (string, bool) {
	u, err := url.Parse(strings.TrimSpace(address))
	if err != nil {
		return "", false
	}
	switch strings.ToLower(u.Scheme) {
	case "http", "https":
		return u.String(), u.Host != ""
	case "mailto":
		return u.String(), true
	}
	return "", false
}

func (careful) link(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.Link)
	if !ok {
		return ast.WalkContinue, nil
	}
	tag(w, node, string(n.Destination), entering)
	return ast.WalkContinue, nil
}

// image becomes a link with its description: a picture of another host would show that
// host who reads. Within a link it is its description alone.
func (careful) image(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.Image)
	if !ok {
		return ast.WalkContinue, nil
	}
	if !inLink(node) {
		tag(w, node, string(n.Destination), entering)
	} else if entering {
		node.SetAttributeString(linked, true)
	}
	if entering && node.FirstChild() == nil {
		_, _ = w.WriteString("picture")
	}
	return ast.WalkContinue, nil
}

// linked is the attribute of what is within a link, itself included.
const linked = "linked"

// inLink says whether something is within a link already: HTML has no links in links.
func inLink(node ast.Node) bool {
	for up := node.Parent(); up != nil; up = up.Parent() {
		switch up.Kind() {
		case ast.KindLink, ast.KindImage:
			_, is := up.AttributeString(linked)
			return is
		}
	}
	return false
}

// tag begins or ends a link; where no link is allowed, the address is shown beside the words, for
// no text may be hidden.
func tag(w util.BufWriter, node ast.Node, address string, entering bool) {
	within := inLink(node)
	safe, ok := SafeLink(address)
	switch {
	case entering && ok && !within:
		_, _ = w.WriteString(openTag(safe))
	case !entering && ok && !within:
		_, _ = w.WriteString("</a>")
	case !entering:
		_, _ = w.WriteString(" (" + template.HTMLEscapeString(address) + ")")
	}
	if entering && (ok || within) {
		node.SetAttributeString(linked, true)
	}
}

func openTag(safe string) string {
	return `<a href="` + template.HTMLEscapeString(safe) + `" rel="noopener noreferrer nofollow">`
}

func (careful) autoLink(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.AutoLink)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	address := string(n.URL(source))
	if n.AutoLinkType == ast.AutoLinkEmail && !strings.HasPrefix(strings.ToLower(address), "mailto:") {
		address = "mailto:" + address
	}
	text := template.HTMLEscapeString(string(n.Label(source)))
	if safe, ok := SafeLink(address); ok && !inLink(node) {
		text = openTag(safe) + text + "</a>"
	}
	_, _ = w.WriteString(text)
	return ast.WalkContinue, nil
}

func (careful) rawHTML(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.RawHTML)
	if !ok || !entering {
		return ast.WalkSkipChildren, nil
	}
	for i := range n.Segments.Len() {
		segment := n.Segments.At(i)
		_, _ = w.WriteString(template.HTMLEscapeString(string(segment.Value(source))))
	}
	return ast.WalkSkipChildren, nil
}

func (careful) htmlBlock(w util.BufWriter, source []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.HTMLBlock)
	if !ok || !entering {
		return ast.WalkContinue, nil
	}
	var text strings.Builder
	for i := range n.Lines().Len() {
		line := n.Lines().At(i)
		text.Write(line.Value(source))
	}
	if n.HasClosure() {
		text.Write(n.ClosureLine.Value(source))
	}
	_, _ = w.WriteString("<pre>\n" + template.HTMLEscapeString(text.String()) + "</pre>\n")
	return ast.WalkContinue, nil
}

// heading keeps the outline of the page for the page itself.
func (careful) heading(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	n, ok := node.(*ast.Heading)
	if !ok {
		return ast.WalkContinue, nil
	}
	if entering {
		_, _ = w.WriteString(`<p class="h` + string(rune('0'+min(n.Level, 6))) + `"><strong>`)
	} else {
		_, _ = w.WriteString("</strong></p>\n")
	}
	return ast.WalkContinue, nil
}

// checkBox is a mark: nobody can tick it here.
func (careful) checkBox(w util.BufWriter, _ []byte, node ast.Node, entering bool) (ast.WalkStatus, error) {
	if n, ok := node.(*extended.TaskCheckBox); ok && entering {
		mark := "☐ "
		if n.IsChecked {
			mark = "☑ "
		}
		_, _ = w.WriteString(mark)
	}
	return ast.WalkContinue, nil
}

// How much Markdown of a kind may be in one text. For some kinds the renderer takes far longer than
// the text is long, and writes far more; no person writes as much.
const (
	maxHTML     = 10 * MaxShown
	maxCells    = 5000 // of tables: every row has all columns of its header
	maxNesting  = 50   // quotes and lists within each other
	maxBrackets = 1000 // each begins what may be a link
	maxMarks    = 5000 // of emphasis in a paragraph: each is held against all before it
	// maxLinkWork is the links of a paragraph times its length: the end of each is searched
	// for in all of the rest.
	maxLinkWork = 8 << 20
)

// costly says that a text has more of these than is worth rendering.
func costly(text string) bool {
	if strings.Count(text, "[") > maxBrackets {
		return true
	}
	cells, columns := 0, 0
	length, links, marks := 0, 0, 0 // of the paragraph
	for line := range strings.SplitSeq(text, "\n") {
		depth, rest := nesting(line)
		if depth > maxNesting {
			return true
		}
		switch {
		case strings.TrimSpace(rest) == "":
			columns, length, links, marks = 0, 0, 0, 0 // the end of every table and paragraph
		case strings.Contains(rest, "|") && strings.Trim(rest, "|:- \t\f") == "":
			columns = max(columns, strings.Count(rest, "|")+1) // the line below a header, counted in its place
		}
		cells, length, links = cells+columns, length+len(line), links+strings.Count(line, "](")
		for _, mark := range []string{"*", "_", "~"} {
			marks += strings.Count(line, mark)
		}
		if cells > maxCells || links*length > maxLinkWork || marks > maxMarks {
			return true
		}
	}
	return false
}

// nesting counts the quotes and list items that a line begins, and gives what is left.
func nesting(line string) (depth int, rest string) {
	for {
		line = strings.TrimLeft(line, " \t")
		mark := marker(line)
		if mark == 0 {
			return depth, line
		}
		depth, line = depth+1, line[mark:]
	}
}

// marker is the length of the mark of a quote or of a list item; zero without one.
func marker(line string) int {
	digits := len(line) - len(strings.TrimLeft(line, "0123456789"))
	if digits == len(line) {
		return 0
	}
	end := digits + 1
	switch c := line[digits]; {
	case c == '>' && digits == 0:
		return end
	case digits == 0 && (c == '-' || c == '+' || c == '*'), digits > 0 && (c == '.' || c == ')'):
		if end == len(line) || line[end] == ' ' || line[end] == '\t' {
			return end
		}
	}
	return 0
}

// bounded takes so many bytes and no more.
type bounded struct {
	strings.Builder

	most int
}

var errTooLong = errors.New("more than a page shows")

// Write refuses what does not fit.
func (b *bounded) Write(p []byte) (int, error) {
	if b.Len()+len(p) > b.most {
		return 0, errTooLong
	}
	return b.Builder.Write(p)
}
