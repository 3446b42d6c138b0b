package definition

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/frontmatter"
)

// maxAllYAML bounds all YAML of a folder together, besides maxWork.
const maxAllYAML = 4 << 20

// parsing is a folder that is being read.
type parsing struct {
	*findings
	def *Definition
	// unreadAgents counts agents whose front matter could not be read: one of them may
	// be the foreman.
	unreadAgents int
	// evaluations are scorers and benchmarks.
	evaluations []evaluation
}

// Parse reads a folder and reports every problem at once, in the order of files and
// lines. The definition holds what could be read; it is whole only without problems.
func Parse(files Files) (*Definition, []lineshaft.FileProblem) {
	f := &findings{places: map[string]place{}, kept: keptValues{}}
	p := &parsing{findings: f, def: &Definition{places: f.places}}
	if p.def.Partial = !p.checkFiles(files); !p.def.Partial {
		p.readFiles(files)
		p.sort()
		if p.def.Partial = p.stopped != nil; !p.def.Partial { // else much is missing that was only not read
			p.checkParts()
		}
	}
	sortByPlace(p.notices)
	p.def.Notices, p.def.kept = p.notices, p.kept
	return p.def, p.told()
}

func (p *parsing) reader(file string, kind Kind, name string) *reader {
	r := &reader{findings: p.findings, file: file, kind: kind, name: name}
	r.note("", 1, 1)
	return r
}

func (p *parsing) readFiles(files Files) {
	if _, ok := files[factoryFile]; !ok {
		p.add(lineshaft.FileProblem{
			File: factoryFile, Code: CodeMissingFactory, Message: "the folder has no factory.yaml", Hint: "add one with schemaVersion: " + Version + " and a name; check that this is the folder of a factory",
		})
	}
	for _, path := range sortedPaths(files) {
		if p.stopped == nil {
			p.readFile(path, files[path])
		}
	}
}

func (p *parsing) sort() {
	d := p.def
	slices.SortFunc(d.Agents, func(a, b lineshaft.Agent) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Automations, func(a, b lineshaft.Automation) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Webhooks, func(a, b lineshaft.Webhook) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Runners, func(a, b lineshaft.Runner) int { return strings.Compare(a.Name, b.Name) })
	slices.SortFunc(d.Skills, func(a, b lineshaft.Skill) int {
		return cmp.Or(strings.Compare(a.Agent, b.Agent), strings.Compare(a.Name, b.Name))
	})
	slices.Sort(d.Unused)
}

func sortedPaths(files Files) []string { return slices.Sorted(maps.Keys(files)) }

func partNames[T any](list []T, name func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = name(v)
	}
	return out
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }

func indexed(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }

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

// markdown reads a file whose text is a prompt, which may also be one of the keys.
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
