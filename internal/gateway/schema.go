package gateway

import (
	"encoding/json"
	"strings"
)

// Vendors themselves know only references within a schema, but servers that speak their
// protocols hand schemas to libraries of which some fetch what a reference names. So a
// reference that leads elsewhere is refused, in tools and in the form of an answer.

// quotes says whether a field holds what was said: a schema there is text to the model.
func quotes(field string) bool {
	switch field {
	case "messages", "contents", "input", "system", "systeminstruction", "instructions":
		return true
	}
	return false
}

// references is what the references of a schema lead to.
type references struct {
	remote   bool // an address
	relative bool // a name, which may be one below an address
	base     bool // the schema says that names are below an address
}

// schemas refuses references to other hosts in whatever a field holds. Of what was said only
// lists of tools are schemas, which the Responses API has there.
func (c *call) schemas(name string, raw json.RawMessage) *fault {
	said := quotes(plain(name))
	if said && c.kind != kindResponses {
		return nil
	}
	var value any
	if json.Unmarshal(raw, &value) != nil {
		return nil //nolint:nilerr // what is not JSON is refused where the body is read
	}
	var found references
	found.add(value, !said)
	if found.remote || found.relative && found.base {
		return errFetch(name + ": a $ref to another address")
	}
	return nil
}

func (r *references) add(value any, schema bool) {
	switch v := value.(type) {
	case []any:
		for _, one := range v {
			r.add(one, schema)
		}
	case map[string]any:
		for key, one := range v {
			if text, ok := one.(string); ok && schema {
				r.note(key, strings.TrimSpace(text))
			} else {
				r.add(one, schema || plain(key) == "tools")
			}
		}
	}
}

func (r *references) note(key, text string) {
	// Browsers and some libraries take a backslash for a slash.
	address := strings.Contains(text, "://") || strings.HasPrefix(strings.ReplaceAll(text, `\`, "/"), "//")
	switch strings.ToLower(key) {
	case "$ref", "$dynamicref", "$recursiveref":
		r.remote = r.remote || address
		r.relative = r.relative || !strings.HasPrefix(text, "#")
	case "$id", "id":
		r.base = r.base || address
	}
}
