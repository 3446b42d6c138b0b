package definition

import (
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/lineshaft/lineshaft"
)

const (
	// maxCostMicros is a billion dollars, as the API has it.
	maxCostMicros = 1_000_000_000_000_000
	maxQueue      = 30 * 24 * 60
	maxTokens     = math.MaxInt64
	noScreenModel = "the agent's own model looks at the screen"
)

// defaultsKeys are those of agentDefaults, which has nothing to inherit a model from.
func defaultsKeys(c *lineshaft.AgentConfig) []key {
	keys := configKeys(c)
	keys[0].null = nil
	return keys
}

// configKeys are the keys that shape runs: those of agentDefaults, and those of agents and
// automations besides their own.
func configKeys(c *lineshaft.AgentConfig) []key {
	word := textRules{most: 256, filled: true}
	return []key{
		{name: "model", doc: "The language model, for the built-in agent.", null: sameAsAbsent, value: text(&c.ModelID, word)},
		{name: "harness", doc: "What drives the agent: a word such as shell, or a block.", value: harness(&c.Harness)},
		{name: "runner", doc: "The name of a runner, on whose kind of machine runs work.", null: sameAsAbsent, value: text(&c.RunnerID, word)},
		{name: "environmentId", doc: "The id of the environment that is prepared for runs.", null: sameAsAbsent, value: text(&c.EnvironmentID, word)},
		{name: "workerHost", doc: "The id of a self-hosted worker; hosted is the server's own.", null: func() { c.WorkerHost = lineshaft.HostedWorker }, value: workerHost(&c.WorkerHost)},
		{name: "secrets", doc: "Names of managed secrets that runs get as variables.", value: ownSecrets(&c.Secrets)},
		{name: "mcpServers", doc: "Tool servers by name.", value: ownServers(&c.MCPServers)},
		{name: "skills", doc: "Skills by name, or as owner/repo:name.", value: texts(&c.Skills, lineshaft.MaxSkills, textRules{filled: true, once: true, check: checkSkillRef})},
		{name: "basePrompt", doc: "Text put before the prompt.", value: text(&c.BasePrompt, textRules{most: lineshaft.MaxPromptBytes})},
		{name: "name", doc: "A label that runs are grouped by.", value: text(&c.Name, textRules{most: lineshaft.MaxNameRunes})},
		{name: "idleTimeoutMinutes", doc: "How long a workspace is kept after its run; 10 by default.", value: wholeOption(&c.IdleTimeoutMinutes, 0, 60)},
		{name: "timeoutMinutes", doc: "The longest that an agent may work; 60 by default.", value: wholeOption(&c.TimeoutMinutes, 1, lineshaft.MaxTimeoutMinutes)},
		{name: "stallMinutes", doc: "The longest that it may show no progress; 10 by default.", value: wholeOption(&c.StallMinutes, 1, lineshaft.MaxTimeoutMinutes)},
		{name: "queueTimeoutMinutes", doc: "The longest that a run may wait for a worker; 1440 by default.", value: wholeOption(&c.QueueTimeoutMinutes, 1, maxQueue)},
		{name: "computerUseEnabled", doc: "Whether the agent may use a screen.", value: toggleOption(&c.ComputerUseEnabled)},
		{name: "computerUseModel", doc: "The model for work on a screen.", null: sameAsAbsent, inert: noScreenModel, value: text(&c.ComputerUseModelID, word)},
		{name: "budget", doc: "Stops a run that consumes more.", value: option(&c.Budget, budgetKeys)},
		{name: "retry", doc: "How often a run starts over when its worker is lost.", value: retry(&c.MaxAttempts)},
		{name: "concurrency", doc: "At most one live run for each key.", value: option(&c.Concurrency, concurrencyKeys)},
	}
}

func concurrencyKeys(c *lineshaft.Concurrency) []key {
	policies := []string{string(lineshaft.PolicyQueue), string(lineshaft.PolicySkip), string(lineshaft.PolicyCancelPrevious), string(lineshaft.PolicyFollowup)}
	return []key{
		{name: "key", doc: "Runs with the same key do not run together; {{payload.path}} is filled in.", required: true, value: text(&c.Key, textRules{most: 256, filled: true})},
		{name: "policy", doc: "What happens to a run whose key is taken; queue by default.", value: text(&c.Policy, textRules{words: policies})},
	}
}

