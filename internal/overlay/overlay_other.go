//go:build !linux

package overlay

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
)

// Mount is for Linux alone.
type Mount struct {
	Lower, Store, At string
	Owner            int
}

var errLinux = fmt.Errorf("%w: overlays are for Linux", errors.ErrUnsupported)

// Mount is for Linux alone.
func (Mount) Mount(context.Context) error { return errLinux }

// Kind is what an entry of what was written says of the lower folder.
type Kind int

// What entries say.
const (
	Entry Kind = iota
	Gone
	Opaque
	Moved
)

// KindOf is for Linux alone.
func KindOf(string, fs.FileMode) Kind { return Moved }

// Indexed is for Linux alone.
func Indexed(string) bool { return true }

// CopyStore is for Linux alone.
func CopyStore(context.Context, string, string) error { return errLinux }

// Anchor is for Linux alone.
func Anchor(string) error { return errLinux }

// Unmount has nothing to do.
func Unmount(string) error { return nil }

// Clear has nothing to do.
func Clear(string) error { return nil }

// Check says that there are none.
func Check(context.Context, string) error { return errLinux }
