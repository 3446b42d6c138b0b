package e2e

import (
	"os"
	"testing"
)

// TestMain makes the test program its own agent: workers start it with this word.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == faultAgent {
		os.Exit(playAgent(os.Args[2]))
	}
	os.Exit(m.Run())
}
