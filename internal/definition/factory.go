package definition

import (
	"strings"

	"github.com/lineshaft/lineshaft"
)

const factoryFile = "factory.yaml"

func factoryKeys(version *string, f *lineshaft.Factory) []key {
	return append([]key{
		{name: "schemaVersion", doc: Version, required: true, value: text(version, textRules{words: []string{Version}})},
		{name: "name", doc: "What the factory is called.", required: true, value: text(&f.Name, textRules{filled: true, most: lineshaft.MaxNameRunes, check: checkFactoryName})},
		{name: "alias", doc: "A short name that no other factory has.", null: sameAsAbsent, value: text(&f.Alias, textRules{trim: true, most: lineshaft.MaxAliasRunes, check: checkAlias})},
		{name: "description", doc: "What it is for.", null: sameAsAbsent, value: text(&f.Description, textRules{most: lineshaft.MaxDescriptionRunes})},
		{name: "repositories", doc: "Repositories that its agents work on.", value: repositories(&f.Repositories)},
		{name: "secrets", doc: "Names of managed secrets that all of its agents get.", value: secrets(&f.Secrets)},
		{name: "mcpServers", doc: "Tool servers that all of its agents have.", value: mcpServers(&f.MCPServers)},
		{name: "agentDefaults", doc: "What shapes runs unless an agent or an automation says otherwise.", value: block(&f.Defaults, defaultsKeys)},
	}, foreignKeys()...)
}

func checkFactoryName(name string) error {
	if strings.TrimSpace(name) == "" {
		return lineshaft.Invalid("", "a factory needs a name; write one of 1 to %d characters", lineshaft.MaxNameRunes)
	}
	return nil
}

func checkAlias(alias string) error { return lineshaft.Factory{Name: "-", Alias: alias}.Validate() }

// readFactory reads factory.yaml.
func (p *parsing) readFactory(text string) {
	r := p.reader(factoryFile, KindFactory, "")
	n := r.document(text)
	if n == nil {
		return
	}
	var version string
	f := &p.def.Factory
	before := len(r.problems)
	r.object("", n, factoryKeys(&version, f))
	r.checkForges(n)
	if len(r.problems) == before {
		r.blameFactory(f)
	}
}

// blameFactory is the net below the checks of the keys.
func (r *reader) blameFactory(f *lineshaft.Factory) {
	if err := f.Defaults.Validate(); err != nil {
		r.blame(err, "agentDefaults")
		return
	}
	own := *f
	own.Defaults = lineshaft.AgentConfig{}
	r.blame(own.Validate(), "")
}

// repositories is a list of repositories at the forge.
func repositories(to *[]lineshaft.Repository) value {
	keys := func(v *lineshaft.Repository) []key {
		return []key{
			{name: "owner", doc: "The user, organisation or group.", required: true, value: text(&v.Owner, textRules{filled: true, trim: true})},
			{name: "name", doc: "The repository.", required: true, value: text(&v.Name, textRules{filled: true, trim: true})},
			{name: "codeForge", doc: "The host that it is at: GITHUB or GITLAB.", value: unread(textRules{words: codeForges()})},
		}
	}
	seen := map[string]bool{}
	return blocks(to, lineshaft.MaxRepositories, keys, func(r *reader, path string, n *node, v *lineshaft.Repository) {
		if v.Owner == "" || v.Name == "" {
			return
		}
		if err := v.Validate(""); err != nil {
			r.invalid(n, path, err)
			return
		}
		if folded := strings.ToLower(v.String()); seen[folded] {
			r.wrong(n, path, v.String()+" is named twice", "name it once")
		} else {
			seen[folded] = true
		}
		r.keepForge(path, n, *v)
	})
}
