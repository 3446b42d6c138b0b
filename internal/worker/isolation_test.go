package worker

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// recorded is a sandbox that notes what it is asked.
type recorded struct {
	sandbox.Sandbox
	specs  chan sandbox.Spec
	clean  error
	starts chan string
}

func (r *recorded) Start(ctx context.Context, spec sandbox.Spec) (*sandbox.Process, error) {
	select {
	case r.specs <- spec:
	default:
	}
	return r.Sandbox.Start(ctx, spec)
}

// Clean is what sandboxes have whose agents may outlive a worker.
func (r *recorded) Clean(context.Context) error {
	r.starts <- "clean"
	return r.clean
}

func newRecorded(s sandbox.Sandbox) *recorded {
	return &recorded{Sandbox: s, specs: make(chan sandbox.Spec, 10), starts: make(chan string, 10)}
}

// What the environment or the runner names is the image of all its processes.
func TestX5SandboxGetsImageAndLimits(t *testing.T) {
	t.Parallel()
	s := newRecorded(sandbox.NewNone(harnesstest.Options()))
	c := newControl(t)
	real(t, c, s, Config{Limits: sandbox.Limits{DiskBytes: 1 << 30}})
	j := job("a", script("exit 0"))
	j.Prepare.Image = "node:24"
	c.jobs <- j
	if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
		t.Fatalf("result %+v", result)
	}
	if spec := <-s.specs; spec.Image != "node:24" || spec.Limits.DiskBytes != 1<<30 {
		t.Errorf("got %+v", spec)
	}
}

func TestX3WorkerRemovesWhatItsSandboxLeft(t *testing.T) {
	t.Parallel()
	s := newRecorded(sandbox.NewNone(harnesstest.Options()))
	real(t, newControl(t), s, Config{})
	if len(s.starts) != 1 {
		t.Error("nothing was cleaned")
	}
	s.clean = errors.New("the daemon is away")
	w, err := New(Config{WorkerID: "w", DataDir: t.TempDir(), Sandbox: s}, newControl(t))
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Start(t.Context()); !errors.Is(err, s.clean) {
		t.Errorf("start: %v", err)
	}
}

// Agents find this program last in their PATH, whatever the isolation is.
func TestX7AgentsFindLineshaftInTheirPath(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"none", "bubblewrap"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			o := harnesstest.Options()
			o.Links = filepath.Join(t.TempDir(), "links")
			var s sandbox.Sandbox = sandbox.NewNone(o)
			if name == "bubblewrap" {
				s = sandbox.NewBubblewrap(o)
				if err := s.Check(t.Context()); err != nil && os.Getenv("CI") == "" {
					t.Skipf("bubblewrap does not work on this machine: %v", err)
				}
			}
			c := newControl(t)
			real(t, c, s, Config{})
			c.jobs <- job("a", script("command -v lineshaft; echo $PATH; lineshaft forward; echo code $?"))
			c.ended("a", 1)
			out := strings.Join(c.texts("a", lineshaft.EventOutput), "")
			if !strings.Contains(out, s.ProgramDir()+"/lineshaft\n"+DefaultPath+":"+s.ProgramDir()+"\n") || !strings.Contains(out, "code 2\n") {
				t.Errorf("got %q", out)
			}
		})
	}
}

func TestX5DiskLimitEndsTheRun(t *testing.T) {
	t.Parallel()
	harnesstest.Each(t, func(t *testing.T, s sandbox.Sandbox) {
		c := newControl(t)
		real(t, c, s, Config{Limits: sandbox.Limits{DiskBytes: 8 << 20}})
		c.jobs <- job("a", script("i=0; while :; do head -c 1000000 /dev/zero > f$i; i=$((i+1)); done"))
		if result := c.ended("a", 1); result.State != lineshaft.Failed || !strings.Contains(result.Message, "more disk space than this worker allows") {
			t.Errorf("result %+v", result)
		}
	})
}
