package sse

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// ErrTooLong says that a line or an event is longer than it may be.
var ErrTooLong = errors.New("an event of the stream is too long")

// Reader reads the data of events. Names, ids and comments are passed over.
type Reader struct {
	lines *bufio.Reader
	limit int
}

// NewReader reads events of at most limit bytes.
func NewReader(r io.Reader, limit int) *Reader {
	return &Reader{lines: bufio.NewReaderSize(r, 32<<10), limit: limit}
}

// Next gives the data of the next event that has any. io.EOF is the end of the
// stream; an event that the end cuts off is not given.
func (r *Reader) Next() ([]byte, error) {
	var data []byte
	some := false
	for size := 0; ; {
		line, err := ReadLine(r.lines, r.limit)
		switch {
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		case err != nil:
			return nil, fmt.Errorf("read stream: %w", err)
		}
		line = bytes.TrimSuffix(line[:len(line)-1], []byte("\r"))
		if len(line) == 0 {
			if some {
				return data, nil
			}
			continue
		}
		if size += len(line); size > r.limit {
			return nil, ErrTooLong
		}
		value, ok := Data(line)
		if !ok {
			continue
		}
		if some {
			data = append(data, '\n')
		}
		data, some = append(data, value...), true
	}
}

// Data is what a line of an event's data says; false for other lines.
func Data(line []byte) ([]byte, bool) {
	value, ok := bytes.CutPrefix(line, []byte("data:"))
	return bytes.TrimPrefix(value, []byte(" ")), ok
}

// ReadLine reads up to and with the next end of line. The line is good until the next
// call; with an error it is what came before it.
func ReadLine(in *bufio.Reader, limit int) ([]byte, error) {
	var whole []byte
	for {
		part, err := in.ReadSlice('\n')
		if whole == nil && err == nil {
			return part, nil
		}
		if whole = append(whole, part...); len(whole) > limit {
			return nil, ErrTooLong
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return whole, err
		}
	}
}
