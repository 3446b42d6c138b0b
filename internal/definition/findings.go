package definition

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

// findings are what reading a folder collects: its problems, and where things are.
type findings struct {
	problems []lineshaft.FileProblem
	untold   int
	places   map[string]place
	// notices are not mistakes but should be known; noticed are their subjects.
	notices []lineshaft.FileProblem
	noticed map[string]bool
	// kept are what has no effect here and stays in the folder.
	kept keptValues
	// work and yamlBytes are what reading all files took.
	work      int
	yamlBytes int
	// stopped is why the rest of the folder was not read.
	stopped *lineshaft.FileProblem
}

// maxProblems is how many are reported; anyone who has more will not read them at once.
const maxProblems = 1000

// add takes down a problem, or only counts it.
func (f *findings) add(p lineshaft.FileProblem) finding {
	if p.Code = codeOf(p); len(f.problems) >= maxProblems {
		f.untold++
		return finding{&p}
	}
	f.problems = append(f.problems, p)
	return finding{&f.problems[len(f.problems)-1]}
}

// told are the problems in the order of reading, each once.
func (f *findings) told() []lineshaft.FileProblem {
	sortByPlace(f.problems)
	told := slices.Compact(f.problems)
	if f.stopped != nil {
		told = slices.Insert(told, 0, *f.stopped)
	}
	if f.untold > 0 {
		told = append(told, lineshaft.FileProblem{File: ".", Message: fmt.Sprintf("there are %d more problems", f.untold), Hint: "fix these first"})
	}
	return told
}

// sortByPlace puts problems in the order of files and lines.
func sortByPlace(list []lineshaft.FileProblem) {
	slices.SortStableFunc(list, func(a, b lineshaft.FileProblem) int {
		return cmp.Or(strings.Compare(a.File, b.File), a.Line-b.Line, a.Column-b.Column)
	})
}

// The published codes of problems.
const (
	CodeMissingFactory       = "FF_MISSING_FACTORY"
	CodeUnsupportedVersion   = "FF_UNSUPPORTED_VERSION"
	CodeUnsupportedPath      = "FF_UNSUPPORTED_PATH"
	CodeDuplicatePath        = "FF_DUPLICATE_PATH"
	CodeInvalidDocument      = "FF_INVALID_DOCUMENT"
	CodeMalformedFrontMatter = "FF_MALFORMED_FRONTMATTER"
	CodeInvalidYAML          = "FF_INVALID_YAML"
	CodeDuplicateKey         = "FF_DUPLICATE_KEY"
	CodeAlias                = "FF_ALIAS"
	CodeTag                  = "FF_TAG"
	CodeUnknownField         = "FF_UNKNOWN_FIELD"
	CodeMissingRequired      = "FF_MISSING_REQUIRED"
	CodeTypeMismatch         = "FF_TYPE_MISMATCH"
	CodeInvalidValue         = "FF_INVALID_VALUE"
	CodeInvalidReference     = "FF_INVALID_REFERENCE"
	CodeInvalidMCP           = "FF_INVALID_MCP"
	CodeInvalidTrigger       = "FF_INVALID_TRIGGER"
	CodeInvalidEvent         = "FF_INVALID_EVENT"
	CodeInvalidFilter        = "FF_INVALID_FILTER"
)

var triggerPath = regexp.MustCompile(`^triggers\[[0-9]+\](\.[a-z]+)?`)

// codeOf is the code of a problem without one: messages begin with the path of
// what is wrong.
func codeOf(p lineshaft.FileProblem) string {
	if p.Code != "" {
		return p.Code
	}
	at := triggerPath.FindStringSubmatch(p.Message)
	switch {
	case at == nil && strings.HasPrefix(p.Message, "schemaVersion: "):
		return CodeUnsupportedVersion
	case at == nil && strings.Contains(strings.SplitN(p.Message, ": ", 2)[0], "mcpServers."):
		return CodeInvalidMCP
	case at == nil:
		return CodeInvalidValue
	case at[1] == ".filter":
		return CodeInvalidFilter
	case at[1] == ".event":
		return CodeInvalidEvent
	}
	return CodeInvalidTrigger
}

// finding is a problem that has just been added.
type finding struct{ problem *lineshaft.FileProblem }

// as gives it a code.
func (f finding) as(code string) { f.problem.Code = code }

// noEffect says once in a folder that something is kept and changes nothing here.
func (r *reader) noEffect(subject string, line, column int, path, reason string) {
	r.notice(subject, lineshaft.FileProblem{File: r.file, Line: line + r.above, Column: column, Message: path + ": has no effect on this server: " + reason})
}

// notice takes down what is not a mistake but should be known, once for each subject.
func (f *findings) notice(subject string, n lineshaft.FileProblem) {
	if f.noticed[subject] {
		return
	}
	if f.noticed == nil {
		f.noticed = map[string]bool{}
	}
	f.noticed[subject] = true
	f.notices = append(f.notices, n)
}

// noteEvents says which providers have triggers here and no webhook to send their events to.
func (p *parsing) noteEvents(a *lineshaft.Automation) {
	schemes := partNames(p.def.Webhooks, func(w lineshaft.Webhook) string { return w.SignatureScheme })
	for i, t := range a.Triggers {
		if why := catalog.Unheard(t, schemes); why != "" {
			place := indexed("triggers", i)
			p.notice("events of "+t.Provider, p.def.Problem(KindAutomation, a.Name, place, place+": "+why, ""))
		}
	}
}

// noteSecrets names the secrets that runs of an automation would inherit by the published
// format, and do not get here: what strangers send must not reach them.
func (p *parsing) noteSecrets(a *lineshaft.Automation, agent lineshaft.AgentConfig) {
	fromOutside := func(t lineshaft.Trigger) bool { return t.Delivered() || t.Provider == lineshaft.ProviderRun }
	if !slices.ContainsFunc(a.Triggers, fromOutside) {
		return
	}
	f := p.def.Factory
	inherited, _ := lineshaft.Resolve(lineshaft.Layer{Config: a.Config, Replaces: true}, lineshaft.Layer{Config: agent, Replaces: true},
		lineshaft.Layer{Config: f.Defaults, Replaces: true}, lineshaft.Layer{Config: f.Shared()})
	own := a.Config.GivenSecrets()
	kept := slices.DeleteFunc(slices.Clone(inherited.GivenSecrets()), func(name string) bool { return contains(own, name) })
	if names := strings.Join(kept, ", "); names != "" {
		p.notice("secrets "+names, p.def.Problem(KindAutomation, a.Name, "secrets",
			"secrets: runs that a delivery or another run starts do not get "+names+" of the agent and the factory, nor tool servers that need it",
			"name in the automation's secrets what its runs may have"))
	}
}

// noteModel says that a name for the choice of the hosted service is only a name here.
func (p *parsing) noteModel(kind Kind, name, path string, c lineshaft.AgentConfig) {
	model, at := c.ModelID, joinPath(path, "model")
	if model == "" {
		model, at = c.Model(), joinPath(path, "harness.model")
	}
	if model == "auto" || strings.HasPrefix(model, "auto-") {
		p.notice("model auto", p.def.Problem(kind, name, at,
			fmt.Sprintf("%s: %q leaves the choice to the hosted service; here it is a name that endpoints may not have", at, model),
			"name one that `lineshaft model list` shows, or leave it out for the server's own"))
	}
}
