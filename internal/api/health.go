package api

import (
	"crypto/subtle"
	"net/http"

	"github.com/lineshaft/lineshaft"
)

// healthResponse is the body of /healthz and /readyz.
type healthResponse struct {
	Status string       `json:"status"`
	Parts  []healthPart `json:"parts,omitempty"`
}

type healthPart struct {
	Name    string `json:"name"`
	Problem string `json:"problem"`
}

// serveHealth says that the process answers.
func (s *server) serveHealth(w http.ResponseWriter, _ *http.Request) error {
	return writeJSON(w, http.StatusOK, healthResponse{Status: "ok"})
}

// serveReady says whether the server can do its work, and which part cannot.
func (s *server) serveReady(w http.ResponseWriter, r *http.Request) error {
	out, status := healthResponse{Status: "ok"}, http.StatusOK
	for _, part := range s.Control.Ready(r.Context()) {
		if part.Problem != "" {
			out.Parts = append(out.Parts, healthPart{part.Name, part.Problem})
		}
		switch {
		case part.Problem != "" && !part.Serves:
			out.Status, status = "unavailable", http.StatusServiceUnavailable
		case part.Problem != "" && status == http.StatusOK:
			out.Status = "degraded"
		}
	}
	return writeJSON(w, status, out)
}

func writeJSON(w http.ResponseWriter, status int, v any) error {
	body, err := marshal(v)
	if err != nil {
		return err
	}
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	w.WriteHeader(status)
	_, _ = w.Write(body) // nobody is left to tell
	return nil
}

func (s *server) serveMetrics(w http.ResponseWriter, r *http.Request) error {
	if s.Metrics == nil {
		return &lineshaft.Error{Code: lineshaft.CodeNotFound, Message: "this server shows no metrics here"}
	}
	if s.MetricsKey != "" {
		key, ok := bearer(r.Header)
		if !ok || subtle.ConstantTimeCompare([]byte(key), []byte(s.MetricsKey)) != 1 {
			return &lineshaft.Error{Code: lineshaft.CodeAuthenticationRequired}
		}
	}
	s.Metrics.ServeHTTP(w, r)
	return nil
}

func (s *server) serveErrorPage(w http.ResponseWriter, r *http.Request) error {
	pages, err := s.errorPages()
	if err != nil {
		return err
	}
	pages.ServeHTTP(w, r)
	return nil
}
