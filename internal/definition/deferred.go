package definition

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// Deferred is a value of a definition that only a server can look up.
type Deferred struct {
	// Path is that of the file.
	Path string
	// Field is its place in the file, and Kind what it names.
	Field, Kind, Value string
	Line, Column       int
}

// Deferred lists what is looked up when the definition is applied, in the order of files.
func (d *Definition) Deferred() []Deferred {
	list := d.deferredIn(KindFactory, "", "", lineshaft.AgentConfig{Secrets: d.Factory.Secrets, MCPServers: d.Factory.MCPServers})
	list = append(list, d.deferredIn(KindFactory, "", "agentDefaults", d.Factory.Defaults)...)
	for _, a := range d.Agents {
		list = append(list, d.deferredIn(KindAgent, a.Name, "", a.Config)...)
	}
	for _, a := range d.Automations {
		list = append(list, d.deferredIn(KindAutomation, a.Name, "", a.Config)...)
	}
	for _, w := range d.Webhooks {
		list = append(list, d.deferred(KindWebhook, w.Name, "secretName", "secret", w.SecretName)...)
	}
	for _, r := range d.Runners {
		list = append(list, d.deferred(KindRunner, r.Name, "platform.linux.registryCredentialSecretName", "secret", r.Config.RegistrySecret())...)
	}
	slices.SortStableFunc(list, func(a, b Deferred) int {
		return cmp.Or(strings.Compare(a.Path, b.Path), a.Line-b.Line, a.Column-b.Column)
	})
	return list
}

func (d *Definition) deferredIn(kind Kind, name, prefix string, c lineshaft.AgentConfig) []Deferred {
	model := c.ModelID
	if c.Harness != nil {
		model = cmp.Or(model, c.Harness.ModelID)
	}
	list := d.deferred(kind, name, joinPath(prefix, "model"), "model", model)
	for i, secret := range c.Secrets {
		list = append(list, d.deferred(kind, name, joinPath(prefix, indexed("secrets", i)), "secret", secret)...)
	}
	for _, server := range slices.Sorted(maps.Keys(c.MCPServers)) {
		list = append(list, d.deferred(kind, name, joinPath(prefix, "mcpServers."+server+".warpId"), "mcp_server", c.MCPServers[server].WarpID)...)
	}
	list = append(list, d.deferred(kind, name, joinPath(prefix, "harness.auth.secretName"), "secret", c.AuthSecret())...)
	list = append(list, d.deferred(kind, name, joinPath(prefix, "environmentId"), "environment", c.EnvironmentID)...)
	list = append(list, d.deferred(kind, name, joinPath(prefix, "runner"), "runner", d.foreignRunner(c.RunnerID))...)
	if c.WorkerHost != lineshaft.HostedWorker {
		list = append(list, d.deferred(kind, name, joinPath(prefix, "workerHost"), "worker", c.WorkerHost)...)
	}
	return list
}

// foreignRunner is a runner that is not in the folder.
func (d *Definition) foreignRunner(name string) string {
	if slices.ContainsFunc(d.Runners, func(r lineshaft.Runner) bool { return r.Name == name }) {
		return ""
	}
	return name
}

func (d *Definition) deferred(kind Kind, name, field, noun, value string) []Deferred {
	if value == "" {
		return nil
	}
	at := d.Problem(kind, name, field, "", "")
	return []Deferred{{Path: at.File, Field: field, Kind: noun, Value: value, Line: at.Line, Column: at.Column}}
}
