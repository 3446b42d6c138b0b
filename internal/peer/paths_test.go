package peer_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/callback"
	"github.com/lineshaft/lineshaft/internal/gateway"
	"github.com/lineshaft/lineshaft/internal/git"
	"github.com/lineshaft/lineshaft/internal/oidc"
)

// resolver finds the addresses of a name.
type resolver func(ctx context.Context, host string) ([]netip.Addr, error)

// outing is one attempt to get out.
type outing struct {
	resolve resolver
	private bool   // private addresses are allowed
	host    string // as it stands in a URL
	port    string
}

// pathOut is a way by which this program reaches an address that somebody else has
// named. It gives what it said of the attempt.
type pathOut struct {
	// file is where it is in the source, below internal.
	file string
	try  func(ctx context.Context, t *testing.T, o outing) string
}

// pathsOut are all of them: TestS7EveryWayOutIsListed finds those that are missing.
func pathsOut() map[string]pathOut {
	return map[string]pathOut{
		"callback":      {"callback/callback.go", tryCallback},
		"sign-in":       {"oidc/client.go", tryProvider},
		"tool server":   {"gateway/gateway.go", tryTool},
		"proxy, tunnel": {"gateway/gateway.go", tryTunnel},
		"proxy, plain":  {"gateway/proxy.go", tryPlainProxy},
		"git, https": {"git/command.go", func(ctx context.Context, t *testing.T, o outing) string {
			return tryGit(ctx, t, o, "https://"+o.host+":"+o.port+"/o/r")
		}},
		"git, ssh": {"git/command.go", func(ctx context.Context, t *testing.T, o outing) string {
			return tryGit(ctx, t, o, "ssh://git@"+o.host+":"+o.port+"/o/r")
		}},
	}
}

// operatorsOut dial, but only where the operator, the machine or the person at the
// command line says.
func operatorsOut() map[string]string {
	return map[string]string{
		"gateway/session.go":            "pipes within the process",
		"sandbox/forward.go":            "the gateway's unix socket",
		"peer/dial.go":                  "the check itself",
		"blob/bucket.go":                "the operator's bucket",
		"certificate/look.go":           "the operator's CA, which certmagic dials as well: its directory, and the addresses that it lists",
		"kubernetes/config.go":          "the operator's cluster",
		"remote/client.go":              "a worker's own server",
		"cli/factories/webhook_send.go": "the address that the person types",
		"harness/builtin/mcp.go":        "through the gateway",
		"harness/builtin/chat/chat.go":  "through the gateway",
	}
}

func tryCallback(ctx context.Context, t *testing.T, o outing) string {
	t.Helper()
	scheme := "https"
	if o.private {
		scheme = "http"
	}
	s := callback.New(callback.Config{AllowPrivate: o.private, Resolve: o.resolve})
	t.Cleanup(s.Close)
	return s.Send(ctx, lineshaft.Callback{
		URL: scheme + "://" + o.host + ":" + o.port + "/", ID: "01980f72-4455-7667-8899-aabbccddeeff", Time: time.Now(), Body: []byte(`{}`),
		Secrets: []string{"whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="},
	}).Error
}

func tryProvider(ctx context.Context, t *testing.T, o outing) string {
	t.Helper()
	err := oidc.New(oidc.Config{Issuer: "http://" + o.host + ":" + o.port, AllowPrivate: o.private, Resolve: o.resolve}).Check(ctx)
	return fmt.Sprint(err)
}

// openGateway opens a session of a gateway that allows hosts with the names of the tests.
func openGateway(t *testing.T, o outing) *gateway.Session {
	t.Helper()
	g := gateway.New(gateway.Config{AllowLocal: o.private, Resolve: o.resolve, Hosts: []string{"*.example:" + o.port, "localhost:" + o.port}})
	t.Cleanup(g.Close)
	s, err := g.Open(t.Context(), gateway.SessionConfig{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(s.Close)
	return s
}

func tryTool(ctx context.Context, t *testing.T, o outing) string {
	t.Helper()
	target, err := url.Parse("http://" + o.host + ":" + o.port + "/mcp")
	if err != nil {
		return err.Error()
	}
	s := openGateway(t, o)
	return ask(ctx, s.Transport(), s.Tool("t", target, nil))
}

// ask makes a request and gives the answer.
func ask(ctx context.Context, over http.RoundTripper, address string) string {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, http.NoBody)
	if err != nil {
		return err.Error()
	}
	resp, err := over.RoundTrip(req)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = resp.Body.Close() }() // what is left of it is not wanted
	body, err := io.ReadAll(io.LimitReader(resp.Body, 1<<10))
	return fmt.Sprint(resp.StatusCode, " ", string(body), " ", err)
}

func tryTunnel(ctx context.Context, t *testing.T, o outing) string {
	t.Helper()
	proxy, _ := url.Parse(openGateway(t, o).ProxyURL())
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}
	return ask(ctx, transport, "https://"+o.host+":"+o.port+"/")
}

func tryPlainProxy(ctx context.Context, t *testing.T, o outing) string {
	t.Helper()
	proxy, _ := url.Parse(openGateway(t, o).ProxyURL())
	transport := &http.Transport{Proxy: http.ProxyURL(proxy), DisableKeepAlives: true}
	return ask(ctx, transport, "http://"+o.host+":"+o.port+"/")
}

// tryGit has a program in the place of git that notes what it is asked to do.
func tryGit(ctx context.Context, t *testing.T, o outing, address string) string {
	t.Helper()
	dir := t.TempDir()
	program, notes := filepath.Join(dir, "git"), filepath.Join(dir, "notes")
	script := "#!/bin/sh\ncase \" $* \" in *' version '*) echo git version 2.40.0; exit;; esac\n{ echo \"$@\"; env; } >>" + notes + "\nexit 128\n"
	// Written by another process: children of other tests cannot have it open then, which would keep it from starting.
	write := exec.CommandContext(ctx, "/bin/sh", "-c", `cat > "$0" && chmod 700 "$0"`, program)
	write.Stdin = strings.NewReader(script)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	c, err := git.New(git.Config{Cache: filepath.Join(dir, "cache"), Program: program, Resolve: o.resolve})
	if err != nil {
		t.Fatal(err)
	}
	_, failed := c.Head(ctx, address, "main")
	_, cloned := c.Clone(ctx, address, filepath.Join(dir, "work"), "")
	said, err := os.ReadFile(notes)
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		t.Fatal(err)
	}
	if len(said) > 0 {
		return "git was run: " + string(said)
	}
	return fmt.Sprint(failed, cloned)
}

// sink counts the connections that reach a port of this machine.
func sink(t *testing.T) (port string, hits *atomic.Int32) {
	t.Helper()
	l, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	hits = &atomic.Int32{}
	s := &http.Server{ReadHeaderTimeout: time.Minute, Handler: http.NotFoundHandler(), ConnState: func(_ net.Conn, state http.ConnState) {
		if state == http.StateNew {
			hits.Add(1)
		}
	}}
	served := make(chan struct{})
	go func() {
		defer close(served)
		_ = s.Serve(l) // it ends with Close
	}()
	t.Cleanup(func() {
		_ = s.Close() // nothing is under way
		<-served
	})
	_, port, _ = strings.Cut(l.Addr().String(), ":")
	return port, hits
}
