package peer_test

import (
	"context"
	"io/fs"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/peer"
)

// hostileAddresses are not of the open internet, though some look so.
func hostileAddresses() []string {
	return []string{
		"127.0.0.1", "::1", "::ffff:127.0.0.1", "::7f00:1", "64:ff9b::7f00:1", "64:ff9b::a9fe:a9fe", "::a9fe:a9fe", "::a00:1", "2002:7f00:1::1", "2001:470::5efe:10.0.0.1", "fec0::1", "fd00::1", "fe80::1",
		"10.0.0.1", "169.254.169.254", "100.64.0.1", "168.63.129.16", "192.0.0.192", "198.18.0.1", "240.0.0.1", "0.1.2.3", "0.0.0.0", "::", "255.255.255.255",
	}
}

// hostileHosts are forms in which such an address, or a name for one, stands in a URL.
func hostileHosts() (hosts []string, resolve resolver) {
	known := map[string][]netip.Addr{}
	for i, text := range hostileAddresses() {
		addr := netip.MustParseAddr(text)
		literal := text
		if addr.Is6() {
			literal = "[" + text + "]"
		}
		name := "n" + string(rune('a'+i)) + ".example"
		known[name] = []netip.Addr{addr}
		known["mixed-"+name] = []netip.Addr{netip.MustParseAddr("8.8.8.8"), addr}
		hosts = append(hosts, literal, name, "mixed-"+name, name+".", strings.ToUpper(name))
	}
	hosts = append(hosts, "127.0.0.1.", "127.1", "0x7f.1", "0x7f000001", "2130706433", "017700000001", "0177.0.0.1", "127.0.0.0x1", "localhost", "LOCALHOST.", "x.localhost",
		"8.8.8.8@127.0.0.1", "na.example:80@127.0.0.1", "[fe80::1%25lo]", "[::ffff:127.0.0.1%25lo]", "%31%32%37.0.0.1", "１２７.0.0.1")
	loop := []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	return hosts, func(_ context.Context, host string) ([]netip.Addr, error) {
		if addrs, ok := known[strings.ToLower(strings.TrimSuffix(host, "."))]; ok {
			return addrs, nil
		}
		return loop, nil // as a C library reads numbers
	}
}

// refusal is how the ways out say that they did not even try.
var refusal = regexp.MustCompile(`private network|does not let agents reach|Forbidden|Bad Request|not the name of a host|must not hold a user|has a user that|is not a URL|must be a full address|user or password|percent-encoded|invalid URL|parse "`)

// TestS7EveryPathRefusesEveryForm: each way out by each form of an address.
func TestS7EveryPathRefusesEveryForm(t *testing.T) {
	t.Parallel()
	port, hits := sink(t)
	hosts, resolve := hostileHosts()
	for name, path := range pathsOut() {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for _, host := range hosts {
				said := path.try(t.Context(), t, outing{resolve: resolve, host: host, port: port})
				if !refusal.MatchString(said) || strings.HasPrefix(said, "git was run") {
					t.Errorf("%s: %s", host, said)
				}
			}
		})
	}
	t.Cleanup(func() {
		if n := hits.Load(); n != 0 {
			t.Errorf("%d connections came to this machine", n)
		}
	})
}

