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

// executable reports whether path is a file that somebody may execute.
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
