package jsonbody

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// Options say what a body may be.
type Options struct {
	// Limit is the largest number of bytes; zero allows none but the empty body.
	Limit int64
	// Length is the announced Content-Length, or -1 when it is unknown. A body that
	// announces too much is refused without reading any of it.
	Length int64
	// AllowEmpty takes a body of no bytes at all.
	AllowEmpty bool
	// AllowNUL takes the character U+0000 in strings.
	AllowNUL bool
}

// Read reads the body to its end and checks it. It never reads more than one byte
// past the limit. The error is a *lineshaft.Error that may be shown.
func Read(r io.Reader, opts Options) ([]byte, error) {
	if opts.Length > opts.Limit {
		return nil, tooLarge(opts.Limit)
	}
	data, err := io.ReadAll(io.LimitReader(r, opts.Limit+1))
	if int64(len(data)) > opts.Limit {
		return nil, tooLarge(opts.Limit)
	}
	if err != nil {
		return nil, broken(err)
	}
	return data, Check(data, opts)
}

// Check checks bytes that are already in memory.
func Check(data []byte, opts Options) error {
	if len(data) == 0 && opts.AllowEmpty {
		return nil
	}
	if int64(len(data)) > opts.Limit {
		return tooLarge(opts.Limit)
	}
	return notJSON(jsontext.Check(data, opts.AllowNUL))
}

// Parse checks bytes that are already in memory, of whatever length, and keeps what was
// seen. U+0000 is allowed.
func Parse(data []byte) (*jsontext.Doc, error) {
	doc, err := jsontext.Parse(data)
	return doc, notJSON(err)
}

func notJSON(err error) error {
	if err == nil {
		return nil
	}
	return &lineshaft.Error{Code: lineshaft.CodeInvalidRequest, Message: "the body is not acceptable JSON: " + err.Error(), Cause: err}
}

func tooLarge(limit int64) error {
	return &lineshaft.Error{
		Code:    lineshaft.CodePayloadTooLarge,
		Message: fmt.Sprintf("the body is larger than %d bytes; send less", limit),
	}
}

// broken is a body that did not arrive: the sender stopped, went away or lied
// about the length.
func broken(err error) error {
	message := "the body ended before it was complete; send it again"
	if timeout, ok := errors.AsType[net.Error](err); ok && timeout.Timeout() || errors.Is(err, os.ErrDeadlineExceeded) {
		message = "the body did not arrive in time; send it in one go"
	}
	return &lineshaft.Error{Code: lineshaft.CodeInvalidRequest, Message: message, Cause: err}
}
