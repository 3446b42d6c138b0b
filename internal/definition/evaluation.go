package definition

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

const (
	scorerFile = "scorer.md"
	suiteFile  = "suite.yaml"

	maxLabels         = 20
	maxConfigurations = 6
)

// evaluation is a scorer, suite or task: it is checked and kept, and nothing runs it.
type evaluation struct {
	document

	file string
	// agents are what it names, tasks the slugs of a suite's; nil when it says none.
	agents []string
	tasks  []string
	title  string
}

// readEvaluation reads a scorer, a suite of benchmarks or one of its tasks.
func (p *parsing) readEvaluation(file string, doc document, text string) {
	e := evaluation{document: doc, file: file}
	r := p.reader(file, doc.kind, joinPath(doc.owner, doc.name))
	p.def.Unused = append(p.def.Unused, file)
	p.def.inert = append(p.def.inert, inertEvaluation(file, doc, text))
	if doc.kind == scorerDocument {
		p.notice(scorerDocument, lineshaft.FileProblem{File: file, Message: "scorers have no effect on this server: it scores no runs"})
		r.readScorer(text, &e)
	} else {
		p.notice(suiteDocument, lineshaft.FileProblem{File: file, Message: "benchmarks have no effect on this server: it runs none"})
		if n := r.document(text); n != nil {
			r.object("", n, evaluationKeys(&e, &scorer{}))
		}
	}
	p.evaluations = append(p.evaluations, e)
}

// inertEvaluation is the file of a scorer or benchmark as a plan shows it.
func inertEvaluation(file string, doc document, text string) inertFile {
	f := inertFile{kind: KindBenchmark, name: doc.name, file: file, text: text}
	switch {
	case doc.kind == scorerDocument:
		f.kind = KindScorer
	case doc.owner != "":
		f.name = doc.owner + "/" + doc.name
	}
	return f
}

func evaluationKeys(e *evaluation, s *scorer) []key {
	if e.kind == scorerDocument {
		return scorerKeys(e, s)
	}
	if e.kind == suiteDocument {
		return suiteKeys(e)
	}
	return taskKeys()
}

type scorer struct {
	labels  []label
	passing *float64
}

type label struct {
	value string
	score *float64
}

func scorerKeys(e *evaluation, s *scorer) []key {
	var enabled, improve bool
	var rate *float64
	return []key{
		{name: "name", doc: "What it is called; its folder by default.", value: text(&e.title, textRules{filled: true})},
		{name: "description", doc: "What it looks at.", null: sameAsAbsent, value: unread(textRules{})},
		{name: "agents", doc: "agents of the folder whose runs it looks at", required: true, value: filledList(texts(&e.agents, 0, textRules{filled: true, once: true, trim: true}), "name at least one agent of the folder")},
		{name: "enabled", doc: "Whether it looks at runs; true by default.", value: toggle(&enabled, true)},
		{name: "output", doc: "classification, which is the default.", value: unread(textRules{words: []string{"classification"}})},
		{name: "labels", doc: "the classes", required: true, value: labels(&s.labels)},
		{name: "passingScore", doc: "the score from which a run passes, 0 to 1", required: true, value: decimal(&s.passing, 0, 1, 0)},
		{name: "samplingRate", doc: "Percent of the runs, with at most two decimals; 25 by default, 0 is none.", value: decimal(&rate, 0, 100, 2)},
		{name: "model", doc: "the model that judges", required: true, value: unread(textRules{filled: true})},
		{name: "selfImprovement", doc: "Whether failures lead to proposals; false by default.", value: toggle(&improve, false)},
	}
}

func labels(to *[]label) value {
	seen := map[string]bool{}
	keys := func(l *label) []key {
		return []key{
			{name: "value", doc: "the class", required: true, value: text(&l.value, textRules{filled: true, trim: true})},
			{name: "score", doc: "its score, 0 to 1", required: true, value: decimal(&l.score, 0, 1, 0)},
			{name: "description", doc: "When it applies.", null: sameAsAbsent, value: unread(textRules{})},
		}
	}
	return filledList(blocks(to, maxLabels, keys, func(r *reader, path string, n *node, l *label) {
		if l.value != "" && seen[l.value] {
			r.wrong(n, path, fmt.Sprintf("the label %q appears twice", lineshaft.Clip(l.value, 60)), "keep one of the two").as(CodeDuplicateKey)
		}
		seen[l.value] = true
	}), "a scorer needs at least two labels: one that passes and one that does not")
}

