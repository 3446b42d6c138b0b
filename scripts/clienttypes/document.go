package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
)

// schema is what the types need of a schema of the document.
type schema struct {
	Ref         string            `yaml:"$ref"`
	Type        any               `yaml:"type"` // a name, or that name and null
	Format      string            `yaml:"format"`
	Description string            `yaml:"description"`
	Enum        []string          `yaml:"enum"`
	Items       *schema           `yaml:"items"`
	Additional  any               `yaml:"additionalProperties"` // the schema of all values of a map, or true
	Properties  map[string]schema `yaml:"properties"`
	Required    []string          `yaml:"required"`
}

// kind is the type without null.
func (s schema) kind() string {
	switch t := s.Type.(type) {
	case string:
		return t
	case []any:
		name, _ := t[0].(string)
		return name
	}
	return ""
}

func (s schema) nullable() bool {
	_, many := s.Type.([]any)
	return many
}

// valueKind is the type of the values of a map; empty means any.
func (s schema) valueKind() string {
	values, _ := s.Additional.(map[string]any)
	kind, _ := values["type"].(string)
	return kind
}

// offered says that the server does something with a property.
func (s schema) offered() bool {
	return !strings.HasPrefix(s.Description, "Not offered by this server")
}

// readDocument reads the schemas by their names and the operations by their ids.
func readDocument(path string) (map[string]schema, map[string]operation, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, nil, err
	}
	var doc struct {
		Paths      map[string]map[string]operation `yaml:"paths"`
		Components struct {
			Schemas map[string]schema `yaml:"schemas"`
		} `yaml:"components"`
	}
	err = yaml.Unmarshal(text, &doc)
	operations := map[string]operation{}
	for path, methods := range doc.Paths {
		for method, op := range methods {
			op.method, op.path = strings.ToUpper(method[:1])+method[1:], path
			operations[op.ID] = op
		}
	}
	return doc.Components.Schemas, operations, err
}

// orders gives the fields of the server's structs in the order of the wire, which the
// document does not keep: its properties are sorted.
type orders map[string]*ast.StructType

func readOrders(folders ...string) (orders, error) {
	found := orders{}
	for _, folder := range folders {
		files, err := filepath.Glob(filepath.Join(folder, "*.go"))
		if err != nil {
			return nil, err
		}
		for _, file := range files {
			parsed, err := parser.ParseFile(token.NewFileSet(), file, nil, parser.SkipObjectResolution)
			if err != nil {
				return nil, err
			}
			ast.Inspect(parsed, found.add)
		}
	}
	return found, nil
}

func (o orders) add(n ast.Node) bool {
	if spec, ok := n.(*ast.TypeSpec); ok {
		if body, ok := spec.Type.(*ast.StructType); ok {
			o[spec.Name.Name] = body
		}
	}
	return true
}

// properties lists the properties of a schema: the given ones first, then in the order
// of the wire, then what no struct has.
func (o orders) properties(name string, of schema, first []string) (ordered []string) {
	for _, field := range slices.Concat(first, o.fields(name), slices.Sorted(maps.Keys(of.Properties))) {
		if _, ok := of.Properties[field]; ok && !slices.Contains(ordered, field) {
			ordered = append(ordered, field)
		}
	}
	return ordered
}

func (o orders) fields(name string) (names []string) {
	if o[name] == nil {
		return nil
	}
	for _, field := range o[name].Fields.List {
		if embedded, ok := field.Type.(*ast.Ident); ok && len(field.Names) == 0 {
			names = append(names, o.fields(embedded.Name)...)
		} else if field.Tag != nil {
			key, _, _ := strings.Cut(reflect.StructTag(strings.Trim(field.Tag.Value, "`")).Get("json"), ",")
			names = append(names, key)
		}
	}
	return names
}
