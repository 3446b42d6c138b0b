package kubetest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/pause"
)

// Namespace is where everything happens.
const Namespace = "agents"

// Admin changes a cluster as people and its own parts do.
type Admin struct {
	Server string
	Token  string
	HTTP   *http.Client
}

// Admin is one of the scripted cluster.
func (c *Cluster) Admin() *Admin { return &Admin{Server: c.URL, Token: Token, HTTP: &http.Client{}} }

// Kubeconfig writes a file that leads to the cluster.
func (a *Admin) Kubeconfig(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "kubeconfig")
	text := fmt.Sprintf(`apiVersion: v1
kind: Config
current-context: test
contexts: [{name: test, context: {cluster: c, user: u, namespace: %s}}]
clusters: [{name: c, cluster: {server: %q}}]
users: [{name: u, user: {token: %q}}]
`, Namespace, a.Server, a.Token)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

func base(kind string) string {
	if kind == "jobs" {
		return "/apis/batch/v1/namespaces/" + Namespace + "/jobs"
	}
	return "/api/v1/namespaces/" + Namespace + "/" + kind
}

// ErrNotFound is what calls about missing objects return.
var ErrNotFound = errors.New("not found")

// Call makes one request; in and out may be nil.
func (a *Admin) Call(ctx context.Context, method, path string, in, out any) error {
	var body io.Reader
	if in != nil {
		raw, err := json.Marshal(in)
		if err != nil {
			return err
		}
		body = bytes.NewReader(raw)
	}
	req, err := http.NewRequestWithContext(ctx, method, a.Server+path, body)
	if err != nil {
		return err
	}
	req.Header.Set("Authorization", "Bearer "+a.Token)
	req.Header.Set("Content-Type", "application/json")
	if method == http.MethodPatch {
		req.Header.Set("Content-Type", "application/merge-patch+json")
	}
	resp, err := a.HTTP.Do(req)
	if err != nil {
		return err
	}
	defer func() { _ = resp.Body.Close() }()
	raw, err := io.ReadAll(resp.Body)
	switch {
	case err != nil:
		return err
	case resp.StatusCode == http.StatusNotFound:
		return fmt.Errorf("%s %s: %w", method, path, ErrNotFound)
	case resp.StatusCode >= 300:
		return fmt.Errorf("%s %s: %d: %s", method, path, resp.StatusCode, raw)
	case out == nil:
		return nil
	}
	return json.Unmarshal(raw, out)
}

// List reads all objects of a kind.
func (a *Admin) List(ctx context.Context, kind string) ([]Object, error) {
	var out struct {
		Items []Object `json:"items"`
	}
	err := a.Call(ctx, http.MethodGet, base(kind), nil, &out)
	return out.Items, err
}

// Get reads one object.
func (a *Admin) Get(ctx context.Context, kind, name string) (Object, error) {
	var out Object
	err := a.Call(ctx, http.MethodGet, base(kind)+"/"+name, nil, &out)
	return out, err
}

// Delete deletes one object; query may have options.
func (a *Admin) Delete(ctx context.Context, kind, name, query string) error {
	return a.Call(ctx, http.MethodDelete, base(kind)+"/"+name+"?"+query, nil, nil)
}

// SetStatus changes the status of an object, as its controller does.
func (a *Admin) SetStatus(ctx context.Context, kind, name string, status map[string]any) error {
	return a.Call(ctx, http.MethodPatch, base(kind)+"/"+name+"/status", map[string]any{"status": status}, nil)
}

// Bind puts a pod on a node.
func (a *Admin) Bind(ctx context.Context, pod, node string) error {
	return a.Call(ctx, http.MethodPost, base("pods")+"/"+pod+"/binding", map[string]any{
		"apiVersion": "v1", "kind": "Binding", "metadata": map[string]any{"name": pod}, "target": map[string]any{"apiVersion": "v1", "kind": "Node", "name": node},
	}, nil)
}

// Await returns the first object of a kind that the condition likes.
func (a *Admin) Await(ctx context.Context, kind string, likes func(Object) bool) (Object, error) {
	for {
		list, err := a.List(ctx, kind)
		if err != nil && ctx.Err() != nil {
			return nil, err
		}
		for _, o := range list {
			if likes(o) {
				return o, nil
			}
		}
		if !pause.For(ctx, pollTime) {
			return nil, fmt.Errorf("no %s of the wanted kind came: %w", kind, ctx.Err())
		}
	}
}

// AwaitNone returns when there is nothing of a kind.
func (a *Admin) AwaitNone(ctx context.Context, kind string) error {
	for {
		list, err := a.List(ctx, kind)
		if err == nil && len(list) == 0 {
			return nil
		}
		if !pause.For(ctx, pollTime) {
			return fmt.Errorf("%d %s are left: %w", len(list), kind, errors.Join(err, ctx.Err()))
		}
	}
}

const pollTime = 30 * time.Millisecond
