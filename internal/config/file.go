package config

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/lineshaft/lineshaft/internal/nearest"
)

// setFile takes the settings of a YAML file: one key per setting, no nesting.
func setFile(c *Config, name string, data []byte) error {
	file, err := parser.ParseBytes(data, 0)
	if err != nil {
		return fmt.Errorf("%s: %s", name, firstLine(err.Error()))
	}
	var errs []error
	for _, doc := range file.Docs {
		switch body := doc.Body.(type) {
		case nil:
		case *ast.MappingNode:
			for _, entry := range body.Values {
				if err := setEntry(c, entry); err != nil {
					errs = append(errs, fmt.Errorf("%s:%d: %w", name, entry.Key.GetToken().Position.Line, err))
				}
			}
		default:
			errs = append(errs, fmt.Errorf("%s: write one `key: value` per line", name))
		}
	}
	return errors.Join(errs...)
}

// firstLine leaves out the excerpt of the file, which may hold a secret.
func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return line
}

func setEntry(c *Config, entry *ast.MappingValueNode) error {
	key := strings.ReplaceAll(entry.Key.GetToken().Value, "-", "_")
	var keys []string
	for _, f := range Fields() {
		if f.Key == "" {
			if strings.EqualFold(envPrefix+key, f.Env) {
				return fmt.Errorf("%s cannot be set in a file: set %s instead", key, f.Env)
			}
			continue
		}
		if f.Key != key {
			keys = append(keys, f.Key)
			continue
		}
		values, err := entryValues(entry.Value)
		if err == nil {
			err = f.Set(c, values...)
		}
		if err != nil {
			return fmt.Errorf("%s: %w", key, err)
		}
		note(c, f.Name, OriginFile)
		return nil
	}
	if near := nearest.Word(key, keys); near != "" {
		return fmt.Errorf("unknown key %q; did you mean %s?", key, near)
	}
	return fmt.Errorf("unknown key %q; `lineshaft serve --help` lists the settings, with _ for - in a file", key)
}

// entryValues returns the texts of a scalar or of a list of scalars.
func entryValues(node ast.Node) ([]string, error) {
	list, ok := node.(*ast.SequenceNode)
	if !ok {
		text, err := scalar(node)
		return []string{text}, err
	}
	values := []string{}
	for _, item := range list.Values {
		text, err := scalar(item)
		if err != nil {
			return nil, err
		}
		values = append(values, text)
	}
	if len(values) == 0 {
		values = []string{""}
	}
	return values, nil
}

// scalar returns a value as it is written, so that 030 or 1_000 mean the same as
// on the command line.
func scalar(node ast.Node) (string, error) {
	switch n := node.(type) {
	case *ast.StringNode, *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, nil
	case *ast.LiteralNode:
		return strings.TrimRight(n.Value.Value, "\n"), nil
	case *ast.NullNode:
		return "", errors.New("the value is missing: write one, or leave the key out")
	}
	return "", errors.New("write a plain value, or a list of them")
}