func (r *reader) readScorer(text string, e *evaluation) {
	n, body, line := r.frontMatter(text)
	if n == nil {
		return
	}
	var s scorer
	before := len(r.problems)
	r.object("", n, evaluationKeys(e, &s))
	if strings.TrimSpace(body) == "" {
		r.add(lineshaft.FileProblem{
			File: r.file, Line: max(1, line), Column: 1, Code: CodeMissingRequired, Message: "the rubric is missing", Hint: "write below the front matter how runs are judged",
		})
	}
	if len(r.problems) > before || s.passing == nil {
		return
	}
	passes := func(l label) bool { return *l.score >= *s.passing }
	if at := n.get("labels"); !slices.ContainsFunc(s.labels, passes) || slices.IndexFunc(s.labels, func(l label) bool { return !passes(l) }) < 0 {
		r.wrong(at, "labels", "all labels are on one side of passingScore", "at least one must be at or above it, and one below")
	}
}

func suiteKeys(e *evaluation) []key {
	return []key{
		{name: "name", doc: "what it is called; no other suite has the name", required: true, value: text(&e.title, textRules{filled: true, trim: true})},
		{name: "description", doc: "What it tries.", value: unread(textRules{})},
		{name: "agent", doc: "the agent of the folder that does the tasks", required: true, value: agentName(e)},
		{name: "configurations", doc: "What the tasks are tried with.", value: configurations(e)},
		{name: "tasks", doc: "The names of its tasks, in their order.", value: texts(&e.tasks, 0, textRules{filled: true, once: true})},
	}
}

// agentName is the name of an agent of the folder.
func agentName(e *evaluation) value {
	v := unread(textRules{filled: true})
	v.read = func(r *reader, path string, n *node) {
		if name, ok := r.readText(path, n, textRules{filled: true}); ok {
			e.agents = append(e.agents, name)
			r.note(valuePath("agents", name), n.line, n.column)
		}
	}
	return v
}

type configuration struct{ name, role string }

func configurations(e *evaluation) value {
	var list []configuration
	seen, baseline := map[string]bool{}, false
	keys := func(c *configuration) []key {
		return []key{
			{name: "name", doc: "what it is called", required: true, value: text(&c.name, textRules{filled: true, trim: true})},
			{name: "role", doc: "baseline or candidate", required: true, value: text(&c.role, textRules{words: []string{"baseline", "candidate"}})},
			{name: "agents", doc: "What agents use instead of their own.", value: pins(e)},
		}
	}
	return filledList(blocks(&list, maxConfigurations, keys, func(r *reader, path string, n *node, c *configuration) {
		if c.name != "" && seen[c.name] {
			r.wrong(n, path, fmt.Sprintf("another configuration is named %q", lineshaft.Clip(c.name, 60)), "give it another name").as(CodeDuplicateKey)
		}
		if seen[c.name] = true; c.role == "baseline" && baseline {
			r.wrong(n, path, "there is a baseline already", "make it a candidate")
		}
		baseline = baseline || c.role == "baseline"
	}), "write at least one, or take the key out")
}

// pin is what one agent uses in a configuration.
type pin struct {
	model   string
	harness *lineshaft.HarnessConfig
}

func pins(e *evaluation) value {
	var list []pin
	keys := func(p *pin) []key {
		return []key{
			{name: "agent", doc: "an agent of the folder", required: true, value: agentName(e)},
			{name: "model", doc: "A model of the built-in agent.", value: text(&p.model, textRules{filled: true})},
			{name: "harness", doc: "Another agent, with type, model and perhaps auth.", value: option(&p.harness, pinnedHarness)},
		}
	}
	seen := map[string]bool{}
	return blocks(&list, 0, keys, func(r *reader, path string, n *node, _ *pin) {
		if (n.get("model") == nil) == (n.get("harness") == nil) {
			r.wrong(n, path, "needs exactly one of model and harness", "write one of the two")
		}
		if agent := n.get("agent"); agent != nil && seen[agent.text] {
			r.wrong(agent, path+".agent", lineshaft.Clip(agent.text, 60)+" appears twice", "keep one of the two").as(CodeDuplicateKey)
		} else if agent != nil {
			seen[agent.text] = true
		}
	})
}

