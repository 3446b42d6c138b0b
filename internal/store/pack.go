package store

import (
	"fmt"

	"github.com/klauspost/compress/s2"
)

// Bodies of deliveries are packed on SQLite: JSON becomes a third of its size, and what is not
// written is not flushed, copied, backed up or read either. PostgreSQL packs long values itself.
// A body says by its first byte whether it is packed, so each engine reads what the other wrote.

const (
	// packedMark begins a packed body. No JSON begins with it.
	packedMark = 0
	// packFrom is the size from which packing is worth it, maxPacked more than any body has: what a
	// damaged row says of itself is not believed.
	packFrom  = 256
	maxPacked = 256 << 20
)

// pack is a body as it is stored.
func (d *dialect) pack(body []byte) []byte {
	marked := len(body) > 0 && body[0] == packedMark
	if !marked && (!d.packs || len(body) < packFrom) {
		return body
	}
	packed := make([]byte, 1+s2.MaxEncodedLen(len(body)))
	packed = packed[:1+len(s2.Encode(packed[1:], body))]
	if !marked && len(packed) >= len(body) {
		return body
	}
	return packed
}

// unpack is a body as it came.
func unpack(stored []byte) ([]byte, error) {
	if len(stored) == 0 || stored[0] != packedMark {
		return stored, nil
	}
	size, err := s2.DecodedLen(stored[1:])
	if err == nil && size > maxPacked {
		err = fmt.Errorf("it has %d bytes", size)
	}
	if err != nil {
		return nil, fmt.Errorf("unpack body: %w", err)
	}
	body, err := s2.Decode(nil, stored[1:])
	if err != nil {
		return nil, fmt.Errorf("unpack body: %w", err)
	}
	return body, nil
}
