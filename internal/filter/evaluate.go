package filter

import "github.com/lineshaft/lineshaft/internal/jsontext"

// scratch is what one call of Set.Match needs. Rounds tell old entries from new
// ones, so that nothing but the found bits is cleared between calls.
type scratch struct {
	round uint32
	slots []slotState
	conds []condState
	tried []uint32 // per program, the round in which it was tried
	found []uint64 // a bit per filter; all zero between calls
	key   []byte
}

// slotState is where a path leads in the document at hand.
type slotState struct {
	round  uint32 // in which node was found
	listed uint32 // in which the members of node were given to the slots below
	masked uint32 // in which mask was made
	node   int32
	mask   uint64
}

// condState is how a condition fared.
type condState struct {
	round  uint32
	passed bool
}

func (sc *scratch) begin() {
	if sc.round++; sc.round == 0 {
		clear(sc.slots)
		clear(sc.conds)
		clear(sc.tried)
		sc.round = 1
	}
	sc.slots[0].round, sc.slots[0].node = sc.round, 0
}

func (sc *scratch) add(filters []int32) {
	for _, f := range filters {
		sc.found[f/64] |= 1 << (f % 64)
	}
}

// try evaluates programs that were not tried yet.
func (w *walk) try(programs []int32) {
	root := w.doc.Nodes[0].Kind
	for _, i := range programs {
		if w.tried[i] == w.round {
			continue
		}
		w.tried[i] = w.round
		p := &w.set.programs[i]
		if root == jsontext.Object && w.run(w.set.items[p.start:p.end]) || root == jsontext.Array && p.root.matchValue(w.doc, 0) {
			w.add(p.filters)
		}
	}
}

// run evaluates the items of a program. The items inside of a pattern are for an
// object; in an array the pattern is matched as a whole.
func (w *walk) run(items []item) bool {
	for i := 0; i < len(items); i++ {
		it := &items[i]
		c := w.node(it)
		if it.skip == 0 {
			if !w.leaf(it, c) {
				return false
			}
			continue
		}
		if c == none {
			return false
		}
		switch w.doc.Nodes[c].Kind {
		case jsontext.Object:
		case jsontext.Array:
			if !w.sub(it.cond, c) {
				return false
			}
			i += int(it.skip)
		default:
			return false
		}
	}
	return true
}

// node follows a path one step from the slot above, which was followed before.
func (w *walk) node(it *item) int32 {
	state := &w.slots[it.slot]
	if state.round == w.round {
		return state.node
	}
	above := &w.slots[it.above]
	if above.listed != w.round {
		siblings := w.set.slots[it.above].children
		if len(siblings) < manyChildren {
			state.round, state.node = w.round, w.doc.Member(above.node, w.set.slots[it.slot].key)
			return state.node
		}
		above.listed = w.round
		w.list(above.node, siblings)
		if state.round == w.round {
			return state.node
		}
	}
	state.round, state.node = w.round, none
	return none
}

// list gives the members of an object to the slots of their names; the last of a
// name stays.
func (w *walk) list(object int32, slots map[string]int32) {
	for m, end := object+1, w.doc.Nodes[object].Next; m < end; m = w.doc.Nodes[m].Next {
		if i, ok := slots[string(w.name(m))]; ok {
			w.slots[i].round, w.slots[i].node = w.round, m
		}
	}
}

// leaf decides by masks if they suffice.
func (w *walk) leaf(it *item, c int32) bool {
	cond := &w.set.conds[it.cond]
	if c == none {
		return cond.missing
	}
	if !cond.present {
		return false
	}
	if cond.in|cond.notIn == 0 {
		return true
	}
	mask := w.mask(it.slot, c)
	if cond.in&mask == 0 && cond.in != 0 {
		return false
	}
	if cond.in == 0 && cond.notIn&mask == 0 {
		return true
	}
	state := &w.conds[it.cond]
	if state.round != w.round {
		state.round, state.passed = w.round, cond.leaf.match(w.doc, c)
	}
	return state.passed
}

func (w *walk) sub(i, c int32) bool {
	state := &w.conds[i]
	if state.round != w.round {
		state.round, state.passed = w.round, w.set.conds[i].sub.matchValue(w.doc, c)
	}
	return state.passed
}

// mask has a bit for every scalar that a set would look at.
func (w *walk) mask(slot, c int32) uint64 {
	state := &w.slots[slot]
	if state.masked == w.round {
		return state.mask
	}
	state.masked, state.mask = w.round, 0
	n := &w.doc.Nodes[c]
	switch n.Kind {
	case jsontext.Object:
	case jsontext.Array:
		for e := c + 1; e < n.Next; e = w.doc.Nodes[e].Next {
			if w.doc.Nodes[e].Kind.Scalar() {
				w.key = appendKey(w.key[:0], w.doc, e)
				state.mask |= keyBit(w.key)
			}
		}
	default:
		w.key = appendKey(w.key[:0], w.doc, c)
		state.mask = keyBit(w.key)
	}
	return state.mask
}

// keyBit is one of 64 bits for a scalar's key: FNV-1a over its ends and length, so
// that a long text costs no more than a short one.
func keyBit[T string | []byte](key T) uint64 {
	const ends = 32
	hash := uint64(14695981039346656037) ^ uint64(len(key))
	for i := 0; i < len(key); i++ {
		if i == ends && len(key) > 2*ends {
			i = len(key) - ends
		}
		hash = (hash ^ uint64(key[i])) * 1099511628211
	}
	return 1 << (hash >> 58)
}

func (s *set) mask() (mask uint64) {
	if s == nil {
		return 0
	}
	for _, v := range s.values {
		mask |= keyBit(v.key())
	}
	return mask
}
