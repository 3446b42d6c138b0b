// Command bench measures Lineshaft against anchors that are measured in the same
// run on the same machine, prints one table and writes all figures as JSON.
// docs/benchmarks.md says what each figure means. It is not a test: it decides
// nothing, and nothing but `make bench` calls it.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft/internal/sandbox"
)

func main() {
	os.Exit(start(context.Background(), os.Args[1:]))
}

// start tells the roles of this program apart: it is its own load generator, its
// own server with an agent of the benchmark's, and the supervisor of that server's
// agents.
func start(ctx context.Context, args []string) int {
	if len(args) > 0 && args[0] == superviseRole {
		return sandbox.Supervise(ctx)
	}
	ctx, stop := signal.NotifyContext(ctx, os.Interrupt, syscall.SIGTERM)
	defer stop()
	var err error
	if len(args) > 0 && args[0] == compareRole {
		err = compare(filepath.Join("bench", "results"), args[1:], os.Stdout)
	} else if len(args) == 1 && roles()[args[0]] != nil {
		err = roles()[args[0]](ctx, os.Stdin, os.Stdout)
	} else {
		err = bench(ctx, args, os.Stdout, os.Stderr)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 1
	}
	return 0
}

// role is what a child process does: it reads its orders as JSON from in and
// writes its findings as JSON to out.
type role func(ctx context.Context, in io.Reader, out io.Writer) error

const (
	superviseRole = "supervise"
	serveRole     = "child-serve"
	startsRole    = "child-starts"
	followRole    = "child-follow"
	anchorRole    = "child-anchor"
	hitRole       = "child-hit"
)

func roles() map[string]role {
	return map[string]role{serveRole: serveChild, startsRole: startsChild, followRole: followChild, anchorRole: anchorChild, hitRole: hitChild}
}

// benchmark is one line of the list in docs/benchmarks.md.
type benchmark struct {
	id   string
	what string
	run  func(ctx context.Context, s *session) error
	// quick is the scale for `make bench-quick`: small enough for seconds, large enough for its
	// ratio to hold; 0 leaves it out.
	quick float64
	// minutes is how long it should take on both engines together: what is asked again and again
	// is asked less often when that is near. It is given up after twice as long.
	minutes float64
}

// benchmarks lists what can be measured, in the order it is measured.
func benchmarks() []benchmark {
	return []benchmark{
		{"B1", "ingress", benchIngress, 0.1, 5},
		{"B2", "ingress that starts runs", benchTriggers, 0.1, 9},
		{"B3", "signatures", benchSignatures, 0.1, 4},
		{"B4", "matching", benchMatching, 0.5, 0.5},
		{"B5", "start latency", benchStarts, 0.1, 3},
		{"B6", "queue", benchQueue, 0.05, 7},
		{"B7", "lists", benchLists, 0.1, 7},
		{"B8", "followers", benchFollowers, 0.3, 3},
		{"B9", "cost at rest", benchRest, 0.1, 2},
		{"B11", "what one might pick instead", benchRivals, 0, 5},
		{"B12", "self-hosted workers", benchWorkers, 0.25, 2},
		{"B13", "pages", benchPages, 0.1, 5}, // after B7: it adds to its databases
		{"B14", "prepared environments", benchPrepared, 0.02, 3},
		{"B16", "size", benchSize, 0.1, 1},
		{"B17", "hostile database", benchHostile, 0.1, 3},
	}
}

func bench(ctx context.Context, args []string, out, errOut io.Writer) error {
	opts, err := parseOptions(args, errOut)
	if err != nil {
		return err
	}
	s, err := newSession(ctx, opts, errOut)
	if err != nil {
		return err
	}
	defer s.close(context.WithoutCancel(ctx))
	err = s.measure(ctx, benchmarks())
	s.progress.done()
	return errors.Join(err, s.report.write(out), s.save())
}

// measure measures those that are wanted. One that fails does not take the figures of the others with it.
func (s *session) measure(ctx context.Context, list []benchmark) (failed error) {
	for _, b := range list {
		if !s.opts.wants(b) || ctx.Err() != nil {
			continue
		}
		if err := s.inTime(ctx, b); err != nil {
			err = fmt.Errorf("%s %s: %w", b.id, b.what, err)
			s.report.missing(b.id, b.what, "", err)
			failed = errors.Join(failed, err)
		}
	}
	return errors.Join(failed, ctx.Err())
}

// inTime measures, notes how long that took, and gives up what takes far too long.
func (s *session) inTime(ctx context.Context, b benchmark) error {
	began, within := time.Now(), s.opts.within(b)
	limited, cancel := context.WithTimeout(ctx, 2*within)
	defer cancel()
	whole := s.opts.scale
	s.opts.scale, s.until = s.opts.scaleOf(b), began.Add(within)
	s.progress.stepf("%s %s", b.id, b.what)
	err := b.run(limited, s)
	s.opts.scale = whole
	s.report.Minutes = append(s.report.Minutes, figure{time.Since(began).Minutes(), b.id})
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		s.report.missing(b.id, b.what, "", fmt.Errorf("given up after %s: %w", time.Since(began).Round(time.Second), err))
		return nil
	}
	return err
}
