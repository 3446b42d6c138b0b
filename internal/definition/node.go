package definition

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

// get finds the value of a key; nil when there is none.
func (n *node) get(key string) *node {
	for _, f := range n.fields {
		if f.key == key {
			return f.value
		}
	}
	return nil
}
