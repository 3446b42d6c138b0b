//go:build !linux

package overlay

import (
	"context"
	"errors"
	"fmt"
)

// Mount is for Linux alone.
type Mount struct {
	Lower, Store, At string
	Owner            int
}

var errLinux = fmt.Errorf("%w: overlays are for Linux", errors.ErrUnsupported)

// Mount is for Linux alone.
func (Mount) Mount(context.Context) error { return errLinux }

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
