package definition

import (
	"encoding/json"
	"strings"
)

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
