package definition

import (
	"fmt"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// repositories is a list of repositories at the forge.
func repositories(to *[]lineshaft.Repository) value {
	keys := func(v *lineshaft.Repository) []key {
		return []key{
			{name: "owner", doc: "The user, organisation or group.", required: true, value: text(&v.Owner, textRules{filled: true})},
			{name: "name", doc: "The repository.", required: true, value: text(&v.Name, textRules{filled: true})},
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
		if folded := strings.ToLower(v.Name); seen[folded] {
			r.wrong(n, path, fmt.Sprintf("another repository is named %s too, and both would be cloned into one folder", v.Name), "name one of them")
		} else {
			seen[folded] = true
		}
	})
}
