package mcpserver

import (
	"bytes"
	"net/http"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"

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

// notHandled begins the SDK's refusal of a method that it does not have.
const notHandled = "JSON RPC not handled"

// unknownMethod answers a call of such a method with 200 and a JSON-RPC error, and reports
// whether it did: until version 2026-07-28 of the protocol an HTTP error means that the
// message itself is wrong. From then on it is 404, which the SDK writes itself.
func (a *answer) unknownMethod(body []byte) bool {
	if a.status != http.StatusBadRequest || !strings.HasPrefix(a.words.String(), notHandled) {
		return false
	}
	message, err := jsonrpc.DecodeMessage(body)
	call, ok := message.(*jsonrpc.Request)
	if err != nil || !ok || !call.IsCall() {
		return false
	}
	text, err := jsonrpc.EncodeMessage(&jsonrpc.Response{ID: call.ID, Error: &jsonrpc.Error{Code: jsonrpc.CodeMethodNotFound, Message: "method not found"}})
	if err != nil {
		return false
	}
	a.Header().Set("Content-Type", "application/json")
	_, _ = a.ResponseWriter.Write(text) // a reader who left is not our failure
	return true
}

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
