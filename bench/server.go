package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/pprof"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/harness"
)

const (
	adminKey = "ls_benchmark_admin_key_0123456789"
	// readyWithin and stopWithin bound the start and the end of a server.
	readyWithin = time.Minute
	stopWithin  = time.Minute
)

// server is a server process.
type server struct {
	cmd     *exec.Cmd
	url     string
	dataDir string
	// ready is how long the start took.
	ready  time.Duration
	input  io.WriteCloser // of the child role; nil else
	exited chan struct{}
}

// startServer starts the real program and waits until it is ready.
func (s *session) startServer(ctx context.Context, database, dataDir string, flags ...string) (*server, error) {
	program, err := s.binary()
	if err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	args := append([]string{"serve", "--listen", address, "--data-dir", dataDir, "--database", database, "--log-level", "error"}, flags...)
	cmd := exec.Command(program, args...) //nolint:noctx // it is stopped, not killed, when ctx ends
	return launch(ctx, cmd, address, dataDir)
}

// startLogged starts the real program without a worker, with its log in a file as
// an operator would have it.
func (s *session) startLogged(ctx context.Context, database, dataDir string) (*server, error) {
	program, err := s.binary()
	if err != nil {
		return nil, err
	}
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	log, err := os.OpenFile(dataDir+".log", os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = log.Close() }() // the server has its own by then

	cmd := exec.Command(program, "serve", "--listen", address, "--data-dir", dataDir, "--database", database, "--no-worker") //nolint:noctx // as above
	cmd.Stderr = log
	return launch(ctx, cmd, address, dataDir)
}

// startChild starts this program as a server, with agents of the benchmark's or a
// profile.
func (s *session) startChild(ctx context.Context, order serveOrder) (*server, error) {
	address, err := freeAddress(ctx)
	if err != nil {
		return nil, err
	}
	order.Listen = address
	text, err := json.Marshal(order)
	if err != nil {
		return nil, fmt.Errorf("encode order: %w", err)
	}
	cmd := exec.Command(s.self, serveRole) //nolint:noctx // as above
	input, err := cmd.StdinPipe()
	if err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	if _, err := input.Write(append(text, '\n')); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	srv, err := launch(ctx, cmd, address, order.DataDir)
	if srv != nil {
		srv.input = input
	}
	return srv, err
}

// launch starts a server of ours, or one that says in the same way that it is ready.
func launch(ctx context.Context, cmd *exec.Cmd, address, dataDir string) (*server, error) {
	cmd.Env = []string{"LINESHAFT_ADMIN_KEY=" + adminKey}
	return launchAt(ctx, cmd, address, dataDir, "/readyz")
}

// launchAt starts a server that is ready when it answers 200 at a path.
func launchAt(ctx context.Context, cmd *exec.Cmd, address, dataDir, ready string) (*server, error) {
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME")}, cmd.Env...)
	if cmd.Stderr == nil {
		cmd.Stderr = os.Stderr
	}
	srv := &server{cmd: cmd, url: "http://" + address, dataDir: dataDir, exited: make(chan struct{})}
	began := time.Now()
	if err := cmd.Start(); err != nil {
		return nil, fmt.Errorf("start server: %w", err)
	}
	go func() {
		defer close(srv.exited)
		_ = cmd.Wait() // it says on standard error what went wrong
	}()
	if err := srv.await(ctx, ready); err != nil {
		return nil, errors.Join(err, srv.stop())
	}
	srv.ready = time.Since(began)
	return srv, nil
}

// await asks until the server is ready: there is nothing to wait on in another
// process.
func (srv *server) await(ctx context.Context, path string) error {
	ctx, cancel := context.WithTimeout(ctx, readyWithin)
	defer cancel()
	caller := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for ctx.Err() == nil {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, srv.url+path, nil)
		if err != nil {
			return err
		}
		if answer, err := caller.Do(request); err == nil {
			_ = answer.Body.Close()
			if answer.StatusCode == http.StatusOK {
				return nil
			}
		}
		select {
		case <-srv.exited:
			return errors.New("the server ended before it was ready")
		case <-time.After(time.Millisecond):
		}
	}
	return fmt.Errorf("wait for the server: %w", context.Cause(ctx))
}

