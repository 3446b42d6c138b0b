package sandbox

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

const (
	// ownerLabel marks the containers of one worker.
	ownerLabel = "lineshaft.owner"
	// statePrefix begins the names of the folders with what one container needs.
	statePrefix = "container-"
	// longLine is the longest line of an environment file; the programs read
	// 64 KiB at most.
	longLine = 32 << 10
)

// The files in the folder of one container.
const (
	envFile = "env" // variables of the agent; it holds secrets
	cidFile = "cid" // made by the program when the container exists
)

// fill writes the environment file and the command line.
func (c *Container) fill(b *box, v *view) error {
	lines, passed, err := splitEnv(withPWD(v.spec.Env, guestDir))
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(b.state, envFile), []byte(lines), 0o600); err != nil {
		return fmt.Errorf("write environment of container: %w", err)
	}
	b.env = append(toolEnv(os.Environ()), passed...)
	b.args = []string{
		"run", "-i", "--init", "--name", b.name, "--label", ownerLabel + "=" + c.options.Owner,
		"--cidfile", filepath.Join(b.state, cidFile), "--env-file", filepath.Join(b.state, envFile),
		"--read-only", "--cap-drop", "ALL", "--security-opt", "no-new-privileges", "--log-driver", "none",
		"--stop-timeout", "0", // the removal of a running one would wait that long
		"--hostname", "lineshaft", "--workdir", guestDir, "--volume", v.dir + ":" + guestDir, "--tmpfs", v.containerTmp(),
	}
	if c.podman {
		// Volumes of the image would be writable, and outside the disk limit. The
		// server's own proxy, which may have a password, is not the agent's.
		b.args = append(b.args, "--image-volume", "ignore", "--http-proxy=false")
	}
	for _, kv := range passed {
		name, _, _ := strings.Cut(kv, "=")
		b.args = append(b.args, "--env", name)
	}
	if v.program != "" && c.ProgramDir() != "" {
		b.args = append(b.args, "--volume", v.program+":"+guestProgram+":ro")
	}
	if v.socket != "" {
		b.args = append(b.args, "--volume", v.socket+":"+guestSocket+":ro")
	}
	if v.spec.Network.own() {
		b.args = append(b.args, "--network", "none")
	}
	b.args = append(b.args, c.user(v.uid)...)
	b.args = append(b.args, v.containerLimits()...)
	command := v.spec.Command
	if v.socket != "" {
		command = forwardCommand(v.spec.Forward.Port, command)
	}
	image := cmp.Or(v.spec.Image, c.options.Image)
	// The image's own entry point would be in the way.
	b.args = append(b.args, "--entrypoint", command[0], image)
	b.args = append(b.args, command[1:]...)
	return nil
}

// user is the slot's for a server that is root. Otherwise it is the server's own,
// because nobody else may write to the workspace.
func (c *Container) user(slot int) []string {
	if os.Geteuid() == 0 {
		return []string{"--user", fmt.Sprintf("%d:%d", slot, slot)}
	}
	args := []string{"--user", fmt.Sprintf("%d:%d", os.Geteuid(), os.Getegid())}
	if c.podman {
		args = append(args, "--userns", "keep-id")
	}
	return args
}

// containerTmp is the private /tmp. Its files also count as memory.
func (v *view) containerTmp() string {
	limit := cmp.Or(v.spec.Limits.MemoryBytes, v.spec.Limits.DiskBytes)
	tmp := "/tmp:rw,exec,nosuid,nodev,mode=1777"
	if limit > 0 {
		tmp += ",size=" + strconv.FormatInt(limit, 10)
	}
	return tmp
}

func (v *view) containerLimits() []string {
	var args []string
	l := v.spec.Limits
	if l.MemoryBytes > 0 {
		memory := strconv.FormatInt(l.MemoryBytes, 10)
		args = append(args, "--memory", memory, "--memory-swap", memory)
	}
	if l.Processes > 0 {
		own := initProcesses
		if v.socket != "" {
			own += forwardProcesses
		}
		args = append(args, "--pids-limit", strconv.Itoa(l.Processes+own))
	}
	if l.CPUs > 0 {
		args = append(args, "--cpus", strconv.FormatFloat(l.CPUs, 'f', 3, 64))
	}
	if size := strconv.FormatInt(l.largestFile(), 10); size != "0" {
		args = append(args, "--ulimit", "fsize="+size+":"+size)
	}
	return args
}

// splitEnv makes the lines of an environment file, which has one line for each
// variable. What does not fit there is passed through the program's environment.
func splitEnv(env []string) (lines string, passed []string, err error) {
	var file strings.Builder
	for _, kv := range env {
		name, _, _ := strings.Cut(kv, "=")
		switch {
		case strings.ContainsAny(name, " \t\r\n#\"'"):
			return "", nil, fmt.Errorf("a container cannot have a variable of the name %q", name[:min(len(name), 40)])
		case !strings.ContainsAny(kv, "\r\n") && len(kv) < longLine:
			file.WriteString(kv + "\n")
		case !harmless(name):
			// It would act on the program itself, outside the container.
			return "", nil, fmt.Errorf("variable %s has several lines or is very long, which a container cannot have under this name", name)
		default:
			passed = append(passed, kv)
		}
	}
	return file.String(), passed, nil
}

// toolVariables are what docker and podman need of the server's environment.
var toolVariables = []string{
	"PATH", "HOME", "USER", "TMPDIR", "XDG_RUNTIME_DIR", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "DBUS_SESSION_BUS_ADDRESS",
	"DOCKER_HOST", "DOCKER_CONTEXT", "DOCKER_CONFIG", "DOCKER_CERT_PATH", "DOCKER_TLS_VERIFY",
	"CONTAINER_HOST", "CONTAINERS_CONF", "CONTAINERS_STORAGE_CONF", "CONTAINERS_REGISTRIES_CONF", "REGISTRY_AUTH_FILE",
	"HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY", "http_proxy", "https_proxy", "no_proxy", "SSL_CERT_FILE", "SSL_CERT_DIR",
}

// toolEnv is the environment of docker or podman.
func toolEnv(environ []string) []string {
	out := []string{}
	for _, kv := range environ {
		if name, _, _ := strings.Cut(kv, "="); slices.Contains(toolVariables, name) {
			out = append(out, kv)
		}
	}
	return out
}

// harmless says that a variable does nothing to a program that does not know it.
func harmless(name string) bool {
	for _, prefix := range []string{"LD_", "GO", "DOCKER_", "CONTAINER", "STORAGE_", "BUILDAH_", "PODMAN_", "XDG_", "LC_", "DYLD_", "SSL_", "_"} {
		if strings.HasPrefix(name, prefix) {
			return false
		}
	}
	return !slices.Contains(toolVariables, name) && name != "LANG" && name != "GLIBC_TUNABLES"
}