func pinnedHarness(h *lineshaft.HarnessConfig) []key {
	return []key{
		{name: "type", doc: "the adapter", required: true, value: text(&h.Type, harnessTypes())},
		{name: "model", doc: "its model", required: true, value: text(&h.ModelID, textRules{filled: true})},
		{name: "auth", doc: "Whose key the model is called with.", value: harnessAuth(&h.Auth)},
	}
}

func taskKeys() []key {
	filled := unread(textRules{filled: true})
	return []key{
		{name: "title", doc: "what the task is called", required: true, value: filled},
		{name: "prompt", doc: "what the agent has to do", required: true, value: filled},
		{name: "successCriteria", doc: "when the task is done", required: true, value: filled},
		{name: "sourceRunId", doc: "The run that it was made from.", value: filled},
		{name: "startingRepoRefs", doc: "Commits to start from, such as github.com:OWNER/REPO@ and 40 hex digits.", value: repoRefs()},
	}
}

var repoRef = regexp.MustCompile(`^(github|gitlab)\.com:[^/@\s]+(/[^/@\s]+)+@[0-9a-fA-F]{40}$`)

// repoRefs are commits, as texts or blocks.
func repoRefs() value {
	rules := textRules{check: func(ref string) error {
		if !repoRef.MatchString(ref) {
			return lineshaft.Invalid("", "%q is not a commit; write github.com:OWNER/REPO@ or gitlab.com:OWNER/REPO@ and the 40 hex digits of the commit", lineshaft.Clip(ref, 80))
		}
		return nil
	}}
	filled := unread(textRules{filled: true})
	keys := []key{
		{name: "codeForge", doc: "GITHUB or GITLAB", required: true, value: unread(textRules{words: codeForges()})},
		{name: "owner", doc: "the user, organisation or group", required: true, value: filled},
		{name: "repo", doc: "the repository", required: true, value: filled},
		{name: "ref", doc: "the commit", required: true, value: filled},
	}
	return value{
		read: func(r *reader, path string, n *node) {
			r.items(path, n, 0, func(_ int, path string, item *node) {
				if item.kind == objectNode {
					r.object(path, item, keys)
					return
				}
				r.readText(path, item, rules)
			})
		},
		write: func() *node { return nil },
		schema: func() schema {
			plain := rules.schema()
			plain["pattern"] = repoRef.String()
			return listSchema(schema{"oneOf": []any{plain, objectSchema(keys)}}, 0)
		},
	}
}

// checkEvaluations checks what scorers and benchmarks say about the rest of the folder.
func (p *parsing) checkEvaluations() {
	agents := partNames(p.def.Agents, func(a lineshaft.Agent) string { return a.Name })
	titles := map[string]string{}
	for _, e := range p.evaluations {
		for _, name := range e.agents {
			if !contains(agents, name) {
				p.refer(e.kind, joinPath(e.owner, e.name), "agents", KindAgent, name, agents)
			}
		}
		if e.kind != suiteDocument {
			continue
		}
		if other, taken := titles[e.title]; taken && e.title != "" {
			p.add(p.def.Problem(e.kind, e.name, "name", fmt.Sprintf("name: %s is called %q already", other, lineshaft.Clip(e.title, 60)), "give the suite another name")).as(CodeDuplicateKey)
		}
		titles[e.title] = e.file
		p.checkTasks(e)
	}
	for _, e := range p.evaluations {
		hasSuite := func(s evaluation) bool { return s.kind == suiteDocument && s.name == e.owner }
		if e.kind == taskDocument && !slices.ContainsFunc(p.evaluations, hasSuite) {
			p.file(e.file, "the task has no suite", "add benchmarks/"+e.owner+"/"+suiteFile).as(CodeInvalidReference)
		}
	}
}

// checkTasks wants the list of a suite and the files of its tasks to be the same.
func (p *parsing) checkTasks(suite evaluation) {
	if suite.tasks == nil {
		return
	}
	var files []string
	for _, e := range p.evaluations {
		if e.kind != taskDocument || e.owner != suite.name {
			continue
		}
		if files = append(files, e.name); !contains(suite.tasks, e.name) {
			p.file(e.file, "the suite does not name this task", "add "+e.name+" to tasks of "+suite.file+", or remove the file").as(CodeInvalidReference)
		}
	}
	for _, name := range suite.tasks {
		if !contains(files, name) {
			p.refer(suite.kind, suite.name, "tasks", taskDocument, name, files)
		}
	}
}
