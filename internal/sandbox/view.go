package sandbox

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// view is what an agent in bubblewrap can see.
type view struct {
	spec    Spec
	dir     string // workspace on the host, links resolved
	uid     int
	mounts  []mount // sorted by path, so that parents come first
	sized   bool
	program string // this program on the host, links resolved; empty: none
	socket  string // of the forward, links resolved; empty: none
}

// mount is one path of the host in the sandbox, at the same place.
type mount struct {
	path   string
	link   string // the path is a symbolic link to this
	hidden bool   // the path is covered by an empty directory, or an empty file
	file   bool   // it is a file
}

// The system, as far as it exists. Each is shown as it is on the host: a link as
// a link, a directory read-only.
var systemPaths = []string{"/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store"}

// The parts of /etc that programs need. Not here: private keys, passwords, host
// settings. passwd and group are generated.
var etcPaths = []string{
	"/etc/alternatives", "/etc/ca-certificates", "/etc/ca-certificates.conf", "/etc/crypto-policies", "/etc/fonts",
	"/etc/ld.so.cache", "/etc/ld.so.conf", "/etc/ld.so.conf.d", "/etc/localtime", "/etc/mime.types", "/etc/os-release",
	"/etc/pki/ca-trust", "/etc/pki/tls/cert.pem", "/etc/pki/tls/certs", "/etc/pki/tls/openssl.cnf", "/etc/protocols", "/etc/services",
	"/etc/ssl/cert.pem", "/etc/ssl/certs", "/etc/ssl/openssl.cnf", "/etc/timezone",
}

// The parts of /etc that belong to the network of the machine.
var networkPaths = []string{"/etc/gai.conf", "/etc/host.conf", "/etc/hosts", "/etc/nsswitch.conf", "/etc/resolv.conf"}

// view works out what the agent of a spec will see.
func (b *Bubblewrap) view(spec Spec) (*view, error) {
	dir, err := filepath.EvalSymlinks(spec.Dir)
	if err != nil {
		return nil, fmt.Errorf("resolve workspace: %w", err)
	}
	v := &view{spec: spec, dir: dir, uid: b.options.UIDBase + spec.Slot, sized: b.sized}
	if err := v.own(b.options.Program); err != nil {
		return nil, err
	}
	for _, p := range systemPaths {
		info, err := os.Lstat(p)
		if err != nil {
			continue
		}
		m := mount{path: p}
		if info.Mode()&fs.ModeSymlink != 0 {
			if m.link, err = os.Readlink(p); err != nil {
				return nil, fmt.Errorf("read link: %w", err)
			}
		}
		v.mounts = append(v.mounts, m)
	}
	for _, p := range b.options.ReadOnly {
		v.mounts = append(v.mounts, mount{path: filepath.Clean(p)})
	}
	for _, p := range b.options.Hide {
		real, err := filepath.EvalSymlinks(p)
		if err != nil || !v.shows(real) {
			continue
		}
		info, err := os.Lstat(real)
		if err != nil {
			return nil, fmt.Errorf("look at hidden path: %w", err)
		}
		v.mounts = append(v.mounts, mount{path: real, hidden: true, file: !info.IsDir()})
	}
	slices.SortStableFunc(v.mounts, func(a, b mount) int { return strings.Compare(a.path, b.path) })
	return v, nil
}

// own finds which parts of Lineshaft the agent sees.
func (v *view) own(program string) (err error) {
	if program != "" {
		if v.program, err = filepath.EvalSymlinks(program); err != nil {
			return fmt.Errorf("find this program: %w", err)
		}
	}
	forward := v.spec.Forward
	switch {
	case forward == Forward{}:
		return nil
	case !v.spec.Network.own():
		return fmt.Errorf("forward with network %q: %w; the agent needs a network of its own", v.spec.Network, ErrUnsupported)
	case program == "":
		return fmt.Errorf("forward: %w without Options.Program", ErrUnsupported)
	}
	if v.socket, err = filepath.EvalSymlinks(forward.Socket); err != nil {
		return fmt.Errorf("find socket of the forward: %w", err)
	}
	return nil
}

// give lets the user of the slot use what is its own: the workspace and the socket.
func (v *view) give(ctx context.Context) error {
	if v.socket != "" {
		if err := os.Lchown(v.socket, v.uid, v.uid); err != nil {
			return fmt.Errorf("give socket to user %d: %w", v.uid, err)
		}
	}
	if v.spec.Written != "" {
		return giveWritten(ctx, v.dir, v.spec.Written, v.uid)
	}
	return giveTo(ctx, v.dir, v.uid)
}

