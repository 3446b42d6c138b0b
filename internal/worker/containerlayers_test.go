//go:build linux

package worker

import (
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

// containers is a sandbox of containers.
func containers(t *testing.T) (s *sandbox.Container, dir string) {
	t.Helper()
	dir = t.TempDir()
	tool := filepath.Join(dir, "docker")
	// Written by another process: children of other tests cannot have it open then.
	write := exec.CommandContext(t.Context(), "/bin/sh", "-c", `cat > "$0" && chmod 755 "$0"`, tool)
	write.Stdin = strings.NewReader(strings.ReplaceAll(dockerScript, "DIR", dir))
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	o := harnesstest.Options()
	o.Container, o.Image, o.State, o.Owner = tool, "IMAGE", t.TempDir(), "me"
	return sandbox.NewContainer(o), dir
}

// a container has its image, and a copy of the layer as its volume. Nothing is set up again, and what a run does
// there leaves the layer as it was.
func TestX14ContainersHaveTheLayerAsAVolume(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("docker is played with bubblewrap and setpriv, which only root may give another user")
	}
	s, dir := containers(t)
	f := newFloorIn(t, s)
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
	asked, err := os.ReadFile(filepath.Join(dir, "asked"))
	if err != nil {
		t.Fatal(err)
	}
	// Two set-up commands and three runs have their workspace, and nobody has the layer itself.
	n := strings.Count(string(asked), " --volume "+f.data+"/workspaces/")
	if n != 5 || strings.Contains(string(asked), "/layers/") {
		t.Errorf("%d workspaces in\n%s", n, asked)
	}
}
