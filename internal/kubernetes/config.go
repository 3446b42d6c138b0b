package kubernetes

import (
	"cmp"
	"context"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/goccy/go-yaml"
)

// accountDir is where a pod finds its service account.
const accountDir = "/var/run/secrets/kubernetes.io/serviceaccount"

// Connect makes a client from a kubeconfig file or, without one, from the service account
// of the pod that this program runs in. An empty namespace means that of the pod or
// of the file, or else "default". Nothing is sent yet.
func Connect(kubeconfig, namespace string) (*Client, error) {
	if kubeconfig != "" {
		return fromFile(kubeconfig, namespace)
	}
	host, port := os.Getenv("KUBERNETES_SERVICE_HOST"), os.Getenv("KUBERNETES_SERVICE_PORT")
	if host == "" {
		return nil, errors.New("this program does not run in a cluster; name a kubeconfig file with --kubernetes-config")
	}
	port = cmp.Or(port, "443")
	return inCluster("https://"+net.JoinHostPort(host, port), accountDir, namespace)
}

// inCluster uses a service account. Its token is read again for each call, since the
// kubelet renews it.
func inCluster(server, dir, namespace string) (*Client, error) {
	ca, err := os.ReadFile(filepath.Join(dir, "ca.crt"))
	if err != nil {
		return nil, fmt.Errorf("read service account: %w; let the launcher's pod mount its token", err)
	}
	if namespace == "" {
		raw, err := os.ReadFile(filepath.Join(dir, "namespace"))
		if err != nil {
			return nil, fmt.Errorf("read service account: %w", err)
		}
		namespace = strings.TrimSpace(string(raw))
	}
	return newClient(server, namespace, ca, nil, tokenFile(filepath.Join(dir, "token")))
}

func tokenFile(path string) func() (string, error) {
	return func() (string, error) {
		raw, err := os.ReadFile(path)
		if err != nil {
			return "", fmt.Errorf("read service account token: %w", err)
		}
		return strings.TrimSpace(string(raw)), nil
	}
}

// kubeconfig is the part of such a file that is understood.
type kubeconfig struct {
	CurrentContext string `yaml:"current-context"`
	Contexts       []struct {
		Name    string `yaml:"name"`
		Context struct {
			Cluster   string `yaml:"cluster"`
			User      string `yaml:"user"`
			Namespace string `yaml:"namespace"`
		} `yaml:"context"`
	} `yaml:"contexts"`
	Clusters []struct {
		Name    string  `yaml:"name"`
		Cluster cluster `yaml:"cluster"`
	} `yaml:"clusters"`
	Users []struct {
		Name string `yaml:"name"`
		User user   `yaml:"user"`
	} `yaml:"users"`
}

type cluster struct {
	Server   string `yaml:"server"`
	CAFile   string `yaml:"certificate-authority"`
	CAData   string `yaml:"certificate-authority-data"`
	Insecure bool   `yaml:"insecure-skip-tls-verify"`
}

type user struct {
	Token     string `yaml:"token"`
	TokenFile string `yaml:"tokenFile"`
	CertFile  string `yaml:"client-certificate"`
	CertData  string `yaml:"client-certificate-data"`
	KeyFile   string `yaml:"client-key"`
	KeyData   string `yaml:"client-key-data"`
	Exec      any    `yaml:"exec"`
	Provider  any    `yaml:"auth-provider"`
}

func fromFile(path, namespace string) (*Client, error) {
	raw, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig: %w", err)
	}
	var file kubeconfig
	if err := yaml.Unmarshal(raw, &file); err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: it is not YAML of a kubeconfig", path) // the reason quotes the file
	}
	chosen, as, its, err := file.current()
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: %w", path, err)
	}
	namespace = cmp.Or(namespace, its)
	namespace = cmp.Or(namespace, "default")
	dir := filepath.Dir(path)
	ca, err := material(dir, chosen.CAFile, chosen.CAData)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: certificate-authority: %w", path, err)
	}
	certificate, err := as.certificate(dir)
	if err != nil {
		return nil, fmt.Errorf("read kubeconfig %s: client certificate: %w", path, err)
	}
	token := func() (string, error) { return as.Token, nil }
	if as.TokenFile != "" {
		token = tokenFile(beside(dir, as.TokenFile))
	}
	return newClient(chosen.Server, namespace, ca, certificate, token)
}

// current is the cluster, the user and the namespace of the current context.
func (f kubeconfig) current() (c cluster, u user, namespace string, err error) {
	var clusterName, userName string
	found := false
	for _, context := range f.Contexts {
		if context.Name == f.CurrentContext {
			found = true
			clusterName, userName, namespace = context.Context.Cluster, context.Context.User, context.Context.Namespace
		}
	}
	if !found {
		return c, u, "", errors.New("current-context names no context; choose one with kubectl config use-context")
	}
	for _, named := range f.Clusters {
		if named.Name == clusterName {
			c = named.Cluster
		}
	}
	for _, named := range f.Users {
		if named.Name == userName {
			u = named.User
		}
	}
	switch {
	case c.Server == "":
		err = errors.New("the cluster of the current context has no server")
	case c.Insecure:
		err = errors.New("insecure-skip-tls-verify is not supported; name the certificate-authority")
	case u.Exec != nil || u.Provider != nil:
		err = errors.New("exec and auth-provider are not supported; use a token or a client certificate, such as of a service account")
	}
	return c, u, namespace, err
}

