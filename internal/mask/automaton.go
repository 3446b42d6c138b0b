package mask

// automaton finds many patterns in one pass (Aho and Corasick). A state is a
// node of the tree of all patterns: the longest beginning of any pattern that the
// text read so far ends with. State 0 is the root.
//
// Values may be long, such as keys and certificates, so a node has room for one
// child, which is what nearly all have; further children are in a map.
type automaton struct {
	root  [256]int32
	nodes []node
	more  map[edge]int32
}

type node struct {
	next   int32 // the first child, for byte; 0: none
	fail   int32 // state for the longest proper ending that is a beginning too
	depth  int32 // length of the beginning this node stands for
	hold   int32 // length of the longest ending of it that can still become a pattern
	length int32 // longest pattern that ends here; 0: none
	secret int32 // whose it is
	byte   byte
	more   bool // there are children in the map
}

type edge struct {
	from int32
	byte byte
}

// step is the next state.
func (a *automaton) step(state int32, c byte) int32 {
	for state != 0 {
		n := &a.nodes[state]
		if n.next != 0 && n.byte == c {
			return n.next
		}
		if n.more {
			if next, ok := a.more[edge{state, c}]; ok {
				return next
			}
		}
		state = n.fail
	}
	return a.root[c]
}

// builder collects patterns.
type builder struct {
	a automaton
}

func newBuilder() *builder {
	return &builder{a: automaton{nodes: make([]node, 1), more: map[edge]int32{}}}
}

// add adds a pattern. The first secret that has it keeps it.
func (b *builder) add(pattern string, secret int) {
	state := int32(0)
	for i := range len(pattern) {
		state = b.child(state, pattern[i])
	}
	if n := &b.a.nodes[state]; state != 0 && n.length == 0 {
		n.length, n.secret = n.depth, int32(secret)
	}
}

// child finds or makes a child.
func (b *builder) child(state int32, c byte) int32 {
	a := &b.a
	n := &a.nodes[state]
	switch {
	case state == 0 && a.root[c] != 0:
		return a.root[c]
	case state != 0 && n.next != 0 && n.byte == c:
		return n.next
	case state != 0 && n.more:
		if next, ok := a.more[edge{state, c}]; ok {
			return next
		}
	}
	next := int32(len(a.nodes))
	switch {
	case state == 0:
		a.root[c] = next
	case n.next == 0:
		n.next, n.byte = next, c
	default:
		n.more = true
		a.more[edge{state, c}] = next
	}
	a.nodes = append(a.nodes, node{depth: n.depth + 1})
	return next
}

// build computes where to go on when a pattern does not, level by level.
func (b *builder) build() *automaton {
	a := &b.a
	children := make(map[int32][]edge, len(a.more))
	for e, next := range a.more {
		children[e.from] = append(children[e.from], edge{next, e.byte})
	}
	var queue []int32
	for c, next := range a.root {
		if next != 0 {
			queue = append(queue, b.link(0, next, byte(c)))
		}
	}
	for i := 0; i < len(queue); i++ {
		state := queue[i]
		n := a.nodes[state]
		if n.next != 0 {
			queue = append(queue, b.link(n.fail, n.next, n.byte))
		}
		for _, e := range children[state] {
			queue = append(queue, b.link(n.fail, e.from, e.byte))
		}
	}
	return a
}

// link sets where child, reached by c from a node that fails to fail, fails to.
func (b *builder) link(fail, child int32, c byte) int32 {
	a := &b.a
	n := &a.nodes[child]
	if n.depth > 1 {
		n.fail = a.step(fail, c)
	}
	f := a.nodes[n.fail]
	if n.length == 0 {
		n.length, n.secret = f.length, f.secret
	}
	if n.hold = f.hold; n.next != 0 {
		n.hold = n.depth
	}
	return child
}

// text is what can be scanned.
type text interface{ ~string | ~[]byte }

// cursor is where a scan stands, between two chunks of a stream.
type cursor struct {
	state int32
	// What follows is for base64 that is wrapped into lines.
	gap    int   // white space since the line was broken; 0: not in a gap
	lost   int32 // characters of the current beginning that are not masked any more
	broken bool  // there may be white space within the current beginning
}

// scanPlain appends the finds that end in p[from:].
func scanPlain[T text](a *automaton, c *cursor, p T, from int, found []match) []match {
	state := c.state
	for i := from; i < len(p); i++ {
		if state == 0 {
			if state = a.root[p[i]]; state == 0 {
				continue
			}
		} else {
			state = a.step(state, p[i])
		}
		if n := &a.nodes[state]; n.length != 0 {
			found = append(found, match{i + 1 - int(n.length), i + 1, int(n.secret)})
		}
	}
	c.state = state
	return found
}

// plainHeld is how many bytes at the end of a text may be the beginning of a find.
func (a *automaton) plainHeld(c *cursor) int { return int(a.nodes[c.state].hold) }

const (
	// keepFrom is the number of characters of base64 that are held back over the
	// end of a line. With fewer, the line is let go: else every other line would
	// wait for the next one, only to hide two bytes more of a secret.
	keepFrom = 4
	// maxGap bounds the white space between two lines of base64.
	maxGap = 64
)

// scanEncoded appends the finds that end in p[from:], line breaks and the
// indentation after them left out of account.
func scanEncoded[T text](a *automaton, c *cursor, p T, from int, found []match) []match {
	for i := from; i < len(p); i++ {
		b := p[i]
		if c.state == 0 {
			c.state, c.broken = a.root[b], false
			continue
		}
		if b <= ' ' && c.skip(a, b) {
			continue
		}
		before := a.nodes[c.state].depth
		c.state = a.step(c.state, b)
		c.gap = 0
		n := &a.nodes[c.state]
		if c.lost > 0 {
			c.lost = max(0, c.lost-(before+1-n.depth))
		}
		if n.length != 0 {
			found = append(found, match{i + 1 - back(c, p[:i+1], c.shown(n.depth, n.length)), i + 1, int(n.secret)})
		}
	}
	return found
}

// skip reports whether a white space character is part of a line break within
// base64, and counts it.
func (c *cursor) skip(a *automaton, b byte) bool {
	switch {
	case b == '\n' || b == '\r':
	case c.gap > 0 && (b == ' ' || b == '\t'):
	default:
		return false
	}
	c.broken = true
	if depth := a.nodes[c.state].depth; c.gap == 0 && depth < keepFrom {
		c.lost = depth
	}
	if c.gap++; c.gap > maxGap {
		*c = cursor{}
	}
	return true
}

// shown is how much of the last length characters of a beginning is not lost.
func (c *cursor) shown(depth, length int32) int { return int(length - max(0, c.lost-(depth-length))) }

// encodedHeld is how many bytes at the end of p may be the beginning of a find.
func encodedHeld[T text](a *automaton, c *cursor, p T) int {
	n := &a.nodes[c.state]
	if shown := c.shown(n.depth, n.hold); shown > 0 {
		return back(c, p, shown)
	}
	return 0
}

// back is how many bytes the last n characters of p take, white space between
// them included.
func back[T text](c *cursor, p T, n int) int {
	if !c.broken {
		return n
	}
	i := len(p)
	for n > 0 && i > 0 {
		if i--; p[i] > ' ' {
			n--
		}
	}
	return len(p) - i
}
