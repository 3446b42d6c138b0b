package chat

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
)

// maxEvent bounds one event of a stream.
const maxEvent = 16 << 20

var errTooLong = errors.New("an event of the stream is too long")

// events reads Server-Sent Events. Only what models send is kept: the data.
type events struct {
	lines *bufio.Reader
	limit int
}

func newEvents(r io.Reader) *events {
	return &events{lines: bufio.NewReaderSize(r, 32<<10), limit: maxEvent}
}

// next gives the data of the next event that has any. io.EOF is the end of the
// stream; an event that the end cuts off is not given.
func (e *events) next() ([]byte, error) {
	var data []byte
	some := false
	for size := 0; ; {
		line, err := e.line()
		if err != nil {
			return nil, err
		}
		if len(line) == 0 {
			if some {
				return data, nil
			}
			continue
		}
		if size += len(line); size > e.limit {
			return nil, errTooLong
		}
		value, ok := bytes.CutPrefix(line, []byte("data:"))
		if !ok {
			continue // the event's name, an id or a comment
		}
		if some {
			data = append(data, '\n')
		}
		data, some = append(data, bytes.TrimPrefix(value, []byte(" "))...), true
	}
}

// line gives the next line without its end, which may be LF or CRLF.
func (e *events) line() ([]byte, error) {
	var whole []byte
	for {
		part, err := e.lines.ReadSlice('\n')
		if err == nil && whole == nil {
			return bytes.TrimSuffix(part[:len(part)-1], []byte("\r")), nil
		}
		if whole = append(whole, part...); len(whole) > e.limit {
			return nil, errTooLong
		}
		switch {
		case err == nil:
			return bytes.TrimSuffix(whole[:len(whole)-1], []byte("\r")), nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF):
			return nil, io.EOF
		default:
			return nil, fmt.Errorf("read stream: %w", err)
		}
	}
}
