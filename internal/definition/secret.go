package definition

import (
	"slices"

	"github.com/lineshaft/lineshaft"
)

const secretPattern = `^[A-Z][A-Z0-9_]{0,127}$`

func secretRules() textRules {
	return textRules{filled: true, pattern: secretPattern, check: func(name string) error {
		if !lineshaft.ValidSecretName(name) {
			return lineshaft.Invalid("", "%q is not the name of a secret; write a capital letter, then capital letters, digits and '_'", short(name, 40))
		}
		return nil
	}}
}

// secrets is a list of names of secrets; {name: X} is taken for X.
func secrets(to *[]string) value {
	rules := secretRules()
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
				case slices.Contains(*to, name):
					r.wrong(item, path, name+" is named twice", "name it once")
				default:
					*to = append(*to, name)
				}
			})
		},
		write: func() *node { return writeTexts(*to) },
		schema: func() schema {
			named := schema{"type": "object", "properties": schema{"name": rules.schema()}, "required": []string{"name"}, "additionalProperties": false}
			return listSchema(schema{"oneOf": []any{rules.schema(), named}}, lineshaft.MaxRunSecrets)
		},
	}
}