func retry(to **int) value {
	keys := []key{{name: "maxAttempts", doc: "1 by default.", required: true, value: wholeOption(to, 1, lineshaft.MaxAttempts)}}
	return value{
		read: func(r *reader, path string, n *node) { r.object(path, n, keys) },
		write: func() *node {
			if *to == nil {
				return nil
			}
			return writeObject(keys)
		},
		schema: func() schema { return objectSchema(keys) },
	}
}

// workerHost knows the published words for the server's own workers: an empty one also
// undoes what a wider layer says.
func workerHost(to *string) value {
	return text(to, textRules{most: 256, alike: map[string]string{"warp": lineshaft.HostedWorker, "": lineshaft.HostedWorker}})
}

func checkSkillRef(spec string) error {
	_, err := lineshaft.ParseSkillRef(spec)
	return err
}

func budgetKeys(b *lineshaft.Budget) []key {
	return []key{
		{name: "maxTokens", doc: "Tokens both ways; 0 means no limit.", value: whole(&b.MaxTokens, 0, maxTokens, 0)},
		{name: "maxCostUsd", doc: "US dollars; 0 means no limit.", value: dollars(&b.MaxCostMicros)},
	}
}

var dollarForm = regexp.MustCompile(`^[0-9]{1,10}(\.[0-9]{1,6}0*)?$`)

// dollars is an amount, exact to the millionth.
func dollars(to *int64) value {
	return value{
		read: func(r *reader, path string, n *node) {
			if n.kind != numberNode {
				r.wrongKind(n, path, "a number of dollars", "write it without quotes, such as 2.50")
				return
			}
			whole, fraction, _ := strings.Cut(n.text, ".")
			micros, err := strconv.ParseInt(whole+(fraction + "000000")[:6], 10, 64)
			if !dollarForm.MatchString(n.text) || err != nil || micros > maxCostMicros {
				r.wrong(n, path, lineshaft.Clip(n.text, 40)+" is not an amount from 0 to 1000000000 with at most 6 digits behind the point", "write one such as 2.50")
				return
			}
			*to = micros
		},
		write: func() *node {
			if *to == 0 {
				return nil
			}
			fraction := strings.TrimRight(strconv.FormatInt(1_000_000+*to%1_000_000, 10)[1:], "0")
			if fraction != "" {
				fraction = "." + fraction
			}
			return numberOf(strconv.FormatInt(*to/1_000_000, 10) + fraction)
		},
		schema: func() schema { return schema{"type": "number", "minimum": 0, "maximum": 1_000_000_000} },
	}
}

const secretPattern = `^[A-Z][A-Z0-9_]{0,127}$`

func secretRules() textRules {
	return textRules{filled: true, pattern: secretPattern, check: func(name string) error {
		if !lineshaft.ValidSecretName(name) {
			return lineshaft.Invalid("", "%q is not the name of a secret; write a capital letter, then capital letters, digits and '_'", lineshaft.Clip(name, 40))
		}
		return nil
	}}
}

// secrets is a list of names of secrets, each once; {name: X} counts as X.
func secrets(to *[]string) value { return namedSecrets(to, true) }

// ownSecrets are those of an agent or automation: an empty list says something, because
// it replaces the inherited one, and a name may occur twice.
func ownSecrets(to *[]string) value {
	v := namedSecrets(to, false)
	read := v.read
	v.read = func(r *reader, path string, n *node) {
		*to = []string{}
		read(r, path, n)
	}
	v.write = func() *node { return writeSet(*to) }
	return v
}

func namedSecrets(to *[]string, once bool) value {
	rules := secretRules()
	rules.trim = true
	return value{
		read: func(r *reader, path string, n *node) {
			r.items(path, n, lineshaft.MaxRunSecrets, func(_ int, path string, item *node) {
				var name string
				if item.kind == objectNode {
					r.object(path, item, []key{{name: "name", doc: "the name of a secret", required: true, value: text(&name, rules)}})
				} else if s, ok := r.readText(path, item, rules); ok {
					name = s
				}
				switch {
				case name == "":
				case !slices.Contains(*to, name):
					*to = append(*to, name)
				case once:
					r.wrong(item, path, name+" is named twice", "name it once").as(CodeDuplicateKey)
				}
			})
		},
		write: func() *node { return writeTexts(*to) },
		schema: func() schema {
			plain := rules.schema()
			plain["pattern"] = `^\s*[A-Z][A-Z0-9_]{0,127}\s*$`
			named := schema{"type": "object", "properties": schema{"name": plain}, "required": []string{"name"}, "additionalProperties": false}
			return listSchema(schema{"oneOf": []any{plain, named}}, lineshaft.MaxRunSecrets)
		},
	}
}
