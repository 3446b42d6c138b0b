package mcpserver

import (
	"encoding/json"
	"reflect"
	"slices"
	"strconv"
	"strings"
)

// schema is a JSON schema.
type schema map[string]any

// schemaOf makes a schema of a Go type. Fields say with tags what the type does not:
// doc, enum (values, separated by commas), default, minimum, maximum, minLength,
// maxLength, pattern, maxItems. What has no omitempty or omitzero is required. They are
// the tags of package api's wire types.
func schemaOf(t reflect.Type) schema {
	switch t.Kind() {
	case reflect.Pointer:
		return schemaOf(t.Elem())
	case reflect.Bool:
		return schema{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return schema{"type": "integer"}
	case reflect.Float64:
		return schema{"type": "number"}
	case reflect.String:
		return schema{"type": "string"}
	case reflect.Map:
		return schema{"type": "object", "additionalProperties": schemaOf(t.Elem())}
	case reflect.Slice:
		if t == reflect.TypeFor[json.RawMessage]() {
			return schema{} // anything
		}
		return schema{"type": "array", "items": schemaOf(t.Elem())}
	case reflect.Struct:
		return structSchema(t)
	default:
		return schema{}
	}
}

func structSchema(t reflect.Type) schema {
	properties, required := schema{}, []string{}
	for _, field := range reflect.VisibleFields(t) {
		if field.Anonymous || !field.IsExported() {
			continue
		}
		name, options, _ := strings.Cut(field.Tag.Get("json"), ",")
		if !slices.ContainsFunc(strings.Split(options, ","), func(o string) bool { return o == "omitempty" || o == "omitzero" }) {
			required = append(required, name)
		}
		properties[name] = fieldSchema(field)
	}
	return schema{"type": "object", "properties": properties, "required": required}
}

func fieldSchema(field reflect.StructField) schema {
	out := schemaOf(field.Type)
	if doc := field.Tag.Get("doc"); doc != "" {
		out["description"] = doc
	}
	if pattern := field.Tag.Get("pattern"); pattern != "" {
		out["pattern"] = pattern
	}
	for _, name := range []string{"minimum", "maximum", "minLength", "maxLength", "maxItems"} {
		if number, err := strconv.Atoi(field.Tag.Get(name)); err == nil {
			out[name] = number
		}
	}
	if fixed := field.Tag.Get("default"); fixed != "" {
		out["default"] = literal(field.Type, fixed)
	}
	if list := field.Tag.Get("enum"); list != "" {
		within := out
		if items, ok := out["items"].(schema); ok {
			within = items
		}
		within["enum"] = strings.Split(list, ",")
	}
	return out
}

// closed refuses arguments that the schema does not name: one that is misspelt would
// otherwise be left out in silence. Answers stay open, so that they may grow.
func closed(s schema) schema {
	if properties, ok := s["properties"].(schema); ok {
		s["additionalProperties"] = false
		for _, below := range properties {
			if below, ok := below.(schema); ok {
				closed(below)
			}
		}
	}
	if items, ok := s["items"].(schema); ok {
		closed(items)
	}
	return s
}

// literal reads the text of a tag as a value of the type.
func literal(t reflect.Type, text string) any {
	switch t.Kind() {
	case reflect.Int, reflect.Int64:
		number, _ := strconv.Atoi(text) // a test reads every schema
		return number
	case reflect.Bool:
		return text == "true"
	default:
		return text
	}
}
