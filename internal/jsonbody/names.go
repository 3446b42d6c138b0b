package jsonbody

import (
	"bytes"
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// Unmarshal is json.Unmarshal that matches the names of members exactly: encoding/json
// takes "Role" for the field "role", and the last of the two wins. The text must be valid
// JSON.
func Unmarshal(data []byte, v any) error {
	data = bytes.Clone(data)
	BlankInexactNames(data, reflect.TypeOf(v))
	return json.Unmarshal(data, v)
}

// BlankInexactNames overwrites, in place, each name that encoding/json would take for a
// field of t although its case differs, so that it is an unknown name like any other. A
// type that reads its own JSON is left to itself. The text must have passed Check.
func BlankInexactNames(data []byte, t reflect.Type) {
	n := namer{Cursor: jsontext.NewCursor(data), known: map[reflect.Type]map[string]reflect.Type{}}
	n.blankIn(t)
}

type namer struct {
	jsontext.Cursor
	known map[reflect.Type]map[string]reflect.Type
}

// blankIn walks over one value, which is read into t; nil is for a value that goes
// nowhere in particular.
func (n *namer) blankIn(t reflect.Type) {
	for t != nil && t.Kind() == reflect.Pointer && !readsItself(t) {
		t = t.Elem()
	}
	if t != nil && readsItself(reflect.PointerTo(t)) {
		t = nil
	}
	switch n.Peek() {
	case '{':
		for n.Next() {
			n.member(t)
		}
	case '[':
		for n.Next() {
			n.blankIn(elementOf(t))
		}
	default:
		n.Skip()
	}
}

// member walks over a name and its value.
func (n *namer) member(t reflect.Type) {
	name, _ := n.Name()
	if t == nil || t.Kind() != reflect.Struct {
		n.blankIn(elementOf(t))
		return
	}
	text := string(jsontext.AppendUnescaped(nil, name))
	fields := n.fieldsOf(t)
	field, exact := fields[text]
	for known := range fields {
		if !exact && strings.EqualFold(known, text) {
			copy(name, bytes.Repeat([]byte{'?'}, len(name)))
			break
		}
	}
	n.blankIn(field)
}

// fieldsOf are the types of the fields of a struct by their names in JSON.
func (n *namer) fieldsOf(t reflect.Type) map[string]reflect.Type {
	if known, ok := n.known[t]; ok {
		return known
	}
	fields := map[string]reflect.Type{}
	n.known[t] = fields
	for _, field := range reflect.VisibleFields(t) {
		name, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		if name == "-" || !field.IsExported() || field.Anonymous && name == "" {
			continue
		}
		name = cmp.Or(name, field.Name)
		fields[name] = field.Type
	}
	return fields
}

func readsItself(t reflect.Type) bool { return t.Implements(reflect.TypeFor[json.Unmarshaler]()) }

// elementOf is the type of the elements of an array or a map; nil for what has none.
func elementOf(t reflect.Type) reflect.Type {
	if t != nil && slices.Contains([]reflect.Kind{reflect.Slice, reflect.Array, reflect.Map}, t.Kind()) {
		return t.Elem()
	}
	return nil
}