// shows reports whether the agent sees a path of the host at the same place: the
// innermost mount that holds it decides.
func (v *view) shows(path string) bool {
	shown, depth := false, -1
	for _, m := range v.mounts {
		if _, ok := inside(m.path, path); ok && len(m.path) >= depth {
			shown, depth = !m.hidden, len(m.path)
		}
	}
	return shown
}

// executable is for lookPath. In the workspace only existence is checked: a
// link in there may hold a path as the agent sees it.
func (v *view) executable(path string) bool {
	if rel, ok := inside(guestDir, path); ok {
		info, err := os.Lstat(filepath.Join(v.dir, rel))
		return err == nil && !info.IsDir()
	}
	if path == guestProgram {
		return v.program != ""
	}
	real, err := filepath.EvalSymlinks(path) // a link in /usr may lead to someone's home
	return err == nil && v.shows(path) && v.shows(real) && executable(real)
}

// sources are the paths that bubblewrap must be able to reach as its user.
func (v *view) sources() []string {
	out := []string{v.dir}
	for _, m := range v.mounts {
		if real, err := filepath.EvalSymlinks(m.path); err == nil && !m.hidden && m.link == "" {
			out = append(out, real)
		}
	}
	for _, own := range []string{v.program, v.socket} {
		if own != "" {
			out = append(out, own)
		}
	}
	return out
}

// args are the options of bubblewrap. They go through a descriptor: the
// environment holds secrets.
func (v *view) args() []string {
	uid := strconv.Itoa(v.uid)
	args := []string{
		"--unshare-user", "--uid", uid, "--gid", uid,
		"--unshare-pid", "--unshare-ipc", "--unshare-uts", "--unshare-cgroup-try",
		"--die-with-parent", "--new-session", "--cap-drop", "ALL", "--hostname", "lineshaft",
	}
	if v.spec.Network.own() {
		args = append(args, "--unshare-net")
	}
	args = append(args, "--proc", "/proc", "--dev", "/dev")
	args = append(args, v.tmpfs("/dev/shm")...)
	args = append(args, "--remount-ro", "/dev")
	args = append(args, v.tmpfs("/tmp")...) // before the mounts: some may be below it
	args = append(args, "--dir", "/run", "--symlink", "../tmp", "/var/tmp")
	var seal []string // only when all that lies below is mounted
	for _, m := range v.mounts {
		switch {
		case m.link != "":
			args = append(args, "--symlink", m.link, m.path)
		case m.hidden && m.file:
			args = append(args, "--ro-bind", "/dev/null", m.path)
		case m.hidden:
			args = append(args, "--tmpfs", m.path)
			seal = append(seal, "--remount-ro", m.path)
		default:
			args = append(args, "--ro-bind-try", m.path, m.path)
		}
	}
	args = append(args, seal...)
	etc := etcPaths
	if !v.spec.Network.own() {
		etc = slices.Concat(etcPaths, networkPaths)
	}
	for _, p := range etc {
		args = append(args, "--ro-bind-try", p, p)
	}
	if v.program != "" {
		args = append(args, "--ro-bind", v.program, guestProgram)
	}
	if v.socket != "" {
		args = append(args, "--ro-bind", v.socket, guestSocket)
	}
	args = append(args, "--bind", v.dir, guestDir, "--remount-ro", "/", "--chdir", guestDir)
	for _, kv := range withPWD(v.spec.Env, guestDir) {
		name, value, _ := strings.Cut(kv, "=")
		args = append(args, "--setenv", name, value)
	}
	return args
}

// tmpfs bounds the memory that files there can take, also where no control
// group counts it.
func (v *view) tmpfs(path string) []string {
	limit := cmp.Or(v.spec.Limits.MemoryBytes, v.spec.Limits.DiskBytes)
	if limit > 0 && v.sized {
		return []string{"--size", strconv.FormatInt(limit, 10), "--tmpfs", path}
	}
	return []string{"--tmpfs", path}
}

// files are made in the sandbox: the host's own lists of users say too much, and
// do not know the agent's.
func (v *view) files() []file {
	home := guestDir
	for _, kv := range v.spec.Env {
		if h, ok := strings.CutPrefix(kv, "HOME="); ok && !strings.ContainsAny(h, ":\n") {
			home = h
		}
	}
	out := []file{
		{"/etc/passwd", fmt.Sprintf("root:x:0:0:root:/root:/usr/sbin/nologin\nagent:x:%d:%d:agent:%s:/bin/sh\nnobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n",
			v.uid, v.uid, home)},
		{"/etc/group", fmt.Sprintf("root:x:0:\nagent:x:%d:\nnogroup:x:65534:\n", v.uid)},
	}
	if v.spec.Network.own() {
		out = append(out, file{"/etc/hosts", "127.0.0.1 localhost lineshaft\n::1 localhost lineshaft\n"})
	}
	return out
}
