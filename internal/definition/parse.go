package definition

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
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

// reader begins to read the document of a part.
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

// sort puts every list in the order of names.
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

func sortedPaths(files Files) []string {
	paths := make([]string, 0, len(files))
	for path := range files {
		paths = append(paths, path)
	}
	slices.Sort(paths)
	return paths
}

func partNames[T any](list []T, name func(T) string) []string {
	out := make([]string, len(list))
	for i, v := range list {
		out[i] = name(v)
	}
	return out
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }

func indexed(list string, i int) string { return list + "[" + strconv.Itoa(i) + "]" }
