package mask

import "slices"

// Stream masks a text that comes in pieces. However it is cut, the result is the
// same as for the whole. It is for one goroutine.
type Stream struct {
	m              *Masker
	held           []byte // not yet given out; it may be the beginning of a secret
	plain, encoded cursor // how far the scans are; both have seen all of held
	found          []match
	open           int // so many of held belong to a stretch whose mask is out already
}

// Stream starts a stream.
func (m *Masker) Stream() *Stream { return &Stream{m: m} }

// Write takes the next piece and returns what can be given out: all but what may
// be the beginning of a secret. The result may share memory with p.
func (s *Stream) Write(p []byte) []byte {
	if s.m == nil {
		return p
	}
	all := p
	if len(s.held) > 0 {
		all = append(s.held, p...)
	}
	s.found = scanPlain(s.m.plain, &s.plain, all, len(s.held), s.found)
	s.found = scanEncoded(s.m.encoded, &s.encoded, all, len(s.held), s.found)
	held := max(s.m.plain.plainHeld(&s.plain), encodedHeld(s.m.encoded, &s.encoded, all))
	return s.release(all, len(all)-held)
}

// Flush returns what was held back, at the end of the text. The stream can be
// used for another one then.
func (s *Stream) Flush() []byte {
	if s.m == nil {
		return nil
	}
	out := s.release(s.held, len(s.held))
	*s = Stream{m: s.m}
	return out
}

// release gives out all[:end] masked and keeps the rest. No find that is still to
// come begins before end.
func (s *Stream) release(all []byte, end int) []byte {
	if len(s.found) == 0 && s.open == 0 {
		s.keep(all, end)
		return all[:end:end]
	}
	slices.SortFunc(s.found, byStart)
	out := make([]byte, 0, end+len(s.m.masks[0]))
	covered, rest := s.open, s.found[:0]
	for _, f := range s.found {
		switch {
		case f.start >= end:
			rest = append(rest, match{f.start - end, f.end - end, f.secret})
		case f.start < covered:
			covered = max(covered, f.end)
		default:
			out = append(out, all[covered:f.start]...)
			out = append(out, s.m.masks[f.secret]...)
			covered = f.end
		}
	}
	if covered < end {
		out = append(out, all[covered:end]...)
	}
	s.found = rest
	s.open = max(0, covered-end)
	s.keep(all, end)
	return out
}

// keep holds all[end:] in memory of its own: all may be the caller's, or be on
// its way to the caller.
func (s *Stream) keep(all []byte, end int) {
	if end == len(all) {
		s.held = nil
		return
	}
	s.held = append(make([]byte, 0, 2*(len(all)-end)), all[end:]...)
}
