package problem

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// ContentType is the media type of a problem document.
const ContentType = "application/problem+json"

// PagePath is where the explanations are served; the code follows it.
const PagePath = "/docs/errors/"

const (
	internalText = "internal error"
	// authText is the whole of what a caller without a usable key learns.
	authText = "send exactly one header \"Authorization: Bearer <api key>\" with a key that is valid"
	// maxInstance bounds the echo of an overlong path.
	maxInstance = 2048
)

// Document is the body of a failed request (H-4). The order of the fields is the
// order on the wire.
type Document struct {
	Type      string         `json:"type" format:"uri" doc:"Address of the page that explains this error; its last segment is the code."`
	Title     string         `json:"title" doc:"What kind of failure this is; the same for every error of this code."`
	Status    int            `json:"status" doc:"The HTTP status."`
	Detail    string         `json:"detail,omitempty" doc:"What is wrong with this request; begins with the path of the field to blame, if one is."`
	Instance  string         `json:"instance,omitempty" doc:"The path of the request."`
	Error     string         `json:"error" doc:"Title and detail in one line."`
	Retryable bool           `json:"retryable" doc:"Whether the same request may succeed later."`
	TraceID   string         `json:"trace_id,omitempty" doc:"Finds the request in the server's log."`
	Code      lineshaft.Code `json:"code" doc:"The code, as in the last segment of type."`
	// Problems are the mistakes in the files of a definition.
	Problems []lineshaft.FileProblem `json:"problems,omitempty" doc:"Of a definition with mistakes: all of them."`
}

// Writer answers failed requests. The zero value works, with relative type
// addresses and no log.
type Writer struct {
	// Base is the public address of the server, without a slash at its end.
	Base string
	// Logger gets the causes that are not shown to callers; nil is nobody.
	Logger *slog.Logger
}

type traceKey struct{}

// WithTrace returns a context whose problem documents carry the trace id.
func WithTrace(ctx context.Context, id string) context.Context {
	return context.WithValue(ctx, traceKey{}, id)
}

// TraceID returns the trace id that WithTrace put into ctx, or nothing.
func TraceID(ctx context.Context) string {
	id, _ := ctx.Value(traceKey{}).(string)
	return id
}

// Write answers r with err.
func (p *Writer) Write(w http.ResponseWriter, r *http.Request, err error) {
	doc, header := p.Describe(r.Context(), r.URL.EscapedPath(), err)
	body, encErr := json.Marshal(doc)
	if encErr != nil { // strings and numbers always encode
		body = []byte(`{"status":500}`)
	}
	for name, values := range header {
		w.Header()[name] = values
	}
	w.Header().Set("Content-Type", ContentType)
	w.Header().Set("Cache-Control", "no-store")
	w.Header().Set("Content-Length", strconv.Itoa(len(body)))
	if r.ContentLength != 0 {
		// A body may be left that was not wanted. The server would read it before it
		// sends this, and it may never come.
		w.Header().Set("Connection", "close")
	}
	w.WriteHeader(doc.Status)
	_, _ = w.Write(body) // nobody is left to tell
}

// Describe makes the document and the headers for err, and logs the cause of an
// internal one. instance is the path of the request.
func (p *Writer) Describe(ctx context.Context, instance string, err error) (Document, http.Header) {
	pub := public(err)
	row, known := Lookup(pub.Code)
	if !known || pub.Code == lineshaft.CodeInternal {
		pub.Code, pub.Message, pub.Field, pub.Problems = row.Code, internalText, "", nil
		p.logCause(ctx, err)
	} else if pub.Cause != nil && row.Status >= http.StatusInternalServerError {
		p.logCause(ctx, err)
	}
	if pub.Code == lineshaft.CodeAuthenticationRequired {
		return p.unauthenticated(row)
	}
	doc := Document{
		Type: p.address(row.Code), Title: row.Title, Status: statusOf(row, pub), Detail: detail(pub),
		Instance: clip(instance, maxInstance), Retryable: pub.Retryable || row.Retryable,
		TraceID: TraceID(ctx), Code: row.Code, Problems: pub.Problems,
	}
	doc.Error = oneLine(doc)
	return doc, headers(doc, pub.RetryAfter)
}

// unauthenticated is the same for every cause, byte for byte: anyone who guesses
// keys must not learn whether one exists, and it names no request.
func (p *Writer) unauthenticated(row Row) (Document, http.Header) {
	doc := Document{
		Type: p.address(row.Code), Title: row.Title, Status: row.Status, Detail: authText, Code: row.Code,
	}
	doc.Error = oneLine(doc)
	header := http.Header{}
	header.Set("WWW-Authenticate", `Bearer realm="lineshaft"`)
	return doc, header
}

func (p *Writer) address(code lineshaft.Code) string { return p.Base + PagePath + string(code) }

func (p *Writer) logCause(ctx context.Context, err error) {
	logger := cmp.Or(p.Logger, slog.New(slog.DiscardHandler))
	attrs := []any{"err", err, "trace_id", TraceID(ctx)}
	if pub, ok := errors.AsType[*lineshaft.Error](err); ok && pub.Cause != nil {
		attrs = append(attrs, "cause", pub.Cause)
	}
	if errors.Is(err, context.Canceled) && ctx.Err() != nil {
		logger.DebugContext(ctx, "request abandoned by its caller", attrs...)
		return
	}
	logger.ErrorContext(ctx, "request failed", attrs...)
}

// public copies the part of err that a caller may see, so that the caller's own
// error is never changed.
func public(err error) lineshaft.Error {
	if pub, ok := errors.AsType[*lineshaft.Error](err); ok && pub != nil {
		return *pub
	}
	if errors.Is(err, context.DeadlineExceeded) {
		return *lineshaft.Unavailable(err, "the server took too long to answer; try again")
	}
	return lineshaft.Error{Code: lineshaft.CodeInternal, Cause: err}
}

// StatusOf is the HTTP status that err is answered with.
func StatusOf(err error) int {
	pub := public(err)
	row, _ := Lookup(pub.Code)
	return statusOf(row, pub)
}

func statusOf(row Row, pub lineshaft.Error) int {
	switch {
	case row.Code == lineshaft.CodeUnavailable && pub.Limited:
		return http.StatusTooManyRequests
	case row.Status == 0: // a code of run status messages has no status of its own
		return http.StatusInternalServerError
	}
	return row.Status
}

func detail(pub lineshaft.Error) string {
	if pub.Field == "" {
		return pub.Message
	}
	return pub.Field + ": " + pub.Message
}

func oneLine(doc Document) string {
	if doc.Detail == "" {
		return doc.Title
	}
	return doc.Title + " (" + doc.Detail + ")"
}

// headers adds what steers the published clients: they retry 408, 409, 429 and
// 5xx by themselves, whatever the body says, unless x-should-retry forbids it.
func headers(doc Document, after time.Duration) http.Header {
	header := http.Header{}
	if after > 0 {
		header.Set("Retry-After", strconv.FormatInt(int64(math.Ceil(after.Seconds())), 10))
	}
	if !doc.Retryable && retriedByClients(doc.Status) {
		header.Set("X-Should-Retry", "false")
	}
	return header
}

func retriedByClients(status int) bool {
	switch status {
	case http.StatusRequestTimeout, http.StatusConflict, http.StatusTooManyRequests:
		return true
	}
	return status >= http.StatusInternalServerError
}

func clip(s string, limit int) string {
	if len(s) <= limit {
		return s
	}
	return strings.ToValidUTF8(s[:limit], "")
}
