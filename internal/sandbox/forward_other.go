//go:build !linux

package sandbox

import (
	"context"
	"errors"
)

// becomeAgent is for sandboxes that exist on Linux only.
func becomeAgent(context.Context, int, string, []string) error {
	return errors.New("forwards need Linux")
}
