package definition

import (
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/nearest"
)

// key is a key that an object may have.
type key struct {
	name     string
	doc      string
	required bool
	value    value
	// null takes the key without a value; nil refuses that.
	null func()
	// inert is why the key changes nothing on this server; empty for one that does.
	inert string
	// kept says that the value is not part of a noun: it stays in the folder alone.
	kept bool
}

// sameAsAbsent is for keys that say nothing without a value.
func sameAsAbsent() {}

// value is how the value of a key is read, written and described.
type value struct {
	read func(r *reader, path string, n *node)
	// write gives nil for what need not be said.
	write func() *node
	// schema is made when it is asked for: most often a value is read or written.
	schema func() schema
	// usual is the value of a key that is left out; empty where there is none.
	usual string
}

// object reads the keys of an object.
func (r *reader) object(path string, n *node, keys []key) {
	if n.kind != objectNode {
		r.wrongKind(n, path, "keys: "+strings.Join(names(keys), ", "), "write each key on its own line, as in key: value")
		return
	}
	seen := map[string]bool{}
	for _, f := range n.fields {
		at := slices.IndexFunc(keys, func(k key) bool { return k.name == f.key })
		switch {
		case at < 0:
			r.unknownKey(path, f, names(keys))
		case seen[f.key]:
			r.report(f.line, f.column, joinPath(path, f.key)+": the key is written twice", "keep one of the two").as(CodeDuplicateKey)
		case f.value.kind == nullNode && keys[at].null != nil:
			seen[f.key] = !keys[at].required
			keys[at].null()
		case f.value.kind == nullNode:
			seen[f.key] = true
			r.report(f.line, f.column, joinPath(path, f.key)+": the key has no value", "write one, or take the key out").as(CodeTypeMismatch)
		default:
			seen[f.key] = true
			r.readKey(path, keys[at], f)
		}
	}
	for _, k := range keys {
		if k.required && !seen[k.name] {
			r.wrong(n, path, fmt.Sprintf("the key %s is missing", k.name), addHint(k)).as(CodeMissingRequired)
		}
	}
}

// addHint says what a missing key is for: a sentence becomes a part of this one.
func addHint(k key) string {
	sentence, ok := strings.CutSuffix(k.doc, ".")
	if !ok {
		return "add " + k.name + ": " + k.doc
	}
	return "add " + k.name + " (" + strings.ToLower(sentence[:1]) + sentence[1:] + ")"
}

// readKey reads the value of a key, and takes down that it has no effect.
func (r *reader) readKey(path string, k key, f field) {
	at := joinPath(path, f.key)
	r.note(at, f.value.line, f.value.column)
	before := len(r.problems)
	k.value.read(r, at, f.value)
	if k.inert == "" || len(r.problems) > before {
		return
	}
	r.noEffect(k.name, f.line, f.column, at, k.inert)
	if k.kept {
		r.keep(at, f.value)
	}
}

func (r *reader) unknownKey(path string, f field, known []string) {
	hint := "the keys are " + strings.Join(known, ", ")
	if near := nearestKey(f.key, known); near != "" {
		hint = fmt.Sprintf("did you mean %s? %s", near, hint)
	}
	r.report(f.line, f.column, fmt.Sprintf("%s: there is no such key", joinPath(path, lineshaft.Clip(f.key, 60))), hint).as(CodeUnknownField)
}

// nearestKey also knows the words of the API, such as secret_name.
func nearestKey(word string, known []string) string {
	folded := strings.ToLower(strings.NewReplacer("_", "", "-", "", " ", "").Replace(word))
	for _, k := range known {
		if strings.ToLower(strings.ReplaceAll(k, "_", "")) == folded {
			return k
		}
	}
	return nearest.Word(word, known)
}

func names(keys []key) []string {
	out := make([]string, len(keys))
	for i, k := range keys {
		out[i] = k.name
	}
	return out
}

// writeObject makes the object from the values of the keys.
func writeObject(keys []key) *node {
	n := &node{kind: objectNode}
	for _, k := range keys {
		if v := k.value.write(); v != nil {
			n.fields = append(n.fields, field{key: k.name, value: v})
		}
	}
	return n
}
