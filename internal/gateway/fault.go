package gateway

import (
	"cmp"
	"encoding/json"
	"net/http"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sse"
)

// fault is an answer of the gateway itself.
type fault struct {
	status  int
	code    string
	message string
}

func (f *fault) Error() string { return f.message }

// The codes of faults that are not of lineshaft.Code.
const (
	codeNoAnswer = "model_unreachable"
	codeSlow     = "model_timeout"
	codeNoModel  = "model_not_offered"
	codeNoPrice  = "price_unknown"
	codeBusy     = "gateway_busy"
)

func errBadKey() *fault {
	return &fault{http.StatusUnauthorized, string(lineshaft.CodeAuthenticationRequired), "the key is not that of this execution; use the one from its environment"}
}

// shape is the fault as a protocol's clients expect it.
func (f *fault) shape(protocol model.Protocol) []byte {
	var body any
	switch protocol {
	case model.Anthropic:
		body = map[string]any{"type": "error", "error": map[string]any{"type": f.anthropicType(), "message": f.message, "code": f.code}}
	case model.Gemini:
		body = map[string]any{"error": map[string]any{"code": f.status, "message": f.message, "status": f.geminiStatus(), "details": []any{map[string]any{"reason": f.code}}}}
	default:
		body = map[string]any{"error": map[string]any{"message": f.message, "type": f.openaiType(), "param": nil, "code": f.code}}
	}
	raw, _ := json.Marshal(body) // texts and numbers always encode
	return raw
}

func (f *fault) anthropicType() string {
	return cmp.Or(map[int]string{
		http.StatusUnauthorized: "authentication_error", http.StatusForbidden: "permission_error", http.StatusNotFound: "not_found_error",
		http.StatusRequestEntityTooLarge: "request_too_large", http.StatusTooManyRequests: "rate_limit_error",
		http.StatusBadRequest: "invalid_request_error", http.StatusMethodNotAllowed: "invalid_request_error",
	}[f.status], "api_error")
}

func (f *fault) openaiType() string {
	if f.status < http.StatusInternalServerError {
		return "invalid_request_error"
	}
	return "server_error"
}

func (f *fault) geminiStatus() string {
	return cmp.Or(map[int]string{
		http.StatusUnauthorized: "UNAUTHENTICATED", http.StatusForbidden: "PERMISSION_DENIED", http.StatusNotFound: "NOT_FOUND",
		http.StatusGatewayTimeout: "DEADLINE_EXCEEDED", http.StatusTooManyRequests: "RESOURCE_EXHAUSTED",
		http.StatusBadGateway: "UNAVAILABLE", http.StatusServiceUnavailable: "UNAVAILABLE",
	}[f.status], "INVALID_ARGUMENT")
}

func (f *fault) write(w http.ResponseWriter, protocol model.Protocol) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("X-Lineshaft-Code", f.code)
	w.WriteHeader(f.status)
	_, _ = w.Write(f.shape(protocol)) // a client that has disconnected is not a problem
}

func (f *fault) event(protocol model.Protocol) []byte {
	name := ""
	if protocol == model.Anthropic {
		name = "error"
	}
	return sse.Append(nil, "", name, f.shape(protocol))
}
