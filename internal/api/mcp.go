package api

import (
	"net/http"

	"github.com/lineshaft/lineshaft"
)

// forMCP registers the MCP endpoint: behind the guard like everything else, with
// room for a prompt in its body. Each tool asks for its own permission.
func forMCP(handler func(http.ResponseWriter, *http.Request) error) binder {
	return func(s *server, row route) {
		s.mux.HandleFunc(row.pattern(), s.guardAs(gate{permission: row.Permission, operationDoc: operationDoc{large: true}}, func(w http.ResponseWriter, r *http.Request) {
			if err := handler(w, r); err != nil {
				s.problems.Write(w, r, err)
			}
		}))
	}
}

// serveMCP hands a message to the MCP server. There are no sessions: nothing is to be
// read with GET, and nothing is to be ended with DELETE.
func (s *server) serveMCP(w http.ResponseWriter, r *http.Request) error {
	if s.MCP == nil {
		return &lineshaft.Error{Code: lineshaft.CodeNotFound, Message: "this server has no MCP endpoint"}
	}
	if r.Method != http.MethodPost {
		w.Header().Set("Allow", http.MethodPost)
		return &lineshaft.Error{Code: lineshaft.CodeMethodNotAllowed, Message: "send each MCP message with POST; this server keeps no sessions and no streams between them"}
	}
	s.MCP(w, r, infoFrom(r.Context()).caller)
	return nil
}
