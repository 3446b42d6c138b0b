package worker

import (
	"crypto/rand"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/gateway"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

const (
	// forwardPort is where agents with a network of their own find the gateway.
	forwardPort = 4080
	// settleTime is what requests to models that outlive their turn get to end.
	settleTime = 5 * time.Second
)

var (
	errNoGateway   = errors.New("this worker has no gateway")
	errGatewayOver = errors.New("the execution is over")
)

// gate is an execution's session with the gateway. It is opened when it is first
// needed: most runs of small programs never do.
type gate struct {
	mu      sync.Mutex
	session *gateway.Session
	socket  string
	over    bool
}

func (g *gate) current() *gateway.Session {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.session
}

func (g *gate) counts() bool {
	s := g.current()
	return s != nil && s.Counts()
}

// pause lets no request to a model begin, and waits for those that run.
func (g *gate) pause() {
	if s := g.current(); s != nil {
		s.Pause(settleTime)
	}
}

func (g *gate) resume() {
	if s := g.current(); s != nil {
		s.Resume()
	}
}

// close voids the key. When it returns, all usage has been reported.
func (g *gate) close() {
	g.mu.Lock()
	g.over = true
	session, socket := g.session, g.socket
	g.mu.Unlock()
	if session == nil {
		return
	}
	session.Close()
	if socket != "" {
		_ = os.Remove(socket) // closing has removed it already
	}
}

// session opens the execution's session, or returns the open one.
func (e *execution) session() (*gateway.Session, error) {
	g := &e.gate
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.session != nil:
		return g.session, nil
	case e.worker.config.Gateway == nil:
		return nil, errNoGateway
	case g.over:
		return nil, errGatewayOver
	}
	config := gateway.SessionConfig{
		Models: e.models, Model: e.job.Config.Model(), RunToken: e.job.RunToken, Budget: e.job.Config.Budget, Used: e.job.Used,
		Confined: slices.Contains([]sandbox.Network{sandbox.NetworkNone, sandbox.NetworkAllow}, e.worker.config.Network),
		LeftOut: func(name string) {
			e.notice("info", "Left out of requests to the model: "+name+". With this worker's egress setting the model's vendor is not to reach other hosts for the agent.")
		},
		TraceParent: e.turnParent,
		Usage:       e.consumed, Seen: e.watch.traffic, Exceeded: func(message string) { e.endWork(&budgetError{message}) },
	}
	if e.ownLoopback() {
		socket, err := e.worker.sockets.next()
		if err != nil {
			return nil, err
		}
		config.Socket, config.Port = socket, forwardPort
	}
	session, err := e.worker.config.Gateway.Open(e.life, config)
	if err != nil {
		return nil, err
	}
	g.session, g.socket = session, config.Socket
	return session, nil
}

func (e *execution) consumed(data lineshaft.UsageData) {
	draft := e.masked(lineshaft.NewDraft(lineshaft.EventUsage, e.worker.config.Now(), data))
	e.watch.traffic()
	for _, d := range e.admit(draft, true) {
		if e.outbox.add(e.life, d) == 0 {
			e.outbox.late(data) // the run was taken away, and its models did what they did
		}
	}
}

// ownLoopback says that the agent cannot reach ports of this machine.
func (e *execution) ownLoopback() bool {
	box := e.worker.config.Sandbox
	return box != nil && box.OwnLoopback(e.worker.config.Network)
}

// forward is what brings the gateway into the sandbox.
func (e *execution) forward() (sandbox.Forward, error) {
	if e.worker.config.Gateway == nil || !e.ownLoopback() {
		return sandbox.Forward{}, nil
	}
	if _, err := e.session(); err != nil {
		return sandbox.Forward{}, err
	}
	return sandbox.Forward{Socket: e.gate.socket, Port: forwardPort}, nil
}

// apiURL is where the agent reaches the server: through the gateway when it has no
// network.
func (e *execution) apiURL() string {
	if e.ownLoopback() {
		if s, err := e.session(); err == nil {
			return s.URL()
		}
	}
	return e.worker.config.APIURL
}

// proxyVariables lead an agent's programs to the hosts that it may reach.
func (e *execution) proxyVariables() []string {
	if e.worker.config.Network != sandbox.NetworkAllow {
		return nil
	}
	s, err := e.session()
	if err != nil {
		return nil
	}
	proxy, direct := s.ProxyURL(), "127.0.0.1,localhost,::1"
	return []string{ // programs do not agree on the case
		"HTTP_PROXY=" + proxy, "HTTPS_PROXY=" + proxy, "NO_PROXY=" + direct,
		"http_proxy=" + proxy, "https_proxy=" + proxy, "no_proxy=" + direct,
	}
}

// access is harness.Environment.Access.
func (e *execution) access(protocol model.Protocol) (harness.Access, bool) {
	config := e.worker.config
	if config.Gateway == nil {
		return harness.Access{}, false
	}
	offered := config.Gateway.Models()
	if e.models != nil {
		offered = *e.models
	}
	if _, ok := offered.ForRun(protocol, e.job.Config.Model()); !ok {
		return harness.Access{}, false
	}
	s, err := e.session()
	if err != nil {
		e.warn(e.life, "open gateway", err)
		return harness.Access{}, false
	}
	base, key, id, ok := s.Access(protocol)
	return harness.Access{URL: base, Key: key, Model: id}, ok
}

