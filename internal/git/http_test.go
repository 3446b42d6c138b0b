package git

import (
	"context"
	"errors"
	"io"
	"log"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"net/netip"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
)

// httpForge serves the repositories below a folder with git's own program. With a
// token, everyone must send it.
func httpForge(t *testing.T, root, token string) *httptest.Server {
	t.Helper()
	backend := &cgi.Handler{
		Stderr: io.Discard,
		Logger: log.New(io.Discard, "", 0), // some clients are killed
		Path:   filepath.Join(shell(t, "", "--exec-path"), "git-http-backend"),
		Env: []string{
			"GIT_PROJECT_ROOT=" + root, "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1",
			"GIT_CONFIG_COUNT=1", "GIT_CONFIG_KEY_0=safe.directory", "GIT_CONFIG_VALUE_0=*",
		},
	}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, password, ok := r.BasicAuth()
		switch {
		case strings.HasPrefix(r.URL.Path, "/moved/"):
			http.Redirect(w, r, "/o/r.git"+strings.TrimPrefix(r.URL.Path, "/moved/r.git")+"?"+r.URL.RawQuery, http.StatusMovedPermanently)
		case strings.HasPrefix(r.URL.Path, "/forbidden/"):
			w.WriteHeader(http.StatusForbidden)
		case strings.HasPrefix(r.URL.Path, "/broken/"):
			w.WriteHeader(http.StatusBadGateway)
		case token != "" && (!ok || password != token):
			w.Header().Set("WWW-Authenticate", `Basic realm="forge"`)
			w.WriteHeader(http.StatusUnauthorized)
		default:
			backend.ServeHTTP(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func TestF5OverHTTP(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	o := newOrigin(t, filepath.Join(root, "o", "r.git"))
	commit := o.push("main", map[string]string{"a": "1"})
	server := httpForge(t, root, "")
	c := client(t, func(cfg *Config) { cfg.AllowFile, cfg.Forge = false, server.URL+"/{owner}/{repo}.git" })
	url := c.URL(lineshaft.Repository{Owner: "o", Name: "r"})
	if got := head(t, c, url, ""); got != commit {
		t.Errorf("head is %s, want %s", got, commit)
	}
	if got := tree(t, c, url, commit); got["a"] != "1" {
		t.Errorf("tree is %q", got)
	}
	for path, want := range map[string]struct {
		code lineshaft.Code
		says string
	}{
		"/o/missing.git":   {lineshaft.CodeNotFound, "no repository at"},
		"/moved/r.git":     {lineshaft.CodeNotFound, "redirects"},
		"/forbidden/r.git": {lineshaft.CodeNotAuthorized, "refused access"},
		"/broken/r.git":    {lineshaft.CodeUnavailable, "does not answer"},
	} {
		_, err := c.Head(t.Context(), server.URL+path, "main")
		wantFault(t, err, want.code, want.says)
		_, err = c.Tree(t.Context(), server.URL+path, commit, all)
		wantFault(t, err, want.code, want.says)
	}
	server.Close()
	_, err := c.Head(t.Context(), url, "main")
	wantFault(t, err, lineshaft.CodeUnavailable, "does not answer")
}

// A server of old gives only what it advertises.
func TestF5ServerThatGivesNoCommitById(t *testing.T) {
	t.Parallel()
	root := t.TempDir()
	o := newOrigin(t, filepath.Join(root, "o", "r.git"))
	old := o.push("main", map[string]string{"a": "1"})
	commit := o.push("main", map[string]string{"a": "2"})
	backend := httpForge(t, root, "").Config.Handler
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		r.Header.Del("Git-Protocol") // version 0
		backend.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	c := client(t)
	if got := tree(t, c, server.URL+"/o/r.git", commit); got["a"] != "2" {
		t.Errorf("tree is %q", got)
	}
	_, err := c.Tree(t.Context(), server.URL+"/o/r.git", old, all)
	wantFault(t, err, lineshaft.CodeNotFound, "no longer has the commit")
}

func TestX4TokensOverHTTP(t *testing.T) {
	t.Parallel()
	const token = "tok'en \"$(x)%s"
	root := t.TempDir()
	o := newOrigin(t, filepath.Join(root, "o", "r.git"))
	commit := o.push("main", map[string]string{"a": "1"})
	server := httpForge(t, root, token)
	c := client(t)
	url := server.URL + "/o/r.git"
	for _, credentials := range []string{token, "someone:" + token} {
		dir := filepath.Join(t.TempDir(), "w")
		if got, err := c.Clone(t.Context(), url, dir, credentials); err != nil || got != commit {
			t.Fatalf("clone: %s, %v", got, err)
		}
		noSecret(t, dir, token)
		noSecret(t, c.cfg.Cache, token)
	}
	dir := filepath.Join(t.TempDir(), "w")
	_, err := c.Clone(t.Context(), url, dir, "wrong-token")
	wantFault(t, err, lineshaft.CodeNotAuthorized, "refused access")
	for e := err; e != nil; e = errors.Unwrap(e) {
		if strings.Contains(e.Error(), "wrong-token") {
			t.Errorf("an error shows the token: %v", e)
		}
	}
	_, err = c.Clone(t.Context(), url, dir, "")
	wantFault(t, err, lineshaft.CodeNotFound, "not public")
	_, err = c.Head(t.Context(), url, "main")
	wantFault(t, err, lineshaft.CodeNotFound, "not public")

	// The operator's own credentials are for the forge, and for nobody else.
	ours := client(t, func(cfg *Config) { cfg.Forge, cfg.Credentials = server.URL, token })
	if got := tree(t, ours, url, head(t, ours, url, "main")); got["a"] != "1" {
		t.Errorf("tree is %q", got)
	}
	other := httpForge(t, root, token)
	_, err = ours.Head(t.Context(), other.URL+"/o/r.git", "main")
	wantFault(t, err, lineshaft.CodeNotFound, "not public")
}

// hanging is a forge that takes requests and never answers them. It reports when it was
// asked, and when the client is gone.
func hanging(t *testing.T) (url string, asked, gone chan struct{}) {
	t.Helper()
	asked, gone = make(chan struct{}, 8), make(chan struct{}, 8)
	server := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
		asked <- struct{}{}
		<-r.Context().Done()
		gone <- struct{}{}
	}))
	t.Cleanup(server.Close)
	return server.URL + "/o/r.git", asked, gone
}

