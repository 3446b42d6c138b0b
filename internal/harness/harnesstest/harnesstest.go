// Package harnesstest lets the tests of harnesses and of the worker run real
// agents in real sandboxes without a worker. It is for tests only.
package harnesstest

import (
	"cmp"
	"context"
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/mask"
	"github.com/lineshaft/lineshaft/internal/model"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// Token is the run token of the environments made here.
const Token = "lsr_0123456789abcdefSECRET"

// Supervise is called first by the TestMain of a package whose tests start agents:
// the test binary is its own supervisor, and the forward of agents without a network. When ok is true this process was one of them,
// and ends with the code.
func Supervise(ctx context.Context) (code int, ok bool) {
	if len(os.Args) > 1 && os.Args[1] == "supervise" {
		return sandbox.Supervise(ctx), true
	}
	if len(os.Args) > 1 && os.Args[1] == "forward" {
		return sandbox.RunForward(ctx, os.Args[2:]), true
	}
	return 0, false
}

// Options are those of a sandbox in a package whose TestMain calls Supervise. A program
// with the race detector waits a second before it ends, unless it is set not to.
func Options() sandbox.Options {
	self, err := os.Executable()
	if err != nil {
		self = os.Args[0]
	}
	return sandbox.Options{Supervisor: []string{"/usr/bin/env", "GORACE=atexit_sleep_ms=0", self, "supervise"}, Program: self}
}

// Each runs a test in every sandbox. Bubblewrap may be missing on a laptop, but not
// where tests decide something.
func Each(t *testing.T, test func(t *testing.T, s sandbox.Sandbox)) {
	t.Helper()
	t.Run("none", func(t *testing.T) {
		t.Parallel()
		test(t, sandbox.NewNone(Options()))
	})
	t.Run("bubblewrap", func(t *testing.T) {
		t.Parallel()
		s := sandbox.NewBubblewrap(Options())
		if err := s.Check(t.Context()); err != nil {
			if os.Getenv("CI") != "" {
				t.Fatalf("bubblewrap must work in CI: %v", err)
			}
			t.Skipf("bubblewrap does not work on this machine: %v", err)
		}
		test(t, s)
	})
}

// Log gathers events. It may be used from several goroutines.
type Log struct {
	mu     sync.Mutex
	drafts []lineshaft.Draft
	more   chan struct{}
}

// NewLog makes an empty one.
func NewLog() *Log { return &Log{more: make(chan struct{}, 1)} }

// Emit is a harness.Emit.
func (l *Log) Emit(draft lineshaft.Draft) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drafts = append(l.drafts, draft)
	select {
	case l.more <- struct{}{}:
	default:
	}
}

// Drafts are the events so far, of one type if it is given.
func (l *Log) Drafts(kind lineshaft.EventType) []lineshaft.Draft {
	l.mu.Lock()
	defer l.mu.Unlock()
	var out []lineshaft.Draft
	for _, d := range l.drafts {
		if kind == "" || d.Type == kind {
			out = append(out, d)
		}
	}
	return out
}

// Text is what was written to a stream.
func (l *Log) Text(stream string) string {
	var text strings.Builder
	for _, d := range l.Drafts(lineshaft.EventOutput) {
		var data lineshaft.OutputData
		if json.Unmarshal(d.Data, &data) == nil && data.Stream == stream {
			text.WriteString(data.Text)
		}
	}
	return text.String()
}

// Await blocks until the text was written to standard output.
func (l *Log) Await(t *testing.T, text string) {
	t.Helper()
	l.AwaitStream(t, "stdout", text)
}

// AwaitStream blocks until the text was written to a stream.
func (l *Log) AwaitStream(t *testing.T, stream, text string) {
	t.Helper()
	deadline := time.After(time.Minute)
	for !strings.Contains(l.Text(stream), text) {
		select {
		case <-l.more:
		case <-deadline:
			t.Fatalf("%q did not come; stdout %q, stderr %q", text, l.Text("stdout"), l.Text("stderr"))
		}
	}
}

// Environment is an environment without a worker: processes start at once and end with
// their context.
func Environment(t *testing.T, s sandbox.Sandbox, job lineshaft.Job) harness.Environment {
	t.Helper()
	dir := t.TempDir()
	job.Number = cmp.Or(job.Number, 1)
	masker := mask.New(map[string]string{"LINESHAFT_RUN_TOKEN": Token})
	env := []string{"PATH=/usr/local/bin:/usr/bin:/bin", "HOME=" + s.Guest(dir, "."), "LINESHAFT_RUN_TOKEN=" + Token}
	write := func(name, content string) (string, error) {
		if err := os.MkdirAll(filepath.Join(dir, ".lineshaft"), 0o700); err != nil {
			return "", err
		}
		name = filepath.Join(".lineshaft", name)
		return s.Guest(dir, name), os.WriteFile(filepath.Join(dir, name), []byte(content), 0o600)
	}
	return harness.Environment{
		Job: job, Dir: dir, Env: env, Now: time.Now,
		Mask: func() *mask.Masker { return masker },
		Start: func(ctx context.Context, p harness.Program) (*sandbox.Process, error) {
			return s.Start(ctx, sandbox.Spec{
				Dir: dir, Command: p.Command, Env: append(env[:len(env):len(env)], p.Env...),
				Stdin: p.Stdin, Stdout: p.Stdout, Stderr: p.Stderr,
			})
		},
		WriteFile:  write,
		Transcript: func(context.Context) (string, error) { return write("conversation.md", "what was said") },
		ReadFile: func(name string) (string, error) {
			text, err := os.ReadFile(filepath.Join(dir, ".lineshaft", name))
			return string(text), err
		},
		Access:  func(model.Protocol) (harness.Access, bool) { return harness.Access{}, false },
		Started: func() {}, Blocked: func(bool) {},
	}
}
