package definition

import (
	"slices"

	"github.com/lineshaft/lineshaft"
)

const secretPattern = `^[A-Z][A-Z0-9_]{0,127}$`

func secretRules() textRules {
	return textRules{filled: true, pattern: secretPattern, check: func(name string) error {
		if !lineshaft.ValidSecretName(name) {
			return lineshaft.Invalid("", "%q is not the name of a secret; write a capital letter, then capital letters, digits and '_'", lineshaft.Clip(name, 40))
		}
		return nil
	}}
}

// secrets is a list of names of secrets, each once; {name: X} is taken for X.
func secrets(to *[]string) value { return namedSecrets(to, true) }

// ownSecrets are those of an agent or automation: an empty list says something, because
// it replaces the inherited one, and a name may be there twice.
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
