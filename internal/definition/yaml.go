package definition

import (
	"errors"
	"fmt"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/lexer"
	"github.com/goccy/go-yaml/parser"
	"github.com/goccy/go-yaml/token"
)

// Limits of one YAML document. The parser's time grows with the square of the keys
// and its stack with the depth, so both are bounded before it is asked.
const (
	maxYAML  = 256 << 10
	maxDepth = 40
	maxKeys  = 5000
	maxNodes = 50_000
)

// mistake is one that keeps a document from being read.
type mistake struct {
	line, column  int
	message, hint string
}

func (m *mistake) Error() string { return m.message }

func mistakeAt(t *token.Token, message, hint string) *mistake {
	m := &mistake{line: 1, column: 1, message: message, hint: hint}
	if t != nil && t.Position != nil {
		m.line, m.column = max(1, t.Position.Line), max(1, t.Position.Column)
	}
	return m
}

// parseYAML reads one document. Nil is an empty one. keys is how many it has, for
// those who bound the sum.
func parseYAML(text string) (n *node, keys int, m *mistake) {
	defer func() {
		// The parser is other people's and the text anybody's: what it cannot take is a
		// mistake in the text, not the end of the server.
		if recover() != nil {
			n, m = nil, &mistake{line: 1, column: 1, message: "this is no YAML that can be read", hint: "write it in the plain style of the examples"}
		}
	}()
	tokens := lexer.Tokenize(text)
	keys, m = measure(tokens)
	if m != nil {
		return nil, keys, m
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, keys, syntaxMistake(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if body != nil {
			return nil, keys, mistakeAt(doc.Body.GetToken(), "a second document begins here", "keep one document in a file, without --- lines")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, keys, nil
	}
	c := converter{anchors: map[string]*node{}}
	n, m = c.value(body, 0)
	return n, keys, m
}

func syntaxMistake(err error) *mistake {
	if at, ok := errors.AsType[yaml.Error](err); ok {
		hint := "mend the YAML here; indent with spaces, and quote text that has special characters"
		if strings.Contains(at.GetMessage(), "\t") {
			hint = "YAML is indented with spaces, never with tabs"
		}
		return mistakeAt(at.GetToken(), "this is no YAML: "+strings.ReplaceAll(at.GetMessage(), "\t", "tab"), hint)
	}
	return mistakeAt(nil, "this is no YAML: "+err.Error(), "mend the YAML")
}

// measure bounds what the parser has to do.
func measure(tokens token.Tokens) (keys int, m *mistake) {
	deep := func(t *token.Token) *mistake {
		return mistakeAt(t, fmt.Sprintf("values are nested more than %d deep", maxDepth), "nothing here needs that; write it flatter")
	}
	depth, run, line := 0, 0, 0
	for _, t := range tokens {
		if t.Position != nil && t.Position.Line != line {
			line, run = t.Position.Line, 0
		}
		switch t.Type {
		case token.SequenceStartType, token.MappingStartType:
			depth++
		case token.SequenceEndType, token.MappingEndType:
			depth--
		case token.SequenceEntryType, token.MappingKeyType, token.AnchorType, token.TagType:
			run++
		case token.MappingValueType:
			if keys++; keys > maxKeys {
				return keys, mistakeAt(t, fmt.Sprintf("the file has more than %d keys", maxKeys), "split it")
			}
		default:
		}
		if depth+run > maxDepth {
			return keys, deep(t)
		}
	}
	return keys, nil
}
