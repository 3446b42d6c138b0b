package e2e

import (
	"bytes"
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

const ourName = "lineshaft.test"

// TestH12CertificateOnFreshStart gets a certificate by each kind of challenge, keeps its
// key sealed, and asks for none after a restart.
func TestH12CertificateOnFreshStart(t *testing.T) {
	t.Parallel()
	t.Run("http-01", func(t *testing.T) {
		t.Parallel()
		web := freeAddress(t)
		p := newPebble(t, portOf(t, web), portOf(t, freeAddress(t))) // nobody answers at the port for TLS
		freshStart(t, p, newACMENode(t, p, web, filepath.Join(t.TempDir(), "l.db"), ourName))
	})
	t.Run("tls-alpn-01", func(t *testing.T) {
		t.Parallel()
		p := newPebble(t, portOf(t, freeAddress(t)), 0)
		n := newACMENode(t, p, "127.0.0.1:0", filepath.Join(t.TempDir(), "l.db"), ourName)
		p.tlsPort = portOf(t, n.address())
		freshStart(t, p, n)
	})
}

// newACMENode is a node that answers challenges at an address, or with port 0 at its own alone.
func newACMENode(t *testing.T, p *pebble, web, database string, domains ...string) *node {
	t.Helper()
	return newNode(t, database, append(p.flags(domains...), "--no-worker", "--acme-http-port", strconv.Itoa(portOf(t, web)))...)
}

func freshStart(t *testing.T, p *pebble, n *node) {
	t.Helper()
	p.start()
	n.launch()
	client := p.visitor(n, ourName)
	serial := waitTrusted(t, client, ourName)
	asked := p.orders()
	_, metrics, err := visit(t.Context(), client, ourName, "/metrics")
	if err != nil || !strings.Contains(metrics, `lineshaft_certificate_expiry_timestamp_seconds{name="lineshaft.test"} 1.`) || !strings.Contains(metrics, `lineshaft_certificate_problem{name="lineshaft.test"} 0`) {
		t.Errorf("metrics do not say when the certificate ends: %v", err)
	}
	if said := doctor(t, n); !strings.Contains(said, "lineshaft.test ends 20") {
		t.Errorf("doctor beside the server: %s", said)
	}
	n.stop()
	wantSealed(t, n)
	n.launch()
	if again := waitTrusted(t, client, ourName); again != serial || p.orders() != asked {
		t.Errorf("after a restart: certificate %s, before %s; %d orders, before %d", again, serial, p.orders(), asked)
	}
}

// waitTrusted waits until a client that trusts the CA is ready to use the node.
func waitTrusted(t *testing.T, client *http.Client, name string) (serial string) {
	t.Helper()
	eventually(t, name+" has a certificate", func() bool {
		var body string
		var err error
		serial, body, err = visit(t.Context(), client, name, "/readyz")
		return err == nil && strings.Contains(body, `"ok"`)
	})
	return serial
}

// doctor runs the command with the settings of a node.
func doctor(t *testing.T, n *node) string {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	var flags []string
	if i := slices.Index(n.args, "--log-format"); i > 0 {
		flags = slices.Concat([]string{"doctor"}, n.args[1:i], n.args[i+2:])
	}
	cmd := exec.CommandContext(t.Context(), bin, flags...)
	cmd.Env = append([]string{"PATH=" + os.Getenv("PATH"), "HOME=" + os.Getenv("HOME"), "LINESHAFT_MASTER_KEY=" + masterKey}, n.extraEnv...)
	out, _ := cmd.CombinedOutput() // what it finds decides how it ends
	return string(out)
}

// wantSealed looks for a private key in the files of a node that has stopped.
func wantSealed(t *testing.T, n *node) {
	t.Helper()
	database := n.args[slices.Index(n.args, "--database")+1]
	files, err := filepath.Glob(filepath.Join(filepath.Dir(database), "*"))
	if err != nil || len(files) == 0 {
		t.Fatalf("files: %v, %v", files, err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		if bytes.Contains(text, []byte("PRIVATE KEY")) || file == database && !bytes.Contains(text, []byte("sealed/acme/")) {
			t.Errorf("%s has a private key in the clear, or nothing of the CA", file)
		}
	}
}

// TestH12RenewalFailsNoRequest renews a certificate with a short life under 50 requests
// a second, each with a handshake of its own. A third of that life is left to a CA that
// has to share this machine.
func TestH12RenewalFailsNoRequest(t *testing.T) {
	t.Parallel()
	web := freeAddress(t)
	p := newPebble(t, portOf(t, web), 0)
	p.validity = 2 * time.Minute
	n := newACMENode(t, p, web, filepath.Join(t.TempDir(), "l.db"), ourName)
	p.tlsPort = portOf(t, n.address())
	p.start()
	n.launch()
	client := p.visitor(n, ourName)
	first := waitTrusted(t, client, ourName)

	ctx, stop := context.WithTimeout(t.Context(), p.validity)
	defer stop()
	tick := time.NewTicker(20 * time.Millisecond)
	defer tick.Stop()
	var wg sync.WaitGroup
	var mu sync.Mutex
	serials, failed, began := map[string]int{}, 0, time.Now()
	renewed := func() bool { // the CA chooses when: two certificates in a row have served for a second each
		mu.Lock()
		defer mu.Unlock()
		long := 0
		for _, n := range serials {
			if n > 50 {
				long++
			}
		}
		return long > 1
	}
	for !renewed() && ctx.Err() == nil {
		<-tick.C
		wg.Go(func() {
			serial, _, err := visit(t.Context(), client, ourName, "/healthz")
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				failed++
				t.Errorf("a request failed: %v", err)
				return
			}
			serials[serial]++
		})
	}
	wg.Wait()
	t.Logf("%d requests in %s with %d certificates, %d failed", sum(serials), time.Since(began).Round(time.Second), len(serials), failed)
	if !renewed() || failed > 0 {
		t.Errorf("%d failed; requests by certificate, the first being %s: %v", failed, first, serials)
	}
}

func sum(counts map[string]int) (n int) {
	for _, c := range counts {
		n += c
	}
	return n
}

// TestH12CAIsDown starts without a CA, says so, and gets a certificate when it is back;
// for a name that leads elsewhere it gets none, and says that.
func TestH12CAIsDown(t *testing.T) {
	t.Parallel()
	web := freeAddress(t)
	p := newPebble(t, portOf(t, web), 0)
	p.lead("elsewhere.test", "127.0.0.9") // nobody answers there
	n := newACMENode(t, p, web, filepath.Join(t.TempDir(), "l.db"), ourName, "elsewhere.test")
	p.tlsPort = portOf(t, n.address())
	n.launch()
	anyone := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	ready := func(words ...string) func() bool {
		return func() bool {
			_, body, err := visit(t.Context(), anyone, n.address(), "/readyz")
			return err == nil && !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(body, word) })
		}
	}
	eventually(t, "readyz says that the CA is unreachable", ready(`"degraded"`, "lineshaft.test has no certificate yet: the CA cannot be reached"))
	if said := doctor(t, n); !strings.Contains(said, "the CA cannot be reached") || !strings.Contains(said, "--acme-directory") {
		t.Errorf("doctor: %s", said)
	}
	p.start()
	client := p.visitor(n, ourName)
	eventually(t, "there is a certificate", func() bool {
		_, _, err := visit(t.Context(), client, ourName, "/healthz")
		return err == nil
	})
	eventually(t, "readyz says what the CA refuses", ready(`"degraded"`, "elsewhere.test has no certificate yet: the CA gives no certificate"))
	if ready("lineshaft.test has")() {
		t.Error("readyz complains of a name that has a certificate")
	}
}

// TestH12NodesShareOneOrder lets two nodes wait for a CA; it comes to the first one, whoever
// asked, is asked once, and both serve what it gave.
func TestH12NodesShareOneOrder(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	web := freeAddress(t)
	p := newPebble(t, portOf(t, web), 0)
	a, b := newACMENode(t, p, web, database, ourName), newACMENode(t, p, freeAddress(t), database, ourName)
	p.tlsPort = portOf(t, a.address())
	for _, n := range []*node{a, b} {
		n.launch()
	}
	for _, n := range []*node{a, b} { // or the CA would knock at a door that is not there yet, and be asked again
		eventually(t, "a node listens", func() bool { return servedCertificate(t.Context(), n) != nil })
	}
	p.start()
	first := waitTrusted(t, p.visitor(a, ourName), ourName)
	if second := waitTrusted(t, p.visitor(b, ourName), ourName); second != first || p.orders() != 1 {
		t.Errorf("certificates %s and %s of %d orders; want one", first, second, p.orders())
	}
}
