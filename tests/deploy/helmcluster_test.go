package deploy_test

import (
	"bytes"
	"context"
	"errors"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/goccy/go-yaml"

	"github.com/lineshaft/lineshaft/internal/kubernetes/kubetest"
	"github.com/lineshaft/lineshaft/internal/pause"
)

// helmVersion is the one that scripts/install-deps --all builds.
const helmVersion = "v3.16.4"

// kubeVersion is what a Helm without a cluster renders for; its own guess is older than it.
const kubeVersion = "--kube-version=1.34.2"

// helmProgram finds Helm: our own, or one that is installed.
func helmProgram(t *testing.T) string {
	t.Helper()
	ours, err := filepath.Abs(filepath.Join(root, ".tools", "helm-"+helmVersion))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(ours); err == nil {
		return ours
	}
	return program(t, "helm")
}

// helm runs Helm with folders of its own. Its warnings are mistakes, too.
func helm(t *testing.T, kubeconfig string, args ...string) string {
	t.Helper()
	home := t.TempDir()
	cmd := exec.CommandContext(t.Context(), helmProgram(t), args...)
	cmd.Env = []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "KUBECONFIG=" + kubeconfig}
	var out, log bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &log
	if err := cmd.Run(); err != nil || log.Len() > 0 || strings.Contains(out.String(), "[WARNING]") {
		t.Errorf("helm %s: %v\n%s%s", strings.Join(args, " "), err, out.String(), log.String())
	}
	return out.String()
}

// valuesFile has values for the chart.
func valuesFile(t *testing.T, values map[string]any) string {
	t.Helper()
	text, err := yaml.Marshal(values)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), "values.yaml")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

// TestI6HelmLint lets Helm itself check the chart, and compares what it renders with what our
// own rendering gives the other tests.
func TestI6HelmLint(t *testing.T) {
	t.Parallel()
	where, values := filepath.Join(root, chart), valuesFile(t, everything())
	helm(t, "", "lint", "--strict", kubeVersion, where, "--set", "baseURL=https://l.example.com")
	helm(t, "", "lint", "--strict", kubeVersion, where, "--values", values)
	helm(t, "", "lint", "--strict", kubeVersion, where, "--values", valuesFile(t, nodeWorkers()))
	ours, err := render(t, everything())
	if err != nil {
		t.Fatal(err)
	}
	kinds := func(text string) map[string]int {
		found := map[string]int{}
		for _, o := range objects(t, text) {
			found[o.Kind+" "+o.Metadata.Name]++
		}
		return found
	}
	theirs := kinds(helm(t, "", "template", "works", kubeVersion, where, "--namespace", "lineshaft", "--values", values))
	for name, n := range kinds(ours) {
		if theirs[name] != n {
			t.Errorf("Helm renders %d of %s, and %v", theirs[name], name, theirs)
		}
	}
}

// TestI6HelmInstall installs, changes and removes the chart in a real control plane, whose
// schemas refuse unknown fields, and whose namespace takes restricted pods only.
func TestI6HelmInstall(t *testing.T) {
	t.Parallel()
	bin := os.Getenv(kubetest.BinEnv)
	if bin == "" {
		t.Skip("there is no control plane: make test-all builds one; or run scripts/kubernetes-control-plane FOLDER and set " + kubetest.BinEnv + "=FOLDER")
	}
	helmProgram(t)
	ctx, cancel := context.WithTimeout(t.Context(), 15*time.Minute)
	defer cancel()
	real := kubetest.StartReal(t, bin, filepath.Join(root, "deploy/kubernetes/launcher.yaml"))
	knowServiceMonitors(ctx, t, real.Admin, bin)
	namespace := "/api/v1/namespaces/" + kubetest.Namespace
	labels := map[string]any{"pod-security.kubernetes.io/enforce": "restricted", "pod-security.kubernetes.io/warn": "restricted"}
	if err := real.Admin.Call(ctx, http.MethodPatch, namespace, map[string]any{"metadata": map[string]any{"labels": labels}}, nil); err != nil {
		t.Fatal(err)
	}
	where, values := filepath.Join(root, chart), valuesFile(t, everything())
	for name, flags := range map[string][]string{
		"usual": {"--set", "baseURL=https://l.example.com"}, "everything": {"--values", values},
		"nodes": {"--values", valuesFile(t, nodeWorkers())},
	} {
		file := filepath.Join(t.TempDir(), name+".yaml")
		text := helm(t, "", append([]string{"template", "works", kubeVersion, where, "--namespace", kubetest.Namespace}, flags...)...)
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := real.Admin.DryRun(ctx, file); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	deployment := func(name string) error {
		return real.Admin.Call(ctx, http.MethodGet, "/apis/apps/v1/namespaces/"+kubetest.Namespace+"/deployments/"+name, nil, nil)
	}
	inside := []string{"works", where, "--namespace", kubetest.Namespace}
	helm(t, real.AdminKubeconfig, append([]string{"install", "--set", "baseURL=https://l.example.com"}, inside...)...)
	if err := deployment("works"); err != nil || !errors.Is(deployment("works-launcher"), kubetest.ErrNotFound) {
		t.Errorf("after install: %v, launcher: %v", err, deployment("works-launcher"))
	}
	helm(t, real.AdminKubeconfig, append([]string{"upgrade", "--values", values}, inside...)...)
	if err := errors.Join(deployment("works"), deployment("works-launcher")); err != nil {
		t.Errorf("after upgrade: %v", err)
	}
	helm(t, real.AdminKubeconfig, "uninstall", "works", "--namespace", kubetest.Namespace, "--wait")
	if err := deployment("works"); !errors.Is(err, kubetest.ErrNotFound) {
		t.Errorf("after uninstall: %v", err)
	}
}

// knowServiceMonitors gives the API server the kind of the Prometheus operator.
func knowServiceMonitors(ctx context.Context, t *testing.T, admin *kubetest.Admin, bin string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(bin, "servicemonitors.yaml"))
	if err != nil {
		t.Fatalf("%v: run scripts/kubernetes-control-plane again", err)
	}
	var definition map[string]any
	if err := yaml.Unmarshal(text, &definition); err != nil {
		t.Fatal(err)
	}
	if err := admin.Call(ctx, http.MethodPost, "/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition, nil); err != nil {
		t.Fatal(err)
	}
	for admin.Call(ctx, http.MethodGet, "/apis/monitoring.coreos.com/v1/servicemonitors", nil, nil) != nil {
		if !pause.For(ctx, 100*time.Millisecond) {
			t.Fatal("the API server does not serve ServiceMonitors")
		}
	}
}
