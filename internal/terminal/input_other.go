//go:build !linux && !darwin

package terminal

import (
	"errors"
	"os"
)

// Input is not there on this system.
type Input struct{}

// OpenInput is not done here: what is followed is shown, and asks for nothing.
func OpenInput(*os.File) (*Input, error) { return nil, errors.ErrUnsupported }

// Take does nothing.
func (*Input) Take() error { return errors.ErrUnsupported }

// Restore does nothing.
func (*Input) Restore() {}

// Read returns when stop is closed.
func (*Input) Read(stop <-chan struct{}, _ func(Key)) error {
	<-stop
	return nil
}

// Hide is not done here: values come from a file or a pipe.
func Hide(*os.File) (restore func(), err error) { return nil, errors.ErrUnsupported }

// Size is not asked for here.
func Size(*os.File) (columns, rows int) { return 0, 0 }

// Signals tells nothing here.
func Signals() (signals <-chan Signal, stop func()) { return nil, func() {} }

// Suspend does nothing.
func Suspend() {}