// stop asks the server to end, and makes it end if it does not.
func (srv *server) stop() error {
	if srv.input != nil {
		_ = srv.input.Close() // the child ends with its input
	}
	if err := srv.cmd.Process.Signal(syscall.SIGTERM); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("stop server: %w", err)
	}
	select {
	case <-srv.exited:
		return nil
	case <-time.After(stopWithin):
	}
	_ = srv.cmd.Process.Kill()
	<-srv.exited
	return errors.New("stop server: it had to be killed")
}

// address is where the server listens.
func (srv *server) address() string { return strings.TrimPrefix(srv.url, "http://") }

// client returns a client that sends each request once.
func newClient(url string) (*client.Client, error) {
	return client.New(url, adminKey, client.WithMaxRetries(0))
}

// nextPort gives each port once: servers that are being started are not each other's.
var nextPort = sync.OnceValue(func() func() int {
	var given atomic.Int64
	given.Store(rand.Int64N(5_000))
	return func() int { return 2_000 + int(given.Add(1)%5_000) }
})

// freeAddress is one that nobody listens at now. It is below the ports that the system gives
// to anyone, which could be gone when the server has started.
func freeAddress(ctx context.Context) (string, error) {
	for range 100 {
		l, err := new(net.ListenConfig).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", nextPort()()))
		if err == nil {
			return l.Addr().String(), l.Close()
		}
	}
	return "", errors.New("no port is free")
}

// serveOrder is what the child that is a server gets on its first line of input.
type serveOrder struct {
	Listen   string `json:"listen"`
	Database string `json:"database"`
	DataDir  string `json:"data_dir"`
	// Talker plugs in the agent that talks; it begins with the second line of input.
	Talker bool `json:"talker"`
	// Profile is a file for a CPU profile; empty for none.
	Profile string `json:"profile"`
	// NoWorker leaves runs in the queue.
	NoWorker bool `json:"no_worker"`
	// Log is a file for the log; empty for none.
	Log string `json:"log"`
}

// serveChild is a server in this program. It ends with its input.
func serveChild(ctx context.Context, in io.Reader, _ io.Writer) (err error) {
	lines := json.NewDecoder(in)
	var order serveOrder
	if err := lines.Decode(&order); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	begin := make(chan struct{})
	opts := app.Options{Version: "bench", Logger: slog.New(slog.DiscardHandler), Supervisor: []string{os.Args[0], superviseRole}}
	if order.Talker {
		opts.Harnesses = []harness.Harness{talker{start: begin}}
	}
	cfg := config.Default()
	cfg.Listen, cfg.Database, cfg.DataDir = order.Listen, order.Database, order.DataDir
	cfg.AdminKey, cfg.NoWorker = config.Secret(os.Getenv("LINESHAFT_ADMIN_KEY")), order.NoWorker
	if order.Log != "" {
		log, err := os.OpenFile(order.Log, os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
		if err != nil {
			return fmt.Errorf("open log: %w", err)
		}
		defer func() { err = errors.Join(err, log.Close()) }()
		opts.Logger = slog.New(slog.NewJSONHandler(log, nil))
	}
	if order.Profile != "" {
		stop, err := profileTo(order.Profile)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, stop()) }()
	}
	server, err := app.Start(ctx, cfg, opts)
	if err != nil {
		return err
	}
	over, end := context.WithCancel(ctx)
	go func() {
		defer end()
		var word string
		if lines.Decode(&word) == nil {
			close(begin)
		}
		_ = lines.Decode(&word) // returns with the end of the input
	}()
	<-over.Done()
	return server.Stop(context.WithoutCancel(ctx))
}

func profileTo(file string) (stop func() error, err error) {
	f, err := os.Create(filepath.Clean(file))
	if err != nil {
		return nil, fmt.Errorf("write profile: %w", err)
	}
	if err := pprof.StartCPUProfile(f); err != nil {
		return nil, errors.Join(fmt.Errorf("write profile: %w", err), f.Close())
	}
	return func() error {
		pprof.StopCPUProfile()
		return f.Close()
	}, nil
}
