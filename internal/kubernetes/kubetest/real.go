package kubetest

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/lineshaft/lineshaft/internal/pause"
)

// BinEnv names the folder with the programs etcd, kube-apiserver and
// kube-controller-manager.
const BinEnv = "LINESHAFT_TEST_KUBERNETES"

// Real is a control plane of the real programs, without nodes.
type Real struct {
	// Admin may do everything.
	Admin *Admin
	// Kubeconfig is of a user who may do what the launcher's Role says.
	Kubeconfig string
	// AdminKubeconfig is of Admin, for other programs.
	AdminKubeconfig string
}

// StartReal starts a real control plane, which ends with the test. The objects of the
// manifest, such as the Role of the launcher, are made in Namespace.
func StartReal(t *testing.T, bin, manifest string) *Real {
	t.Helper()
	dir := t.TempDir()
	etcd, peer, port := freePort(t.Context()), freePort(t.Context()), freePort(t.Context())
	server := "https://127.0.0.1:" + port
	writeKey(t, filepath.Join(dir, "sa.key"))
	write(t, filepath.Join(dir, "tokens.csv"), "admin-token,admin,1,system:masters\nlauncher-token,launcher,2\n")
	run(t, dir, filepath.Join(bin, "etcd"), "--data-dir", filepath.Join(dir, "etcd"), "--listen-client-urls", "http://127.0.0.1:"+etcd,
		"--advertise-client-urls", "http://127.0.0.1:"+etcd, "--listen-peer-urls", "http://127.0.0.1:"+peer, "--unsafe-no-fsync")
	run(t, dir, filepath.Join(bin, "kube-apiserver"), "--etcd-servers", "http://127.0.0.1:"+etcd, "--secure-port", port, "--bind-address", "127.0.0.1",
		"--cert-dir", filepath.Join(dir, "certs"), "--token-auth-file", filepath.Join(dir, "tokens.csv"), "--authorization-mode", "RBAC",
		"--service-account-issuer", "https://kubernetes.default.svc", "--service-account-key-file", filepath.Join(dir, "sa.key"),
		"--service-account-signing-key-file", filepath.Join(dir, "sa.key"), "--service-cluster-ip-range", "10.0.0.0/24",
		"--allow-privileged") // as in usual clusters, whose namespaces decide
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Minute)
	defer cancel()
	r := &Real{Admin: realAdmin(ctx, t, server, filepath.Join(dir, "certs", "apiserver.crt"))}
	ca := "certificate-authority: " + filepath.Join(dir, "certs", "apiserver.crt")
	r.Kubeconfig, r.AdminKubeconfig = kubeconfig(t, server, ca, "launcher-token"), kubeconfig(t, server, ca, "admin-token")
	r.setUp(ctx, t, manifest)
	run(t, dir, filepath.Join(bin, "kube-controller-manager"), "--kubeconfig", r.AdminKubeconfig, "--leader-elect=false",
		"--controllers", "job-controller,garbage-collector-controller,ttl-after-finished-controller,serviceaccount-controller",
		"--secure-port", "0")
	for {
		if err := r.Admin.Call(ctx, http.MethodGet, "/api/v1/namespaces/"+Namespace+"/serviceaccounts/default", nil, nil); err == nil {
			return r
		}
		if !pause.For(ctx, pollTime) {
			t.Fatal("the controllers do not work")
		}
	}
}

// realAdmin waits until the API server is ready.
func realAdmin(ctx context.Context, t *testing.T, server, ca string) *Admin {
	t.Helper()
	for {
		if raw, err := os.ReadFile(ca); err == nil {
			pool := x509.NewCertPool()
			pool.AppendCertsFromPEM(raw)
			transport := &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, MinVersion: tls.VersionTLS12}}
			a := &Admin{Server: server, Token: "admin-token", HTTP: &http.Client{Transport: transport}}
			if a.Call(ctx, http.MethodGet, "/api/v1/namespaces/default", nil, nil) == nil {
				t.Cleanup(transport.CloseIdleConnections)
				return a
			}
			transport.CloseIdleConnections()
		}
		if !pause.For(ctx, 10*pollTime) {
			t.Fatal("the API server did not become ready")
		}
	}
}

