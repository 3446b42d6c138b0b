package acp

import (
	"encoding/json"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/preset"
	"github.com/lineshaft/lineshaft/internal/model"
)

// form is what is known about an agent as a server of the protocol. How it learns
// of the gateway is in package preset, which the one-shot adapter shares.
type form struct {
	name    string
	command []string
	// install says what to do when the program is missing.
	install string
	// auth is the method for an agent that demands authentication with the key that
	// it was given; empty when there is none.
	auth string
	// modes are the agent's own modes for each policy, of which the first that it
	// offers is set; without one it keeps its default.
	modes map[string][]string
	// asks says what people should know of the policy ask with it; empty when it asks.
	asks string
	// namedIDs says that the ids of its tool calls begin with the name of the tool
	// and two underscores; the name is nowhere else.
	namedIDs bool
	// minuteFiles says that it keeps a session in a file named after the minute in
	// which it began, and begins that file again when it loads it in that minute.
	minuteFiles bool
	// adapt changes a launch for which all else is ready.
	adapt func(l *launch, env harness.Environment) error
}

// forms are the agents that are known by name, in the order in which they are listed.
func forms() []form {
	asking := map[string][]string{lineshaft.PermissionsAllow: {"default"}, lineshaft.PermissionsDeny: {"default"}, lineshaft.PermissionsAsk: {"default"}}
	return []form{
		{
			name: "claude", command: []string{"claude-agent-acp"},
			install: "install it on the worker with: npm install -g @agentclientprotocol/claude-agent-acp", modes: asking,
		},
		{
			name: "codex", command: []string{"codex-acp"}, auth: "api-key",
			install: "install it on the worker with: npm install -g @agentclientprotocol/codex-acp", adapt: adaptCodex,
			asks: "With the permissions ask, Codex works in its read-only mode and refuses anything more, mostly without asking. Set harness.permissions to allow to let it change files.",
			// Its own sandbox is for machines without one. It asks for what is not allowed
			// here, rather than having the model judge.
			modes: map[string][]string{
				lineshaft.PermissionsAllow: {"agent-full-access", "full-access"},
				lineshaft.PermissionsDeny:  {"read-only"}, lineshaft.PermissionsAsk: {"read-only"},
			},
		},
		{
			name: "gemini", command: []string{"gemini", "--acp"}, auth: "gemini-api-key", namedIDs: true, minuteFiles: true,
			install: "install it on the worker with: npm install -g @google/gemini-cli", modes: asking,
		},
		{
			name: "opencode", command: []string{"opencode", "acp"},
			install: "install it on the worker with: npm install -g opencode-ai", adapt: adaptOpencode,
		},
		{
			name: "goose", command: []string{"goose", "acp"},
			install: "install goose on the worker as its documentation says", adapt: adaptGoose,
		},
	}
}

// Program is what runs a known agent over the protocol, and what to do when it is
// missing; both are empty for another name.
func Program(name string) (program, install string) {
	if found, ok, _ := findForm(name); ok {
		return found.command[0], found.install
	}
	return "", ""
}

// findForm returns the form of a name, and all names.
func findForm(name string) (found form, ok bool, names []string) {
	for _, f := range forms() {
		names = append(names, f.name)
		if f.name == name {
			found, ok = f, true
		}
	}
	return found, ok, names
}

// prepare works out the command and the environment of a known agent.
func (l *launch) prepare(env harness.Environment) error {
	l.command = l.form.command
	if agent, ok := preset.Find(l.form.name); ok && l.form.name != "goose" {
		setup, err := agent.Setup(env, false)
		if err != nil {
			return fmt.Errorf("set up %s: %w", l.form.name, err)
		}
		l.command = append(l.command[:len(l.command):len(l.command)], setup.Args...)
		l.env, l.model = setup.Env, setup.Model
	}
	if l.form.adapt == nil {
		return nil
	}
	return l.form.adapt(l, env)
}

func (l *launch) set(name, value string) {
	if value != "" {
		l.env = append(l.env, name+"="+value)
	}
}

// adaptCodex repeats the settings in a variable. Two programs have the
// name: one takes them as arguments, like codex itself, the other takes them here.
func adaptCodex(l *launch, _ harness.Environment) error {
	config := map[string]any{}
	for i, arg := range l.command {
		if i == 0 || l.command[i-1] != "-c" {
			continue
		}
		key, text, _ := strings.Cut(arg, "=")
		var value any
		if err := json.Unmarshal([]byte(text), &value); err != nil {
			return fmt.Errorf("setting %s: %w", key, err)
		}
		names := strings.Split(key, ".")
		at := config
		for _, name := range names[:len(names)-1] {
			inner, ok := at[name].(map[string]any)
			if !ok {
				inner = map[string]any{}
				at[name] = inner
			}
			at = inner
		}
		at[names[len(names)-1]] = value
	}
	raw, err := json.Marshal(config)
	if err != nil {
		return err
	}
	// Its home is below HOME, where it makes it itself; a home that is named must exist.
	l.env = slices.DeleteFunc(l.env, func(kv string) bool { return strings.HasPrefix(kv, "CODEX_HOME=") })
	l.set("CODEX_CONFIG", string(raw))
	l.set("NO_BROWSER", "1")
	return nil
}

// adaptOpencode lets it ask, when not everything is allowed.
func adaptOpencode(l *launch, _ harness.Environment) error {
	const variable = "OPENCODE_CONFIG_CONTENT="
	if l.policy == lineshaft.PermissionsAllow {
		return nil
	}
	for i, kv := range l.env {
		text, ok := strings.CutPrefix(kv, variable)
		if !ok {
			continue
		}
		var config map[string]any
		if err := json.Unmarshal([]byte(text), &config); err != nil {
			return fmt.Errorf("configuration of opencode: %w", err)
		}
		config["permission"] = map[string]string{
			"*": "ask", "read": "allow", "list": "allow", "glob": "allow", "grep": "allow", "todoread": "allow", "todowrite": "allow",
		}
		raw, err := json.Marshal(config)
		if err != nil {
			return err
		}
		l.env[i] = variable + string(raw)
	}
	return nil
}

// adaptGoose sets up goose. It has no package that tests could install, so this
// follows its documentation only.
func adaptGoose(l *launch, env harness.Environment) error {
	mode := "approve"
	if l.policy == lineshaft.PermissionsAllow {
		mode = "auto"
	}
	l.set("GOOSE_MODE", mode)
	l.set("GOOSE_DISABLE_KEYRING", "1")
	if env.Access == nil {
		l.set("GOOSE_MODEL", l.model)
		return nil
	}
	access, ok := env.Access(model.OpenAI)
	if at, err := url.Parse(access.URL); ok && err == nil {
		l.set("GOOSE_PROVIDER", "openai")
		l.set("OPENAI_HOST", at.Scheme+"://"+at.Host)
		l.set("OPENAI_BASE_PATH", strings.TrimPrefix(at.Path+"/chat/completions", "/"))
		l.set("OPENAI_API_KEY", access.Key)
	} else if access, ok = env.Access(model.Anthropic); ok {
		l.set("GOOSE_PROVIDER", "anthropic")
		l.set("ANTHROPIC_HOST", access.URL)
		l.set("ANTHROPIC_API_KEY", access.Key)
	}
	if ok && access.Model != "" {
		l.model = access.Model
	}
	l.set("GOOSE_MODEL", l.model)
	return nil
}
