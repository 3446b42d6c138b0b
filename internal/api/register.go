package api

import (
	"context"
	"net/http"
	"net/url"
	"reflect"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/lineshaft/lineshaft"
)

// binder registers a row with the mux, directly or through huma.
type binder func(s *server, row route)

// bind makes an operation of a typed handler. Its errors leave as problems.
func bind[I, O any](handler func(context.Context, *I) (*O, error)) binder {
	return func(s *server, row route) {
		if body, ok := reflect.TypeFor[I]().FieldByName("Body"); ok {
			s.bodies[row.ID] = body.Type
		}
		huma.Register(s.api, s.describe(row), func(ctx context.Context, in *I) (*O, error) {
			out, err := handler(ctx, in)
			if err != nil {
				return nil, s.failure(ctx, err)
			}
			return out, nil
		})
	}
}

// raw registers a plain handler that may fail.
func raw(handler func(http.ResponseWriter, *http.Request) error) binder {
	return func(s *server, row route) {
		s.mux.HandleFunc(row.pattern(), s.guardRaw(row, handler))
	}
}

func (s *server) guardRaw(row route, handler func(http.ResponseWriter, *http.Request) error) http.HandlerFunc {
	return s.guard(row, func(w http.ResponseWriter, r *http.Request) {
		if err := handler(w, r); err != nil {
			s.problems.Write(w, r, err)
		}
	})
}

// besideOurs is raw for a published path that overlaps one of ours in the mux, which could
// not say whose /factory/runs/webhooks/scores is: ours wins.
func besideOurs(handler func(http.ResponseWriter, *http.Request) error) binder {
	return func(s *server, row route) {
		s.beside.HandleFunc(row.pattern(), s.guardRaw(row, handler))
	}
}

// refuseOtherMethods keeps /agent/runs/cancel from being the run "cancel" for the methods
// that it does not take.
func (s *server) refuseOtherMethods() {
	for _, row := range s.operations() {
		if strings.Contains(row.Path, "{") {
			continue
		}
		for _, method := range probed() {
			r := &http.Request{Method: method, URL: &url.URL{Path: row.fullPath()}}
			if pattern := s.patternOf(r); strings.Contains(pattern, "{") {
				s.mux.HandleFunc(method+" "+row.fullPath(), s.unmatched)
			}
		}
	}
}

// patternOf is the row that handles a request, as the mux spells it, or nothing.
func (s *server) patternOf(r *http.Request) string {
	for _, mux := range []*http.ServeMux{s.mux, s.beside} {
		_, pattern := mux.Handler(r)
		if _, known := s.rows[pattern]; known {
			return pattern
		}
	}
	return ""
}

// register fills the mux from the table.
func (s *server) register() {
	for _, row := range s.table() {
		s.rows[row.pattern()] = row
	}
	s.api = humago.NewWithPrefix(guardedMux{s}, Prefix, s.humaConfig())
	s.api.UseMiddleware(func(ctx huma.Context, next func(huma.Context)) {
		next(&wireContext{humaContext: ctx})
	})
	for _, row := range s.table() {
		row.bind(s, row)
	}
	s.mux.HandleFunc("/", s.unmatched)
	s.refuseOtherMethods()
	s.openAPIFault = finishOpenAPI(s.api.OpenAPI())
}

// guardedMux is the mux as huma sees it: what huma registers gets the guard of its row.
// A pattern without a row is refused for everyone.
type guardedMux struct{ s *server }

// HandleFunc implements humago.Mux.
func (m guardedMux) HandleFunc(pattern string, handler func(http.ResponseWriter, *http.Request)) {
	row, ok := m.s.rows[pattern]
	if !ok {
		row.Permission = "unlisted"
	}
	m.s.mux.HandleFunc(pattern, m.s.guard(row, handler))
}

// ServeHTTP implements humago.Mux.
func (m guardedMux) ServeHTTP(w http.ResponseWriter, r *http.Request) { m.s.mux.ServeHTTP(w, r) }

func (s *server) notOffered(http.ResponseWriter, *http.Request) error {
	return lineshaft.NotSupported("", "the published API has this operation, but this server does not offer it; %s/docs lists what it offers", Prefix)
}

// forMCP registers the MCP endpoint: behind the guard like everything else, with
// room for a prompt in its body. Each tool asks for its own permission.
func forMCP(handler func(http.ResponseWriter, *http.Request) error) binder {
	return func(s *server, row route) {
		s.mux.HandleFunc(row.pattern(), s.guardAs(gate{permission: row.Permission, operationDoc: operationDoc{Large: true}}, func(w http.ResponseWriter, r *http.Request) {
			if err := handler(w, r); err != nil {
				s.problems.Write(w, r, err)
			}
		}))
	}
}

// serveMCP hands a message to the MCP server. There are no sessions: GET has nothing to
// read, and DELETE nothing to end.
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
