package e2e

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
)

// proxyProgram finds a proxy; make test-all has them, other runs may do without.
func proxyProgram(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil && os.Getenv("LINESHAFT_TEST_ALL") == "" {
		t.Skipf("%s is not installed; make test-all installs it", name)
	}
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// replaced is a file of deploy/proxy with other addresses. It must have each of the pairs.
func replaced(t *testing.T, name string, pairs ...string) string {
	t.Helper()
	text, err := os.ReadFile("../deploy/proxy/" + name)
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i < len(pairs); i += 2 {
		if !strings.Contains(string(text), pairs[i]) {
			t.Fatalf("%s has no %q", name, pairs[i])
		}
		text = bytes.ReplaceAll(text, []byte(pairs[i]), []byte(pairs[i+1]))
	}
	return string(text)
}

// startNginx runs nginx with our file, without the certificates.
func startNginx(t *testing.T, server, listen string) *exec.Cmd {
	t.Helper()
	program, dir := proxyProgram(t, "nginx"), t.TempDir()
	ours := replaced(t, "nginx.conf", "server 127.0.0.1:8484;", "server "+server+";", "listen 443 ssl;", "listen "+listen+";",
		"    ssl_certificate     /etc/ssl/lineshaft/fullchain.pem;\n    ssl_certificate_key /etc/ssl/lineshaft/privkey.pem;\n", "")
	head := "daemon off;\nworker_processes 1;\nerror_log stderr;\npid " + dir + "/pid;\n"
	if os.Getuid() == 0 {
		head += "user root;\n"
	}
	head += "events {}\nhttp {\naccess_log off;\n"
	for _, kind := range []string{"client_body", "proxy", "fastcgi", "uwsgi", "scgi"} {
		head += fmt.Sprintf("%s_temp_path %s/%s;\n", kind, dir, kind)
	}
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(head+ours+"}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	return exec.Command(program, "-e", "stderr", "-p", dir, "-c", file)
}

// startCaddy runs Caddy with our file, without certificates.
func startCaddy(t *testing.T, server, listen string) *exec.Cmd {
	t.Helper()
	program, dir := proxyProgram(t, "caddy"), t.TempDir()
	ours := replaced(t, "Caddyfile", "lineshaft.example.com {", "http://"+listen+" {", "reverse_proxy 127.0.0.1:8484", "reverse_proxy "+server)
	file := filepath.Join(dir, "Caddyfile")
	if err := os.WriteFile(file, []byte("{\n\tadmin off\n\tauto_https off\n}\n"+ours), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(program, "run", "--adapter", "caddyfile", "--config", file)
	cmd.Env = []string{"HOME=" + dir, "XDG_DATA_HOME=" + dir, "XDG_CONFIG_HOME=" + dir, "PATH=" + os.Getenv("PATH")}
	return cmd
}

// TestI6Proxies puts the real proxies with the files of deploy/proxy before a server. What a run
// reports comes through when it happens, and refusals come through unchanged.
func TestI6Proxies(t *testing.T) {
	t.Parallel()
	for name, start := range map[string]func(t *testing.T, server, listen string) *exec.Cmd{"nginx": startNginx, "caddy": startCaddy} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			proxyProgram(t, name)
			n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--trusted-proxy", "127.0.0.0/8")
			n.start(t.Context())
			direct, address := n.url, freeAddress(t)
			cmd := start(t, strings.TrimPrefix(n.url, "http://"), address)
			log := &lockedBuffer{}
			cmd.Stdout, cmd.Stderr = log, log
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				_ = cmd.Process.Signal(os.Interrupt) // it may have ended already
				_ = cmd.Wait()
				if t.Failed() {
					t.Logf("log of %s:\n%s", name, log.tail(4000))
				}
			})
			n.url = "http://" + address
			n.waitReady(t.Context())
			throughProxy(t, n)
			refusedAlike(t, n, direct)
		})
	}
}

