package skill

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/frontmatter"
)

// maxFrontMatter and maxMarks bound what is given to the YAML parser, whose time and
// memory grow with the square of some texts.
const (
	maxFrontMatter = 16 << 10
	maxMarks       = 1500
)

// Error is a mistake in a SKILL.md. Line counts from 1; 0 is the file as a whole.
type Error struct {
	Line    int
	Message string
}

// Error says where and what.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

func mistake(line int, format string, args ...any) error {
	return &Error{Line: line, Message: fmt.Sprintf(format, args...)}
}

// Parse reads a SKILL.md. Keys of the front matter other than name and description
// are allowed and not looked at. An error is an *Error.
func Parse(text string) (lineshaft.Skill, error) {
	if len(text) > lineshaft.MaxSkillBytes {
		return lineshaft.Skill{}, tooLarge()
	}
	if !utf8.ValidString(text) || strings.ContainsRune(text, 0) {
		return lineshaft.Skill{}, mistake(0, "is not UTF-8 text")
	}
	parts := frontmatter.Split(text)
	switch {
	case !parts.Found:
		return lineshaft.Skill{}, mistake(1, "has no front matter; begin with a line ---, then name: and description:, then another line ---")
	case parts.Open:
		return lineshaft.Skill{}, mistake(1, "the front matter has no end; close it with a line ---")
	case len(parts.YAML) > maxFrontMatter:
		return lineshaft.Skill{}, mistake(1, "the front matter has more than %d bytes", maxFrontMatter)
	case frontmatter.Marks(parts.YAML) > maxMarks:
		return lineshaft.Skill{}, mistake(1, "the front matter has too many keys and lines; put them below it")
	}
	fields, err := texts(parts)
	if err != nil {
		return lineshaft.Skill{}, err
	}
	s := lineshaft.Skill{Name: fields["name"], Description: fields["description"], Body: parts.Body}
	return s, check(s)
}

func tooLarge() error { return mistake(0, "has more than %d bytes", lineshaft.MaxSkillBytes) }

func check(s lineshaft.Skill) error {
	for _, f := range []struct {
		name, value string
		limit       int
	}{{"name", s.Name, lineshaft.MaxPartName}, {"description", s.Description, lineshaft.MaxSkillDescription}} {
		if f.value == "" {
			return mistake(1, "the front matter needs a %s that is not empty", f.name)
		}
		if utf8.RuneCountInString(f.value) > f.limit {
			return mistake(1, "the %s is longer than %d characters", f.name, f.limit)
		}
	}
	if strings.ContainsAny(s.Name, "\n\r") {
		return mistake(1, "the name must be one line")
	}
	return nil
}

// texts reads name and description. It looks at the syntax tree and expands nothing:
// what else stands in the front matter is somebody else's.
func texts(parts frontmatter.Parts) (map[string]string, error) {
	file, err := parser.ParseBytes([]byte(parts.YAML), 0)
	if err != nil {
		return nil, syntaxError(parts.YAMLLine, err)
	}
	found := map[string]string{}
	if len(file.Docs) == 0 || file.Docs[0].Body == nil {
		return found, nil
	}
	mapping, ok := file.Docs[0].Body.(ast.MapNode)
	if !ok || len(file.Docs) > 1 {
		return nil, mistake(parts.YAMLLine, "the front matter must be keys with values, such as name: triage")
	}
	for entries := mapping.MapRange(); entries.Next(); {
		key := entries.Key().GetToken()
		if key == nil || key.Value != "name" && key.Value != "description" {
			continue
		}
		value, ok := scalar(entries.Value())
		if !ok {
			return nil, mistake(parts.YAMLLine+key.Position.Line-1, "the %s must be text", key.Value)
		}
		found[key.Value] = strings.TrimSpace(value)
	}
	return found, nil
}

// scalar is the text of a plain, quoted or block value; numbers count as they are written.
func scalar(node ast.Node) (string, bool) {
	switch n := node.(type) {
	case *ast.StringNode:
		return n.Value, true
	case *ast.LiteralNode:
		return n.Value.Value, true
	case *ast.IntegerNode, *ast.FloatNode, *ast.BoolNode:
		return n.GetToken().Value, true
	case *ast.NullNode:
		return "", true
	}
	return "", false
}

// syntaxError takes the first line of what the YAML parser says.
func syntaxError(first int, err error) error {
	line, message := first, err.Error()
	if syntax, ok := errors.AsType[yaml.Error](err); ok {
		message = syntax.GetMessage()
		if token := syntax.GetToken(); token != nil && token.Position != nil {
			line = first + token.Position.Line - 1
		}
	}
	message, _, _ = strings.Cut(message, "\n")
	return mistake(line, "the front matter is not valid YAML: %s; a text with a colon needs quotes", message)
}

// Render writes the file of a skill. Texts are quoted as in JSON, which every YAML reader
// takes: without quotes a description such as "? x" would not be a text.
func Render(s lineshaft.Skill) (string, error) {
	var head strings.Builder
	for _, field := range [][2]string{{"name", s.Name}, {"description", s.Description}} {
		quoted, err := json.Marshal(field[1])
		if err != nil {
			return "", fmt.Errorf("write skill %s: %w", s.Name, err)
		}
		head.WriteString(field[0] + ": " + string(quoted) + "\n")
	}
	return frontmatter.Join(head.String(), s.Body), nil
}
