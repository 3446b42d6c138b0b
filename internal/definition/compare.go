package definition

import (
	"crypto/sha256"
	"fmt"
	"strings"
)

// Compare says what has to be done to make wanted of old, by kind and name. It is empty
// exactly when both say the same.
func Compare(old, wanted *Definition) []Change {
	before, after := map[string]part{}, map[string]part{}
	for _, p := range old.parts() {
		before[p.id()] = p
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
	return changes
}

// noteRenames tells that a webhook under another name is another webhook.
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
			c.Note = fmt.Sprintf("if this is %s renamed: it gets a new address, which its senders have to be told", strings.Join(removed, " or "))
		case c.Action == ActionRemove:
			c.Note = "its address stops answering; under another name it is a new webhook with a new address"
		}
	}
}

func (p part) same(other part) bool {
	return len(fieldChanges(p, other)) == 0
}

// fieldChanges lists the paths whose values differ, in the order of the new document
// and then of what is gone.
func fieldChanges(was, is part) []FieldChange {
	before, after := map[string]leaf{}, map[string]leaf{}
	for _, l := range was.leaves() {
		before[l.path] = l
	}
	var changes []FieldChange
	for _, l := range is.leaves() {
		after[l.path] = l
		if old, ok := before[l.path]; !ok || old.exact != l.exact {
			changes = append(changes, distinct(FieldChange{Field: l.path, Before: old.shown, After: l.shown}, old, l))
		}
	}
	for _, l := range was.leaves() {
		if _, ok := after[l.path]; !ok {
			changes = append(changes, FieldChange{Field: l.path, Before: l.shown})
		}
	}
	return changes
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
