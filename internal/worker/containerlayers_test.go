//go:build linux

package worker

import (
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// dockerScript plays the part of docker, whose service is not here: it notes what it is asked and runs the agent
// with its volumes alone.
const dockerScript = `#!/bin/sh
d=DIR
case $1 in
--version) echo "Docker version 28";;
image) echo sha256:1;;
ps) echo "CONTAINER ID  IMAGE";;
run)
	printf '%s ' "$@" >>$d/asked; echo >>$d/asked
	set -- "$@" END
	while [ "$1" != IMAGE ]; do case $1 in
	--cidfile) cid=$2;; --env-file) env=$2;; --entrypoint) entry=$2;; --user) user=${2%:*};;
	--volume) case $2 in *:/workspace) dir=${2%:/workspace};; *) from=${2%%:*}; to=${2#*:}; more="$more --ro-bind $from ${to%:ro}";; esac;;
	esac; shift; done
	shift
	set -- "$entry" "$@"
	n=$#; while [ $n -gt 1 ]; do a=$1; shift; set -- "$@" "$a"; n=$((n-1)); done
	shift # END
	while read -r line; do set -- "$line" "$@"; done <$env
	echo id >$cid
	exec bwrap --ro-bind /usr /usr --symlink usr/bin /bin --symlink usr/lib /lib --symlink usr/lib64 /lib64 --ro-bind /etc /etc \
		--proc /proc --dev /dev --tmpfs /tmp $more --bind "$dir" /workspace --chdir /workspace \
		setpriv --reuid=$user --regid=$user --clear-groups env -i "$@"
esac
`

// docker is a sandbox of containers, and a folder with what it was asked.
func docker(t *testing.T) (s *sandbox.Container, dir string) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("docker is played with bubblewrap and setpriv, which only root may give another user")
	}
	dir = t.TempDir()
	program(t, filepath.Join(dir, "docker"), strings.ReplaceAll(dockerScript, "DIR", dir))
	return containers(t, filepath.Join(dir, "docker"), "IMAGE"), dir
}

// podmanScript is podman with a store of its own, and settings that work inside another container, where nobody may
// raise limits or mix control groups.
const podmanScript = `#!/bin/sh
export CONTAINERS_CONF=DIR/conf
if [ "$1" = run ]; then
	printf '%s ' "$@" >>DIR/asked; echo >>DIR/asked
	shift; set -- run --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 "$@"
fi
exec podman --root DIR/root --runroot DIR/run --storage-driver vfs "$@"
`

// podmanImage is made of programs of this machine.
const podmanImage = `set -e; r=DIR/image; mkdir -p $r/bin $r/tmp $r/workspace $r/run/lineshaft/bin $r/proc $r/dev $r/sys $r/etc; chmod 1777 $r/tmp
for b in sh cat ls find sort sha256sum git mkdir chmod ln touch stat rm; do cp "$(readlink -f "$(command -v $b)")" $r/bin/$b; done
for f in $r/bin/* SELF; do ldd $f 2>/dev/null | grep -o '/[^ ]*' | while read l; do mkdir -p $r"$(dirname $l)"; cp -nL $l $r$l; done; done
tar -C $r -c . | DIR/podman import - localhost/lineshaft-worker-test:1
`

// podman is docker with a real engine.
func podman(t *testing.T) (s *sandbox.Container, dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "lineshaft-podman") //nolint:usetesting // podman takes short names only
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := os.RemoveAll(dir); err != nil {
			t.Error(err)
		}
	})
	conf := "[engine]\ncgroup_manager = \"cgroupfs\"\nevents_logger = \"none\"\n"
	if runc, err := exec.LookPath("runc"); err == nil {
		conf += "runtime = \"" + runc + "\"\n"
	}
	self, err := os.Executable()
	if err = errors.Join(err, os.WriteFile(filepath.Join(dir, "conf"), []byte(conf), 0o600)); err != nil {
		t.Fatal(err)
	}
	program(t, filepath.Join(dir, "podman"), strings.ReplaceAll(podmanScript, "DIR", dir))
	made := strings.NewReplacer("DIR", dir, "SELF", self).Replace(podmanImage)
	out, err := exec.CommandContext(t.Context(), "/bin/sh", "-c", made).CombinedOutput()
	s = containers(t, filepath.Join(dir, "podman"), "localhost/lineshaft-worker-test:1")
	if err == nil {
		err = s.Check(t.Context())
	}
	if err != nil && os.Getenv("CI") != "" {
		t.Fatalf("podman must work in CI: %v\n%s", err, out)
	}
	if err != nil {
		t.Skipf("podman does not run containers on this machine: %v\n%s", err, out)
	}
	return s, dir
}

// program is written by another process: children of other tests cannot have it open then.
func program(t *testing.T, name, text string) {
	t.Helper()
	write := exec.CommandContext(t.Context(), "/bin/sh", "-c", `cat > "$0" && chmod 755 "$0"`, name)
	write.Stdin = strings.NewReader(text)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
}

func containers(t *testing.T, tool, image string) *sandbox.Container {
	t.Helper()
	o := harnesstest.Options()
	o.Container, o.Image, o.State, o.Owner = tool, image, t.TempDir(), "me"
	return sandbox.NewContainer(o)
}

// a container has its image, and a copy of the layer as its volume. Nothing is set up again, and what a run does
// there leaves the layer as it was.
func TestX14ContainersHaveTheLayerAsAVolume(t *testing.T) {
	t.Parallel()
	for name, engine := range map[string]func(*testing.T) (*sandbox.Container, string){"docker": docker, "podman": podman} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, dir := engine(t)
			testContainers(t, newFloorIn(t, s), filepath.Join(dir, "asked"))
		})
	}
}

func testContainers(t *testing.T, f *floor, asked string) {
	t.Helper()
	show := script("echo BEGIN", listing)
	cold, notices := f.run("a", show, shopSetup(), nil)
	want(t, notices, "Cold start", "It is kept for later runs")
	layers := filepath.Join(f.data, "prepared", "layers")
	before := hashes(t, layers)
	_, notices = f.run("b", script("chmod -R 777 closed; echo poison >>second; rm -rf shop closed dated; ls"), shopSetup(), nil)
	want(t, notices, "Warm start", "files were copied in")
	refuse(t, notices, "Set-up command", "Cloning")
	if after := hashes(t, layers); after != before || before == "" {
		t.Errorf("a run changed a layer:\n%s\nwas\n%s", after, before)
	}
	warm, notices := f.run("c", show, shopSetup(), nil)
	want(t, notices, "Warm start", "files were copied in")
	if warm != cold {
		t.Errorf("the warm run found\n%s\nthe cold one\n%s", warm, cold)
	}
	text, err := os.ReadFile(asked)
	if err != nil {
		t.Fatal(err)
	}
	// Two set-up commands and three runs have their workspace, and nobody has the layer itself.
	n := strings.Count(string(text), " --volume "+f.data+"/workspaces/")
	if n != 5 || strings.Contains(string(text), "/layers/") {
		t.Errorf("%d workspaces in\n%s", n, text)
	}
}
