package sandbox

import (
	"fmt"
	"os"
	"path"
	"path/filepath"
	"strings"
)

// defaultPath is what execvp uses when the environment has no PATH.
const defaultPath = "/bin:/usr/bin"

// lookPath finds the program of a command. Paths are those the agent sees; exists
// says whether one is an executable file there. The answer is absolute.
func lookPath(name, dir string, env []string, exists func(path string) bool) (string, error) {
	if strings.Contains(name, "/") {
		full := name
		if !path.IsAbs(full) {
			full = path.Join(dir, name)
		}
		if exists(full) {
			return full, nil
		}
		return "", fmt.Errorf("%w: %s does not exist there or is not executable", ErrNotFound, name)
	}
	search := defaultPath
	for _, kv := range env {
		if p, ok := strings.CutPrefix(kv, "PATH="); ok {
			search = p
		}
	}
	for p := range strings.SplitSeq(search, ":") {
		if !path.IsAbs(p) {
			p = path.Join(dir, p) // an empty entry is the working directory
		}
		if full := path.Join(p, name); exists(full) {
			return full, nil
		}
	}
	return "", fmt.Errorf("%w: no %s in PATH %s; install it where agents can see it, or set PATH", ErrNotFound, name, search)
}

// executable reports whether path is a file that at least one user may execute.
func executable(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// inside gives path relative to dir, if it is dir or below it.
func inside(dir, path string) (rel string, ok bool) {
	rel, err := filepath.Rel(dir, path)
	if err != nil || rel == ".." || strings.HasPrefix(rel, "../") {
		return "", false
	}
	return rel, true
}

// Find says where an agent would find a program in a PATH, without starting
// anything; ErrNotFound when it would not. None and Bubblewrap can answer: in a
// container or a pod the image decides.

// Find looks in what an agent sees.
func (b *Bubblewrap) Find(program, path string) (string, error) {
	v, err := b.view(Spec{Dir: os.TempDir()}) // no workspace is needed to look at the system
	if err != nil {
		return "", fmt.Errorf("find program: %w", err)
	}
	return lookPath(program, "/", []string{"PATH=" + path}, v.executable)
}

// Find looks in what this process sees.
func (n *None) Find(program, path string) (string, error) {
	return lookPath(program, "/", []string{"PATH=" + path}, executable)
}
