package e2e

import (
	"os"
	"os/exec"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/lineshaft/lineshaft/internal/terminal/terminaltest"
)

// onTerminal starts the program on a pseudo-terminal that controls it, as a shell does.
func (n *node) onTerminal(columns, rows int, args ...string) (*terminaltest.Person, *exec.Cmd) {
	n.t.Helper()
	bin, err := binary()
	if err != nil {
		n.t.Fatal(err)
	}
	p := terminaltest.Sit(n.t, columns, rows)
	cmd := exec.Command(bin, args...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm", "LINESHAFT_URL=" + n.url, "LINESHAFT_API_KEY=" + adminKey}
	cmd.Stdin, cmd.Stdout, cmd.Stderr = p.Terminal, p.Terminal, p.Terminal
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		n.t.Fatal(err)
	}
	if err := p.Terminal.Close(); err != nil { // the program has it now
		n.t.Fatal(err)
	}
	n.t.Cleanup(func() { _ = cmd.Process.Kill() }) // it has ended, unless the test failed
	return p, cmd
}

// leaves waits for the program and returns its code and what is on the terminal.
func leaves(p *terminaltest.Person, cmd *exec.Cmd) (int, string) {
	text := p.Rest()
	_ = cmd.Wait() // the code says it
	return cmd.ProcessState.ExitCode(), text
}

// fixed replaces what differs from run to run.
func (n *node) fixed(text string) string {
	for _, r := range [][2]string{
		{regexp.QuoteMeta(n.url), "http://server"},
		{`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`, "ID"},
		{`hosted-\S+`, "WORKER"},
		{`([0-9]+m)?[0-9]+(\.[0-9])?s\b`, "TIME"},
	} {
		text = regexp.MustCompile(r[0]).ReplaceAllString(text, r[1])
	}
	return text
}

// TestI1FollowOnATerminal: a real run, from a real server, as a person sees it.
func TestI1FollowOnATerminal(t *testing.T) {
	t.Parallel()
	n := newNode(t, t.TempDir()+"/l.db")
	n.start(t.Context())
	prompt := "Count\n```sh\nseq 1 100; printf '\\033[2J\\033]52;c;eA==\\007end\\n'\n```\n```sh\necho no >&2; exit 3\n```"
	p, cmd := n.onTerminal(100, 24, "run", prompt, "--follow")
	code, text := leaves(p, cmd)
	want := `Count
run ID
http://server/runs/ID

· QUEUED: waiting for a worker

> Count
  ` + "```sh" + `
  seq 1 100; printf '\033[2J\033]52;c;eA==\007end\n'
  ` + "```" + `
  ` + "```sh" + `
  echo no >&2; exit 3
  ` + "```" + `

· CLAIMED by worker WORKER
· A new, empty workspace was created.
· INPROGRESS

✓ seq 1 100; printf '\033[2J\033]52;c;eA==\007end\n'  TIME
  1
  2
  3
  4
  … 93 more lines
  98
  99
  100
  end
✗ echo no >&2; exit 3  exit 3 · TIME
  no

✗ FAILED: block 2 of 2: sh exited with code 3
  TIME
  try again:  lineshaft runs rerun ID --follow
`
	if got := n.fixed(text); code != 1 || got != want {
		t.Errorf("exit %d, saw\n%s\nwant\n%s", code, got, want)
	}
	if !p.Echoes() {
		t.Error("the terminal stays mute")
	}
}

// TestI1CtrlCLeavesTheRun: one press ends the following and nothing else.
func TestI1CtrlCLeavesTheRun(t *testing.T) {
	t.Parallel()
	n := newNode(t, t.TempDir()+"/l.db")
	n.start(t.Context())
	p, cmd := n.onTerminal(80, 24, "run", "Wait\n```sh\nsleep 60\n```", "--follow")
	p.Reads("sleep 60  ", "working")
	p.Types("\x03")
	code, text := leaves(p, cmd)
	if code != 1 || !strings.Contains(text, "The run continues without you.") || strings.Contains(text, "working") || !p.Echoes() {
		t.Errorf("exit %d, echo %v\n%s", code, p.Echoes(), text)
	}
	id := regexp.MustCompile(`runs cancel (\S+)`).FindStringSubmatch(text)[1]
	run, err := n.client().Runs.Get(t.Context(), id)
	if err != nil || run.State != "INPROGRESS" {
		t.Errorf("the run is %+v, %v", run, err)
	}
	if err := n.client().Runs.Cancel(t.Context(), id); err != nil {
		t.Error(err)
	}
}

// TestI1WatchOnATerminal: the list of a real server, live; the terminal comes back
// whatever ends it, and while it is stopped.
func TestI1WatchOnATerminal(t *testing.T) {
	t.Parallel()
	n := newNode(t, t.TempDir()+"/l.db")
	n.start(t.Context())
	p, cmd := n.onTerminal(80, 24, "runs", "watch")
	p.Reads("no runs yet")
	p2, cmd2 := n.onTerminal(80, 24, "run", "Do something\n```sh\necho hello\n```", "--wait")
	if code, text := leaves(p2, cmd2); code != 0 || !strings.Contains(text, "✓ SUCCEEDED") {
		t.Errorf("exit %d\n%s", code, text)
	}
	p.Reads("SUCCEEDED", "Do something")
	p.Types("\r")
	p.Reads("✓ echo hello", "  hello")

	p.Types("\x1a") // Ctrl-Z
	var status syscall.WaitStatus
	if _, err := syscall.Wait4(cmd.Process.Pid, &status, syscall.WUNTRACED, nil); err != nil || !status.Stopped() {
		t.Fatalf("it is not stopped: %v, %v", status, err)
	}
	p.Sees("the screen as it was", func(s *terminaltest.Screen) bool { return !s.Alternate() && !s.CursorHidden() })
	if !p.Echoes() {
		t.Error("the shell would be mute")
	}
	p.Resize(60, 12)
	if err := cmd.Process.Signal(syscall.SIGCONT); err != nil {
		t.Fatal(err)
	}
	p.Reads("✓ echo hello")
	p.Resize(40, 12) // the kernel sends the signal
	p.Sees("a narrow rule", func(s *terminaltest.Screen) bool {
		return strings.Count(s.Text(), "─") == 40
	})
	p.Types("qq")
	if code, text := leaves(p, cmd); code != 0 || text != "\n" || !p.Echoes() {
		t.Errorf("exit %d, echo %v, left %q", code, p.Echoes(), text)
	}
	for _, signal := range []syscall.Signal{syscall.SIGTERM, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGINT} {
		p, cmd := n.onTerminal(80, 24, "runs", "watch")
		p.Reads("Do something")
		if err := cmd.Process.Signal(signal); err != nil {
			t.Fatal(err)
		}
		if code, text := leaves(p, cmd); code != 0 || text != "\n" || !p.Echoes() {
			t.Errorf("%v: exit %d, echo %v, left %q", signal, code, p.Echoes(), text)
		}
	}
}
