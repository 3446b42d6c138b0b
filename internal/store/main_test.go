package store

import (
	"testing"

	"go.uber.org/goleak"
)

// A store that was closed, or that could not be opened, leaves nothing running.
func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }
