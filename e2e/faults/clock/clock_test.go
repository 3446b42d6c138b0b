//go:build linux && amd64

package clock

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"testing"
	"time"
)

// teller is the argument that makes the test program say what time it is, for each line.
const teller = "tell-the-time"

func TestMain(m *testing.M) {
	if len(os.Args) == 2 && os.Args[1] == teller {
		for lines := bufio.NewScanner(os.Stdin); lines.Scan(); {
			_, _ = fmt.Fprintln(os.Stdout, time.Now().Unix()) // if nobody reads it any more, it ends with its input
		}
		os.Exit(0)
	}
	os.Exit(m.Run())
}

// the date jumps, and comes back.
func TestX1JumpChangesTheDateOfAProcess(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(os.Args[0], teller)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	answers := bufio.NewReader(out)
	for _, jump := range []int{0, 86_400, -86_400, 0} {
		if err := Jump(t.Context(), cmd.Process.Pid, jump); err != nil {
			t.Fatal(err)
		}
		if _, err := fmt.Fprintln(in); err != nil {
			t.Fatal(err)
		}
		var told int64
		if _, err := fmt.Fscanln(answers, &told); err != nil {
			t.Fatal(err)
		}
		if off := told - time.Now().Unix() - int64(jump); off < -3600 || off > 3600 {
			t.Errorf("after a jump of %d s the date is off by %d s", jump, off)
		}
	}
	if err := in.Close(); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}
