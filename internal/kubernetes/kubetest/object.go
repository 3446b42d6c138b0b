package kubetest

import (
	"encoding/json"
	"maps"
	"strings"
)

// Object is any object of the API.
type Object map[string]any

// At reads a field by its path, such as "metadata.name"; nil when there is none.
func (o Object) At(path string) any {
	var at any = map[string]any(o)
	for _, name := range strings.Split(path, ".") {
		m, ok := at.(map[string]any)
		if !ok {
			return nil
		}
		at = m[name]
	}
	return at
}

// Text reads a field that is text.
func (o Object) Text(path string) string {
	text, _ := o.At(path).(string)
	return text
}

// Label reads a label; their names have dots.
func (o Object) Label(name string) string {
	labels, _ := o.At("metadata.labels").(map[string]any)
	text, _ := labels[name].(string)
	return text
}

func (o Object) set(path string, value any) {
	m := map[string]any(o)
	names := strings.Split(path, ".")
	for _, name := range names[:len(names)-1] {
		next, ok := m[name].(map[string]any)
		if !ok {
			next = map[string]any{}
			m[name] = next
		}
		m = next
	}
	m[names[len(names)-1]] = value
}

func (o Object) clone() Object {
	var out Object
	if raw, err := json.Marshal(o); err == nil {
		_ = json.Unmarshal(raw, &out) // it came as JSON
	}
	return out
}

// merge applies a merge patch (RFC 7396).
func merge(target, patch map[string]any) map[string]any {
	out := maps.Clone(target)
	if out == nil {
		out = map[string]any{}
	}
	for name, value := range patch {
		switch v := value.(type) {
		case nil:
			delete(out, name)
		case map[string]any:
			old, _ := out[name].(map[string]any)
			out[name] = merge(old, v)
		default:
			out[name] = value
		}
	}
	return out
}

// selected says whether an object has all labels of a selector of the form a=b,c=d.
func (o Object) selected(selector string) bool {
	if selector == "" {
		return true
	}
	for _, part := range strings.Split(selector, ",") {
		name, value, _ := strings.Cut(part, "=")
		if o.Label(name) != value {
			return false
		}
	}
	return true
}

func (o Object) ownedBy(uid string) bool {
	owners, _ := o.At("metadata.ownerReferences").([]any)
	for _, owner := range owners {
		m, _ := owner.(map[string]any)
		if m["uid"] == uid {
			return true
		}
	}
	return false
}

func (o Object) ended() bool {
	phase := o.Text("status.phase")
	return phase == "Succeeded" || phase == "Failed"
}
