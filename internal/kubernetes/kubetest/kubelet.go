package kubetest

import (
	"bytes"
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/pause"
)

// Kubelet runs the pods of a cluster as processes of this machine. It does nothing
// to keep a pod apart from the machine.
type Kubelet struct {
	admin *Admin
	// program replaces the file lineshaft of the image.
	program string
	logs    func(container, text string)
	dir     string

	mu   sync.Mutex
	pods map[string]*local
	wait sync.WaitGroup
}

// local is a pod that runs here.
type local struct {
	kill context.CancelFunc
	// cut makes the pod end without a word, as on a node that loses its power.
	cut context.CancelFunc
}

// StartKubelet runs pods until the test ends. The program is what `lineshaft` is in
// the image.
func StartKubelet(t *testing.T, admin *Admin, program string, logs func(container, text string)) *Kubelet {
	k := &Kubelet{admin: admin, program: program, logs: logs, dir: t.TempDir(), pods: map[string]*local{}}
	if logs == nil {
		k.logs = func(string, string) {}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	k.wait.Go(func() { k.run(ctx) })
	t.Cleanup(func() {
		cancel()
		k.wait.Wait()
	})
	return k
}

func (k *Kubelet) run(ctx context.Context) {
	for {
		if pods, err := k.admin.List(ctx, "pods"); err == nil {
			for _, pod := range pods {
				k.look(ctx, pod)
			}
		}
		if !pause.For(ctx, pollTime) {
			return
		}
	}
}

// look starts a new pod and ends one that is deleted.
func (k *Kubelet) look(ctx context.Context, pod Object) {
	k.mu.Lock()
	defer k.mu.Unlock()
	name := pod.Text("metadata.name")
	here := k.pods[name]
	switch {
	case here == nil && pod.Text("metadata.deletionTimestamp") == "" && !pod.ended():
		soft, kill := context.WithCancel(ctx)
		hard, cut := context.WithCancel(ctx)
		k.pods[name] = &local{kill: kill, cut: cut}
		k.wait.Go(func() {
			defer kill()
			defer cut()
			k.pod(ctx, soft, hard, pod)
		})
	case here != nil && pod.Text("metadata.deletionTimestamp") != "":
		here.kill()
	}
}

// Cut ends the processes of all pods at once without notifying the cluster.
func (k *Kubelet) Cut() {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, l := range k.pods {
		l.cut()
	}
}

// pod runs the containers of a pod one after the other.
func (k *Kubelet) pod(ctx, soft, hard context.Context, pod Object) {
	name := pod.Text("metadata.name")
	root := filepath.Join(k.dir, name)
	if err := k.prepare(soft, root, pod); err != nil {
		return // deleted before it could start
	}
	code := k.container(ctx, soft, hard, root, "install", []string{k.program, "execute", "--install", "--root", root})
	if code == 0 {
		_ = k.admin.SetStatus(ctx, "pods", name, phase("Running", containerStatus("running", 0))) // tried again with the next
		code = k.container(ctx, soft, hard, root, "agent", []string{filepath.Join(root, "tools", "lineshaft"), "execute", "--root", root})
	}
	if hard.Err() != nil {
		return
	}
	end := "Succeeded"
	if code != 0 {
		end = "Failed"
	}
	_ = k.admin.SetStatus(ctx, "pods", name, phase(end, containerStatus("terminated", code)))
	if soft.Err() != nil {
		_ = k.admin.Delete(ctx, "pods", name, "gracePeriodSeconds=0")
	}
}

func phase(phase string, status map[string]any) map[string]any {
	return map[string]any{"phase": phase, "containerStatuses": []any{status}}
}

func containerStatus(state string, code int) map[string]any {
	inner := map[string]any{}
	if state == "terminated" {
		inner = map[string]any{"exitCode": code, "reason": map[bool]string{true: "Completed", false: "Error"}[code == 0]}
	}
	return map[string]any{"name": "agent", "image": "x", "imageID": "x", "ready": false, "restartCount": 0, "state": map[string]any{state: inner}}
}

// prepare binds the pod and makes its volumes; it waits for the Secret as a kubelet does.
func (k *Kubelet) prepare(ctx context.Context, root string, pod Object) error {
	if err := k.admin.Bind(ctx, pod.Text("metadata.name"), "node-1"); err != nil {
		return err
	}
	for _, dir := range []string{"tools", "job", "data", "secret"} {
		if err := os.MkdirAll(filepath.Join(root, dir), 0o700); err != nil {
			return err
		}
	}
	volumes, _ := pod.At("spec.volumes").([]any)
	for _, v := range volumes {
		m, _ := v.(map[string]any)
		volume := Object(m)
		if name := volume.Text("secret.secretName"); name != "" {
			shown, _ := volume.At("secret.items").([]any)
			if err := k.mount(ctx, filepath.Join(root, "secret"), name, shown); err != nil {
				return err
			}
		}
	}
	return nil
}

// mount writes the values of a Secret; with items only these.
func (k *Kubelet) mount(ctx context.Context, dir, secret string, items []any) error {
	shown := func(name string) bool {
		return len(items) == 0 || slices.ContainsFunc(items, func(item any) bool {
			m, _ := item.(map[string]any)
			return m["key"] == name
		})
	}
	for {
		o, err := k.admin.Get(ctx, "secrets", secret)
		if err == nil {
			data, _ := o.At("data").(map[string]any)
			for name, value := range data {
				if !shown(name) {
					continue
				}
				raw, err := base64.StdEncoding.DecodeString(fmt.Sprint(value))
				if err != nil {
					return err
				}
				if err := os.WriteFile(filepath.Join(dir, name), raw, 0o400); err != nil {
					return err
				}
			}
			return nil
		}
		if !pause.For(ctx, pollTime) {
			return ctx.Err()
		}
	}
}

// container runs one command, in a group of its own, and returns its exit code.
func (k *Kubelet) container(ctx, soft, hard context.Context, root, name string, argv []string) int {
	cmd := exec.CommandContext(hard, argv[0], argv[1:]...)
	cmd.Dir = root
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Join(root, "data")}
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
	cmd.WaitDelay = 10 * time.Second
	if err := cmd.Start(); err != nil {
		k.logs(name, err.Error())
		return 127
	}
	stop := context.AfterFunc(soft, func() { _ = cmd.Process.Signal(syscall.SIGTERM) }) // it may have ended
	defer stop()
	err := cmd.Wait()
	k.logs(name, out.String())
	if exit, ok := errors.AsType[*exec.ExitError](err); ok {
		return max(exit.ExitCode(), 1)
	}
	if err != nil && ctx.Err() == nil {
		return 1
	}
	return 0
}
