package main

import (
	"cmp"
	"maps"
	"os"
	"slices"

	"github.com/goccy/go-yaml"
)

// table is types.yaml: the structs of the client, and what of them the document does not say.
type table struct {
	// ByHand are the types that stand for a schema of their name and are written by hand.
	ByHand []string `yaml:"by_hand"`
	// Mirrored are the types of event.go that the client has as they are.
	Mirrored []string `yaml:"mirrored"`
	// Everywhere holds the deviations of a property, whatever the type.
	Everywhere map[string]fieldRow `yaml:"everywhere"`
	Types      map[string]typeRow  `yaml:"types"`

	types []typeRow // by name
}

// typeRow is a struct of the client.
type typeRow struct {
	Name string `yaml:"-"`
	// Schema is that of the struct; its own name when empty.
	Schema string `yaml:"schema"`
	Doc    string `yaml:"doc"`
	// Also are schemas that the client reads into, or writes from, the same struct.
	Also []string `yaml:"also"`
	// Update says that nil keeps what is there: every field is a pointer.
	Update bool `yaml:"update"`
	// First are the properties that do not come in the order of the server's answers.
	First []string `yaml:"first"`
	// Left are properties that the struct does not have, on purpose.
	Left []string `yaml:"left"`
	// Fields are those that are not what the document alone would make of them.
	Fields map[string]fieldRow `yaml:"fields"`
	// Private is a field of the package's own.
	Private string `yaml:"private"`
}

// fieldRow is a field; as a deviation, what is empty is as the document has it.
type fieldRow struct {
	Name string `yaml:"name"`
	Type string `yaml:"type"`
	Tag  string `yaml:"tag"`
	Doc  string `yaml:"doc"`
}

// always is the tag of a field that is written even when it is empty.
const always = "always"

func (f fieldRow) with(d fieldRow) fieldRow {
	return fieldRow{cmp.Or(d.Name, f.Name), cmp.Or(d.Type, f.Type), cmp.Or(d.Tag, f.Tag), cmp.Or(d.Doc, f.Doc)}
}

func readTable(path string) (table, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return table{}, err
	}
	var t table
	if err := yaml.UnmarshalWithOptions(text, &t, yaml.Strict()); err != nil {
		return table{}, err
	}
	for _, name := range slices.Sorted(maps.Keys(t.Types)) {
		row := t.Types[name]
		row.Name, row.Schema = name, cmp.Or(row.Schema, name)
		t.types = append(t.types, row)
	}
	return t, nil
}
