package gateway

import (
	"errors"
	"io"
	"net/http"
	"net/http/httputil"
	"net/url"
	"strings"

	"github.com/lineshaft/lineshaft/internal/mask"
	"github.com/lineshaft/lineshaft/internal/peer"
)

// maxToolHeader bounds the headers of an answer of a tool server.
const maxToolHeader = 256 << 10

// tool is a run's MCP server that is reached over HTTP.
type tool struct {
	target *url.URL
	header http.Header
	mask   *mask.Masker
}

// Tool names an MCP server and returns the address at which the agent finds it. The
// headers are added here, so that the secrets in them do not reach the agent.
func (s *Session) Tool(name string, target *url.URL, headers http.Header) string {
	values := map[string]string{}
	for header, list := range headers {
		for _, value := range list {
			values[header] = value
			if _, token, ok := strings.Cut(value, " "); ok {
				values[header+" credentials"] = token
			}
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tools[name] = tool{target: target, header: headers.Clone(), mask: mask.New(values)}
	return s.base.String() + "/mcp/" + url.PathEscape(name) + "/" + s.key
}

// serveTool passes a request on to a tool server: /mcp/NAME with the key in a
// header, or /mcp/NAME/KEY.
func (s *Session) serveTool(w http.ResponseWriter, r *http.Request, rest string) {
	name, key, inPath := strings.Cut(rest, "/")
	if !inPath {
		key = given(r)
	}
	s.mu.Lock()
	t, known := s.tools[name]
	s.mu.Unlock()
	switch {
	case !same(key, s.key):
		http.Error(w, errBadKey().message, http.StatusUnauthorized)
		return
	case !known:
		http.Error(w, "the run has no MCP server of that name", http.StatusNotFound)
		return
	}
	if bad := s.join(r.Context()); bad != nil {
		http.Error(w, bad.message, bad.status)
		return
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			target := *t.target
			p.Out.URL, p.Out.Host = &target, target.Host
			withoutPrivate(p.Out.Header)
			p.Out.Header.Set("Accept-Encoding", "identity")
			for header, values := range t.header {
				p.Out.Header[http.CanonicalHeaderKey(header)] = values
			}
		},
		ModifyResponse: func(resp *http.Response) error {
			if resp.StatusCode/100 == 3 && resp.StatusCode != http.StatusNotModified {
				return errRedirect
			}
			withoutSecrets(resp.Header, t.mask)
			resp.ContentLength, resp.Trailer = -1, nil
			resp.Body = &masked{from: resp.Body, stream: t.mask.Stream(), ended: func() { resp.Trailer = nil }}
			return nil
		},
		Transport: s.gateway.guarded, FlushInterval: -1, ErrorLog: s.server.ErrorLog,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { s.refuseTool(w, name, err) },
	}
	proxy.ServeHTTP(finalOnly{w}, r)
}

// errRedirect refuses a redirect: the run may reach the servers that it names, but not
// those that they name.
var errRedirect = errors.New("the tool server redirects")

// withoutSecrets removes from an answer the headers that quote a secret, and
// those that lead elsewhere or are for one connection.
func withoutSecrets(h http.Header, hide *mask.Masker) {
	withoutPrivate(h)
	for _, name := range []string{"Location", "Content-Location", "Refresh", "Link"} {
		h.Del(name)
	}
	for name, values := range h {
		for _, text := range append([]string{name}, values...) {
			if hide.String(text) != text {
				delete(h, name)
			}
		}
	}
}

// finalOnly leaves out the answers before the answer, such as 103 Early Hints:
// their headers are not read.
type finalOnly struct{ http.ResponseWriter }

// WriteHeader is http.ResponseWriter's.
func (w finalOnly) WriteHeader(status int) {
	if status >= http.StatusOK {
		w.ResponseWriter.WriteHeader(status)
	}
}

// Unwrap is for http.ResponseController.
func (w finalOnly) Unwrap() http.ResponseWriter { return w.ResponseWriter }

func (s *Session) refuseTool(w http.ResponseWriter, name string, err error) {
	if _, private := errors.AsType[*peer.PrivateError](err); private {
		http.Error(w, "the MCP server "+name+" is in a private network; the operator can allow such with --allow-local-mcp", http.StatusForbidden)
		return
	}
	if errors.Is(err, errRedirect) {
		http.Error(w, "the MCP server "+name+" redirects, which is not followed; name the address that it leads to in the run's configuration", http.StatusBadGateway)
		return
	}
	http.Error(w, "the MCP server "+name+" cannot be reached from the worker", http.StatusBadGateway)
}

// masked hides the secrets of the headers in what a tool server says.
type masked struct {
	from   io.ReadCloser
	stream *mask.Stream
	ready  []byte
	err    error
	ended  func() // forgets the trailers, which come with the end
}

// Read is io.Reader's.
func (m *masked) Read(p []byte) (int, error) {
	for len(m.ready) == 0 {
		if m.err != nil {
			return 0, m.err
		}
		buf := make([]byte, 8<<10)
		var n int
		n, m.err = m.from.Read(buf)
		m.ready = m.stream.Write(buf[:n])
		if m.err != nil {
			m.ready = append(m.ready[:len(m.ready):len(m.ready)], m.stream.Flush()...)
		}
	}
	n := copy(p, m.ready)
	m.ready = m.ready[n:]
	return n, nil
}

// Close is io.Closer's.
func (m *masked) Close() error {
	err := m.from.Close()
	m.ended()
	return err
}

// serveAPI passes a request on to the server's API, with the token of this
// execution and no other.
func (s *Session) serveAPI(w http.ResponseWriter, r *http.Request, rest string) {
	target, err := url.Parse(s.gateway.config.APIURL)
	if version, _, _ := strings.Cut(rest, "/"); err != nil || target.Host == "" || version != "v1" {
		http.NotFound(w, r)
		return
	}
	_, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	if !same(token, s.config.RunToken) {
		w.Header().Set("Content-Type", "application/problem+json")
		w.WriteHeader(http.StatusUnauthorized)
		_, _ = io.WriteString(w, `{"title":"authentication_required","status":401,"detail":"only the token of this run is passed on; use $LINESHAFT_RUN_TOKEN"}`)
		return
	}
	if bad := s.join(r.Context()); bad != nil {
		http.Error(w, bad.message, bad.status)
		return
	}
	proxy := httputil.ReverseProxy{
		Rewrite: func(p *httputil.ProxyRequest) {
			p.SetURL(target)
			p.Out.Host = target.Host
		},
		Transport: s.gateway.api, FlushInterval: -1, ErrorLog: s.server.ErrorLog,
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, _ error) {
			http.Error(w, "the server cannot be reached from the worker", http.StatusBadGateway)
		},
	}
	proxy.ServeHTTP(w, r)
}
