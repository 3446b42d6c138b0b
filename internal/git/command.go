package git

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft"
)

const (
	maxStderr = 16 << 10
	// pipeDelay is how long output is awaited after git itself has ended.
	pipeDelay = time.Second
)

// passed are the operator's variables that git gets: where its parts are, whom to trust.
var passed = []string{"PATH", "SSL_CERT_FILE", "SSL_CERT_DIR", "GIT_SSL_CAINFO", "GIT_SSL_CAPATH", "GIT_EXEC_PATH"}

// settings hold for every call: nothing is run, asked or followed.
var settings = []string{
	"core.hooksPath=/dev/null", "core.fsmonitor=false", "core.askPass=", "credential.helper=",
	"http.followRedirects=false", "http.lowSpeedLimit=1000", "http.lowSpeedTime=30",
	"transfer.fsckObjects=true", "fetch.fsckObjects=true", "fetch.unpackLimit=1", "transfer.bundleURI=false",
	// Old repositories have these, and they harm nobody.
	"fetch.fsck.zeroPaddedFilemode=ignore", "fetch.fsck.badTimezone=ignore", "fetch.fsck.missingSpaceBeforeDate=ignore",
	"submodule.recurse=false", "fetch.recurseSubmodules=false", "gc.auto=0", "maintenance.auto=false",
	"init.defaultBranch=main", "protocol.version=2", "advice.detachedHead=false",
}

// call is one run of git.
type call struct {
	args []string
	// at is whom git will speak to; the zero address for nobody.
	at    address
	pin   string
	login *login
	stdin io.Reader
	// env is added to the environment.
	env []string
	// output reads what git prints; nil lets it go.
	output func(io.Reader) error
}

// run runs git until it ends or ctx does; then no process of it is left.
func (c *Client) run(ctx context.Context, call call) error {
	if c.program == "" {
		return lineshaft.Unavailable(nil, "this server has no git program; install git on it, or point it to one")
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	cmd := exec.CommandContext(ctx, c.program, c.arguments(call)...)
	cmd.Env, cmd.Dir = c.environment(call), c.path("home")
	stderr := &capture{limit: maxStderr}
	cmd.Stdin, cmd.Stderr = call.stdin, stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) }
	cmd.WaitDelay = pipeDelay
	err := start(cmd, call.output, cancel)
	if err == nil {
		return nil
	}
	if cmd.Process != nil {
		_ = killGroup(cmd.Process.Pid) // helpers that git did not wait for; they may be gone
	}
	if errors.Is(err, errOutput) {
		return err
	}
	return &commandError{stderr: c.clean(stderr.text.String(), call), cause: err}
}

// errOutput marks errors of the reader of git's output.
var errOutput = errors.New("git output")

func start(cmd *exec.Cmd, output func(io.Reader) error, cancel func()) error {
	if output == nil {
		return cmd.Run()
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	readErr := output(out)
	if readErr == nil {
		_, readErr = io.Copy(io.Discard, out)
	}
	if readErr != nil {
		cancel() // nobody reads the rest
	}
	waitErr := cmd.Wait()
	if readErr != nil && !errors.Is(readErr, io.ErrUnexpectedEOF) {
		return fmt.Errorf("%w: %w", errOutput, readErr)
	}
	return errors.Join(waitErr, readErr)
}

func killGroup(pid int) error {
	if err := syscall.Kill(-pid, syscall.SIGKILL); errors.Is(err, syscall.ESRCH) {
		return os.ErrProcessDone
	} else if err != nil {
		return err
	}
	return nil
}

func (c *Client) arguments(call call) []string {
	args := []string{"--no-pager", "--no-replace-objects"}
	for _, s := range settings {
		args = append(args, "-c", s)
	}
	if call.pin != "" && call.at.kind != kindSSH {
		args = append(args, "-c", "http.curloptResolve="+call.pin)
	}
	if call.login != nil {
		args = append(args, call.login.arguments(call.at)...)
	}
	return append(args, call.args...)
}

// environment is all that git knows of this machine: not the server's variables,
// which include secrets.
func (c *Client) environment(call call) []string {
	config := "/dev/null"
	if call.at.kind == kindLocal {
		config = c.path("local.gitconfig")
	}
	env := []string{
		"LC_ALL=C", "HOME=" + c.path("home"), "XDG_CONFIG_HOME=" + c.path("home"),
		"GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=" + config, "GIT_ATTR_NOSYSTEM=1",
		"GIT_TERMINAL_PROMPT=0", "GIT_ALLOW_PROTOCOL=" + string(call.at.kind), "GIT_PROTOCOL_FROM_USER=0",
		"GIT_NO_LAZY_FETCH=1", "GIT_LFS_SKIP_SMUDGE=1", "GIT_OPTIONAL_LOCKS=0", "GIT_DEFAULT_REF_FORMAT=files",
		"GIT_SSH_COMMAND=" + c.sshCommand(call.login, call.at, call.pin), "GIT_SSH_VARIANT=ssh",
		"GIT_AUTHOR_NAME=lineshaft", "GIT_AUTHOR_EMAIL=lineshaft@localhost",
		"GIT_COMMITTER_NAME=lineshaft", "GIT_COMMITTER_EMAIL=lineshaft@localhost",
	}
	for _, name := range passed {
		if value, ok := os.LookupEnv(name); ok {
			env = append(env, name+"="+value)
		}
	}
	env = append(env, c.proxies(call.at)...)
	if call.login != nil {
		env = append(env, call.login.environment()...)
	}
	return append(env, call.env...)
}

// clean removes credentials and paths of this server from what git said.
func (c *Client) clean(text string, call call) string {
	if call.login != nil {
		text = call.login.mask(text)
	}
	text = strings.ReplaceAll(redact(text), c.cfg.Cache, "")
	if call.at.kind == kindLocal && call.at.text != call.at.shown {
		text = strings.ReplaceAll(text, call.at.text, call.at.shown)
	}
	return strings.TrimSpace(text)
}

// capture keeps the beginning of what is written to it.
type capture struct {
	text  bytes.Buffer
	limit int
}

// Write implements io.Writer.
func (c *capture) Write(p []byte) (int, error) {
	c.text.Write(p[:min(len(p), c.limit-c.text.Len())])
	return len(p), nil
}

// commandError is a git that did not succeed.
type commandError struct {
	stderr string
	cause  error
}

func (e *commandError) Error() string {
	return fmt.Sprintf("git: %s: %s", e.cause, lineshaft.Clip(e.stderr, 1000))
}

func (e *commandError) Unwrap() error { return e.cause }
