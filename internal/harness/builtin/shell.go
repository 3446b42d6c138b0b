package builtin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/builtin/chat"
	"github.com/lineshaft/lineshaft/internal/mask"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

const (
	shellSeconds    = 120
	maxShellSeconds = 3600
	scriptFile      = "command.sh"
	// prefer runs a script with bash where there is one, as models expect.
	prefer = `if command -v bash >/dev/null 2>&1; then exec bash "$1"; fi; exec sh "$1"`
)

// errSlow ends a command that takes longer than it may.
var errSlow = errors.New("the command took too long")

func shellTool() tool {
	return tool{
		category: "command", guarded: true, run: runShell,
		Tool: chat.Tool{
			Name: "shell",
			Description: "Run a shell script in the workspace, without a terminal and without input. Only files in the workspace are kept between calls; " +
				"processes left in the background end with the call. Long output is cut in the middle.",
			Schema: schema(
				[3]string{"command", "string", "the script"},
				[3]string{"timeout_seconds?", "integer", fmt.Sprintf("after which it is ended; %d if not given, at most %d", shellSeconds, maxShellSeconds)},
			),
		},
	}
}

// runShell runs a script in the sandbox. People see its output as it comes,
// the model at the end.
func runShell(ctx context.Context, t *turn, call invocation) outcome {
	var in struct {
		Command string  `json:"command"`
		Timeout float64 `json:"timeout_seconds"`
	}
	if err := call.decode(&in); err != nil {
		return problem(err)
	}
	if strings.TrimSpace(in.Command) == "" {
		return problem(errors.New("the command is empty"))
	}
	limit := time.Duration(min(cmp.Or(max(in.Timeout, 0), shellSeconds), maxShellSeconds) * float64(time.Second))
	// A file, because arguments are short and everyone can read them.
	script, err := t.env.WriteFile(scriptFile, in.Command)
	if err != nil {
		return outcome{fatal: err}
	}
	bounded, cancel := context.WithTimeoutCause(ctx, limit, errSlow)
	defer cancel()
	kept := &gathered{limit: maxResult}
	output := t.env.NewOutput(t.emit, call.id)
	stdout, stderr := masked(t, kept), masked(t, kept)
	exit, err := t.env.Run(bounded, harness.Program{
		Command: []string{"/bin/sh", "-c", prefer, "sh", script},
		Stdout:  io.MultiWriter(output.Stdout(), stdout), Stderr: io.MultiWriter(output.Stderr(), stderr),
	})
	output.Close()
	stdout.end()
	stderr.end()
	slow := ctx.Err() == nil && errors.Is(context.Cause(bounded), errSlow)
	if err != nil && !slow {
		return outcome{text: err.Error(), failed: true, fatal: err, output: map[string]any{"error": "the command could not be run"}}
	}
	return report(kept.String(), exit, slow, limit)
}

// report says how a command ended, after what it printed.
func report(printed string, exit sandbox.Exit, slow bool, limit time.Duration) outcome {
	out := outcome{text: printed, output: map[string]any{"exit_code": exit.Code}}
	if out.text != "" && !strings.HasSuffix(out.text, "\n") {
		out.text += "\n"
	}
	switch {
	case slow:
		out.failed = true
		end := fmt.Sprintf("ended after %s, which is its limit", limit)
		out.output = map[string]any{"error": end}
		out.text += "[" + end + "]"
	case !harness.Good(exit):
		out.failed = true
		end := harness.Describe("the command", exit)
		out.output["error"] = end
		out.text += "[" + end + "]"
	default:
		out.text += "[exit code 0]"
	}
	return out
}

// maskedWriter hides secrets, also those that come in pieces.
type maskedWriter struct {
	mask *mask.Stream
	to   io.Writer
}

func masked(t *turn, to io.Writer) *maskedWriter {
	return &maskedWriter{mask: t.env.Mask().Stream(), to: to}
}

// Write passes on what is surely no part of a secret.
func (m *maskedWriter) Write(p []byte) (int, error) {
	_, err := m.to.Write(m.mask.Write(p))
	return len(p), err
}

func (m *maskedWriter) end() { _, _ = m.to.Write(m.mask.Flush()) } // gathered never fails

// cut shortens a text to about n bytes: its head and its tail, which say most.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	head, tail := n/4, n-n/4
	left := len(text) - head - tail
	return valid(text[:head]) + fmt.Sprintf("\n[… %d bytes left out …]\n", left) + valid(text[len(text)-tail:])
}

// valid drops what cutting left of a character.
func valid(text string) string { return strings.ToValidUTF8(text, "") }

// gathered keeps the head and the tail of what a program prints. Several goroutines
// may write to it.
type gathered struct {
	limit int

	mu   sync.Mutex
	head []byte
	tail []byte
	left int64
}

// Write never fails.
func (g *gathered) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	rest := p
	if room := g.limit/4 - len(g.head); room > 0 {
		n := min(room, len(rest))
		g.head, rest = append(g.head, rest[:n]...), rest[n:]
	}
	g.tail = append(g.tail, rest...)
	if over := len(g.tail) - (g.limit - g.limit/4); over > g.limit {
		g.trim()
	}
	return len(p), nil
}

func (g *gathered) trim() {
	if over := len(g.tail) - (g.limit - g.limit/4); over > 0 {
		g.left += int64(over)
		g.tail = append(g.tail[:0], g.tail[over:]...)
	}
}

// String is what was kept.
func (g *gathered) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trim()
	if g.left == 0 {
		return strings.ToValidUTF8(string(g.head)+string(g.tail), "\ufffd")
	}
	return strings.ToValidUTF8(string(g.head), "\ufffd") + fmt.Sprintf("\n[… %d bytes left out …]\n", g.left) + strings.ToValidUTF8(string(g.tail), "\ufffd")
}
