//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"time"
)

// process is a program that is started again and again with the same arguments.
type process struct {
	name string
	args []string
	env  []string
	log  string // file
	dir  string

	mu     sync.Mutex
	cmd    *exec.Cmd
	exited chan struct{}
}

// start starts the process; it ends with this program, however that ends.
func (p *process) start() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	log, err := os.OpenFile(p.log, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	defer func() { _ = log.Close() }()
	cmd := exec.Command(p.args[0], p.args[1:]...) //nolint:noctx // it is ended by name, at the times that the seed says
	cmd.Env, cmd.Dir, cmd.Stdout, cmd.Stderr = append(os.Environ(), p.env...), p.dir, log, log
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Setpgid: true}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start %s: %w", p.name, err)
	}
	exited := make(chan struct{})
	p.cmd, p.exited = cmd, exited
	go func() {
		defer close(exited)
		_ = cmd.Wait() // how it ended is in its log
	}()
	return nil
}

func (p *process) pid() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.cmd == nil {
		return 0
	}
	return p.cmd.Process.Pid
}

// over is closed when the process has ended.
func (p *process) over() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.exited
}

func (p *process) running() bool {
	if p.pid() == 0 {
		return false
	}
	select {
	case <-p.over():
		return false
	default:
		return true
	}
}

func (p *process) signal(s syscall.Signal) {
	if p.running() {
		_ = syscall.Kill(p.pid(), s) // it may have ended already
	}
}

// kill ends the process as a power cut would.
func (p *process) kill() {
	if p.running() {
		p.signal(syscall.SIGKILL)
		<-p.over()
	}
}

// stop asks the process to end, and ends it when it does not, or when nobody waits any more.
func (p *process) stop(ctx context.Context, with syscall.Signal, patience time.Duration) {
	if !p.running() {
		return
	}
	p.signal(with)
	select {
	case <-p.over():
	case <-time.After(patience):
	case <-ctx.Done():
	}
	p.kill()
}

// children are the processes below one, by what their command line contains.
func children(pid int, word string) (all []int) {
	files, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid)) // the pattern is good
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread is gone
		}
		for _, field := range strings.Fields(string(text)) {
			var child int
			if _, err := fmt.Sscan(field, &child); err != nil {
				continue
			}
			line, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", child)) // one that is gone has none
			if strings.Contains(string(line), word) {
				all = append(all, child)
			}
			all = append(all, children(child, word)...)
		}
	}
	return all
}

// freePort is a port of this machine on which nothing listens, below those that the system
// gives to connections and above those of the tests of e2e, whose servers are down for moments.
func freePort(ctx context.Context) (int, error) {
	for range 100 {
		port := 22_000 + rand.IntN(10_000)
		if l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", fmt.Sprintf("127.0.0.1:%d", port)); err == nil {
			return port, l.Close()
		}
	}
	return 0, errors.New("no port is free")
}

// pause lets the others work for a while: the time itself is the point.
func pause(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// await asks until something holds, for at most three minutes.
func await(ctx context.Context, what string, holds func(ctx context.Context) bool) error {
	ctx, cancel := context.WithTimeout(ctx, 3*time.Minute)
	defer cancel()
	for tick := time.NewTicker(20 * time.Millisecond); ; {
		if holds(ctx) {
			tick.Stop()
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%s: %w", what, ctx.Err())
		case <-tick.C:
		}
	}
}

// ready says whether a server says that it is.
func ready(ctx context.Context, url string) bool {
	ctx, cancel := context.WithTimeout(ctx, 2*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return false
	}
	res, err := (&http.Client{Transport: &http.Transport{DisableKeepAlives: true}}).Do(req)
	if err != nil {
		return false
	}
	_ = res.Body.Close()
	return res.StatusCode == http.StatusOK
}
