package control_test

import (
	"flag"
	"os"
	"testing"

	"go.uber.org/goleak"
)

// TestMain bounds the random tests, each of whose rounds writes to two databases,
// and sees that nothing is left running.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("LINESHAFT_TEST_ALL") == "" && !given("rapid.checks") {
		if err := flag.Set("rapid.checks", "10"); err != nil {
			panic(err)
		}
	}
	goleak.VerifyTestMain(m)
}

func given(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}