// TestS7NamesThatChange: a name that is public when it is checked and private after
// leads nowhere private, for it is looked up once and what was checked is dialled. All
// but git dial through the guard; git dials by itself and is held to the address.
func TestS7NamesThatChange(t *testing.T) {
	t.Parallel()
	port, hits := sink(t)
	public, private := []netip.Addr{netip.MustParseAddr("8.8.8.8")}, []netip.Addr{netip.MustParseAddr("127.0.0.1")}
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	asked := 0
	guard := peer.Guard{Resolve: func(context.Context, string) ([]netip.Addr, error) {
		if asked++; asked > 1 {
			return private, nil
		}
		cancel() // nothing shall really be dialled
		return public, nil
	}}
	if _, err := guard.DialContext(ctx, "tcp", "rebind.example:"+port); err == nil || asked != 1 || refusal.MatchString(err.Error()) {
		t.Errorf("looked up %d times: %v", asked, err)
	}
	if _, err := guard.DialContext(t.Context(), "tcp", "rebind.example:"+port); err == nil || !refusal.MatchString(err.Error()) {
		t.Errorf("when it is private: %v", err)
	}
	for name, pin := range map[string]string{"git, https": "http.curloptResolve=rebind.example:" + port + ":8.8.8.8", "git, ssh": "'HostName=8.8.8.8' -o 'HostKeyAlias=rebind.example'"} {
		asked := 0
		resolve := func(context.Context, string) ([]netip.Addr, error) {
			if asked++; asked > 1 {
				return private, nil
			}
			return public, nil
		}
		said := pathsOut()[name].try(t.Context(), t, outing{resolve: resolve, host: "rebind.example", port: port})
		if !strings.Contains(said, pin) || strings.Contains(said, "127.0.0.1") || asked != 2 { // once for each of two calls
			t.Errorf("%s was not held to what was checked: %s", name, said)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d connections came to this machine", n)
	}
}

// TestS7NoPathFollowsRedirects: also where private addresses are allowed.
func TestS7NoPathFollowsRedirects(t *testing.T) {
	t.Parallel()
	port, hits := sink(t)
	var asked sync.Map
	for name, path := range pathsOut() {
		if strings.HasPrefix(name, "git") || strings.HasPrefix(name, "proxy") {
			continue // TestF5OverHTTP has the real git; the proxy's clients follow redirects themselves, through it
		}
		from := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			asked.Store(name, true)
			http.Redirect(w, r, "http://127.0.0.1:"+port+"/", http.StatusTemporaryRedirect)
		}))
		t.Cleanup(from.Close)
		_, at, _ := strings.Cut(strings.TrimPrefix(from.URL, "http://"), ":")
		resolve := func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		said := path.try(t.Context(), t, outing{resolve: resolve, private: true, host: "from.example", port: at})
		if _, ok := asked.Load(name); !ok {
			t.Errorf("%s: the redirect was not met: %s", name, said)
		}
	}
	if n := hits.Load(); n != 0 {
		t.Errorf("%d redirects were followed", n)
	}
}

// proxyChild has the port of the sink when this test runs as its own child.
const proxyChild = "LINESHAFT_TEST_PROXY_CHILD"

// TestS7ProxiesOfTheEnvironmentAreNotUsed: a proxy would be what is dialled and checked.
// It is read from the environment once in a process, hence the child.
func TestS7ProxiesOfTheEnvironmentAreNotUsed(t *testing.T) {
	t.Parallel()
	if port := os.Getenv(proxyChild); port != "" {
		loop := func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
		}
		for name, path := range pathsOut() {
			o := outing{resolve: loop, private: true, host: "target.example", port: port}
			if strings.HasPrefix(name, "git") {
				o.resolve = func(context.Context, string) ([]netip.Addr, error) {
					return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
				}
			}
			if said := path.try(t.Context(), t, o); strings.Contains(strings.ToUpper(said), "_PROXY=") || strings.HasPrefix(name, "git") != strings.HasPrefix(said, "git was run") {
				t.Errorf("%s: %s", name, said)
			}
		}
		return
	}
	port, reached := sink(t)
	proxy, hits := sink(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	child := exec.CommandContext(ctx, os.Args[0], "-test.run=^TestS7ProxiesOfTheEnvironmentAreNotUsed$")
	child.Env = append(os.Environ(), proxyChild+"="+port, "NO_PROXY=", "no_proxy=")
	for _, name := range []string{"HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "http_proxy", "https_proxy", "all_proxy"} {
		child.Env = append(child.Env, name+"=http://127.0.0.1:"+proxy)
	}
	if out, err := child.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	if hits.Load() != 0 || reached.Load() == 0 {
		t.Errorf("%d connections went to the proxy, %d where they should", hits.Load(), reached.Load())
	}
}

// dials says whether a source makes connections, or a client that does.
func dials(text string) bool {
	return slices.ContainsFunc([]string{
		"net.Dial", "tls.Dial", "http.Transport{", "http.Client{", "http.DefaultClient", "http.DefaultTransport", "http.Get(", "http.Post(", "http.PostForm(", "http.Head(",
		"ProxyFromEnvironment", "exec.CommandContext(ctx, c.program",
	}, func(word string) bool { return strings.Contains(text, word) })
}

// TestS7EveryWayOutIsListed: a file that dials is in the table above, or the operator
// alone says where to.
func TestS7EveryWayOutIsListed(t *testing.T) {
	t.Parallel()
	listed := operatorsOut()
	for name, path := range pathsOut() {
		listed[path.file] = name
	}
	for file := range listed {
		if _, err := os.Stat(filepath.Join("..", file)); err != nil {
			t.Errorf("%s is listed: %v", file, err)
		}
	}
	err := filepath.WalkDir("..", func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") || strings.Contains(path, "test/") {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		file, _ := filepath.Rel("..", path)
		if _, known := listed[filepath.ToSlash(file)]; !known && dials(string(text)) {
			t.Errorf("%s dials: use peer.Guard and add it to pathsOut, or say in operatorsOut why nobody else names the address", file)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
