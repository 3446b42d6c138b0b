package e2e

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/kubernetes/kubetest"
)

// clustered is a server, a cluster and a kubelet that really runs the pods' commands.
type clustered struct {
	*node
	cluster *kubetest.Cluster
	admin   *kubetest.Admin
	kubelet *kubetest.Kubelet
	client  *client.Client
	flags   []string
	bin     string
}

// newClustered starts a server; own says that it places its runs itself.
func newClustered(t *testing.T, own bool, more ...string) *clustered {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	c := &clustered{cluster: kubetest.New(t)}
	c.admin = c.cluster.Admin()
	c.flags = []string{"--isolation", "kubernetes", "--kubernetes-config", c.admin.Kubeconfig(t), "--kubernetes-image", "lineshaft:test", "--max-concurrent-runs", "4"}
	flags := []string{"--no-worker"}
	if own {
		flags = c.flags
	}
	c.node = newNode(t, filepath.Join(t.TempDir(), "l.db"), slices.Concat(flags, more)...)
	c.start(t.Context())
	c.client = c.node.client()
	c.bin = bin
	return c
}

// nodes lets the cluster run pods.
func (c *clustered) nodes(t *testing.T) {
	t.Helper()
	c.kubelet = kubetest.StartKubelet(t, c.admin, c.bin, c.cluster.SetLogs)
}

func (c *clustered) run(t *testing.T, host, prompt string) string {
	t.Helper()
	req := client.RunRequest{Prompt: prompt}
	if host != "" {
		req.Config = &client.AgentConfig{WorkerHost: host}
	}
	started, err := c.client.Runs.Create(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return started.RunID
}

// empty waits until nothing is left in the cluster.
func (c *clustered) empty(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	for _, kind := range []string{"jobs", "pods", "secrets"} {
		if err := c.admin.AwaitNone(ctx, kind); err != nil {
			t.Fatal(err)
		}
	}
}

// TestX5KubernetesRunsInAPod executes a run in a pod of its own, with its secrets, and
// leaves nothing behind.
func TestX5KubernetesRunsInAPod(t *testing.T) {
	t.Parallel()
	c := newClustered(t, true)
	c.nodes(t)
	runID := c.run(t, "", "```sh\necho \"I am $LINESHAFT_RUN_ID in $PWD\"; mkdir -p artifacts; ls -a ../../job ../../secret 2>&1\nenv | cut -d= -f1 | sort | tr '\\n' ' '\n```")
	run := waitEnd(t.Context(), t, c.client, runID)
	if run.State != "SUCCEEDED" {
		t.Fatalf("the run is %s: %+v", run.State, run.StatusMessage)
	}
	waitOutput(t, c.client, runID, "I am "+runID)
	c.empty(t)
	if c.made() != 1 {
		t.Fatal("there was not one Job")
	}
}

// TestR6KubernetesFollowups: one while the pod works is done in it; one afterwards gets
// a new pod with the workspace of the first.
func TestR6KubernetesFollowups(t *testing.T) {
	t.Parallel()
	c := newClustered(t, true)
	c.nodes(t)
	gate := filepath.Join(t.TempDir(), "gate")
	runID := c.run(t, "", "```sh\necho up; echo one > kept.txt; while [ ! -e "+gate+" ]; do sleep 0.1; done\n```")
	waitOutput(t, c.client, runID, "up")
	follow := func(message string) {
		t.Helper()
		if _, err := c.client.Runs.Followup(t.Context(), runID, client.FollowupRequest{Message: "```sh\n" + message + "\n```"}); err != nil {
			t.Fatal(err)
		}
	}
	follow("echo live $(cat kept.txt); echo two > kept.txt")
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	waitOutput(t, c.client, runID, "live one")
	if run := waitEnd(t.Context(), t, c.client, runID); run.State != "SUCCEEDED" || c.made() != 1 {
		t.Fatalf("the run is %s after %d Jobs: %+v", run.State, c.made(), run.StatusMessage)
	}
	follow("echo later $(cat kept.txt)")
	waitOutput(t, c.client, runID, "later two")
	c.empty(t)
	if c.made() != 2 {
		t.Errorf("%d Jobs were made", c.made())
	}
}

// TestX5KubernetesCancel ends the pod of a cancelled run.
func TestX5KubernetesCancel(t *testing.T) {
	t.Parallel()
	c := newClustered(t, true)
	c.nodes(t)
	runID := c.run(t, "", "```sh\necho up; sleep 600\n```")
	waitOutput(t, c.client, runID, "up")
	if err := c.client.Runs.Cancel(t.Context(), runID); err != nil {
		t.Fatal(err)
	}
	c.empty(t)
	within(t, 10*time.Second, "the sandbox is gone", func() bool {
		run, err := c.client.Runs.Get(t.Context(), runID)
		return err == nil && run.State == "CANCELLED" && !run.IsSandboxRunning
	})
}

// TestX1KubernetesPodLost: a deleted pod hands its run back in its grace; one on a node
// that loses its power is lost with its lease.
func TestX1KubernetesPodLost(t *testing.T) {
	t.Parallel()
	for name, lose := range map[string]func(*testing.T, *clustered){
		"pod deleted": func(t *testing.T, c *clustered) {
			pods, err := c.admin.List(t.Context(), "pods")
			if err != nil || len(pods) != 1 {
				t.Fatalf("%v, %v", pods, err)
			}
			if err := c.admin.Delete(t.Context(), "pods", pods[0].Text("metadata.name"), ""); err != nil {
				t.Fatal(err)
			}
		},
		"job deleted": func(t *testing.T, c *clustered) {
			jobs, err := c.admin.List(t.Context(), "jobs")
			if err != nil || len(jobs) != 1 {
				t.Fatalf("%v, %v", jobs, err)
			}
			if err := c.admin.Delete(t.Context(), "jobs", jobs[0].Text("metadata.name"), "propagationPolicy=Foreground"); err != nil {
				t.Fatal(err)
			}
		},
		"power lost": func(_ *testing.T, c *clustered) { c.kubelet.Cut() },
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := newClustered(t, true, "--lease", "10s")
			c.nodes(t)
			runID := c.run(t, "", "```sh\necho up; sleep 600\n```")
			waitOutput(t, c.client, runID, "up")
			lose(t, c)
			run := waitEnd(t.Context(), t, c.client, runID)
			if run.State != "ERROR" || run.StatusMessage == nil || run.StatusMessage.Retryable == nil || !*run.StatusMessage.Retryable {
				t.Fatalf("the run is %s: %+v", run.State, run.StatusMessage)
			}
		})
	}
}

