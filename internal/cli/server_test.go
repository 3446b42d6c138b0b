package cli

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

const serverKey = "ls_admin_key_of_the_servers_in_these_tests_01234"

// realServer is a whole server in this process, and the surroundings of a person who
// works with it.
type realServer struct {
	*stage
	address string
	home    string
}

// startServer starts a server with its worker. What the command line is compared
// against is then the program itself, not what a test believes of it.
func startServer(t *testing.T) *realServer {
	t.Helper()
	address := freeAddress(t)
	home := t.TempDir()
	ctx, stop := context.WithCancel(t.Context())
	var log bytes.Buffer
	deps := Program()
	deps.Stdin, deps.Stdout, deps.Stderr = strings.NewReader(""), io.Discard, &log
	deps.Environ = []string{"LINESHAFT_ADMIN_KEY=" + serverKey, "PATH=" + os.Getenv("PATH"), "HOME=" + home}
	ended := make(chan int, 1)
	go func() {
		ended <- execute(ctx, []string{"serve", "--listen", address, "--data-dir", filepath.Join(home, "data"), "--isolation", "none", "--allow-local-git", "--shutdown-grace", "2s"}, deps)
	}()
	t.Cleanup(func() {
		stop()
		if code := <-ended; code != shell.ExitOK || t.Failed() {
			t.Logf("the server ended with %d; the end of its log:\n%s", code, log.String()[max(0, log.Len()-4000):])
		}
	})
	waitReady(t, "http://"+address)
	s := newStage(t)
	s.url = "http://" + address
	s.deps.Environ = []string{"LINESHAFT_URL=http://" + address, "LINESHAFT_API_KEY=" + serverKey, "PATH=" + os.Getenv("PATH"), "LINESHAFT_CONTEXTS=" + filepath.Join(home, "contexts.yaml")}
	s.deps.Now = time.Now
	whole := Program()
	s.deps.Serve = whole.Serve
	s.deps.Backup, s.deps.Restore, s.deps.MoveDatabase = whole.Backup, whole.Restore, whole.MoveDatabase
	s.deps.Work, s.deps.Migrate, s.deps.Doctor, s.deps.OpenAPI = whole.Work, whole.Migrate, whole.Doctor, whole.OpenAPI
	return &realServer{stage: s, address: address, home: home}
}

// as is the same with another key.
func (s *realServer) as(key string) *realServer {
	other := &realServer{stage: &stage{deps: s.deps, url: s.url, mux: s.mux}, address: s.address, home: s.home}
	return other.with("LINESHAFT_API_KEY=" + key)
}

func (s *realServer) with(pairs ...string) *realServer {
	s.deps.Environ = append(append([]string{}, s.deps.Environ...), pairs...)
	return s
}

// must runs a command that has to work and returns its output without the line break.
func (s *realServer) must(t *testing.T, args ...string) string {
	t.Helper()
	r := s.run(t.Context(), args...)
	if r.code != shell.ExitOK {
		t.Fatalf("lineshaft %s: %+v", strings.Join(args, " "), r)
	}
	return strings.TrimSpace(r.out)
}

// nextPort gives each port once, so that nothing ever listens where a test says so. Those of
// package e2e are below.
var nextPort = sync.OnceValue(func() func() int {
	var given atomic.Int64
	given.Store(rand.Int64N(10_000))
	return func() int { return 22_000 + int(given.Add(1)%10_000) }
})

// freeAddress is one where nothing listens. It is below the ports that the system gives to
// connections: one of those could take it before it is listened at.
func freeAddress(t *testing.T) string {
	t.Helper()
	for range 100 {
		listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", fmt.Sprintf("127.0.0.1:%d", nextPort()()))
		if err == nil {
			defer listener.Close()
			return listener.Addr().String()
		}
	}
	t.Fatal("no port is free")
	return ""
}

// waitReady asks until the server answers: the server does not announce that it is ready.
func waitReady(t *testing.T, address string) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	asker := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, address+"/readyz", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		if res, err := asker.Do(req); err == nil {
			_ = res.Body.Close()
			if res.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatal("the server does not become ready")
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// changing is what differs from run to run: ids, secrets, times.
var changing = []struct {
	form *regexp.Regexp
	as   string
}{
	{regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`), "<uid>"},
	{regexp.MustCompile(`(webhooks/w/)[A-Za-z0-9_-]+`), "${1}<webhook>"},
	{regexp.MustCompile(`(Webhook: \S+ \()[A-Za-z0-9_-]+`), "${1}<webhook>"},
	{regexp.MustCompile(`(Secret +|Bearer )[A-Za-z0-9_-]{20,}`), "${1}<secret>"},
	{regexp.MustCompile(`127\.0\.0\.1:\d{5}`), "127.0.0.1:<port>"},
	{regexp.MustCompile(`\d{4}-\d\d-\d\dT[0-9:.]+Z`), "<time>"},
}

// steady replaces what changes.
func steady(text string) string {
	for _, c := range changing {
		text = c.form.ReplaceAllString(text, c.as)
	}
	return text
}
