package cli

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/internal/cli/server"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/config"
)

// exitCase is a command and calls of it that end with each exit code. In lines, {name}
// is replaced with what the test has made. An impossible column is "-", with the reason.
type exitCase struct {
	command string
	// ok ends with 0, wrong with 2, missing with 3.
	ok, wrong, missing string
	// reads says that a viewer may do it: then a wrong key is denied.
	reads bool
	// local says that no server is asked: nothing can be denied, and none can be away.
	local bool
	// why explains the columns that are "-".
	why string
	// stdin is what is piped in.
	stdin string
}

// TestI1ExitCodesOfEveryCommand: 0 when it works, 2 for a mistake, 3 for a thing that is
// not there, 4 for a key that may not, 1 when no server answers, for every command.
func TestI1ExitCodesOfEveryCommand(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	made := s.exitWorld(t)
	viewer := s.as(s.must(t, "apikey", "create", "v", "--role", "viewer"))
	stranger := s.as("ls_a_key_that_no_server_has_ever_made_000000000000")
	away := s.as(serverKey).with("LINESHAFT_URL=http://" + freeAddress(t))
	cases := exitCases()
	for _, tc := range cases {
		play := func(who *realServer, column, line string, want int) {
			if line == "-" {
				if tc.why == "" {
					t.Errorf("%s: nothing says why there is no column %s", tc.command, column)
				}
				return
			}
			words, err := config.SplitWords(made.Replace(line))
			if err != nil {
				t.Fatalf("%s: %v", line, err)
			}
			who.deps.Stdin = strings.NewReader(tc.stdin)
			if r := who.run(t.Context(), append(strings.Fields(tc.command), words...)...); r.code != want {
				t.Errorf("%s: lineshaft %s %s: exit %d, want %d\n%s%s", column, tc.command, line, r.code, want, r.out, r.err)
			} else if want == shell.ExitUsage && (r.out != "" || strings.Count(r.err, "\n") > 8) {
				t.Errorf("%s: lineshaft %s %s: a mistake is answered with %q and %q", column, tc.command, line, r.out, r.err)
			}
		}
		play(s, "wrong", tc.wrong, shell.ExitUsage)
		play(s, "missing", tc.missing, shell.ExitNotFound)
		if !tc.local {
			play(away, "away", tc.ok, shell.ExitFailed)
			if tc.reads {
				play(stranger, "denied", tc.ok, shell.ExitDenied)
			} else {
				play(viewer, "denied", tc.ok, shell.ExitDenied)
			}
		}
		play(s, "ok", tc.ok, shell.ExitOK)
	}
	inTable := func(path string) bool {
		return slices.ContainsFunc(cases, func(tc exitCase) bool { return "lineshaft "+tc.command == path })
	}
	for _, leaf := range leaves(newProgram(shell.Surroundings{Environ: []string{}}).root(server.Programs{})) {
		if !inTable(leaf) {
			t.Errorf("%s is not in the table of exit codes", leaf)
		}
	}
}

// leaves are the commands that do something.
func leaves(cmd *cobra.Command) []string {
	var list []string
	for _, sub := range cmd.Commands() {
		list = append(list, leaves(sub)...)
	}
	if len(list) == 0 || cmd.Name() == "worker" {
		list = append(list, cmd.CommandPath())
	}
	return list
}

// exitWorld makes what the lines of the table name.
func (s *realServer) exitWorld(t *testing.T) *strings.Replacer {
	t.Helper()
	const prompt = "Say it\n\n```sh\necho hello\n```\n"
	s.must(t, "factory", "create", "Web shop", "--alias", "shop")
	s.must(t, "webhook", "create", "ci", "--secret-file", file(t, "secret", "a-secret-of-the-table-of-exit-codes"))
	s.must(t, "automation", "create", "triage", "--webhook", "ci", "--prompt", prompt)
	s.must(t, "agent", "create", "reviewer", "--factory", "shop")
	s.must(t, "environment", "create", "node", "--image", "node:24")
	s.must(t, "schedule", "create", "nightly", "--cron", "0 3 * * *", "--prompt", prompt)
	s.must(t, "secret", "create", "OLD", "--value-file", file(t, "value", "hush"))
	s.must(t, "context", "add", "prod", "--url", s.url, "--key-env", "LINESHAFT_API_KEY")
	secret := file(t, "secret", "a-secret-of-the-table-of-exit-codes")
	delivery := s.must(t, "webhook", "send", "ci", "--secret-file", secret)
	ended, over := s.must(t, "run", prompt), s.must(t, "run", prompt)
	s.must(t, "runs", "logs", "-f", ended)
	s.must(t, "runs", "logs", "-f", over)
	var key struct {
		ID string `json:"id"`
	}
	if err := json.Unmarshal([]byte(s.must(t, "apikey", "create", "k", "-o", "json")), &key); err != nil {
		t.Fatal(err)
	}
	folder := filepath.Join(s.home, "folder")
	s.must(t, "factory", "init", folder, "--name", "Folder")
	repository := gitRepository(t, filepath.Join(s.home, "repository"))
	run, token := s.liveRun(t)
	return strings.NewReplacer(
		"{run}", run, "{ended}", ended, "{over}", over, "{secret}", secret, "{delivery}", delivery, "{key}", key.ID, "{folder}", folder,
		"{home}", s.home, "{repository}", "file://"+repository, "{prompt}", "'"+prompt+"'", "{token}", token, "{file}", file(t, "report.md", "text"),
	)
}

