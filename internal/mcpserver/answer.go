package mcpserver

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/lineshaft/lineshaft"
)

// maxRefusal bounds what is kept of a refusal's words.
const maxRefusal = 500

// answer keeps what the SDK refuses in plain text, so that it can be said as every
// other refusal of this server is: as a problem.
type answer struct {
	http.ResponseWriter
	status int
	words  bytes.Buffer
}

// WriteHeader implements http.ResponseWriter.
func (a *answer) WriteHeader(status int) {
	if status >= http.StatusBadRequest && strings.HasPrefix(a.Header().Get("Content-Type"), "text/plain") {
		a.status = status
		return
	}
	a.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (a *answer) Write(p []byte) (int, error) {
	if a.status == 0 {
		return a.ResponseWriter.Write(p)
	}
	a.words.Write(p[:min(len(p), maxRefusal-min(maxRefusal, a.words.Len()))])
	return len(p), nil
}

// Unwrap lets http.ResponseController reach the connection.
func (a *answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// refusal is what the SDK refused with, or nil.
func (a *answer) refusal() error {
	words := strings.ToValidUTF8(strings.TrimSpace(a.words.String()), "")
	switch {
	case a.status == 0:
		return nil
	case a.status == http.StatusMethodNotAllowed:
		return &lineshaft.Error{Code: lineshaft.CodeMethodNotAllowed, Message: "send each MCP message with POST"}
	case a.status >= http.StatusInternalServerError:
		return &lineshaft.Error{Code: lineshaft.CodeInternal, Message: words}
	default:
		return lineshaft.Invalid("", "this is not an MCP message that can be answered: %s", words)
	}
}
