package ingress

import (
	"bytes"
	"compress/gzip"
	"errors"
	"io"
	"net/http"
	"strings"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/jsonbody"
	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// body is what was sent, decoded. Limit, signature, identity and storage all mean
// the decoded bytes.
type body struct {
	data     []byte
	tooLarge bool
	// unread says that more may come.
	unread bool
	// doc is what it says, once it was checked.
	doc *jsontext.Doc
	// err is why the bytes could not be read to their end.
	err error
}

// readBody reads at most one byte past the limit.
func readBody(r *http.Request, limit int64) *body {
	most, read := limit, func() *body { return readUpTo(r.Body, limit, r.ContentLength) }
	switch strings.ToLower(strings.TrimSpace(r.Header.Get("Content-Encoding"))) {
	case "", "identity":
	case "gzip", "x-gzip":
		most, read = maxPacked(limit), func() *body { return readGzip(r.Body, limit) }
	default:
		read = func() *body {
			return &body{unread: true, err: lineshaft.Invalid("Content-Encoding", "send the body as it is or with gzip")}
		}
	}
	if r.ContentLength > most {
		return &body{tooLarge: true, unread: true}
	}
	return read()
}

// maxPacked is how long the gzip form of a body may be that unpacks to the limit: what
// cannot be packed grows by its frame and a few bytes for each block.
func maxPacked(limit int64) int64 { return limit + limit/256 + 1<<10 }

// readUpTo reads a stream whose length may be known.
func readUpTo(r io.Reader, limit, length int64) *body {
	b := &body{}
	if length > 0 {
		b.data = make([]byte, length)
		n, err := io.ReadFull(r, b.data)
		b.data = b.data[:n]
		if err != nil {
			b.err, b.unread = broken(), true
		}
		return b
	}
	data, err := io.ReadAll(io.LimitReader(r, limit+1))
	b.data = data
	switch {
	case int64(len(data)) > limit:
		b.data, b.tooLarge, b.unread = data[:limit], true, true
	case err != nil:
		b.err, b.unread = broken(), true
	}
	return b
}

// readGzip unpacks while it reads: a small body that unpacks to a large one is
// stopped at the limit, and a large one before that.
func readGzip(r io.Reader, limit int64) *body {
	packed := &io.LimitedReader{R: r, N: maxPacked(limit) + 1}
	unpacker, err := gzip.NewReader(packed)
	if err != nil {
		return &body{unread: true, err: lineshaft.Invalid("Content-Encoding", "the body is not in gzip form")}
	}
	b := readUpTo(unpacker, limit, -1)
	switch {
	case packed.N <= 0:
		b.tooLarge, b.unread = true, true
	case b.err != nil:
		b.err = lineshaft.Invalid("Content-Encoding", "the gzip form of the body is broken or cut short")
	}
	return b
}

func broken() error {
	return lineshaft.Invalid("", "the body ended before it was complete; send it again")
}

// check parses the body and says why it is not one acceptable JSON value, if it is not.
// It is for bodies of authentic senders: parsing takes memory.
func (b *body) check() error {
	if b.err != nil {
		return b.err
	}
	var err error
	if b.doc, err = jsonbody.Parse(b.data); err != nil && isForm(b.data) {
		return lineshaft.Invalid("", "the body is a form, and webhooks take JSON; choose the content type application/json in the sender's webhook settings")
	}
	return err
}

// isForm says whether a body begins like a form: with a name and "=".
func isForm(data []byte) bool {
	name, _, found := bytes.Cut(data[:min(len(data), 256)], []byte("="))
	return found && len(name) > 0 && !bytes.ContainsAny(name, " \t\r\n{}[]\"',:<>")
}

func limited(err error) bool {
	pub, ok := errors.AsType[*lineshaft.Error](err)
	return ok && pub.Limited
}
