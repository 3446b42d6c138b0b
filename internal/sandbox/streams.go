package sandbox

import (
	"errors"
	"fmt"
	"io"
	"os"
	"reflect"
	"sync"
	"syscall"
)

// streams carry what goes into and comes out of one agent.
type streams struct {
	child  [3]*os.File // ends for the supervisor, which passes them on
	owned  []*os.File  // those of child to close once it has them
	stdin  io.Reader   // copied to input; nil when there is nothing to copy
	input  *os.File
	output []*output
	wg     sync.WaitGroup
}

// output is one pipe from the agent to a writer.
type output struct {
	name string
	pipe *os.File
	to   io.Writer
	err  error
}

// openStreams makes the pipes a spec needs.
func openStreams(spec *Spec, preface *preface) (*streams, error) {
	s := &streams{}
	if err := s.openInput(spec.Stdin); err != nil {
		s.abandon()
		return nil, err
	}
	stdout, stderr := spec.Stdout, spec.Stderr
	if stdout == nil {
		stdout = io.Discard
	}
	if stderr == nil {
		stderr = io.Discard
	}
	same := sameWriter(spec.Stdout, spec.Stderr)
	if same {
		stdout = io.MultiWriter(preface, stdout)
	}
	if err := s.openOutput(1, "stdout", stdout); err != nil {
		s.abandon()
		return nil, err
	}
	if same {
		s.child[2] = s.child[1]
		return s, nil
	}
	if err := s.openOutput(2, "stderr", io.MultiWriter(preface, stderr)); err != nil {
		s.abandon()
		return nil, err
	}
	return s, nil
}

// sameWriter compares like os/exec: writers of a type that cannot be compared differ.
func sameWriter(a, b io.Writer) bool {
	return a != nil && b != nil && reflect.TypeOf(a).Comparable() && a == b
}

func (s *streams) openInput(from io.Reader) error {
	if f, ok := from.(*os.File); ok && f != nil {
		s.child[0] = f
		return nil
	}
	if from == nil {
		null, err := os.Open(os.DevNull)
		if err != nil {
			return fmt.Errorf("open stdin: %w", err)
		}
		s.child[0] = null
		s.owned = append(s.owned, null)
		return nil
	}
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make stdin: %w", err)
	}
	s.child[0], s.input, s.stdin = r, w, from
	s.owned = append(s.owned, r)
	return nil
}

func (s *streams) openOutput(fd int, name string, to io.Writer) error {
	r, w, err := os.Pipe()
	if err != nil {
		return fmt.Errorf("make %s: %w", name, err)
	}
	s.child[fd] = w
	s.owned = append(s.owned, w)
	s.output = append(s.output, &output{name: name, pipe: r, to: to})
	return nil
}

// abandon closes everything when nothing was started.
func (s *streams) abandon() {
	s.handOver()
	if s.input != nil {
		_ = s.input.Close()
	}
	for _, o := range s.output {
		_ = o.pipe.Close()
	}
}

// handOver closes our copies of what the supervisor has.
func (s *streams) handOver() {
	for _, f := range s.owned {
		_ = f.Close()
	}
	s.owned = nil
}

// copy starts the goroutines. The one for stdin is not waited for: nothing can
// interrupt a read of the caller's.
func (s *streams) copy() {
	for _, o := range s.output {
		s.wg.Go(o.copy)
	}
	if s.stdin != nil {
		go func() {
			// An agent that does not read to the end is not an error.
			_, _ = io.Copy(s.input, s.stdin)
			_ = s.input.Close()
		}()
	}
}

// finish waits until everything that the tree has written is passed on. All writers
// are gone; a descriptor that was smuggled out must not hold us.
func (s *streams) finish() error {
	for _, o := range s.output {
		_ = o.pipe.SetReadDeadline(past)
	}
	s.wg.Wait()
	if s.input != nil {
		_ = s.input.Close()
	}
	if c, ok := s.stdin.(io.Closer); ok {
		_ = c.Close()
	}
	var errs []error
	for _, o := range s.output {
		errs = append(errs, o.err)
	}
	return errors.Join(errs...)
}

// copy passes on until the end of the pipe or, after the deadline that finish
// sets, until the pipe is empty.
func (o *output) copy() {
	defer func() { _ = o.pipe.Close() }()
	buf := make([]byte, 32<<10)
	read := o.pipe.Read
	for {
		n, err := read(buf)
		if n > 0 {
			o.pass(buf[:n])
		}
		switch {
		case errors.Is(err, os.ErrDeadlineExceeded):
			_ = o.pipe.SetReadDeadline(never)
			read = o.readNow
		case err != nil:
			return
		}
	}
}

// pass writes to the caller. After an error the rest is dropped, not left in the
// pipe: the agent must not block because its reader is broken.
func (o *output) pass(p []byte) {
	if o.err != nil {
		return
	}
	if _, err := o.to.Write(p); err != nil {
		o.err = fmt.Errorf("pass on %s: %w", o.name, err)
	}
}

// readNow reads what has come; io.EOF means that the pipe is empty or ended.
func (o *output) readNow(p []byte) (n int, err error) {
	conn, err := o.pipe.SyscallConn()
	if err != nil {
		return 0, err
	}
	ctrl := conn.Read(func(fd uintptr) bool {
		for {
			n, err = syscall.Read(int(fd), p)
			if !errors.Is(err, syscall.EINTR) {
				return true
			}
		}
	})
	if ctrl != nil || err != nil || n <= 0 {
		return 0, io.EOF
	}
	return n, nil
}

// preface keeps the beginning of what is written until it is stopped: the
// message of a sandbox that could not be set up.
type preface struct {
	mu   sync.Mutex
	text []byte
	off  bool
}

const prefaceSize = 1 << 10

// Write never fails and never keeps more than prefaceSize bytes.
func (p *preface) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if room := prefaceSize - len(p.text); !p.off && room > 0 {
		p.text = append(p.text, b[:min(room, len(b))]...)
	}
	return len(b), nil
}

// stop forgets what was kept.
func (p *preface) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.text, p.off = nil, true
}

func (p *preface) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.text)
}