// setUp makes the namespace and lets the launcher do what its Role says.
func (r *Real) setUp(ctx context.Context, t *testing.T, manifest string) {
	t.Helper()
	create := func(path string, object any) {
		t.Helper()
		if err := r.Admin.Call(ctx, http.MethodPost, path, object, nil); err != nil {
			t.Fatal(err)
		}
	}
	create("/api/v1/namespaces", Object{"metadata": map[string]any{"name": Namespace}})
	objects, err := readManifest(manifest)
	if err != nil {
		t.Fatal(err)
	}
	rbac := "/apis/rbac.authorization.k8s.io/v1/namespaces/" + Namespace
	for _, o := range objects {
		if o["kind"] == "Role" {
			o.set("metadata", map[string]any{"name": "lineshaft-launcher"})
			create(rbac+"/roles", o)
		}
	}
	create(rbac+"/rolebindings", Object{
		"metadata": map[string]any{"name": "lineshaft-launcher"},
		"roleRef":  map[string]any{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "lineshaft-launcher"},
		"subjects": []any{map[string]any{"kind": "User", "name": "launcher", "apiGroup": "rbac.authorization.k8s.io"}},
	})
	create("/api/v1/nodes", Object{"metadata": map[string]any{"name": "node-1"}})
}

func readManifest(file string) ([]Object, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var objects []Object
	for part := range strings.SplitSeq(string(text), "\n---\n") {
		var o Object
		if err := yaml.Unmarshal([]byte(part), &o); err != nil {
			return nil, err
		}
		if o != nil {
			objects = append(objects, o)
		}
	}
	return objects, nil
}

// DryRun lets the API server check the objects of a manifest, unknown fields included.
func (a *Admin) DryRun(ctx context.Context, manifest string) error {
	objects, err := readManifest(manifest)
	if err != nil {
		return err
	}
	for _, o := range objects {
		group := "/apis/" + o.Text("apiVersion")
		if o.Text("apiVersion") == "v1" {
			group = "/api/v1"
		}
		kind := strings.ToLower(o.Text("kind")) + "s"
		switch o.Text("kind") {
		case "NetworkPolicy":
			kind = "networkpolicies"
		case "Ingress":
			kind = "ingresses"
		}
		o.set("metadata.namespace", Namespace)
		o.set("metadata.name", "dry-run")
		if err := a.Call(ctx, http.MethodPost, group+"/namespaces/"+Namespace+"/"+kind+"?dryRun=All&fieldValidation=Strict", o, nil); err != nil {
			return err
		}
	}
	return nil
}

func kubeconfig(t *testing.T, server, cluster, token string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	write(t, path, fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: c, user: u, namespace: %s}}]
clusters: [{name: c, cluster: {server: %q, %s}}]
users: [{name: u, user: {token: %q}}]
`, Namespace, server, cluster, token))
	return path
}

func write(t *testing.T, path, text string) {
	t.Helper()
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func writeKey(t *testing.T, path string) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	write(t, path, string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})))
}

// freePort is below the ports that the system gives to anyone: these programs take seconds to listen.
func freePort(ctx context.Context) string {
	for {
		port := strconv.Itoa(2_000 + mathrand.IntN(10_000))
		if l, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:"+port); err == nil {
			_ = l.Close()
			return port
		}
	}
}

// run starts a program that ends with the test; its log is shown when the test fails.
func run(t *testing.T, dir, program string, args ...string) {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, filepath.Base(program)+".log"))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, args...)
	cmd.Dir, cmd.Stdout, cmd.Stderr = dir, log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = cmd.Process.Kill() // it may have ended already
		_ = cmd.Wait()
		_ = log.Close()
		if text, err := os.ReadFile(log.Name()); err == nil && t.Failed() {
			t.Logf("log of %s:\n%s", program, text[max(0, len(text)-3000):])
		}
	})
}
