// Package cutproxy stands between a client and a real server and does to them what
// networks do: it cuts streams at any byte, loses answers after the server has acted,
// and never answers. It knows nothing of either side but HTTP.
//
// Every test begins a session with damage of its own; sessions run side by side.
package cutproxy

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"fmt"
	"io"
	mathrand "math/rand/v2"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
)

// Damage is what a session does to its connections.
type Damage struct {
	// Cuts is how many event streams are cut, each after at most MaxBytes.
	Cuts     int `json:"cuts"`
	MaxBytes int `json:"max_bytes"`
	// Seed makes the cuts the same again.
	Seed uint64 `json:"seed"`
	// LosePosts is how many POST requests lose their answer.
	LosePosts int `json:"lose_posts"`
	// Hang never answers, whatever the server says.
	Hang bool `json:"hang"`
}

// State is what a session has done so far.
type State struct {
	Requests  int `json:"requests"`
	Cut       int `json:"cut"`
	PostsLost int `json:"posts_lost"`
	// Open is how many requests are on their way now.
	Open int `json:"open"`
}

// Proxy is a started proxy. Make it with New and end it with Close.
type Proxy struct {
	target *url.URL
	server *httptest.Server
	client *http.Client

	mu       sync.Mutex
	sessions map[string]*session
}

type session struct {
	mu     sync.Mutex
	damage Damage
	state  State
	random *mathrand.Rand
}

// New starts a proxy for the server at an address.
func New(target string) (*Proxy, error) {
	address, err := url.Parse(target)
	if err != nil || address.Host == "" {
		return nil, fmt.Errorf("%q is no address of a server", target)
	}
	p := &Proxy{target: address, sessions: map[string]*session{}, client: &http.Client{
		Transport:     &http.Transport{DisableCompression: true},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
	mux := http.NewServeMux()
	mux.HandleFunc("POST /_/start", p.start)
	mux.HandleFunc("GET /_/state", p.report)
	mux.HandleFunc("/c/{session}/", p.forward)
	p.server = httptest.NewServer(mux)
	return p, nil
}

// URL is the address for tests.
func (p *Proxy) URL() string { return p.server.URL }

// Close ends the proxy and all connections.
func (p *Proxy) Close() {
	p.server.CloseClientConnections()
	p.server.Close()
	p.client.CloseIdleConnections()
}

// Started is the answer to POST /_/start.
type Started struct {
	ID      string `json:"id"`
	BaseURL string `json:"base_url"`
}

// Begin starts a session.
func (p *Proxy) Begin(d Damage) Started {
	if d.MaxBytes <= 0 {
		d.MaxBytes = 2000
	}
	id := strings.ToLower(rand.Text())
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sessions[id] = &session{damage: d, random: mathrand.New(mathrand.NewPCG(d.Seed, 7))}
	return Started{id, p.server.URL + "/c/" + id}
}

// State says how a session stands.
func (p *Proxy) State(id string) (State, bool) {
	p.mu.Lock()
	s, ok := p.sessions[id]
	p.mu.Unlock()
	if !ok {
		return State{}, false
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.state, true
}

func (p *Proxy) start(w http.ResponseWriter, r *http.Request) {
	var d Damage
	if err := json.NewDecoder(r.Body).Decode(&d); err != nil {
		http.Error(w, "the body must be a damage: "+err.Error(), http.StatusBadRequest)
		return
	}
	_ = json.NewEncoder(w).Encode(p.Begin(d)) // who went away needs no answer
}

func (p *Proxy) report(w http.ResponseWriter, r *http.Request) {
	state, ok := p.State(r.URL.Query().Get("id"))
	if !ok {
		http.Error(w, "no such session", http.StatusNotFound)
		return
	}
	_ = json.NewEncoder(w).Encode(state)
}

func (p *Proxy) forward(w http.ResponseWriter, r *http.Request) {
	id := r.PathValue("session")
	p.mu.Lock()
	s := p.sessions[id]
	p.mu.Unlock()
	if s == nil {
		http.Error(w, "no such session", http.StatusGone)
		return
	}
	defer s.enter()()
	resp, err := p.pass(r, "/c/"+id)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	defer resp.Body.Close()
	if s.damage.Hang {
		<-r.Context().Done()
		return
	}
	if r.Method == http.MethodPost && s.loses() {
		_, _ = io.Copy(io.Discard, resp.Body) // the server has done it by now
		panic(http.ErrAbortHandler)
	}
	for name, values := range resp.Header {
		w.Header()[name] = values
	}
	var body io.Reader = resp.Body
	limit := -1
	if strings.HasPrefix(resp.Header.Get("Content-Type"), "text/event-stream") {
		w.Header().Del("Content-Length")
		body = hurried(body)
		if limit = s.cutAt(); limit >= 0 {
			body = io.LimitReader(body, int64(limit))
		}
	}
	w.WriteHeader(resp.StatusCode)
	if passed := stream(w, body); limit >= 0 && passed == int64(limit) {
		s.cut()
		panic(http.ErrAbortHandler)
	}
}

// pass asks the server.
func (p *Proxy) pass(r *http.Request, prefix string) (*http.Response, error) {
	to := *r.URL
	to.Scheme, to.Host = p.target.Scheme, p.target.Host
	to.Path, to.RawPath = strings.TrimPrefix(to.Path, prefix), strings.TrimPrefix(to.RawPath, prefix)
	req, err := http.NewRequestWithContext(r.Context(), r.Method, to.String(), r.Body)
	if err != nil {
		return nil, err
	}
	req.ContentLength = r.ContentLength
	req.Header = r.Header.Clone()
	return p.client.Do(req)
}

// hurried replaces the pause that a server asks for at the beginning of a stream: a
// hundred cuts would take as many seconds.
func hurried(body io.Reader) io.Reader {
	const asked = "retry: 1000\n"
	begin := make([]byte, len(asked))
	n, _ := io.ReadFull(body, begin) // what is missing, the client finds missing
	if string(begin[:n]) == asked {
		return io.MultiReader(strings.NewReader("retry: 1\n"), body)
	}
	return io.MultiReader(bytes.NewReader(begin[:n]), body)
}

// stream hands on what comes as it comes, and counts it.
func stream(w http.ResponseWriter, body io.Reader) int64 {
	control := http.NewResponseController(w)
	_ = control.Flush()
	var total int64
	buffer := make([]byte, 32<<10)
	for {
		n, err := body.Read(buffer)
		if n > 0 {
			if _, err := w.Write(buffer[:n]); err != nil {
				return -1
			}
			_ = control.Flush()
			total += int64(n)
		}
		if err != nil {
			return total
		}
	}
}

func (s *session) enter() (leave func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Requests++
	s.state.Open++
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.state.Open--
	}
}

func (s *session) loses() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.PostsLost >= s.damage.LosePosts {
		return false
	}
	s.state.PostsLost++
	return true
}

// cutAt returns after how many bytes a stream is cut; -1 is never.
func (s *session) cutAt() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.state.Cut >= s.damage.Cuts {
		return -1
	}
	return s.random.IntN(s.damage.MaxBytes + 1)
}

func (s *session) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.state.Cut++
}
