package sandbox

import (
	"fmt"
	"os"
)

// Find says where an agent would find a program in a PATH, without starting
// anything; ErrNotFound when it would not. None and Bubblewrap can tell: in a
// container or a pod it is the image that counts.

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