// streamTime is how long a stream through a proxy is followed: in make test-all beyond the minute
// after which nginx gives up by default, in soak as long as a run may well take.
func streamTime() time.Duration {
	switch {
	case soak():
		return 10 * time.Minute
	case os.Getenv("LINESHAFT_TEST_ALL") != "":
		return 75 * time.Second
	default:
		return 0
	}
}

// throughProxy follows a run that waits for a worker that never comes: its first event has to
// arrive while the stream is open, then signs of life, and then its end.
func throughProxy(t *testing.T, n *node) {
	t.Helper()
	c := n.client()
	started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "wait", Config: &client.AgentConfig{WorkerHost: "nobody"}})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), streamTime()+time.Minute)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/api/v1/agent/runs/"+started.RunID+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminKey)
	req.Header.Set("Accept", "text/event-stream")
	res, err := browser().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	lines := bufio.NewScanner(res.Body)
	reads := func(want string) {
		t.Helper()
		for lines.Scan() {
			if strings.Contains(lines.Text(), want) {
				return
			}
		}
		t.Fatalf("the stream ended without %q: %v", want, lines.Err())
	}
	reads("QUEUED")
	for began := time.Now(); time.Since(began) < streamTime(); {
		reads(":") // a comment comes every few seconds
	}
	if err := c.Runs.Cancel(ctx, started.RunID); err != nil {
		t.Fatal(err)
	}
	reads("CANCELLED")
}

// refusedAlike compares what a sender is answered with and without the proxy.
func refusedAlike(t *testing.T, n *node, direct string) {
	t.Helper()
	c := n.client()
	factory, err := c.Factories.Create(t.Context(), client.FactoryRequest{Name: "proxied"})
	if err != nil {
		t.Fatal(err)
	}
	one := 1
	made, err := c.Webhooks.Create(t.Context(), factory.UID, client.WebhookRequest{Name: "ci", RateLimit: &one})
	if err != nil {
		t.Fatal(err)
	}
	path := made.IngressURL[strings.Index(made.IngressURL, "/webhooks/"):]
	post := func(base, body string) (int, http.Header) { return rawPost(t, base, path, made.Secret, body) }
	large := `{"a":"` + strings.Repeat("x", 900_000) + `"}`
	for _, base := range []string{direct, n.url} {
		if status, head := post(base, large); status != http.StatusRequestEntityTooLarge || head.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: a large body: %d %s", base, status, head.Get("Content-Type"))
		}
	}
	post(n.url, `{"a":1}`)
	wait := 60 // the window of the rate limit; what is left of it only gets shorter
	for _, base := range []string{direct, n.url} {
		status, head := post(base, `{"a":2}`)
		after, err := strconv.Atoi(head.Get("Retry-After"))
		if err != nil || after < 1 || after > wait || status != http.StatusTooManyRequests || head.Get("Content-Type") != "application/problem+json" {
			t.Errorf("%s: too many: %d %v", base, status, head)
		}
		wait = after
	}
}

// rawPost sends a request and reads the answer meanwhile: a server may refuse a body before it
// has read all of it, and Go's client would rather report that it could not send the rest.
func rawPost(t *testing.T, base, path, secret, body string) (int, http.Header) {
	t.Helper()
	conn, err := net.DialTimeout("tcp", strings.TrimPrefix(base, "http://"), 10*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		_, _ = fmt.Fprintf(conn, "POST %s HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer %s\r\nContent-Length: %d\r\nConnection: close\r\n\r\n%s",
			path, strings.TrimPrefix(base, "http://"), secret, len(body), body) // the answer has the result
	}()
	res, err := http.ReadResponse(bufio.NewReader(conn), nil)
	if err != nil {
		t.Fatalf("%s: %v", base, err)
	}
	_ = res.Body.Close()
	_ = conn.Close()
	<-sent
	return res.StatusCode, res.Header
}