// TestX3KubernetesLauncherRestart: a self-hosted launcher is killed and started again;
// the pod keeps running, the run ends as if nothing had happened, and there was one Job.
func TestX3KubernetesLauncherRestart(t *testing.T) {
	t.Parallel()
	c := newClustered(t, false)
	c.nodes(t)
	first := c.launcher(t)
	gate := filepath.Join(t.TempDir(), "gate")
	runID := c.run(t, "farm", "```sh\necho up; while [ ! -e "+gate+" ]; do sleep 0.1; done; echo done\n```")
	waitOutput(t, c.client, runID, "up")
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	c.launcher(t)
	if err := os.WriteFile(gate, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	run := waitEnd(t.Context(), t, c.client, runID)
	if run.State != "SUCCEEDED" {
		t.Fatalf("the run is %s: %+v", run.State, run.StatusMessage)
	}
	c.empty(t)
	if n := c.made(); n != 1 {
		t.Fatalf("%d Jobs were made", n)
	}
}

// TestX3KubernetesLauncherRestartBeforePod: the same while the pod waits for a node.
func TestX3KubernetesLauncherRestartBeforePod(t *testing.T) {
	t.Parallel()
	c := newClustered(t, false)
	first := c.launcher(t)
	runID := c.run(t, "farm", "```sh\necho done\n```")
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	if _, err := c.admin.Await(ctx, "secrets", func(kubetest.Object) bool { return true }); err != nil {
		t.Fatal(err)
	}
	if err := first.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = first.Wait() // it was killed
	c.launcher(t)
	second := c.run(t, "farm", "```sh\necho second\n```") // claimed after the first was taken on
	eventually(t, "the second run is placed", func() bool {
		jobs, err := c.admin.List(ctx, "jobs")
		return err == nil && len(jobs) == 2
	})
	c.nodes(t)
	for _, id := range []string{runID, second} {
		if run := waitEnd(t.Context(), t, c.client, id); run.State != "SUCCEEDED" {
			t.Fatalf("the run is %s: %+v", run.State, run.StatusMessage)
		}
	}
	c.empty(t)
	if n := c.made(); n != 2 {
		t.Fatalf("%d Jobs were made", n)
	}
}

// made counts the Jobs that were asked for.
func (c *clustered) made() (n int) {
	for _, asked := range c.cluster.Asked() {
		if asked == "POST /apis/batch/v1/namespaces/agents/jobs" {
			n++
		}
	}
	return n
}

// launcher starts `lineshaft worker` with isolation kubernetes.
func (c *clustered) launcher(t *testing.T) *exec.Cmd {
	t.Helper()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	log := &lockedBuffer{}
	cmd := exec.Command(bin, append([]string{"worker", "--id", "farm", "--server", c.url, "--data-dir", t.TempDir(), "--log-format", "json"}, c.flags...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + t.TempDir(), "LINESHAFT_API_KEY=" + adminKey}
	cmd.Stdout, cmd.Stderr = log, log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := cmd.Process.Kill(); !errors.Is(err, os.ErrProcessDone) {
			_ = cmd.Wait()
		}
		if t.Failed() {
			t.Logf("log of the launcher:\n%s", log.tail(6000))
		}
	})
	return cmd
}
