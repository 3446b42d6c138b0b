package definition

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/frontmatter"
)

// document reads a YAML file; nil when it cannot be read or is empty, which is reported.
func (r *reader) document(text string) *node {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	n := r.yaml(text)
	if n == nil {
		return nil
	}
	r.note("", n.line, n.column)
	return n
}

func (r *reader) yaml(text string) *node {
	if r.yamlBytes += len(text); len(text) > maxYAML || r.yamlBytes > maxAllYAML {
		r.report(1, 1, fmt.Sprintf("there is too much YAML: %d bytes here, %d so far", len(text), r.yamlBytes), fmt.Sprintf("a file may have %d bytes of it, and all together %d; put long texts below the front matter", maxYAML, maxAllYAML))
		return nil
	}
	n, work, m := parseYAML(text, maxWork-r.work)
	if r.work += work; r.work > maxWork {
		r.stopped = &lineshaft.FileProblem{File: r.file, Message: m.message, Hint: m.hint}
		return nil
	}
	switch {
	case m != nil:
		r.report(m.line, m.column, m.message, m.hint).as(cmp.Or(m.code, CodeInvalidYAML))
		return nil
	case n == nil:
		r.report(1, 1, "the file says nothing", "write its keys, or remove the file").as(CodeInvalidDocument)
	}
	return n
}

// frontMatter reads a Markdown file: its keys and its text. An empty front matter
// is an empty object.
func (r *reader) frontMatter(text string) (n *node, body string, bodyLine int) {
	parts := frontmatter.Split(text)
	switch {
	case !parts.Found:
		r.report(1, 1, "the file has no front matter", "begin it with a line ---, then its keys, then a line ---").as(CodeMalformedFrontMatter)
		return nil, "", 0
	case parts.Open:
		r.report(1, 1, "the front matter has no end", "put a line --- below its last key").as(CodeMalformedFrontMatter)
		return nil, "", 0
	}
	r.above = parts.YAMLLine - 1
	if blankYAML(parts.YAML) {
		return &node{kind: objectNode, line: 1, column: 1}, parts.Body, parts.BodyLine
	}
	return r.yaml(parts.YAML + "\n"), parts.Body, parts.BodyLine
}

// blankYAML says that there is nothing but comments.
func blankYAML(text string) bool {
	for line := range strings.SplitSeq(text, "\n") {
		if line = strings.TrimSpace(line); line != "" && !strings.HasPrefix(line, "#") {
			return false
		}
	}
	return true
}

// markdown reads a file whose text is a prompt, which may be one of the keys too.
func (r *reader) markdown(text string, prompt *string, keys []key) bool {
	n, body, bodyLine := r.frontMatter(text)
	if n == nil {
		return false
	}
	r.object("", n, keys)
	r.checkPrompt(cmp.Or(*prompt, body), bodyLine)
	switch {
	case *prompt == "":
		*prompt = body
	case body != "":
		r.wrong(n.get("prompt"), "prompt", "there is text below the front matter too", "keep one of the two")
	}
	return n.kind == objectNode
}
