package api

import (
	"context"
	"net/http"

	"github.com/danielgtaylor/huma/v2"
	"github.com/danielgtaylor/huma/v2/adapters/humago"

	"github.com/lineshaft/lineshaft"
)

// binder registers a row with the mux, directly or through huma.
type binder func(s *server, row route)

// bind makes an operation of a typed handler. Its errors leave as problems.
func bind[I, O any](handler func(context.Context, *I) (*O, error)) binder {
	return func(s *server, row route) {
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
		s.mux.HandleFunc(row.pattern(), s.guard(row, func(w http.ResponseWriter, r *http.Request) {
			if err := handler(w, r); err != nil {
				s.problems.Write(w, r, err)
			}
		}))
	}
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
	finishOpenAPI(s.api.OpenAPI())
}

// guardedMux is the mux as huma sees it: what huma registers gets the guard of its
// row. A pattern without a row is refused for everybody.
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

func (s *server) notOffered(_ http.ResponseWriter, r *http.Request) error {
	return lineshaft.NotSupported("", "%s is part of the published API, but this server does not offer it yet", routeOf(r))
}
