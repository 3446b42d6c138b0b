//go:build linux

package sandbox_test

import (
	"bufio"
	"context"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// Volumes that an image declares would be writable places without a limit, which stay.
func TestX5ContainerHasNoVolumesOfItsImage(t *testing.T) {
	t.Parallel()
	image := "localhost/lineshaft-sandbox-volume:1"
	s := container(t, nil)
	tool := installed().tool()
	made := exec.CommandContext(t.Context(), "/bin/sh", "-c", "tar -C "+installed().dir+"/image -c . | "+tool+" import --change VOLUME=/data - "+image)
	if out, err := made.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	spec := contained(t, "ls -d /data; (echo x > /data/x) 2>&1 && echo wrote; true")
	spec.Image = image
	if exit, out := run(t, s, spec); exit.Code != 0 || !strings.HasPrefix(out, "/data\n") || strings.Contains(out, "wrote") {
		t.Errorf("got %+v, %q", exit, out)
	}
	if left, err := exec.CommandContext(t.Context(), tool, "volume", "ls", "-q").Output(); err != nil || len(left) > 0 {
		t.Errorf("volumes are left: %q, %v", left, err)
	}
}

// The proxy that the server fetches images through is not the agent's to know.
func TestX5ContainerDoesNotGetTheServersProxy(t *testing.T) {
	t.Parallel()
	container(t, nil) // or skip
	proxied := script(t, "podman", "export HTTP_PROXY=http://me:proxy-password@127.0.0.1:9 https_proxy=http://me:proxy-password@127.0.0.1:9\nexec "+installed().tool()+` "$@"`)
	s := container(t, func(o *sandbox.Options) { o.Container = proxied })
	if exit, out := run(t, s, contained(t, "env; echo end")); exit.Code != 0 || !strings.Contains(out, "end\n") || strings.Contains(strings.ToLower(out), "proxy") {
		t.Errorf("got %+v, %q", exit, out)
	}
}

// script is a program in a folder of its own.
func script(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	program(t, path, "#!/bin/sh\n"+text+"\n")
	return path
}

// program writes one, in another process: children of other tests cannot have it open then, which would keep it from
// starting.
func program(t *testing.T, path, text string) {
	t.Helper()
	write := exec.CommandContext(t.Context(), "/bin/sh", "-c", `cat > "$0" && chmod 755 "$0"`, path)
	write.Stdin = strings.NewReader(text)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

// fakeDocker lists the containers that are in a file, and notes which it removes.
func fakeDocker(t *testing.T, dir string) string {
	t.Helper()
	return script(t, "docker", `d=`+dir+`
case $1 in
--version) echo "Docker version 28";;
run) echo "$5" >> $d/names; echo id > "$9"; echo up; exec sleep 100;;
ps) case $4 in label=*) cat $d/names;; *) echo "CONTAINER ID";; esac;;
rm) echo "$4" >> $d/removed;;
esac`)
}

func removedBy(t *testing.T, dir string) string {
	t.Helper()
	removed, err := os.ReadFile(filepath.Join(dir, "removed"))
	if err != nil && !os.IsNotExist(err) {
		t.Fatal(err)
	}
	return string(removed)
}

// up starts an agent in a container and returns when it runs.
func up(t *testing.T, s *sandbox.Container) *sandbox.Process {
	t.Helper()
	spec := contained(t, "true")
	said, tell := io.Pipe()
	spec.Stdout = tell
	p, err := s.Start(t.Context(), spec)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := bufio.NewReader(said).ReadString('\n'); err != nil {
		t.Fatal(err)
	}
	return p
}

// TestX3StrayContainersAreSwept: the container of a supervisor that was killed goes after
// a grace, while others of the same worker work on.
func TestX3StrayContainersAreSwept(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Unix(1_000_000, 0)
	o := withProgram(t)
	o.Image, o.State, o.Container = "IMAGE", t.TempDir(), fakeDocker(t, dir)
	s := sandbox.NewContainer(o)
	p := up(t, s)
	names := filepath.Join(dir, "names")
	list, err := os.ReadFile(names)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(names, append(list, "lineshaft-left\n"...), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, step := range []struct {
		after   time.Duration
		removed string
	}{{0, ""}, {time.Minute, ""}, {2*time.Minute - time.Nanosecond, ""}, {2 * time.Minute, "lineshaft-left\n"}} {
		if err := s.Sweep(t.Context(), now.Add(step.after)); err != nil {
			t.Fatal(err)
		}
		if got := removedBy(t, dir); got != step.removed {
			t.Errorf("after %v: removed %q", step.after, got)
		}
	}
	p.Kill(0)
	<-p.Done()
}

// Workers that share a data directory, and doctor beside a worker, have the same label:
// none removes what another process looks after, at its start or later.
func TestX3ContainersOfAnotherProcessStay(t *testing.T) {
	t.Parallel()
	dir, now := t.TempDir(), time.Unix(1_000_000, 0)
	o := withProgram(t)
	o.Image, o.State, o.Container = "IMAGE", t.TempDir(), fakeDocker(t, dir)
	p := up(t, sandbox.NewContainer(o))
	other := sandbox.NewContainer(o)
	if err := other.Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, after := range []time.Duration{0, time.Hour, 2 * time.Hour} {
		if err := other.Sweep(t.Context(), now.Add(after)); err != nil {
			t.Fatal(err)
		}
	}
	if got := removedBy(t, dir); got != "" {
		t.Errorf("removed %q", got)
	}
	if folders, _ := filepath.Glob(filepath.Join(o.State, "container-*")); len(folders) != 1 {
		t.Errorf("folders %v", folders)
	}
	p.Kill(0)
	<-p.Done()
}

// The files of processes that died go with the next start.
func TestX3LocksOfDeadProcessesAreRemoved(t *testing.T) {
	t.Parallel()
	o := withProgram(t)
	dir := t.TempDir()
	o.Image, o.State, o.Container = "IMAGE", t.TempDir(), fakeDocker(t, dir)
	made := map[string]string{filepath.Join(dir, "names"): "lineshaft-dead-x\n", filepath.Join(o.State, "process-dead"): ""}
	for name, text := range made {
		if err := os.WriteFile(name, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Mkdir(filepath.Join(o.State, "container-dead-1"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := sandbox.NewContainer(o).Clean(t.Context()); err != nil {
		t.Fatal(err)
	}
	if got := removedBy(t, dir); got != "lineshaft-dead-x\n" {
		t.Errorf("removed %q", got)
	}
	if left, _ := filepath.Glob(filepath.Join(o.State, "*dead*")); len(left) > 0 {
		t.Errorf("left %v", left)
	}
}

// A container that is made late is removed, too: by a program that makes it when its
// removal looked for it already, or by a daemon that was asked before its client ended.
func TestX1ContainerThatIsMadeLate(t *testing.T) {
	t.Parallel()
	for name, parts := range map[string]struct{ run, ps string }{
		// The list is made, and then the program continues, if it still runs.
		"by the program": {
			`while [ ! -e $d/listed ]; do sleep 0.02; done; echo "$3" > $d/made; touch $d/answered; sleep 100`,
			`touch $d/listed; i=0; while [ ! -e $d/answered ] && [ $i -lt 15 ]; do sleep 0.1; i=$((i+1)); done`,
		},
		"by the daemon": {`sleep 100`, `[ -e $d/listed ] || { touch $d/listed; echo late > $d/made; }`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			o := withProgram(t)
			o.Image, o.State = "IMAGE", t.TempDir()
			o.Container = script(t, "docker", `d=`+dir+`
case $1 in
--version) echo "Docker version 28";;
run) touch $d/begun; `+parts.run+`;;
rm) rm -f $d/made;;
ps) echo "CONTAINER ID  IMAGE"; if [ -e $d/made ]; then echo "1  IMAGE $(echo "$4" | cut -d= -f2)"; fi; `+parts.ps+`;;
esac`)
			s := sandbox.NewContainer(o)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			started := make(chan error, 1)
			spec := contained(t, "exit 0")
			go func() {
				_, err := s.Start(ctx, spec)
				started <- err
			}()
			poll(t, "the program runs", func() bool {
				_, err := os.Stat(filepath.Join(dir, "begun"))
				return err == nil
			})
			cancel()
			if err := <-started; !errors.Is(err, context.Canceled) {
				t.Errorf("start: %v", err)
			}
			for file, want := range map[string]bool{"listed": true, "made": false} {
				if _, err := os.Stat(filepath.Join(dir, file)); (err == nil) != want {
					t.Errorf("%s: %v", file, err)
				}
			}
		})
	}
}

// What begins with '-' would be an option of docker or podman.
func TestX5ContainerImageIsNoOption(t *testing.T) {
	t.Parallel()
	o := withProgram(t)
	o.Container, o.State = "/bin/echo", t.TempDir()
	spec := contained(t, "exit 0")
	spec.Image = "--privileged"
	if _, err := sandbox.NewContainer(o).Start(t.Context(), spec); err == nil || !strings.Contains(err.Error(), "begins with '-'") {
		t.Errorf("got %v", err)
	}
}
