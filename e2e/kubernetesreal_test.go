package e2e

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/lineshaft/lineshaft/internal/kubernetes/kubetest"
)

// TestX5KubernetesRealControlPlane plays the main scenes against the real API server and
// controllers, with the Role of deploy/kubernetes, and pods as local processes.
//
//nolint:paralleltest // one cluster, one scene after the other
func TestX5KubernetesRealControlPlane(t *testing.T) {
	bin := os.Getenv(kubetest.BinEnv)
	if bin == "" {
		t.Skip("etcd, kube-apiserver and kube-controller-manager are not here: build them with scripts/kubernetes-control-plane FOLDER and set " + kubetest.BinEnv + "=FOLDER")
	}
	program, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	real := kubetest.StartReal(t, bin, filepath.Join("..", "deploy", "kubernetes", "launcher.yaml"))
	c := &clustered{admin: real.Admin}
	c.flags = []string{"--isolation", "kubernetes", "--kubernetes-config", real.Kubeconfig, "--kubernetes-image", "lineshaft:test", "--memory-limit", "1GiB", "--cpu-limit", "0.5"}
	c.node = newNode(t, filepath.Join(t.TempDir(), "l.db"), append([]string{"--lease", "6s"}, c.flags...)...)
	c.start(t.Context())
	c.client = c.node.client()
	c.kubelet = kubetest.StartKubelet(t, real.Admin, program, nil)

	t.Run("manifests", func(t *testing.T) {
		for _, file := range []string{"launcher.yaml", "networkpolicy.yaml"} {
			if err := c.admin.DryRun(t.Context(), filepath.Join("..", "deploy", "kubernetes", file)); err != nil {
				t.Errorf("%s: %v", file, err)
			}
		}
	})
	t.Run("runs", func(t *testing.T) {
		runID := c.run(t, "", "```sh\necho \"I am $LINESHAFT_RUN_ID\"\n```")
		if run := waitEnd(t.Context(), t, c.client, runID); run.State != "SUCCEEDED" {
			t.Fatalf("the run is %s: %+v", run.State, run.StatusMessage)
		}
		waitOutput(t, c.client, runID, "I am "+runID)
		c.empty(t)
	})
	t.Run("cancel", func(t *testing.T) {
		runID := c.run(t, "", "```sh\necho up; sleep 600\n```")
		waitOutput(t, c.client, runID, "up")
		if err := c.client.Runs.Cancel(t.Context(), runID); err != nil {
			t.Fatal(err)
		}
		c.empty(t)
	})
	for name, lose := range map[string]func(ctx context.Context, pod kubetest.Object) error{
		"pod deleted": func(ctx context.Context, pod kubetest.Object) error {
			return c.admin.Delete(ctx, "pods", pod.Text("metadata.name"), "")
		},
		"job deleted": func(ctx context.Context, pod kubetest.Object) error {
			return c.admin.Delete(ctx, "jobs", "lineshaft-"+pod.Label("lineshaft.dev/execution"), "propagationPolicy=Background")
		},
		"evicted": func(ctx context.Context, pod kubetest.Object) error {
			c.kubelet.Cut()
			return c.admin.SetStatus(ctx, "pods", pod.Text("metadata.name"), map[string]any{"phase": "Failed", "reason": "Evicted", "message": "low on memory"})
		},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
			defer cancel()
			runID := c.run(t, "", "```sh\necho up; sleep 600\n```")
			waitOutput(t, c.client, runID, "up")
			pod, err := c.admin.Await(ctx, "pods", func(o kubetest.Object) bool { return o.Label("lineshaft.dev/run") == runID })
			if err != nil {
				t.Fatal(err)
			}
			if err := lose(ctx, pod); err != nil {
				t.Fatal(err)
			}
			run := waitEnd(ctx, t, c.client, runID)
			if run.State != "ERROR" || run.StatusMessage == nil || run.StatusMessage.Retryable == nil || !*run.StatusMessage.Retryable {
				t.Fatalf("the run is %s: %+v", run.State, run.StatusMessage)
			}
			c.empty(t)
		})
	}
}
