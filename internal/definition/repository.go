package definition

import (
	"strings"

	"github.com/lineshaft/lineshaft"
)

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
