package vault

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"syscall"
	"time"
)

// pipeDelay is how long output is awaited after the command itself has ended.
const pipeDelay = time.Second

// keyFromCommand runs argv and reads the key from its standard output.
func keyFromCommand(ctx context.Context, argv []string, limit time.Duration) (Key, error) {
	limited, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	stdout, stderr := &capture{limit: maxKeyText, strict: true}, &capture{limit: maxKeyText}
	defer stdout.wipe()
	defer stderr.wipe()
	err := runCommand(limited, argv, stdout, stderr)
	switch {
	case stdout.over:
		err = errors.New("printed far more than a key; it must print only the key")
	case ctx.Err() != nil:
		err = ctx.Err()
	case limited.Err() != nil:
		err = fmt.Errorf("gave no key within %s; it must not ask questions", limit)
	case errors.Is(err, exec.ErrWaitDelay):
		err = errors.New("ended, but left a process that holds its output open; it must end with everything it started")
	case err == nil:
		var key Key
		if key, err = ParseKey(string(stdout.kept)); err == nil {
			return key, nil
		}
		err = fmt.Errorf("printed on its standard output: %w", err)
	}
	said := cmp.Or(quiet(stderr.kept, stderr.over, stdout.kept), "nothing")
	return Key{}, fmt.Errorf("key command %s: %w; it wrote on its standard error: %s", program(argv), err, said)
}

// runCommand runs argv in a process group of its own, which is killed as a whole.
func runCommand(ctx context.Context, argv []string, stdout, stderr *capture) error {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = cleanEnvironment()
	cmd.Stdout, cmd.Stderr = stdout, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error {
		if err := syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL); errors.Is(err, syscall.ESRCH) {
			return os.ErrProcessDone // not a failure to kill
		} else if err != nil {
			return err
		}
		return nil
	}
	cmd.WaitDelay = pipeDelay
	if err := cmd.Start(); err != nil {
		return startCause(err)
	}
	err := cmd.Wait()
	if errors.Is(err, exec.ErrWaitDelay) {
		_ = syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) // those that kept the pipe; they may be gone by now
	}
	return err
}

// cleanEnvironment keeps the server's own secrets, database password and admin
// key among them, from the command.
func cleanEnvironment() []string {
	env := []string{}
	for _, name := range []string{"PATH", "HOME"} {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	return env
}

// startCause drops the command line that os/exec puts in its errors: whoever
// wrote all of it as one word has arguments in there.
func startCause(err error) error {
	if lookup, ok := errors.AsType[*exec.Error](err); ok {
		err = lookup.Err
	}
	if path, ok := errors.AsType[*fs.PathError](err); ok {
		err = path.Err
	}
	return fmt.Errorf("start: %w", err)
}

// capture keeps the beginning of what is written to it. It has no ReadFrom, which
// io.Copy would use to get round the limit.
type capture struct {
	kept   []byte
	limit  int
	over   bool
	strict bool // end the writer when there is more, instead of letting it talk
}

// Write implements io.Writer.
func (c *capture) Write(p []byte) (int, error) {
	keep := min(len(p), c.limit-len(c.kept))
	c.kept = append(c.kept, p[:keep]...)
	if keep < len(p) {
		c.over = true
		if c.strict {
			return keep, errors.New("too much output")
		}
	}
	return len(p), nil
}

// wipe overwrites what was kept.
func (c *capture) wipe() { clear(c.kept) }