// liveRun starts a run that works until the test ends, and returns its id and token.
func (s *realServer) liveRun(t *testing.T) (id, token string) {
	t.Helper()
	pipe, told := filepath.Join(s.home, "end"), filepath.Join(s.home, "token")
	for _, name := range []string{pipe, told} {
		if err := syscall.Mkfifo(name, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	id = s.must(t, "run", fmt.Sprintf("```sh\nprintf '%%s' \"$LINESHAFT_RUN_TOKEN\" > %s\nread -r line < %s\n```\n", told, pipe))
	text, err := os.ReadFile(told) // waits for the agent
	if err != nil || len(text) == 0 {
		t.Fatalf("token %q, %v", text, err)
	}
	return id, string(text)
}

// gitRepository is one with the definition of a factory.
func gitRepository(t *testing.T, dir string) string {
	t.Helper()
	if r := newStage(t).run(t.Context(), "factory", "init", dir, "--name", "Folder"); r.code != shell.ExitOK {
		t.Fatalf("%+v", r)
	}
	for _, args := range [][]string{{"init", "-q", "-b", "main"}, {"add", "."}, {"-c", "user.name=t", "-c", "user.email=t@example.com", "commit", "-q", "-m", "first"}} {
		cmd := exec.CommandContext(t.Context(), "git", args...)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_CONFIG_GLOBAL=/dev/null", "GIT_CONFIG_SYSTEM=/dev/null")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("git %v: %v\n%s", args, err, out)
		}
	}
	return dir
}

// TestI1ExitCodesOfReports: the commands of agents take the run and its token from the
// variables that every agent has.
func TestI1ExitCodesOfReports(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	run, token := s.liveRun(t)
	agent := s.as("").with("LINESHAFT_URL=", "LINESHAFT_API_URL="+s.url, "LINESHAFT_RUN_ID="+run, "LINESHAFT_RUN_TOKEN="+token)
	for _, tc := range reportLines(file(t, "report.md", "text")) {
		words, err := config.SplitWords(tc.line)
		if err != nil {
			t.Fatal(err)
		}
		for _, who := range []struct {
			s    *realServer
			want int
		}{
			{agent, tc.want},
			{s.as("").with("LINESHAFT_RUN_ID=" + run), shell.ExitUsage},
			{s.as("").with("LINESHAFT_API_URL="+s.url, "LINESHAFT_RUN_ID="+run, "LINESHAFT_RUN_TOKEN=ls_wrong"), max(tc.want, shell.ExitDenied)},
			{s.as("").with("LINESHAFT_API_URL=http://"+freeAddress(t), "LINESHAFT_RUN_ID="+run, "LINESHAFT_RUN_TOKEN="+token), max(tc.want, shell.ExitFailed)},
		} {
			if tc.want == shell.ExitUsage {
				who.want = shell.ExitUsage
			}
			if r := who.s.run(t.Context(), append([]string{"report"}, words...)...); r.code != who.want {
				t.Errorf("report %s: exit %d, want %d\n%s", tc.line, r.code, who.want, r.err)
			}
		}
	}
}

type reportLine struct {
	line string
	want int
}

func reportLines(path string) []reportLine {
	return []reportLine{
		{"artifact " + path, shell.ExitOK},
		{"artifact", shell.ExitUsage},
		{"artifact /none", shell.ExitUsage},
		{"pull-request https://forge.example/acme/shop/pull/7", shell.ExitOK},
		{"pull-request", shell.ExitUsage},
		{"reference https://tickets.example/OPS-12", shell.ExitOK},
		{"reference", shell.ExitUsage},
		{"message 'all is well'", shell.ExitOK},
		{"message", shell.ExitUsage},
		{"notice 'a remark'", shell.ExitOK},
		{"notice", shell.ExitUsage},
		{"plan 'one step'", shell.ExitOK},
		{"plan", shell.ExitUsage},
	}
}

// TestI1ExitCodeOfAFailedRun: what stays with a run fails when the run does.
func TestI1ExitCodeOfAFailedRun(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	for _, flag := range []string{"--wait", "--follow"} {
		for prompt, want := range map[string]int{"```sh\nexit 3\n```": shell.ExitFailed, "```sh\ntrue\n```": shell.ExitOK} {
			if r := s.run(ctx, "run", prompt, flag); r.code != want {
				t.Errorf("%s %q: %+v", flag, prompt, r)
			}
		}
	}
}
