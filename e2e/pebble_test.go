package e2e

import (
	"bytes"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"
)

// pebbleVersion is that of the ACME server that tests ask. It is not in go.mod, so that
// its modules are not ours; it is kept in .tools.
const pebbleVersion = "v2.10.1"

// pebblePrograms builds the CA and its name server once, and returns their folder.
var pebblePrograms = sync.OnceValues(func() (string, error) {
	dir, err := filepath.Abs("../.tools/pebble-" + pebbleVersion)
	if err != nil {
		return "", err
	}
	if _, err := os.Stat(dir); err == nil {
		return dir, nil
	}
	building := fmt.Sprintf("%s.%d", dir, os.Getpid())
	const module = "github.com/letsencrypt/pebble/v2/cmd/"
	cmd := exec.Command("go", "install", module+"pebble@"+pebbleVersion, module+"pebble-challtestsrv@"+pebbleVersion)
	cmd.Env = append(os.Environ(), "GOBIN="+building, "CGO_ENABLED=0")
	if out, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build pebble %s: %w\n%s", pebbleVersion, err, out)
	}
	if err := os.Rename(building, dir); err != nil && !os.IsExist(err) {
		return "", err
	}
	return dir, nil
})

// pebble is a CA of this test's own. Names lead to this machine unless lead says
// otherwise; challenges are asked for at the two ports.
type pebble struct {
	t                   *testing.T
	address, management string
	names, namesControl string
	httpPort, tlsPort   int
	validity            time.Duration
	dir                 string
	log                 *lockedBuffer
}

func newPebble(t *testing.T, httpPort, tlsPort int) *pebble {
	t.Helper()
	p := &pebble{
		t: t, address: freeAddress(t), management: freeAddress(t), names: freeAddress(t), namesControl: freeAddress(t),
		httpPort: httpPort, tlsPort: tlsPort, validity: 90 * 24 * time.Hour, dir: t.TempDir(), log: &lockedBuffer{},
	}
	writePair(t, p.file("cert.pem"), p.file("key.pem"), "127.0.0.1")
	p.run("pebble-challtestsrv", "-dnsserver", p.names, "-management", p.namesControl, "-http01", "", "-https01", "", "-tlsalpn01", "", "-doh", "", "-defaultIPv6", "")
	p.lead(ourName, "127.0.0.1") // and so it answers before anybody asks
	return p
}

func (p *pebble) file(name string) string { return filepath.Join(p.dir, name) }

// start starts the CA and waits until it answers.
func (p *pebble) start() {
	p.t.Helper()
	settings, err := json.Marshal(map[string]any{"pebble": map[string]any{
		"listenAddress": p.address, "managementListenAddress": p.management, "certificate": p.file("cert.pem"), "privateKey": p.file("key.pem"),
		"httpPort": p.httpPort, "tlsPort": p.tlsPort, "retryAfter": map[string]int{"authz": 1, "order": 1},
		"profiles": map[string]any{"default": map[string]any{"description": "for tests", "validityPeriod": int(p.validity.Seconds())}},
	}})
	if err != nil {
		p.t.Fatal(err)
	}
	if err := os.WriteFile(p.file("pebble.json"), settings, 0o600); err != nil {
		p.t.Fatal(err)
	}
	p.run("pebble", "-config", p.file("pebble.json"), "-dnsserver", p.names)
	eventually(p.t, "the CA answers", func() bool { return p.get("https://"+p.address+"/dir") != nil })
}

func (p *pebble) run(program string, args ...string) {
	p.t.Helper()
	dir, err := pebblePrograms()
	if err != nil {
		p.t.Fatal(err)
	}
	cmd := exec.Command(filepath.Join(dir, program), args...)
	cmd.Env = append(os.Environ(), "PEBBLE_VA_NOSLEEP=1", "PEBBLE_AUTHZREUSE=0")
	cmd.Stdout, cmd.Stderr = p.log, p.log
	if err := cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = cmd.Process.Kill()
		_ = cmd.Wait() // it was killed
		if p.t.Failed() && program == "pebble" {
			p.t.Logf("log of the CA (its end):\n%s", p.log.tail(4000))
		}
	})
}

