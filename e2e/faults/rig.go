//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft/e2e/faults/history"
)

const (
	adminKey  = "ls_fault_rig_admin_key_0123456789"
	masterKey = "bGluZXNoYWZ0LWVuZC10by1lbmQtbWFzdGVyLWtleSE="
	lease     = 2 * time.Second
	fleetID   = "fleet" // the id that all worker processes share
	// serverMegabytes is the size of the file system of a SQLite server.
	serverMegabytes = 700
)

// rig is everything that runs: servers behind a proxy, workers, and the database. Between any
// two processes that talk there is a link.
type rig struct {
	dir     string
	engine  string
	book    *history.Writer
	servers []*server
	workers []*workerProcess
	proxy   *process
	front   string // address of the proxy
	pg      *cluster
	disk    *disk
	forge   *forge
}

// server is a `lineshaft serve`.
type server struct {
	process
	url      string // its own address, around the proxy
	front    *link  // from the proxy
	database *link  // to PostgreSQL; nil with SQLite
	data     string
}

type workerProcess struct {
	process
	link *link
}

// sizes of a rig.
type sizes struct{ servers, workers int }

// newRig starts everything and waits until it is ready.
func newRig(ctx context.Context, dir, bin, engine string, size sizes, book *history.Writer) (r *rig, err error) {
	r = &rig{dir: dir, engine: engine, book: book}
	defer func() {
		if err != nil {
			r.close(ctx)
		}
	}()
	self, err := os.Executable()
	if err != nil {
		return r, err
	}
	if r.disk, err = newDisk(filepath.Join(dir, "disk.sock")); err != nil {
		return r, err
	}
	if err := os.MkdirAll(r.ledger(), 0o777); err != nil {
		return r, err
	}
	if r.forge, err = newForge(ctx, filepath.Join(dir, "forge")); err != nil {
		return r, err
	}
	if engine == "postgres" {
		if r.pg, err = newCluster(ctx, dir, self); err != nil {
			return r, err
		}
	} else {
		size.servers = 1
	}
	for i := range size.servers {
		if err := r.addServer(ctx, i, self, bin); err != nil {
			return r, err
		}
	}
	if err := r.addProxy(ctx); err != nil {
		return r, err
	}
	for i := range size.workers {
		if err := r.addWorker(ctx, i, bin); err != nil {
			return r, err
		}
	}
	return r, r.awaitReady(ctx)
}

// ledger is the folder in which agents leave signs.
func (r *rig) ledger() string { return filepath.Join(r.dir, "agents") }

func (r *rig) addServer(ctx context.Context, i int, self, bin string) error {
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	address := fmt.Sprintf("127.0.0.1:%d", port)
	s := &server{url: "http://" + address, data: filepath.Join(r.dir, fmt.Sprintf("server%d", i))}
	r.servers = append(r.servers, s) // from here on close sees to it
	if err := mountSmall(ctx, s.data, serverMegabytes); err != nil {
		return err
	}
	database := filepath.Join(s.data, "l.db")
	if r.pg != nil {
		if s.database, err = newLink(ctx, fmt.Sprintf("server%d to database", i), r.pg.address(r.pg.primary)); err != nil {
			return err
		}
		database = databaseURL(s.database)
	}
	if s.front, err = newLink(ctx, fmt.Sprintf("proxy to server%d", i), address); err != nil {
		return err
	}
	s.name, s.log = fmt.Sprintf("server%d", i), filepath.Join(r.dir, fmt.Sprintf("server%d.log", i))
	s.args = []string{
		self, wrapRole, r.disk.path, bin, "serve", "--listen", address, "--data-dir", s.data, "--database", database, "--isolation", "none",
		"--lease", lease.String(), "--default-harness", "shell", "--max-concurrent-runs", "4", "--forge-url", r.forge.url,
		"--callback-allow-private",
		"--log-format", "json", "--log-level", "warn",
	}
	s.env = []string{"LINESHAFT_ADMIN_KEY=" + adminKey, "LINESHAFT_MASTER_KEY=" + masterKey}
	if err := s.start(); err != nil {
		return err
	}
	return r.awaitServer(ctx, s)
}

// awaitServer waits until a server is ready, and starts it again when it has ended: a
// supervisor of services would do that.
func (r *rig) awaitServer(ctx context.Context, s *server) error {
	return await(ctx, s.name+" is ready", func(ctx context.Context) bool {
		if !s.running() && s.start() != nil {
			return false
		}
		return ready(ctx, s.url)
	})
}

