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

	"github.com/lineshaft/lineshaft/internal/frontmatter"
)

// Limits of one YAML document. The parser's time grows with the square of the keys
// and its stack with the depth, so both are bounded before it is asked.
const (
	maxYAML  = 256 << 10
	maxDepth = 40
	maxKeys  = 4000
	maxNodes = 50_000
)

// maxWork bounds the cost of reading all documents of a folder, in squares of keys: about
// half a second. A token costs as much as tokenWork of these.
const (
	maxWork   = 20_000_000
	tokenWork = 100
)

// mistake is one that keeps a document from being read.
type mistake struct {
	line, column  int
	message, hint string
	code          string
}

func (m *mistake) Error() string { return m.message }

func mistakeAt(t *token.Token, message, hint string) *mistake {
	m := &mistake{line: 1, column: 1, message: message, hint: hint}
	if t != nil && t.Position != nil {
		m.line, m.column = max(1, t.Position.Line), max(1, t.Position.Column)
	}
	return m
}

func (m *mistake) as(code string) *mistake {
	m.code = code
	return m
}

// parseYAML reads one document within a bound of work. Nil is an empty document.
// work is what it cost, for callers that bound the sum: the text is measured before the
// lexer and again before the parser, each of which costs more than the one before.
func parseYAML(text string, most int) (n *node, work int, m *mistake) {
	defer func() {
		// The parser is a third party's and the text may be anyone's: a text that it cannot read is a
		// mistake in the text, not the end of the server.
		if recover() != nil {
			n, m = nil, &mistake{line: 1, column: 1, message: "this is not valid YAML", hint: "write it in the plain style of the examples"}
		}
	}()
	marks := frontmatter.Marks(text)
	if work = marks * tokenWork; work > most {
		return nil, work, tooMuch()
	}
	tokens := lexer.Tokenize(text)
	keys, m := measure(tokens)
	if m != nil {
		return nil, work, m
	}
	if work = max(marks, len(tokens))*tokenWork + keys*keys; work > most {
		return nil, work, tooMuch()
	}
	file, err := parser.Parse(tokens, 0, parser.AllowDuplicateMapKey())
	if err != nil {
		return nil, work, syntaxMistake(err)
	}
	var body ast.Node
	for _, doc := range file.Docs {
		if doc.Body == nil || doc.Body.Type() == ast.DirectiveType {
			continue
		}
		if body != nil {
			return nil, work, mistakeAt(doc.Body.GetToken(), "a second document begins here", "keep one document in a file, without --- lines")
		}
		body = doc.Body
	}
	if body == nil {
		return nil, work, nil
	}
	c := converter{anchors: map[string]*node{}}
	n, m = c.value(body, 0)
	return n, work, m
}

func tooMuch() *mistake {
	return mistakeAt(nil, "with this file there are more keys and values in the folder than can be read at once", "split the factory, or put long texts below the front matter")
}

func syntaxMistake(err error) *mistake {
	if at, ok := errors.AsType[yaml.Error](err); ok {
		hint := "fix the YAML here; indent with spaces, and quote text that has special characters"
		if strings.Contains(at.GetMessage(), "\t") {
			hint = "YAML is indented with spaces, never with tabs"
		}
		return mistakeAt(at.GetToken(), "this is not valid YAML: "+strings.ReplaceAll(at.GetMessage(), "\t", "tab"), hint)
	}
	return mistakeAt(nil, "this is not valid YAML: "+err.Error(), "fix the YAML")
}

// measure bounds the parser's work.
func measure(tokens token.Tokens) (keys int, m *mistake) {
	deep := func(t *token.Token) *mistake {
		return mistakeAt(t, fmt.Sprintf("values are nested more than %d deep", maxDepth), "nothing here needs that; write it flatter")
	}
	depth, run, line := 0, 0, 0
	var found keyFinder
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
		default:
		}
		if found.isKey(t.Type) {
			if keys++; keys > maxKeys {
				return keys, mistakeAt(t, fmt.Sprintf("the file has more than %d keys", maxKeys), "split it")
			}
		}
		if depth+run > maxDepth {
			return keys, deep(t)
		}
	}
	return keys, nil
}

// keyFinder counts what costs as much as a key: keys, also those in braces that have
// no colon, documents and directives.
type keyFinder struct {
	// braces says for each mapping and list in braces or brackets around a token whether
	// it is a mapping, and colon whether its entry had one.
	braces []bool
	colon  bool
}

func (f *keyFinder) isKey(kind token.Type) bool {
	switch kind {
	case token.MappingValueType:
		f.colon = true
		return true
	case token.DocumentHeaderType, token.DocumentEndType, token.DirectiveType, token.MappingKeyType:
		return true
	case token.MappingStartType, token.SequenceStartType:
		f.braces = append(f.braces, kind == token.MappingStartType)
	case token.CollectEntryType:
		bare := len(f.braces) > 0 && f.braces[len(f.braces)-1] && !f.colon
		f.colon = false
		return bare
	case token.MappingEndType, token.SequenceEndType:
		if len(f.braces) > 0 {
			f.braces = f.braces[:len(f.braces)-1]
		}
	default:
	}
	return false
}