func TestX4CancelLeavesNoProcess(t *testing.T) {
	t.Parallel()
	for name, call := range map[string]func(context.Context, *Client, string) error{
		"head": func(ctx context.Context, c *Client, url string) error {
			_, err := c.Head(ctx, url, "main")
			return err
		},
		"tree": func(ctx context.Context, c *Client, url string) error {
			_, err := c.Tree(ctx, url, strings.Repeat("a", 40), all)
			return err
		},
		"clone": func(ctx context.Context, c *Client, url string) error {
			_, err := c.Clone(ctx, url, filepath.Join(c.cfg.Cache, "w"), "")
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, asked, gone := hanging(t)
			c := client(t)
			ctx, cancel := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- call(ctx, c, url) }()
			<-asked
			if !running(t, url) {
				t.Error("no process has the address in its arguments; the test would not see one that stays")
			}
			cancel()
			if err := <-ended; !errors.Is(err, context.Canceled) {
				t.Errorf("error %v, want context.Canceled", err)
			}
			<-gone
			for end := time.Now().Add(time.Minute); running(t, url); { // they are killed, which takes a busy machine a moment
				if time.Now().After(end) {
					t.Fatal("a process is left")
				}
				<-time.After(5 * time.Millisecond)
			}
			if _, err := os.Stat(filepath.Join(c.cfg.Cache, "w")); err == nil {
				t.Error("half a clone is left")
			}
		})
	}
}

func TestX4TimeIsBounded(t *testing.T) {
	t.Parallel()
	url, _, _ := hanging(t)
	c := client(t, func(cfg *Config) { cfg.Timeout = 200 * time.Millisecond })
	_, err := c.Head(t.Context(), url, "main")
	wantFault(t, err, lineshaft.CodeUnavailable, "did not answer within 200ms")
}

// running says whether a process has a text in its arguments. Zombies have none.
func running(t *testing.T, text string) bool {
	t.Helper()
	files, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil || len(files) == 0 {
		t.Skip("no /proc here to look for processes in")
	}
	for _, file := range files {
		if line, err := os.ReadFile(file); err == nil && strings.Contains(string(line), text) {
			return true
		}
	}
	return false
}

