package filter

import (
	"encoding/binary"
	"math"
)

// builder makes a Set.
type builder struct {
	set    *Set
	known  map[string]int32 // programs by signature
	conds  map[string]int32 // conditions by slot and signature
	in     [][]inLeaf       // per program
	weight map[valueKey]int // how many programs ask for a value at a path
	buf    []byte
}

// inLeaf is an in-set of a program and where it stands.
type inLeaf struct {
	slot int32
	set  *set
}

type valueKey struct {
	slot  int32
	value scalar
}

// NewSet prepares filters for matching together. The indexes that Match returns
// are those of the slice. A nil filter never matches.
func NewSet(filters []*Filter) *Set {
	b := builder{
		set:    &Set{filters: len(filters), index: &branch{}, slots: []slot{{above: none}}},
		known:  map[string]int32{},
		conds:  map[string]int32{},
		weight: map[valueKey]int{},
	}
	for i, f := range filters {
		b.add(int32(i), f)
	}
	for i := range b.set.programs {
		b.place(int32(i))
	}
	s := b.set
	s.scratch.New = func() any {
		return &scratch{
			slots: make([]slotState, len(s.slots)),
			conds: make([]condState, len(s.conds)),
			tried: make([]uint32, len(s.programs)),
			found: make([]uint64, (s.filters+63)/64),
		}
	}
	return s
}

func (b *builder) add(index int32, f *Filter) {
	switch {
	case f == nil:
		return
	case f.root == nil:
		b.set.always = append(b.set.always, index)
		return
	}
	b.buf = f.root.appendSignature(b.buf[:0])
	if i, ok := b.known[string(b.buf)]; ok {
		if i != none {
			p := &b.set.programs[i]
			p.filters = append(p.filters, index)
		}
		return
	}
	signature := string(b.buf)
	if f.root.never() {
		b.known[signature] = none
		return
	}
	b.known[signature] = int32(len(b.set.programs))
	p := program{root: f.root, start: int32(len(b.set.items)), filters: []int32{index}}
	b.in = append(b.in, b.flatten(f.root, 0, nil))
	p.end = int32(len(b.set.items))
	b.set.programs = append(b.set.programs, p)
}

// never says whether an empty set is among the sets, which matches nothing.
func (p *pattern) never() bool {
	for i := range p.fields {
		f := &p.fields[i]
		if f.sub != nil && f.sub.never() || f.leaf != nil && f.leaf.in != nil && len(f.leaf.in.values) == 0 {
			return true
		}
	}
	return false
}

// flatten appends the items of a pattern and collects its in-sets.
func (b *builder) flatten(p *pattern, above int32, leaves []inLeaf) []inLeaf {
	for i := range p.fields {
		f := &p.fields[i]
		at := len(b.set.items)
		slot := b.slot(above, f.key)
		b.set.items = append(b.set.items, item{slot: slot, above: above, cond: b.cond(slot, f)})
		if f.sub != nil {
			leaves = b.flatten(f.sub, slot, leaves)
			b.set.items[at].skip = int32(len(b.set.items) - at - 1)
		} else if f.leaf.in != nil {
			leaves = append(leaves, inLeaf{slot: slot, set: f.leaf.in})
			for _, value := range f.leaf.in.values {
				b.weight[valueKey{slot, value}]++
			}
		}
	}
	return leaves
}

func (b *builder) slot(above int32, key string) int32 {
	children := b.set.slots[above].children
	if i, ok := children[key]; ok {
		return i
	}
	if children == nil {
		children = map[string]int32{}
		b.set.slots[above].children = children
	}
	i := int32(len(b.set.slots))
	children[key] = i
	b.set.slots = append(b.set.slots, slot{above: above, key: key})
	return i
}

func (b *builder) cond(slot int32, f *field) int32 {
	b.buf = f.appendSignature(binary.AppendUvarint(b.buf[:0], uint64(slot)))
	if i, ok := b.conds[string(b.buf)]; ok {
		return i
	}
	i := int32(len(b.set.conds))
	b.conds[string(b.buf)] = i
	c := cond{leaf: f.leaf, sub: f.sub}
	if l := f.leaf; l != nil {
		c.in, c.notIn = l.in.mask(), l.notIn.mask()
		c.present = l.exists == nil || *l.exists
		c.missing = l.in == nil && (l.exists == nil || !*l.exists)
	}
	b.set.conds = append(b.set.conds, c)
	return i
}

// place files a program under the in-set that the fewest others ask for.
func (b *builder) place(i int32) {
	var best *inLeaf
	least := math.MaxInt
	for j := range b.in[i] {
		leaf := &b.in[i][j]
		weight := 0
		for _, value := range leaf.set.values {
			weight += b.weight[valueKey{leaf.slot, value}]
		}
		if weight < least {
			best, least = leaf, weight
		}
	}
	if best == nil {
		b.set.open = append(b.set.open, i)
		return
	}
	at := b.branch(best.slot)
	for _, value := range best.set.values {
		at.put(value, i)
	}
}

// branch finds the place of a path in the index.
func (b *builder) branch(slot int32) *branch {
	if slot == 0 {
		return b.set.index
	}
	path := &b.set.slots[slot]
	return b.branch(path.above).child(path.key)
}

func (b *branch) child(key string) *branch {
	if b.children == nil {
		b.children = map[string]*branch{}
	}
	child := b.children[key]
	if child == nil {
		child = &branch{}
		b.children[key] = child
	}
	return child
}

func (b *branch) put(value scalar, program int32) {
	if b.programs == nil {
		b.programs = map[string][]int32{}
	}
	key := value.key()
	b.programs[key] = append(b.programs[key], program)
	b.longest = max(b.longest, len(key))
}

// appendSignature appends a text that two patterns share only if they say the
// same. Every list is led by its length.
func (p *pattern) appendSignature(dst []byte) []byte {
	dst = binary.AppendUvarint(dst, uint64(len(p.fields)))
	for i := range p.fields {
		f := &p.fields[i]
		dst = f.appendSignature(appendText(dst, f.key))
	}
	return dst
}

func (f *field) appendSignature(dst []byte) []byte {
	if f.sub != nil {
		return f.sub.appendSignature(append(dst, 'o'))
	}
	dst = f.leaf.in.appendSignature(append(dst, 'l'))
	dst = f.leaf.notIn.appendSignature(dst)
	switch exists := f.leaf.exists; {
	case exists == nil:
		return append(dst, '-')
	case *exists:
		return append(dst, 't')
	default:
		return append(dst, 'f')
	}
}

func (s *set) appendSignature(dst []byte) []byte {
	if s == nil {
		return append(dst, '-')
	}
	dst = binary.AppendUvarint(append(dst, '+'), uint64(len(s.values)))
	for _, v := range s.values {
		dst = appendText(append(dst, byte(v.kind)), v.text)
	}
	return dst
}

func appendText(dst []byte, text string) []byte {
	return append(binary.AppendUvarint(dst, uint64(len(text))), text...)
}
