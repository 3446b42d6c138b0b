package e2e

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// fence is a block of commands of a page, with what is written above it.
type fence struct{ before, text string }

var fences = regexp.MustCompile("(?m)^(.*)\n```sh\n((?s:.*?))^```$")

// shellFences are the blocks of commands of a page.
func shellFences(t *testing.T, page string) (found []fence) {
	t.Helper()
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range fences.FindAllStringSubmatch(string(text), -1) {
		found = append(found, fence{m[1], m[2]})
	}
	return found
}

// notHere says why a line is not run: it fetches or builds what the tests have already.
func notHere(line string) bool {
	return strings.HasPrefix(line, "git clone ") || strings.HasPrefix(line, "make ") || line == ""
}

// TestI7ReadmeRuns runs the commands of README.md and of the first guide in their order, as
// they are printed. A block that cannot run says why above it.
func TestI7ReadmeRuns(t *testing.T) {
	t.Parallel()
	bin, err := binary()
	if err != nil {
		t.Fatal(err)
	}
	for page, least := range map[string]int{"../README.md": 6, "../docs/guides/first-webhook.md": 4} {
		t.Run(filepath.Base(page), func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			if err := os.MkdirAll(filepath.Join(dir, "bin"), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.Symlink(bin, filepath.Join(dir, "bin/lineshaft")); err != nil {
				t.Fatal(err)
			}
			address := freeAddress(t)
			env := []string{
				"PATH=" + filepath.Join(dir, "bin") + ":" + os.Getenv("PATH"), "HOME=" + dir,
				"LINESHAFT_LISTEN=" + address, "LINESHAFT_URL=http://" + address,
			}
			ran, log := 0, ""
			for _, block := range shellFences(t, page) {
				if strings.HasPrefix(block.before, "<!-- not run: ") {
					continue
				}
				for line := range strings.Lines(block.text) {
					if line = strings.TrimSpace(line); notHere(line) {
						continue
					}
					ran++
					log += readmeLine(t, line, dir, env)
				}
			}
			if ran < least || !strings.Contains(log, "SUCCEEDED") || !strings.Contains(log, "hello") {
				t.Errorf("%d lines ran:\n%s", ran, log)
			}
		})
	}
}

// readmeLine runs a line with sh; a server stays in the background.
func readmeLine(t *testing.T, line, dir string, env []string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), "sh", "-c", "exec "+line)
	cmd.Dir, cmd.Env = dir, env
	if strings.HasSuffix(line, "lineshaft serve") {
		n := &node{t: t, url: strings.TrimPrefix(env[3], "LINESHAFT_URL="), log: &lockedBuffer{}, cmd: cmd, exited: make(chan struct{})}
		cmd.Stdout, cmd.Stderr = n.log, n.log
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		go func() {
			defer close(n.exited)
			_ = cmd.Wait() // how it ended is seen in its log
		}()
		t.Cleanup(n.kill)
		n.waitReady(t.Context())
		return ""
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*patience)
	defer cancel()
	bounded := exec.CommandContext(ctx, "sh", "-c", line)
	bounded.Dir, bounded.Env = dir, env
	out, err := bounded.CombinedOutput()
	if err != nil {
		t.Errorf("%s: %v\n%s", line, err, out)
	}
	return string(out)
}