func TestS7PrivateNetworks(t *testing.T) {
	t.Parallel()
	c := client(t, func(cfg *Config) { cfg.AllowFile, cfg.Forge = false, "https://git.corp.example/{owner}/{repo}" })
	answers := map[string]string{
		"meta.example": "169.254.169.254", "loop.example": "127.0.0.1", "corp.example": "10.1.2.3", "six.example": "fd00::1",
		"mapped.example": "::ffff:192.168.0.1", "carrier.example": "100.64.0.1", "git.corp.example": "10.1.2.4", "zero.example": "0.0.0.0",
		"nat64.example": "64:ff9b::7f00:1", "meta64.example": "64:ff9b::a9fe:a9fe", "old.example": "::a9fe:a9fe", "old10.example": "::a00:1", "loop96.example": "::7f00:1",
		"sixtofour.example": "2002:7f00:1::1", "isatap.example": "2001:470::5efe:10.0.0.1", "site.example": "fec0::1", "wire.example": "168.63.129.16", "iana.example": "192.0.0.192",
		"bench.example": "198.18.0.1", "future.example": "240.0.0.1", "this.example": "0.1.2.3",
	}
	c.cfg.Resolve = func(_ context.Context, host string) ([]netip.Addr, error) {
		if host == "public.example" {
			return []netip.Addr{netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("2001:db8::1")}, nil
		}
		addr, err := netip.ParseAddr(answers[host])
		return []netip.Addr{addr}, err
	}
	for host := range answers {
		if host == "git.corp.example" {
			continue
		}
		for _, url := range []string{"https://" + host + "/o/r", "git@" + host + ":o/r"} {
			_, err := c.Head(t.Context(), url, "main")
			wantFault(t, err, lineshaft.CodeInvalidRequest, "private network")
		}
	}
	for _, literal := range []string{"https://127.0.0.1/o/r", "https://[::1]/o/r", "http://localhost:1/o/r", "ssh://git@169.254.169.254/o/r"} {
		_, err := c.Tree(t.Context(), literal, strings.Repeat("a", 40), all)
		wantFault(t, err, lineshaft.CodeInvalidRequest, "private network")
	}
}

// The name is looked up once: what was checked is what git connects to.
func TestS7NamesArePinned(t *testing.T) {
	t.Parallel()
	c := client(t, func(cfg *Config) { cfg.AllowFile = false })
	c.cfg.Resolve = func(context.Context, string) ([]netip.Addr, error) {
		return []netip.Addr{netip.MustParseAddr("8.8.8.8"), netip.MustParseAddr("2606:4700::1111")}, nil
	}
	for url, want := range map[string]string{
		"https://Example.com/o/r":      "example.com:443:8.8.8.8,[2606:4700::1111]",
		"https://example.com:8443/o/r": "example.com:8443:8.8.8.8,[2606:4700::1111]",
		"https://github.com/o/r":       "",
		"https://8.8.4.4/o/r":          "",
		"git@example.com:o/r":          "8.8.8.8",
	} {
		a, err := c.address(url)
		if err != nil {
			t.Fatal(err)
		}
		if pin, err := c.reach(t.Context(), a); err != nil || pin != want {
			t.Errorf("%s: %q, %v, want %q", url, pin, err, want)
		}
	}
	ssh, err := c.address("git@example.com:o/r")
	if err != nil {
		t.Fatal(err)
	}
	if words := c.sshCommand(nil, ssh, "192.0.2.1"); !strings.Contains(words, "'HostName=192.0.2.1' -o 'HostKeyAlias=example.com'") {
		t.Errorf("ssh is run without the pin: %s", words)
	}
	a, err := c.address("https://example.com/o/r")
	if err != nil {
		t.Fatal(err)
	}
	args := strings.Join(c.arguments(call{at: a, pin: "x:443:1.2.3.4"}), " ")
	if !strings.Contains(args, "-c http.curloptResolve=x:443:1.2.3.4") {
		t.Errorf("git is run without the pin: %s", args)
	}
}

// What a C library takes for a private address is refused, and so is a host that only
// git's own resolver might find.
func TestS7OddHostsAreRefused(t *testing.T) {
	t.Parallel()
	c := client(t, func(cfg *Config) { cfg.AllowFile = false })
	c.cfg.Resolve = func(context.Context, string) ([]netip.Addr, error) { return nil, errors.New("no such host") }
	for _, url := range []string{
		"https://2130706433/o/r", "https://0x7f.1/o/r", "https://127.1/o/r", "https://0x7f000001:8443/o/r", "git@127.1:o/r",
		"https://1.2.3.0x7f/o/r", "https://nowhere.invalid/o/r", "git@nowhere.invalid:o/r",
	} {
		a, err := c.address(url)
		if err != nil {
			continue // refused even earlier
		}
		if pin, err := c.reach(t.Context(), a); err == nil {
			t.Errorf("%s may be reached, as %q", url, pin)
		}
	}
}
