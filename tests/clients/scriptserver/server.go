package scriptserver

import (
	"crypto/rand"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
)

// Server is a started script. Make it with New and end it with Close.
type Server struct {
	scenarios map[string]*Scenario
	names     []string
	main      *httptest.Server
	// other is another origin: what the client sends there must not hold the key.
	other *httptest.Server

	mu       sync.Mutex
	sessions map[string]*session
}

// New starts a server with scenarios.
func New(scenarios []Scenario) *Server {
	s := &Server{scenarios: map[string]*Scenario{}, sessions: map[string]*session{}}
	for i := range scenarios {
		s.scenarios[scenarios[i].Name] = &scenarios[i]
		s.names = append(s.names, scenarios[i].Name)
	}
	s.main = httptest.NewServer(s.routes("main"))
	s.other = httptest.NewServer(s.routes("other"))
	return s
}

// URL is the address for drivers.
func (s *Server) URL() string { return s.main.URL }

// Close ends the server and all connections.
func (s *Server) Close() {
	for _, h := range []*httptest.Server{s.main, s.other} {
		h.CloseClientConnections()
		h.Close()
	}
}

func (s *Server) routes(origin string) http.Handler {
	mux := http.NewServeMux()
	mux.HandleFunc("GET /_/scenarios", s.list)
	mux.HandleFunc("POST /_/start", s.start)
	mux.HandleFunc("POST /_/finish", s.finish)
	mux.HandleFunc("/s/{session}/", func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		session := s.sessions[r.PathValue("session")]
		s.mu.Unlock()
		if session == nil {
			http.Error(w, "no such scenario is started, or it is finished", http.StatusGone)
			return
		}
		session.serve(w, r, origin)
	})
	return mux
}

// listed is a scenario as a driver needs it.
type listed struct {
	Name   string   `json:"name"`
	Needs  []string `json:"needs,omitempty"`
	Client Options  `json:"client"`
	Call   Call     `json:"call"`
}

func (s *Server) list(w http.ResponseWriter, _ *http.Request) {
	out := []listed{}
	for _, name := range s.names {
		scenario := s.scenarios[name]
		out = append(out, listed{name, scenario.Needs, scenario.Client, scenario.Call})
	}
	reply(w, map[string]any{"scenarios": out})
}

// Started is the answer to POST /_/start.
type Started struct {
	ID      string  `json:"id"`
	BaseURL string  `json:"base_url"`
	APIKey  string  `json:"api_key"`
	Client  Options `json:"client"`
	Call    Call    `json:"call"`
}

func (s *Server) start(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Scenario string `json:"scenario"`
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, "the body must be {\"scenario\": NAME}: "+err.Error(), http.StatusBadRequest)
		return
	}
	scenario := s.scenarios[in.Scenario]
	if scenario == nil {
		http.Error(w, "no scenario has that name; GET /_/scenarios lists them", http.StatusNotFound)
		return
	}
	id := strings.ToLower(rand.Text())
	started := &session{
		scenario: scenario, key: "ls_" + rand.Text(),
		base: s.main.URL + "/s/" + id, other: s.other.URL + "/s/" + id,
	}
	s.mu.Lock()
	s.sessions[id] = started
	s.mu.Unlock()
	reply(w, Started{id, started.base, started.key, scenario.Client, scenario.Call})
}

// Verdict is the answer to POST /_/finish.
type Verdict struct {
	OK       bool     `json:"ok"`
	Problems []string `json:"problems"`
	// Requests are those that came, one line each.
	Requests []string `json:"requests"`
}

func (s *Server) finish(w http.ResponseWriter, r *http.Request) {
	var in Outcome
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil {
		http.Error(w, "the body must be {\"id\": ID, \"value\": …, \"error\": …}: "+err.Error(), http.StatusBadRequest)
		return
	}
	s.mu.Lock()
	session := s.sessions[in.ID]
	delete(s.sessions, in.ID)
	s.mu.Unlock()
	if session == nil {
		http.Error(w, "no such scenario is started", http.StatusNotFound)
		return
	}
	reply(w, session.verdict(r.Context(), in))
}

func reply(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(v) // a driver that went away needs no answer
}
