package definition

import (
	"math"

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

// configKeys are the keys that shape runs: those of agentDefaults, and of agents and
// automations beside their own.
func configKeys(c *lineshaft.AgentConfig) []key {
	word := textRules{most: 256, filled: true}
	return []key{
		{name: "model", doc: "The language model, for the built-in agent.", null: sameAsAbsent, value: text(&c.ModelID, word)},
		{name: "harness", doc: "What drives the agent: a word such as shell, or a block.", value: harness(&c.Harness)},
		{name: "runner", doc: "The name of a runner, on whose kind of machine runs work.", null: sameAsAbsent, value: text(&c.RunnerID, word)},
		{name: "environmentId", doc: "The id of the environment that is made ready for runs.", null: sameAsAbsent, value: text(&c.EnvironmentID, word)},
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
		{name: "retry", doc: "How often a run begins anew when its worker is lost.", value: retry(&c.MaxAttempts)},
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

// workerHost knows the published words for the server's own workers: also one that is
// empty undoes what a wider layer says.
func workerHost(to *string) value {
	return text(to, textRules{most: 256, alike: map[string]string{"warp": lineshaft.HostedWorker, "": lineshaft.HostedWorker}})
}

func checkSkillRef(spec string) error {
	_, err := lineshaft.ParseSkillRef(spec)
	return err
}
