package definition

import (
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/catalog"
)

// Compare says which changes turn old into wanted, by kind and name. It is empty
// exactly when both say the same.
func Compare(old, wanted *Definition) []Change {
	before, after := map[string]part{}, map[string]part{}
	for _, p := range old.parts() {
		if p.name != "" { // else it is the factory, and not made yet
			before[p.id()] = p
		}
	}
	var changes []Change
	for _, p := range wanted.parts() {
		after[p.id()] = p
		was, ok := before[p.id()]
		switch {
		case !ok:
			changes = append(changes, Change{Action: ActionAdd, Kind: p.kind, Name: p.name, File: wanted.file(p)})
		case !p.same(was):
			changes = append(changes, Change{Action: ActionChange, Kind: p.kind, Name: p.name, File: wanted.file(p), Fields: fieldChanges(was, p)})
		}
	}
	for _, p := range old.parts() {
		if _, ok := after[p.id()]; !ok {
			changes = append(changes, Change{Action: ActionRemove, Kind: p.kind, Name: p.name, File: old.file(p)})
		}
	}
	noteRenames(changes)
	noteTriggers(changes, wanted)
	return append(changes, compareInert(old.inert, wanted.inert)...)
}

// compareInert says which files without effect differ.
func compareInert(old, wanted []inertFile) []Change {
	change := func(action Action, f inertFile) Change {
		return Change{Action: action, Kind: f.kind, Name: f.name, File: f.file, Note: "has no effect on this server"}
	}
	before, after := map[string]inertFile{}, map[string]bool{}
	for _, f := range old {
		before[f.id()] = f
	}
	var changes []Change
	for _, f := range wanted {
		after[f.id()] = true
		if was, ok := before[f.id()]; !ok {
			changes = append(changes, change(ActionAdd, f))
		} else if was.text != f.text {
			changes = append(changes, change(ActionChange, f))
		}
	}
	for _, f := range old {
		if !after[f.id()] {
			changes = append(changes, change(ActionRemove, f))
		}
	}
	return changes
}

// noteTriggers says which triggers of new and changed automations never fire, and why.
func noteTriggers(changes []Change, wanted *Definition) {
	for _, a := range wanted.Automations {
		at := slices.IndexFunc(changes, func(c Change) bool { return c.Kind == KindAutomation && c.Name == a.Name })
		if at < 0 {
			continue
		}
		changes[at].Note = strings.Join(catalog.NoteTriggers(a.Triggers, wanted.Factory.Alias), "; ")
	}
}

// noteRenames notes that a webhook under another name is another webhook.
func noteRenames(changes []Change) {
	var added, removed []string
	for _, c := range changes {
		if c.Kind == KindWebhook && c.Action == ActionAdd {
			added = append(added, c.Name)
		}
		if c.Kind == KindWebhook && c.Action == ActionRemove {
			removed = append(removed, c.Name)
		}
	}
	if len(added) == 0 || len(removed) == 0 {
		return
	}
	for i := range changes {
		c := &changes[i]
		switch {
		case c.Kind != KindWebhook:
		case c.Action == ActionAdd:
			c.Note = fmt.Sprintf("if this is %s renamed: it gets a new address, which its senders need", strings.Join(removed, " or "))
		case c.Action == ActionRemove:
			c.Note = "its address stops answering; under another name it is a new webhook with a new address"
		}
	}
}

func (p part) same(other part) bool { return len(fieldChanges(p, other)) == 0 }

// fieldChanges lists the paths whose values differ, in the order of the new document
// and then of the removed ones.
func fieldChanges(was, is part) []FieldChange {
	before, after := map[string]leaf{}, map[string]leaf{}
	for _, l := range was.leaves() {
		before[l.path] = l
	}
	var changes []FieldChange
	for _, l := range is.leaves() {
		after[l.path] = l
		old, said := before[l.path]
		if !said {
			old.shown = is.usual(l.path)
		}
		if !said || old.exact != l.exact {
			changes = append(changes, distinct(FieldChange{Field: l.path, Before: old.shown, After: l.shown}, old, l))
		}
	}
	for _, l := range was.leaves() {
		if _, ok := after[l.path]; !ok {
			changes = append(changes, FieldChange{Field: l.path, Before: l.shown, After: is.usual(l.path)})
		}
	}
	return changes
}

// usual is the value of a key that is left out; empty where there is none.
func (p part) usual(path string) string {
	for _, k := range documentKeys(string(p.kind)) {
		if k.name == path {
			return k.value.usual
		}
	}
	return ""
}

// distinct tells two values apart that are shown alike, such as long prompts.
func distinct(c FieldChange, was, is leaf) FieldChange {
	if c.Before == c.After && c.Before != hidden {
		c.Before += digest(was.exact)
		c.After += digest(is.exact)
	}
	return c
}

func digest(exact string) string {
	sum := sha256.Sum256([]byte(exact))
	return fmt.Sprintf(" (%d bytes, sha256 %x)", len(exact), sum[:4])
}

// leaf is a value of a document with its path.
type leaf struct {
	path string
	// exact tells values apart; shown is for people.
	exact, shown string
}

func (p part) leaves() []leaf {
	var list []leaf
	if p.body != "" {
		list = append(list, leaf{"body", p.body, shortText(p.body)})
	}
	return appendLeaves(list, "", p.keys, false)
}

// appendLeaves walks a document. Lists of scalars are one value.
func appendLeaves(list []leaf, path string, n *node, guarded bool) []leaf {
	switch {
	case n.kind == objectNode && len(n.fields) > 0:
		for _, f := range n.fields {
			at := joinPath(path, f.key)
			guarded := guarded || strings.Contains(path, "mcpServers.") && (f.key == "env" || f.key == "headers")
			list = appendLeaves(list, at, f.value, guarded)
		}
		return list
	case n.kind == listNode && len(n.items) > 0 && n.items[0].kind >= listNode:
		for i, item := range n.items {
			list = appendLeaves(list, indexed(path, i), item, guarded)
		}
		return list
	}
	return append(list, leaf{path, n.json(), shown(path, n, guarded)})
}

// shown is a value for people: on one line, short, and without what may be secret.
func shown(path string, n *node, guarded bool) string {
	switch {
	case guarded && n.kind == textNode && lineshaft.ShownValue(n.text) == hidden:
		return hidden
	case n.kind == textNode && strings.Contains(path, "mcpServers.") && strings.HasSuffix(path, ".url"):
		return shortText(lineshaft.MCPServer{URL: n.text}.Shown().URL)
	case n.kind == textNode:
		return shortText(n.text)
	case n.kind == listNode:
		words := make([]string, len(n.items))
		for i, item := range n.items {
			words[i] = shown(path, item, guarded)
		}
		return lineshaft.Clip("["+strings.Join(words, ", ")+"]", 200)
	}
	return lineshaft.Clip(n.json(), 200)
}
