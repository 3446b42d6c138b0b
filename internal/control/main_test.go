package control_test

import (
	"flag"
	"os"
	"testing"
)

// TestMain bounds the random tests: each of their rounds writes to two databases.
func TestMain(m *testing.M) {
	flag.Parse()
	if os.Getenv("LINESHAFT_TEST_FULL") == "" && !given("rapid.checks") {
		if err := flag.Set("rapid.checks", "10"); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}

func given(name string) (set bool) {
	flag.Visit(func(f *flag.Flag) { set = set || f.Name == name })
	return set
}
