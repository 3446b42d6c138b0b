package definition

import (
	"encoding/json"
	"math/big"
	"regexp"
	"strings"
	"unicode/utf8"
)

// nodeKind is what a value of a document is.
type nodeKind int

const (
	nullNode nodeKind = iota
	textNode
	numberNode
	flagNode
	listNode
	objectNode
)

// String names a kind in messages.
func (k nodeKind) String() string {
	return [...]string{"empty", "text", "a number", "true or false", "a list", "a block of keys"}[k]
}

// node is a value of a document, read from YAML or about to be written as such.
type node struct {
	kind nodeKind
	// text is that of a scalar: for numbers in the form of JSON, for flags true or false.
	text   string
	items  []*node
	fields []field
	// line and column count from 1; 0 when the node was not read.
	line, column int
	// size counts the nodes, each as often as it is referred to.
	size int
}

// field is a key of an object with its value.
type field struct {
	key          string
	line, column int
	value        *node
}

func textOf(s string) *node   { return &node{kind: textNode, text: s} }
func numberOf(s string) *node { return &node{kind: numberNode, text: s} }

func flagOf(b bool) *node {
	if b {
		return &node{kind: flagNode, text: "true"}
	}
	return &node{kind: flagNode, text: "false"}
}

func (n *node) get(key string) *node {
	for _, f := range n.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}

var (
	integerForm = regexp.MustCompile(`^[-+]?[0-9]+$`)
	octalForm   = regexp.MustCompile(`^0o[0-7]+$`)
	hexForm     = regexp.MustCompile(`^0x[0-9a-fA-F]+$`)
	floatForm   = regexp.MustCompile(`^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$`)
)

// resolvePlain says what an unquoted scalar is (YAML 1.2, core schema), numbers in
// the form of JSON. Infinities and NaN, which JSON lacks, are text.
func resolvePlain(text string) (nodeKind, string) {
	switch text {
	case "", "~", "null", "Null", "NULL":
		return nullNode, ""
	case "true", "True", "TRUE":
		return flagNode, "true"
	case "false", "False", "FALSE":
		return flagNode, "false"
	}
	switch {
	case octalForm.MatchString(text), hexForm.MatchString(text):
		// Reading takes the square of the length.
		if len(text) <= 300 {
			if n, ok := new(big.Int).SetString(text, 0); ok {
				return numberNode, n.String()
			}
		}
		return textNode, text
	case integerForm.MatchString(text), floatForm.MatchString(text):
		return numberNode, jsonNumber(text)
	}
	return textNode, text
}

// jsonNumber rewrites 010, +1, .5 and 5. as JSON wants them and leaves others alone.
func jsonNumber(text string) string {
	sign := ""
	text = strings.TrimPrefix(text, "+")
	if rest, negative := strings.CutPrefix(text, "-"); negative {
		sign, text = "-", rest
	}
	end := strings.IndexAny(text, "eE")
	exponent := ""
	if end >= 0 {
		text, exponent = text[:end], text[end:]
	}
	whole, fraction, _ := strings.Cut(text, ".")
	if whole = strings.TrimLeft(whole, "0"); whole == "" {
		whole = "0"
	}
	if fraction != "" {
		fraction = "." + fraction
	}
	return sign + whole + fraction + exponent
}

func storable(s string) bool { return utf8.ValidString(s) && !strings.ContainsRune(s, 0) }

// json writes a node as compact JSON: keys in their order, numbers as they are.
func (n *node) json() string {
	var b strings.Builder
	n.writeJSON(&b)
	return b.String()
}

func (n *node) writeJSON(b *strings.Builder) {
	switch n.kind {
	case textNode:
		b.WriteString(quoteJSON(n.text))
	case numberNode, flagNode:
		b.WriteString(n.text)
	case listNode:
		b.WriteByte('[')
		for i, item := range n.items {
			if i > 0 {
				b.WriteByte(',')
			}
			item.writeJSON(b)
		}
		b.WriteByte(']')
	case objectNode:
		b.WriteByte('{')
		for i, f := range n.fields {
			if i > 0 {
				b.WriteByte(',')
			}
			b.WriteString(quoteJSON(f.key) + ":")
			f.value.writeJSON(b)
		}
		b.WriteByte('}')
	case nullNode:
		b.WriteString("null")
	}
}

func quoteJSON(s string) string {
	var b strings.Builder
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	if err := encoder.Encode(s); err != nil {
		return `""` // a string is always encoded
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// fromJSON reads JSON with its order of keys and its numbers as they are written.
func fromJSON(text []byte) (*node, error) {
	decoder := json.NewDecoder(strings.NewReader(string(text)))
	decoder.UseNumber()
	return readJSON(decoder)
}

func readJSON(decoder *json.Decoder) (*node, error) {
	token, err := decoder.Token()
	if err != nil {
		return nil, err
	}
	switch t := token.(type) {
	case json.Delim:
		return readJSONBlock(decoder, t)
	case string:
		return textOf(t), nil
	case json.Number:
		return numberOf(t.String()), nil
	case bool:
		return flagOf(t), nil
	default:
		return &node{}, nil
	}
}

func readJSONBlock(decoder *json.Decoder, open json.Delim) (*node, error) {
	n := &node{kind: listNode}
	if open == '{' {
		n.kind = objectNode
	}
	for decoder.More() {
		var key string
		if n.kind == objectNode {
			token, err := decoder.Token()
			if err != nil {
				return nil, err
			}
			key, _ = token.(string)
		}
		value, err := readJSON(decoder)
		if err != nil {
			return nil, err
		}
		if n.kind == objectNode {
			n.fields = append(n.fields, field{key: key, value: value})
		} else {
			n.items = append(n.items, value)
		}
	}
	_, err := decoder.Token()
	return n, err
}