// get asks the CA itself, whose own certificate is of no interest here; nil if it does
// not answer.
func (p *pebble) get(address string) []byte {
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true, TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}}
	req, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, address, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	res, err := client.Do(req)
	if err != nil {
		return nil
	}
	defer func() { _ = res.Body.Close() }()
	body, err := io.ReadAll(res.Body)
	if err != nil || res.StatusCode != http.StatusOK {
		return nil
	}
	return body
}

// lead has the name server say that a name is at an address.
func (p *pebble) lead(name, address string) {
	p.t.Helper()
	body := fmt.Sprintf(`{"host": %q, "addresses": [%q]}`, name+".", address)
	eventually(p.t, "the name server answers", func() bool {
		req, err := http.NewRequestWithContext(p.t.Context(), http.MethodPost, "http://"+p.namesControl+"/add-a", strings.NewReader(body))
		if err != nil {
			p.t.Fatal(err)
		}
		res, err := browser().Do(req)
		if err != nil {
			return false
		}
		return res.Body.Close() == nil && res.StatusCode == http.StatusOK
	})
}

// orders is how many the CA was asked for.
func (p *pebble) orders() int { return strings.Count(p.log.tail(1<<30), "Added order") }

// flags make a node ask this CA.
func (p *pebble) flags(domains ...string) []string {
	flags := []string{"--acme-directory", "https://" + p.address + "/dir", "--acme-ca-root", p.file("cert.pem"), "--acme-email", "ops@example.com"}
	for _, name := range domains {
		flags = append(flags, "--acme-domain", name)
	}
	return flags
}

// visitor is a client that trusts this CA alone and finds a name at a node.
func (p *pebble) visitor(n *node, name string) *http.Client {
	p.t.Helper()
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(p.get("https://" + p.management + "/roots/0")) {
		p.t.Fatal("the CA has no root")
	}
	return &http.Client{Timeout: patience, Transport: &http.Transport{
		DisableKeepAlives: true, TLSClientConfig: &tls.Config{RootCAs: roots, ServerName: name},
		DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return new(net.Dialer).DialContext(ctx, network, n.address())
		},
	}}
}

// address is where a node listens.
func (n *node) address() string { return strings.TrimPrefix(n.url, "http://") }

// visit asks a node for a page over HTTPS and returns the serial number of the
// certificate that it showed.
func visit(ctx context.Context, client *http.Client, name, path string) (serial, body string, err error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+name+path, nil)
	if err != nil {
		return "", "", err
	}
	res, err := client.Do(req)
	if err != nil {
		return "", "", err
	}
	defer func() { _ = res.Body.Close() }()
	text, err := io.ReadAll(res.Body)
	if err == nil && res.StatusCode != http.StatusOK {
		err = fmt.Errorf("status %d: %s", res.StatusCode, text)
	}
	return res.TLS.PeerCertificates[0].SerialNumber.String(), string(text), err
}

func portOf(t *testing.T, address string) int {
	t.Helper()
	at, err := net.ResolveTCPAddr("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	return at.Port
}

// writePair writes a self-signed certificate for a host, and its key.
func writePair(t *testing.T, certFile, keyFile, host string) {
	t.Helper()
	cert, key := newPair(t, host)
	for file, text := range map[string][]byte{certFile: cert, keyFile: key} {
		if err := os.WriteFile(file, text, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func newPair(t *testing.T, host string) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(time.Now().UnixNano()), Subject: pkix.Name{CommonName: host}, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, DNSNames: []string{host},
	}
	if ip := net.ParseIP(host); ip != nil {
		template.DNSNames, template.IPAddresses = nil, []net.IP{ip}
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	secret, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	var certText, keyText bytes.Buffer
	_ = pem.Encode(&certText, &pem.Block{Type: "CERTIFICATE", Bytes: der}) // a buffer takes everything
	_ = pem.Encode(&keyText, &pem.Block{Type: "PRIVATE KEY", Bytes: secret})
	return certText.Bytes(), keyText.Bytes()
}
