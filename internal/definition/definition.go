package definition

import "github.com/lineshaft/lineshaft"

// Version is the schemaVersion that this package reads and writes.
const Version = "v1alpha1"

// Files is a folder: texts by path, with slashes and below the folder.
type Files map[string]string

// Definition is what a folder says. Its nouns have no uids and no times, and every
// list is sorted by name: two definitions that say the same are deeply equal.
type Definition struct {
	// Factory has name, alias, description, defaults, secrets, servers, repositories and foreman.
	Factory     lineshaft.Factory
	Agents      []lineshaft.Agent
	Automations []lineshaft.Automation
	Webhooks    []lineshaft.Webhook
	Runners     []lineshaft.Runner
	Skills      []lineshaft.Skill
	// Unused are files that are accepted and not used, such as those of benchmarks/.
	Unused []string
	// Notices are not mistakes but should be known, such as keys without effect.
	Notices []lineshaft.FileProblem
	// AtApply are problems that the published format reports only when it is applied.
	AtApply []lineshaft.FileProblem
	// Partial says that the rest of the folder was not read.
	Partial bool

	places map[string]place
	// kept is nil for a definition that was not read from a folder.
	kept keptValues
	// inert are the files of scorers and benchmarks.
	inert []inertFile
}

// inertFile is a file that is kept and has no effect, but is part of what a folder says.
type inertFile struct {
	kind             Kind
	name, file, text string
}

func (f inertFile) id() string { return part{kind: f.kind, name: f.name}.id() }

// place is where in a folder something is said.
type place struct {
	file         string
	line, column int
}

// Kind is a kind of part of a factory.
type Kind string

// The kinds.
const (
	KindFactory    Kind = "factory"
	KindAgent      Kind = "agent"
	KindAutomation Kind = "automation"
	KindWebhook    Kind = "webhook"
	KindRunner     Kind = "runner"
	KindSkill      Kind = "skill"
	// Of the last two nothing is made: they are kept in the folder.
	KindScorer    Kind = "scorer"
	KindBenchmark Kind = "benchmark"
)

// Action is what a plan does with a part.
type Action string

// The actions.
const (
	ActionAdd    Action = "add"
	ActionChange Action = "change"
	ActionRemove Action = "remove"
)

// Change is one difference between two definitions.
type Change struct {
	Action Action `json:"action"`
	Kind   Kind   `json:"kind"`
	Name   string `json:"name"`
	File   string `json:"file"`
	// Fields are what differs of a part that is changed.
	Fields []FieldChange `json:"fields,omitempty"`
	// Note says what a reader of a plan should know, such as that a renamed webhook
	// gets another address.
	Note string `json:"note,omitempty"`
}

// FieldChange is a value before and after, as it is written in a file; empty is absent.
type FieldChange struct {
	Field  string `json:"field"`
	Before string `json:"before,omitempty"`
	After  string `json:"after,omitempty"`
}