func (u user) certificate(dir string) (*tls.Certificate, error) {
	cert, err := material(dir, u.CertFile, u.CertData)
	if err != nil || cert == nil {
		return nil, err
	}
	key, err := material(dir, u.KeyFile, u.KeyData)
	if err != nil {
		return nil, err
	}
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		return nil, err
	}
	return &pair, nil
}

// material is the content of a field that is a file or base64.
func material(dir, file, data string) ([]byte, error) {
	switch {
	case data != "":
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil {
			return nil, errors.New("it is not base64")
		}
		return raw, nil
	case file != "":
		return os.ReadFile(beside(dir, file))
	}
	return nil, nil
}

func beside(dir, file string) string {
	if filepath.IsAbs(file) {
		return file
	}
	return filepath.Join(dir, file)
}

// newClient makes a client that trusts the given authority alone, or without one those
// of the system.
func newClient(server, namespace string, ca []byte, certificate *tls.Certificate, token func() (string, error)) (*Client, error) {
	config := &tls.Config{MinVersion: tls.VersionTLS12}
	if ca != nil {
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(ca) {
			return nil, errors.New("the cluster's certificate authority is not PEM")
		}
	}
	if certificate != nil {
		config.Certificates = []tls.Certificate{*certificate}
	}
	base, _ := http.DefaultTransport.(*http.Transport)
	transport := base.Clone()
	transport.TLSClientConfig = config
	transport.MaxIdleConnsPerHost = 16
	return &Client{
		server: strings.TrimRight(server, "/"), namespace: namespace, token: token,
		http: &http.Client{
			Transport:     transport,
			CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		},
	}, nil
}

// needed is what the launcher does in its namespace; docs/kubernetes.md has the Role.
func needed() []access {
	var all []access
	add := func(kind resource, sub string, verbs ...string) {
		for _, verb := range verbs {
			all = append(all, access{Verb: verb, Group: kind.group, Resource: kind.name, Subresource: sub})
		}
	}
	add(jobsKind(), "", "create", "get", "list", "watch", "delete")
	add(podsKind(), "", "list", "watch")
	add(podsKind(), "log", "get")
	add(secretsKind(), "", "create", "get", "delete")
	return all
}

// Check says whether the cluster answers and lets us do what we need. It reports
// everything that is missing at once.
func (c *Client) Check(ctx context.Context) error {
	var missing []string
	for _, a := range needed() {
		a.Namespace = c.namespace
		review := accessReview{APIVersion: "authorization.k8s.io/v1", Kind: "SelfSubjectAccessReview"}
		review.Spec.ResourceAttributes = a
		kind := resource{"authorization.k8s.io", "v1", "selfsubjectaccessreviews"}
		err := c.call(ctx, request{verb: "create", kind: kind, cluster: true, in: review}, &review)
		if err != nil {
			return fmt.Errorf("ask the cluster at %s: %w", c.server, err)
		}
		if !review.Status.Allowed {
			missing = append(missing, request{verb: a.Verb, kind: resource{group: a.Group, name: a.Resource}, sub: a.Subresource}.String())
		}
	}
	if len(missing) > 0 {
		return fmt.Errorf("the cluster does not allow us, in namespace %s, to %s; add them to the Role of the launcher's service account", c.namespace, strings.Join(missing, ", "))
	}
	return nil
}

// CheckPolicy says whether a NetworkPolicy of the namespace bounds the egress of our
// pods. Without one, egress none would be only a word. Whether the cluster's network
// obeys policies cannot be asked.
func (c *Client) CheckPolicy(ctx context.Context) error {
	type policy struct {
		Spec struct {
			PodSelector struct {
				MatchLabels map[string]string `json:"matchLabels"`
			} `json:"podSelector"`
			PolicyTypes []string `json:"policyTypes"`
		} `json:"spec"`
	}
	var found list[policy]
	if err := c.call(ctx, request{verb: "list", kind: policiesKind()}, &found); err != nil {
		return err
	}
	ours := map[string]string{labelManaged: managedBy, labelEgress: "none"}
	for _, p := range found.Items {
		selects := true
		for name, value := range p.Spec.PodSelector.MatchLabels {
			selects = selects && ours[name] == value
		}
		for _, kind := range p.Spec.PolicyTypes {
			if selects && kind == "Egress" {
				return nil
			}
		}
	}
	return errors.New("egress none needs a NetworkPolicy that bounds the egress of pods labelled " + labelEgress + "=none; docs/kubernetes.md has one")
}
