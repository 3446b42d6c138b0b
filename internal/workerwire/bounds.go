package workerwire

// Within says whether a body has at most so many items, such as reports, held or known
// executions, and events of reports. It looks at nothing else and allocates nothing:
// a few bytes of JSON can become hundreds in memory, so it comes before decoding.
// A body that is no JSON may be within.
func Within(body []byte, items, events int) bool {
	// The lists of a request are at depth 2, those of a report at depth 4.
	const itemDepth, eventDepth = 2, 4
	left := [...]int{itemDepth: items, eventDepth: events}
	var list [len(left)]bool
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		c := body[i]
		if quoted {
			if c == '\\' {
				i++
			}
			quoted = c != '"'
			continue
		}
		begins := false // an element of a list, as far as that can be told cheaply
		switch c {
		case '"':
			quoted = true
		case '{', '[':
			if depth++; depth < len(list) {
				list[depth], begins = c == '[', c == '['
			}
		case '}', ']':
			depth--
		case ',':
			begins = depth > 0 && depth < len(list) && list[depth]
		}
		if begins && (depth == itemDepth || depth == eventDepth) {
			if left[depth]--; left[depth] < 0 {
				return false
			}
		}
		if depth < 0 {
			return true
		}
	}
	return true
}
