//go:build !linux && !darwin

package cli

import (
	"errors"
	"os"
)

// hideTyping is not done here: values come from a file or a pipe.
func hideTyping(*os.File) (restore func(), err error) { return nil, errors.ErrUnsupported }
