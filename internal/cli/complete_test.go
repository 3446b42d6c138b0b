package cli

import (
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/internal/cli/server"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// furnish makes one of everything that can be completed.
func (s *realServer) furnish(t *testing.T) {
	t.Helper()
	s.must(t, "factory", "create", "Web shop", "--alias", "shop")
	s.must(t, "webhook", "create", "builds")
	s.must(t, "automation", "create", "triage", "--webhook", "builds", "--prompt", "Look at it")
	s.must(t, "agent", "create", "reviewer", "--factory", "shop", "--description", "reads changes")
	s.must(t, "environment", "create", "node", "--repo", "acme/shop")
	s.must(t, "schedule", "create", "nightly", "--cron", "0 3 * * *", "--prompt", "Audit")
	s.deps.Stdin = strings.NewReader("hush")
	s.must(t, "secret", "create", "TRACKER_TOKEN")
	s.deps.Stdin = nil
	s.must(t, "context", "add", "prod", "--url", s.url, "--key-env", "X", "--no-check")
}

func TestI1CompletionOfNames(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	s.furnish(t)
	run := s.must(t, "run", "hello")
	for _, tc := range []struct{ line, want string }{
		{"runs get ", run},
		{"runs cancel ", run},
		{"runs logs " + run[:8], run},
		{"factory get ", "shop\tWeb shop"},
		{"factory delete ", "shop"},
		{"runs list --factory ", "shop"},
		{"webhook get ", "builds\ttoken"},
		{"webhook get --factory shop b", "builds"},
		{"webhook send ", "builds"},
		{"automation disable ", "triage\tenabled"},
		{"automation create x --webhook ", "builds"},
		{"agent get ", "reviewer\treads changes"},
		{"run hello --agent ", "reviewer"},
		{"environment get ", "node"},
		{"run hello --environment ", "node"},
		{"schedule pause ", "nightly\t0 3 * * *"},
		{"secret update ", "TRACKER_TOKEN"},
		{"run hello --secret ", "TRACKER_TOKEN"},
		{"apikey revoke ", "\t"},
		{"context use ", "prod\t" + s.url},
		{"runs list --context ", "prod"},
		{"run hello --host ", ":"},
		{"run hello --model ", ":"},
	} {
		r := s.run(t.Context(), append([]string{"__complete"}, strings.Split(tc.line, " ")...)...)
		if r.code != shell.ExitOK || !strings.Contains(r.out, strings.ReplaceAll(tc.want, s.url, "http://server")) || strings.Contains(r.out, "Error") {
			t.Errorf("%s: %+v", tc.line, r)
		}
	}
	for _, line := range []string{"secret create ", "runs followup " + run + " ", "runs get " + run + " ", "webhook create "} {
		if r := s.run(t.Context(), append([]string{"__complete"}, strings.Split(line, " ")...)...); strings.Contains(r.out, "TRACKER") || strings.Contains(r.out, run) || strings.Contains(r.out, "builds") {
			t.Errorf("%s proposes %q", line, r.out)
		}
	}
}

// TestI1CompletionIsSilent: without a server, without a key, with a slow server or one
// that answers nonsense, Tab proposes nothing and says nothing.
func TestI1CompletionIsSilent(t *testing.T) {
	t.Parallel()
	slow := newStage(t)
	slow.mux.HandleFunc("GET /api/v1/agent/runs", func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
	broken := newStage(t)
	broken.answer("GET /api/v1/agent/runs", 200, `{"runs":7`)
	hostile := newStage(t)
	hostile.answer("GET /api/v1/agent/runs", 200, `{"runs":[{"run_id":"a\nb","title":"x"},{"run_id":"$(id)\u001b[2J","title":"y"}],"page_info":{}}`)
	away := newStage(t)
	away.setenv("LINESHAFT_URL=http://" + freeAddress(t))
	keyless := newStage(t)
	keyless.deps.Environ = []string{"LINESHAFT_DATA_DIR=" + t.TempDir()}
	asking, _ := contextStage(t)
	if r := asking.run(t.Context(), "context", "add", "c", "--url", asking.url, "--key-command", "echo ls_x", "--no-check"); r.code != shell.ExitOK {
		t.Fatalf("%+v", r)
	}
	for name, s := range map[string]*stage{"slow": slow, "broken": broken, "hostile": hostile, "away": away, "keyless": keyless, "asking": asking} {
		r := s.run(t.Context(), "__complete", "runs", "get", "")
		if r.code != shell.ExitOK || r.out != ":4\n" || strings.Contains(r.err, "Error") {
			t.Errorf("%s: %+v", name, r)
		}
	}
	if n := len(asking.requests()); n != 0 {
		t.Errorf("%d requests: the command for the key was run", n)
	}
}

// TestI1EveryArgumentIsCompleted: a noun in a usage line has a finder, or is listed here
// as one that has none.
func TestI1EveryArgumentIsCompleted(t *testing.T) {
	t.Parallel()
	sh := newProgram(shell.Surroundings{Environ: []string{}})
	free := map[string]bool{
		"": true, "NAME": true, "PROMPT": true, "DIR": true, "FILE": true, "TEXT": true, "STEP": true, "URL": true, "CRON": true,
		"[bash|zsh|fish|powershell]": true, "[command]": true, "command": true, "[flags]": true,
	}
	known := sh.offersOf()
	var walk func(*cobra.Command)
	walk = func(cmd *cobra.Command) {
		if noun := argumentOf(cmd); !free[noun] && known[noun] == nil {
			t.Errorf("%s: nothing completes %s", cmd.CommandPath(), noun)
		}
		for _, sub := range cmd.Commands() {
			walk(sub)
		}
	}
	walk(sh.root(server.Programs{}))
}

// TestI1CompletionInBash runs the script of bash in bash, as Tab does.
func TestI1CompletionInBash(t *testing.T) {
	t.Parallel()
	bash, err := exec.LookPath("bash")
	if err != nil {
		t.Skip("this machine has no bash")
	}
	s := startServer(t)
	s.furnish(t)
	dir := t.TempDir()
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	program := "#!/bin/sh\n" + asProgram + "=1 exec '" + self + "' \"$@\"\n"
	// Written by another process: children of other tests cannot have it open then, which would keep it from starting.
	write := exec.CommandContext(t.Context(), bash, "-c", `cat > "$0" && chmod 755 "$0"`, filepath.Join(dir, "lineshaft"))
	write.Stdin = strings.NewReader(program)
	if out, err := write.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	// What the package bash-completion has for scripts like this one.
	const helpers = `_get_comp_words_by_ref() { cur=${COMP_WORDS[COMP_CWORD]}; prev=${COMP_WORDS[COMP_CWORD-1]}; words=("${COMP_WORDS[@]}"); cword=$COMP_CWORD; }
source <(lineshaft completion bash)
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}; COMP_TYPE=9
__start_lineshaft
printf '%s\n' "${COMPREPLY[@]}"
`
	for _, tc := range []struct{ line, want string }{
		{"webhook get ", "builds"},
		{"webhook d", "delete"},
		{"factory get s", "shop"},
		{"runs list --state inp", "inprogress"},
		{"context use ", "prod"},
		{"webhook create x --scheme githu", "github"},
		{"in", "init"},
	} {
		cmd := exec.CommandContext(t.Context(), bash, append([]string{"-c", helpers, "bash", "lineshaft"}, strings.Split(tc.line, " ")...)...)
		cmd.Env = append(append([]string{}, s.deps.Environ...), "PATH="+dir+":"+os.Getenv("PATH"))
		out, err := cmd.CombinedOutput()
		if err != nil || !strings.Contains(string(out), tc.want) {
			t.Errorf("%s: %v, %s", tc.line, err, out)
		}
	}
}