// addProxy starts haproxy in front of the servers.
func (r *rig) addProxy(ctx context.Context) error {
	port, err := freePort(ctx)
	if err != nil {
		return err
	}
	r.front = fmt.Sprintf("127.0.0.1:%d", port)
	var conf strings.Builder
	fmt.Fprintf(&conf, `global
  maxconn 4000
defaults
  mode http
  timeout connect 1s
  timeout client 60s
  timeout server 60s
  timeout check 700ms
  retries 2
  option redispatch
  retry-on conn-failure
frontend front
  bind %s
  default_backend servers
backend servers
  balance roundrobin
  option httpchk GET /readyz
`, r.front)
	for i, s := range r.servers {
		fmt.Fprintf(&conf, "  server s%d %s check inter 300ms fall 2 rise 1 on-marked-down shutdown-sessions\n", i, s.front.address())
	}
	file := filepath.Join(r.dir, "haproxy.cfg")
	if err := os.WriteFile(file, []byte(conf.String()), 0o600); err != nil {
		return err
	}
	r.proxy = &process{name: "proxy", args: []string{"haproxy", "-db", "-f", file}, log: filepath.Join(r.dir, "haproxy.log")}
	return r.proxy.start()
}

func (r *rig) addWorker(ctx context.Context, i int, bin string) error {
	l, err := newLink(ctx, fmt.Sprintf("worker%d to proxy", i), r.front)
	if err != nil {
		return err
	}
	w := &workerProcess{link: l}
	w.name, w.log = fmt.Sprintf("worker%d", i), filepath.Join(r.dir, fmt.Sprintf("worker%d.log", i))
	w.args = []string{
		bin, "worker", "--id", fleetID, "--server", "http://" + l.address(), "--data-dir", filepath.Join(r.dir, w.name),
		"--isolation", "none",
		"--max-concurrent-runs", "3", "--forge-url", r.forge.url, "--log-format", "json", "--log-level", "warn",
	}
	w.env = []string{"LINESHAFT_API_KEY=" + adminKey}
	r.workers = append(r.workers, w)
	return w.start()
}

// awaitReady waits until everything is ready; whatever has ended is started.
func (r *rig) awaitReady(ctx context.Context) error {
	for _, w := range r.workers {
		if !w.running() {
			if err := w.start(); err != nil {
				return err
			}
		}
	}
	return r.awaitServers(ctx)
}

// awaitServers waits until the database, all servers and the proxy are ready; it starts what
// has ended.
func (r *rig) awaitServers(ctx context.Context) error {
	if r.pg != nil {
		for i := range r.pg.nodes {
			if err := r.pg.awaitNode(ctx, i); err != nil {
				return err
			}
		}
	}
	for _, s := range r.servers {
		if err := r.awaitServer(ctx, s); err != nil {
			return err
		}
	}
	return await(ctx, "the proxy is ready", func(ctx context.Context) bool {
		if !r.proxy.running() && r.proxy.start() != nil {
			return false
		}
		return ready(ctx, "http://"+r.front)
	})
}

// links are all ways between processes.
func (r *rig) links() (all []*link) {
	for _, s := range r.servers {
		all = append(all, s.front, s.database)
	}
	for _, w := range r.workers {
		all = append(all, w.link)
	}
	if r.pg != nil {
		all = append(all, r.pg.replication)
	}
	// SQLite has fewer, and so has a rig that was not completed.
	return slices.DeleteFunc(all, func(l *link) bool { return l == nil })
}

// calm ends every fault that may still hold, and waits until all is ready.
func (r *rig) calm(ctx context.Context) error {
	r.disk.set(0, false)
	for _, l := range r.links() {
		l.heal()
	}
	for _, s := range r.servers {
		s.signal(syscall.SIGCONT)
		_ = os.Remove(filepath.Join(s.data, "fill")) // it may not be there
	}
	for _, w := range r.workers {
		w.signal(syscall.SIGCONT)
	}
	if r.pg != nil {
		for _, n := range r.pg.nodes {
			n.disk.set(0, false)
			thaw(n.pid())
			_ = os.Remove(filepath.Join(n.mount, "fill")) // it may not be there
		}
	}
	return r.awaitReady(ctx)
}

// closePatience is how long processes may take to end by themselves.
const closePatience = 5 * time.Second

// close ends everything, all at once; when ctx has ended, without waiting for anything.
func (r *rig) close(ctx context.Context) {
	if r.disk != nil {
		r.disk.set(0, false) // who waits for it cannot end
	}
	var all sync.WaitGroup
	for _, w := range r.workers {
		w.signal(syscall.SIGCONT)
		all.Go(func() { w.stop(ctx, syscall.SIGTERM, closePatience) })
	}
	for _, s := range r.servers {
		s.signal(syscall.SIGCONT)
		all.Go(func() {
			s.stop(ctx, syscall.SIGTERM, closePatience)
			unmount(s.data)
		})
	}
	all.Wait()
	if r.proxy != nil {
		r.proxy.kill()
	}
	for _, l := range r.links() {
		_ = l.close()
	}
	if r.pg != nil {
		r.pg.stop(ctx)
	}
	if r.disk != nil {
		_ = r.disk.listener.Close()
	}
	if r.forge != nil {
		_ = r.forge.server.Close()
	}
}

// fill takes all space of a file system.
func fill(dir string) error {
	file, err := os.Create(filepath.Join(dir, "fill"))
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	for size := 4 << 20; size >= 4096; size /= 4 {
		block := make([]byte, size)
		for {
			if _, err := file.Write(block); errors.Is(err, syscall.ENOSPC) {
				break
			} else if err != nil {
				return err
			}
		}
	}
	return nil
}