// throughGateway gives a tool server that is reached over HTTP an address of the
// gateway, which adds the headers: the secrets in them stay out of the sandbox. With
// an error the agent must not be given the server.
func (e *execution) throughGateway(tool harness.ToolServer) (harness.ToolServer, error) {
	if tool.URL == "" || e.worker.config.Gateway == nil {
		return tool, nil
	}
	target, err := url.Parse(tool.URL)
	if err != nil {
		return harness.ToolServer{}, errors.New("its address cannot be read") // the reason would quote secrets in it
	}
	s, err := e.session()
	if err != nil {
		return harness.ToolServer{}, fmt.Errorf("open gateway: %w", err)
	}
	headers := http.Header{}
	for name, value := range tool.Headers {
		headers.Set(name, value)
	}
	tool.URL, tool.Headers = s.Tool(tool.Name, target, headers), nil
	return tool, nil
}

// reach is harness.Environment.Reach.
type reach struct{ e *execution }

// RoundTrip is http.RoundTripper's.
func (r reach) RoundTrip(req *http.Request) (*http.Response, error) {
	s, err := r.e.session()
	if err != nil {
		return nil, err
	}
	if parent := tracing.Parent(req.Context()); parent != "" {
		req = req.Clone(req.Context()) // it is the caller's
		req.Header.Set(tracing.Header, parent)
	}
	return s.Transport().RoundTrip(req)
}

// sockets makes the places of the sessions' unix sockets: a folder that can be gone
// through but not listed, with a short path, because the paths of sockets are limited. The
// zero value is ready.
type sockets struct {
	mu  sync.Mutex
	dir string
}

// maxSocketPath is the least that a system allows.
const maxSocketPath = 100

func (s *sockets) next() (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir == "" {
		base := os.TempDir()
		if len(base) > maxSocketPath/2 {
			base = "/tmp"
		}
		dir, err := os.MkdirTemp(base, "lineshaft-")
		if err != nil {
			return "", fmt.Errorf("make folder for sockets: %w", err)
		}
		if err := os.Chmod(dir, 0o711); err != nil { // agents of other users go through it
			return "", fmt.Errorf("make folder for sockets: %w", err)
		}
		s.dir = dir
	}
	return filepath.Join(s.dir, strings.ToLower(rand.Text()[:16])), nil
}

func (s *sockets) remove() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dir != "" {
		_ = os.RemoveAll(s.dir) // it is empty by now, and in a place that is cleaned
		s.dir = ""
	}
}

// vendorKey is whose API an agent calls, and the variable in which people keep its key.
type vendorKey struct {
	protocol model.Protocol
	variable string
}

// vendorKeys has each of lineshaft.KeyedHarnesses.
func vendorKeys() map[string]vendorKey {
	return map[string]vendorKey{
		"claude": {model.Anthropic, "ANTHROPIC_API_KEY"},
		"codex":  {model.OpenAI, "OPENAI_API_KEY"},
		"gemini": {model.Gemini, "GEMINI_API_KEY"},
	}
}

// TakeKey makes the endpoints of a job that has a key of its own; nil for all others. The
// key is for a gateway alone; without it the run fails rather than being paid for by
// someone else. A key from the worker's own environment is put into the job, to be masked.
func TakeKey(job *lineshaft.Job, gate *gateway.Gateway, workerID string, getenv func(name string) string) (*model.Set, error) {
	h := job.Config.Harness
	if h == nil || h.Auth == nil {
		return nil, nil // most runs have none
	}
	vendor, known := vendorKeys()[h.Type]
	if !known || gate == nil {
		return nil, setupFailed("worker %s cannot call the model of %q with a key of the run's own; leave harness.auth out, or send the run to another worker", workerID, h.Type)
	}
	if h.Auth.Source == lineshaft.AuthWorkerEnvironment {
		job.ModelKey = lineshaft.SecretText(getenv(vendor.variable))
		if job.ModelKey == "" {
			return nil, setupFailed("the run takes its model's key from the environment of worker %s, which has no %s; set it and start the worker again", workerID, vendor.variable)
		}
	}
	if job.ModelKey == "" {
		return nil, setupFailed("the server sent no value of secret %s, with which the model is to be called; update the server, or leave harness.auth out", h.Auth.SecretName)
	}
	own := gate.Models().WithKey(vendor.protocol, job.ModelKey)
	return &own, nil
}

func (e *execution) takeKey() (err error) {
	config := e.worker.config
	e.models, err = TakeKey(&e.job, config.Gateway, config.WorkerID, config.Getenv)
	return err
}

// takesImages says whether agents work in the image that their run names.
func (e *execution) takesImages() bool {
	box := e.worker.config.Sandbox
	return e.worker.config.Imaged || box == nil || box.Name() == "container"
}

// noticeUnused puts into the log what the run asks for and this worker cannot give.
func (e *execution) noticeUnused() {
	if image := e.job.Prepare.Image; image != "" && !e.takesImages() {
		e.notice("warning", "Image "+image+" is not used: this worker isolates agents without containers, and they see its own programs. Send the run to a worker with --isolation container or kubernetes.")
	}
	if name := e.job.Prepare.Runner.RegistrySecret(); name != "" {
		e.notice("warning", "Secret "+name+", the registry credential of the runner, is not used: images are fetched with the log-in of the machine or the cluster.")
	}
	if h := e.job.Config.Harness; h != nil && h.ReasoningLevel != "" && slices.Contains([]string{"shell", "command"}, e.harnessName) {
		e.notice("info", "Reasoning level "+h.ReasoningLevel+" is not used: the harness "+e.harnessName+" asks no model itself.")
	}
}
