//go:build linux

package sandbox_test

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

func TestX5ExitCodes(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		for script, want := range map[string]int{"exit 0": 0, "exit 7": 7, "kill -9 $$": 137, "kill -TERM $$": 143} {
			t.Run(script, func(t *testing.T) {
				t.Parallel()
				exit, out := run(t, s, shell(t, script))
				if exit.Code != want || exit.Reason != sandbox.ReasonExited {
					t.Errorf("got %+v, want code %d; output %q", exit, want, out)
				}
			})
		}
	})
}

func TestX5UsageIsReported(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		exit, out := run(t, s, shell(t, `i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done`))
		if exit.CPU < 10*time.Millisecond || exit.CPU > time.Minute || exit.MaxRSS < 100<<10 || exit.MaxRSS > 1<<30 {
			t.Errorf("got %+v; output %q", exit, out)
		}
	})
}

// The server's own variables, and everything the supervisor and bubblewrap might
// add, must not get through; bytes that are not UTF-8 and long values must.
func TestX5EnvironmentIsExact(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		spec := shell(t, "cat /proc/self/environ")
		long := strings.Repeat("0123456789abcdef", 6<<10) // 96 KiB
		spec.Env = []string{"PATH=/usr/bin:/bin", "EMPTY=", "BYTES=\xff\xfe\n\"='", "LD_PRELOAD=", "LONG=" + long}
		out := newLines()
		spec.Stdout = out
		if exit := wait(t, begin(t, s, spec)); exit.Code != 0 {
			t.Fatalf("got %+v", exit)
		}
		got := strings.Split(strings.TrimSuffix(out.String(), "\x00"), "\x00")
		want := append(slices.Clone(spec.Env), "PWD="+s.Guest(spec.Dir, "."))
		slices.Sort(got)
		slices.Sort(want)
		// The shell of some systems adds these to what it starts.
		got = slices.DeleteFunc(got, func(kv string) bool { return kv == "OLDPWD=" || kv == "SHLVL=0" || strings.HasPrefix(kv, "_=") })
		if !slices.Equal(got, want) {
			t.Errorf("environment differs:\ngot  %.300q\nwant %.300q", got, want)
		}
	})
}

func TestS2SecretsAreNotInArgumentsOrSupervisorEnvironment(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		const secret = "tell-nobody-4711"
		spec := shell(t, "echo up; exec sleep 1000")
		spec.Env = append(spec.Env, "TOKEN="+secret)
		out := newLines()
		spec.Stdout = out
		p := begin(t, s, spec)
		out.await(t, "up")
		dirs, _ := filepath.Glob("/proc/[0-9]*")
		for _, dir := range dirs {
			args, _ := os.ReadFile(filepath.Join(dir, "cmdline"))
			if strings.Contains(string(args), secret) {
				t.Errorf("%s has the secret in %q", dir, args)
			}
		}
		env, err := os.ReadFile(filepath.Join("/proc", itoa(parent(t, p.PID())), "environ"))
		if err != nil || strings.Contains(string(env), secret) || strings.Contains(string(env), "PATH=") {
			t.Errorf("environment of the supervisor: %q, %v", env, err)
		}
	})
}

func TestX6StandardInput(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		t.Run("nil is empty", func(t *testing.T) {
			t.Parallel()
			if _, out := run(t, s, shell(t, "cat; echo end")); out != "end\n" {
				t.Errorf("got %q", out)
			}
		})
		t.Run("reader", func(t *testing.T) {
			t.Parallel()
			spec := shell(t, "cat")
			want := strings.Repeat("a line of input\n", 20_000)
			spec.Stdin = strings.NewReader(want)
			if _, out := run(t, s, spec); out != want {
				t.Errorf("got %d bytes, want %d", len(out), len(want))
			}
		})
		t.Run("file is inherited", func(t *testing.T) {
			t.Parallel()
			r, w, err := os.Pipe()
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = r.Close() }()
			spec, out := shell(t, "read line; echo got $line"), newLines()
			spec.Stdin, spec.Stdout = r, out
			p := begin(t, s, spec)
			if _, err := w.WriteString("this\n"); err != nil {
				t.Fatal(err)
			}
			wait(t, p)
			if out.String() != "got this\n" {
				t.Errorf("got %q", out.String())
			}
			_ = w.Close()
		})
		t.Run("a pipe nobody reads any more fails its writer", func(t *testing.T) {
			t.Parallel()
			r, w := io.Pipe()
			spec := shell(t, "exit 0")
			spec.Stdin = r
			wait(t, begin(t, s, spec))
			if _, err := w.Write([]byte("x")); !errors.Is(err, io.ErrClosedPipe) {
				t.Errorf("got %v", err)
			}
		})
	})
}

func TestX6OutputArrivesWhole(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		spec, out, errs := shell(t, "head -c 3000000 /dev/zero; echo problem >&2"), newLines(), newLines()
		spec.Stdout, spec.Stderr = out, errs
		wait(t, begin(t, s, spec))
		if len(out.String()) != 3_000_000 || errs.String() != "problem\n" {
			t.Errorf("got %d bytes and %q", len(out.String()), errs.String())
		}
		if _, both := run(t, s, shell(t, "echo 1; echo 2 >&2; echo 3")); both != "1\n2\n3\n" {
			t.Errorf("one writer for both: got %q", both)
		}
	})
}

