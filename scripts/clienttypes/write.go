package main

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// writer writes structs and methods, and collects where the document and the table disagree.
type writer struct {
	table
	doc        map[string]schema
	operations map[string]operation
	wire       orders
	out        strings.Builder
	faults     []string
}

func (w *writer) printf(format string, args ...any) { fmt.Fprintf(&w.out, format, args...) }

func (w *writer) faultf(format string, args ...any) {
	w.faults = append(w.faults, fmt.Sprintf(format, args...))
}

func (w *writer) writeType(row typeRow) {
	of, known := w.doc[row.Schema]
	if !known {
		w.faultf("%s: there is no schema %s", row.Name, row.Schema)
		return
	}
	for _, property := range slices.Concat(row.First, row.Left, slices.Sorted(maps.Keys(row.Fields))) {
		if _, ok := of.Properties[property]; !ok {
			w.faultf("%s: %s has no %s", row.Name, row.Schema, property)
		}
	}
	w.printf("\n%stype %s struct {\n", comment("", row.Name+" "+row.Doc), row.Name)
	for _, property := range w.wire.properties(row.Schema, of, row.First) {
		if of.Properties[property].offered() && !slices.Contains(row.Left, property) {
			w.writeField(row, of, property)
		}
	}
	if row.Private != "" {
		w.printf("\n\t%s\n", row.Private)
	}
	w.printf("}\n")
}

func (w *writer) writeField(row typeRow, of schema, property string) {
	usual := w.plainField(row, of, property).with(w.Everywhere[property])
	field := usual.with(row.Fields[property])
	if _, deviates := row.Fields[property]; deviates && field == usual {
		w.faultf("%s: %s needs no row: the document says the same", row.Name, property)
	}
	tag := property
	if field.Tag != always {
		tag += "," + field.Tag
	}
	w.printf("%s\t%s %s `json:%q`\n", comment("\t", field.Doc), field.Name, field.Type, tag)
}

// plainField is what the document alone makes of a property.
func (w *writer) plainField(row typeRow, of schema, property string) fieldRow {
	p := of.Properties[property]
	field := fieldRow{Name: goName(property), Type: w.goType(p), Doc: p.Description, Tag: "omitempty"}
	if words := slices.Concat(p.Enum, w.doc[refName(p)].Enum); field.Doc == "" && len(words) > 1 && field.Type == "string" {
		field.Doc = field.Name + " is " + strings.Join(words[:len(words)-1], ", ") + " or " + words[len(words)-1] + "."
	}
	if p.nullable() || slices.Contains(of.Required, property) {
		field.Tag = always
	}
	optional := !slices.Contains(of.Required, property)
	isStruct := p.Ref != "" && field.Type != "string" && !slices.Contains(w.ByHand, field.Type)
	switch {
	case field.Type == "time.Time" && (optional || p.nullable()),
		isStruct && optional,
		row.Update && optional && !strings.HasPrefix(field.Type, "map["):
		field.Type = "*" + field.Type
	}
	return field
}

func (w *writer) goType(p schema) string {
	switch kind := p.kind(); {
	case p.Ref != "":
		return w.refType(refName(p))
	case kind == "array":
		return "[]" + w.goType(*p.Items)
	case kind == "object":
		return "map[string]" + cmp.Or(scalars[p.valueKind()], "any")
	case kind == "string" && p.Format == "date-time":
		return "time.Time"
	}
	return cmp.Or(scalars[p.kind()], "json.RawMessage")
}

// scalars are the types of JSON in Go.
var scalars = map[string]string{"string": "string", "boolean": "bool", "integer": "int", "number": "float64"}

func refName(p schema) string { return strings.TrimPrefix(p.Ref, "#/components/schemas/") }

// refType is the name of another schema's type; a schema of a few words is a string.
func (w *writer) refType(name string) string {
	for _, row := range w.types {
		if row.Schema == name || slices.Contains(row.Also, name) {
			return row.Name
		}
	}
	if slices.Contains(w.ByHand, name) {
		return name
	}
	if w.doc[name].kind() != "string" {
		w.faultf("%s: no row of the table is for this schema", name)
	}
	return "string"
}

// goName makes FactoryUID of factory_uid.
func goName(property string) string {
	var name strings.Builder
	for word := range strings.SplitSeq(property, "_") {
		name.WriteString(cmp.Or(initials[word], strings.ToUpper(word[:1])+word[1:]))
	}
	return name.String()
}

// initials are words that Go writes in capitals.
var initials = map[string]string{
	"id": "ID", "ids": "IDs", "uid": "UID", "uids": "UIDs", "uuid": "UUID", "url": "URL", "usd": "USD", "mcp": "MCP", "ms": "MS", "hmac": "HMAC",
}

// comment breaks a text into lines of a comment.
func comment(indent, text string) string {
	var out strings.Builder
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > 90 {
			out.WriteString(indent + "// " + line + "\n")
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	if line != "" {
		out.WriteString(indent + "// " + line + "\n")
	}
	return out.String()
}
