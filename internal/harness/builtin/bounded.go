package builtin

import (
	"bytes"
	"errors"
	"io"
)

// maxServerAnswer bounds one answer of a tool server, which is read whole into the
// memory of the worker.
const maxServerAnswer = 16 << 20

var errLongAnswer = errors.New("the tool server's answer is longer than 16 MiB; ask it for less at a time")

// bounded reads no more than that: in all, or up to the end of a line.
type bounded struct {
	io.ReadCloser
	lines bool
	used  int
}

// Read implements io.Reader.
func (b *bounded) Read(p []byte) (int, error) {
	if b.used > maxServerAnswer {
		return 0, errLongAnswer
	}
	n, err := b.ReadCloser.Read(p)
	b.used += n
	if i := bytes.LastIndexByte(p[:n], '\n'); b.lines && i >= 0 {
		b.used = n - i - 1
	}
	return n, err
}
