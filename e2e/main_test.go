package e2e

import (
	"flag"
	"os"
	"strconv"
	"testing"
)

// atOnce is how many tests run at the same time: most of them wait for processes that they started.
const atOnce = 4

// TestMain makes the test program its own agent: workers start it with this word.
func TestMain(m *testing.M) {
	if len(os.Args) == 3 && os.Args[1] == faultAgent {
		os.Exit(playAgent(os.Args[2]))
	}
	flag.Parse()
	given := false
	flag.Visit(func(f *flag.Flag) { given = given || f.Name == "test.parallel" })
	if !given {
		if err := flag.Set("test.parallel", strconv.Itoa(atOnce)); err != nil {
			panic(err)
		}
	}
	os.Exit(m.Run())
}