type brokenWriter struct{}

func (brokenWriter) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestX6BrokenWriterDoesNotBlockTheAgent(t *testing.T) {
	t.Parallel()
	spec := shell(t, "head -c 1000000 /dev/zero; exit 3")
	spec.Stdout = brokenWriter{}
	p := begin(t, sandbox.NewNone(options()), spec)
	exit, err := p.Wait()
	if exit.Code != 3 || err == nil || !strings.Contains(err.Error(), "disk full") {
		t.Errorf("got %+v, %v", exit, err)
	}
}

func TestX6CommandIsLookedUpInThePathOfTheAgent(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		spec := shell(t, "")
		tool := filepath.Join(spec.Dir, "bin", "my-tool")
		if err := os.MkdirAll(filepath.Dir(tool), 0o755); err != nil {
			t.Fatal(err)
		}
		program(t, tool, "#!/bin/sh\necho tool $1\n")
		spec.Env = []string{"PATH=/usr/bin:/bin:" + s.Guest(spec.Dir, "bin")}
		for _, command := range []string{"my-tool", "./bin/my-tool", s.Guest(spec.Dir, tool)} {
			spec.Command = []string{command, "x"}
			if _, out := run(t, s, spec); out != "tool x\n" {
				t.Errorf("%s: got %q", command, out)
			}
		}
		for _, command := range []string{"no-such-tool", "/no/such/tool", "bin"} {
			spec.Command = []string{command}
			if _, err := s.Start(t.Context(), spec); !errors.Is(err, sandbox.ErrNotFound) {
				t.Errorf("%s: got %v", command, err)
			}
		}
	})
}

func TestX5WrongSpecsAreRefused(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		for name, change := range map[string]func(*sandbox.Spec){
			"relative workspace": func(s *sandbox.Spec) { s.Dir = "." },
			"missing workspace":  func(s *sandbox.Spec) { s.Dir += "/missing" },
			"no command":         func(s *sandbox.Spec) { s.Command = nil },
			"NUL in command":     func(s *sandbox.Spec) { s.Command = []string{"sh", "a\x00b"} },
			"entry without =":    func(s *sandbox.Spec) { s.Env = []string{"secret-value"} },
			"unknown network":    func(s *sandbox.Spec) { s.Network = "some" },
			"negative limit":     func(s *sandbox.Spec) { s.Limits.Processes = -1 },
		} {
			spec := shell(t, "exit 0")
			change(&spec)
			if p, err := s.Start(t.Context(), spec); err == nil {
				_, _ = p.Wait()
				t.Errorf("%s: was started", name)
			}
		}
	})
}

// Never silently weaker than asked.
func TestX5NoneRefusesToCutTheNetwork(t *testing.T) {
	t.Parallel()
	spec := shell(t, "exit 0")
	spec.Network = sandbox.NetworkNone
	if _, err := sandbox.NewNone(options()).Start(t.Context(), spec); !errors.Is(err, sandbox.ErrUnsupported) {
		t.Errorf("got %v", err)
	}
}

func TestX5SupervisorThatIsNoneIsAnError(t *testing.T) {
	t.Parallel()
	for _, argv := range [][]string{nil, {"/no/such/program"}, {"/bin/true"}, {"/bin/sh", "-c", "echo broken >&2; exit 1"}} {
		s := sandbox.NewNone(sandbox.Options{Supervisor: argv})
		if _, err := s.Start(t.Context(), shell(t, "exit 0")); err == nil {
			t.Errorf("%v: no error", argv)
		}
		if err := s.Check(t.Context()); !errors.Is(err, sandbox.ErrUnavailable) {
			t.Errorf("%v: Check gives %v", argv, err)
		}
	}
}

func TestX5CheckSaysWhatToInstall(t *testing.T) {
	t.Parallel()
	o := options()
	o.Bubblewrap = "bwrap-that-is-missing"
	err := sandbox.NewBubblewrap(o).Check(t.Context())
	if !errors.Is(err, sandbox.ErrUnavailable) || !strings.Contains(err.Error(), "install bubblewrap") {
		t.Errorf("got %v", err)
	}
	if err := sandbox.NewNone(options()).Check(t.Context()); err != nil {
		t.Errorf("none: %v", err)
	}
}

func TestR7WaitIsForEverybody(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		p := begin(t, s, shell(t, "exit 5"))
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				if exit, err := p.Wait(); exit.Code != 5 || err != nil {
					t.Errorf("got %+v, %v", exit, err)
				}
			})
		}
		wg.Wait()
		p.Feed() // all harmless after the end
		p.Kill(0)
		p.Kill(time.Second)
		if exit, err := p.Wait(); exit.Code != 5 || err != nil {
			t.Errorf("after the end: %+v, %v", exit, err)
		}
	})
}

func TestR7EndOfContextKills(t *testing.T) {
	t.Parallel()
	each(t, func(t *testing.T, s sandbox.Sandbox) {
		ctx, cancel := context.WithCancel(t.Context())
		p, err := s.Start(ctx, shell(t, "exec sleep 1000"))
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		if exit := wait(t, p); exit.Reason != sandbox.ReasonKilled {
			t.Errorf("got %+v", exit)
		}
		if _, err := s.Start(ctx, shell(t, "exec sleep 1000")); !errors.Is(err, context.Canceled) {
			t.Errorf("start with an ended context: %v", err)
		}
	})
}
