package cli

import (
	"bytes"
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/internal/cli/server"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// commands lists all commands with their words.
func commands(cmd *cobra.Command, words []string) map[string][]string {
	list := map[string][]string{cmd.CommandPath(): words}
	for _, sub := range cmd.Commands() {
		for path, args := range commands(sub, append(append([]string{}, words...), sub.Name())) {
			list[path] = args
		}
	}
	return list
}

// What help.txt says is said: each part is of a command that there is, and is its help.
func TestI1HelpIsOfCommands(t *testing.T) {
	t.Parallel()
	root := newProgram(shell.Surroundings{Environ: []string{}}).root(server.Programs{})
	all := commands(root, nil)
	parts := strings.Split(strings.TrimPrefix(help, "== "), "\n== ")
	if len(parts) < 90 {
		t.Errorf("only %d parts", len(parts))
	}
	for _, part := range parts {
		path, text, _ := strings.Cut(part, "\n")
		cmd, _, err := root.Find(all[path])
		if long, example := cutHelp(text); err != nil || cmd.CommandPath() != path || long != "" && cmd.Long != long || example != "" && cmd.Example != example {
			t.Errorf("help.txt has %q (%v), which says something else:\n%s\n%s", path, err, cmd.Long, cmd.Example)
		}
	}
}

// TestI1EveryHelpHasAnExample and says in a line what the command does.
func TestI1EveryHelpHasAnExample(t *testing.T) {
	t.Parallel()
	all := commands(newProgram(shell.Surroundings{Environ: []string{}}).root(server.Programs{}), nil)
	for _, want := range []string{
		"serve", "run", "runs list", "runs get", "runs logs", "runs followup", "runs cancel", "runs interrupt", "runs rerun", "runs delete",
		"runs open", "apikey create", "apikey list", "apikey revoke", "secret create", "secret update", "secret list", "secret delete", "migrate",
		"environment list", "environment get", "environment create", "environment update", "environment delete",
		"factory list", "factory create", "factory get", "factory update", "factory delete", "automation list", "automation get", "automation create",
		"automation enable", "automation disable", "automation delete", "doctor", "version", "completion bash", "openapi", "supervise", "forward",
	} {
		if all["lineshaft "+want] == nil {
			t.Errorf("there is no command %q", want)
		}
	}
	for path, args := range all {
		r := newStage(t).run(t.Context(), append(args, "--help")...)
		if r.code != 0 || r.err != "" || !strings.Contains(r.out, "Examples:\n  ") || !strings.Contains(r.out, "lineshaft") {
			t.Errorf("%s --help: exit %d, %q\n%s", path, r.code, r.err, r.out)
		}
	}
}

// TestI1ExamplesAreRight: each example that is a plain call is one that exists.
func TestI1ExamplesAreRight(t *testing.T) {
	t.Parallel()
	root := newProgram(shell.Surroundings{Environ: []string{}}).root(server.Programs{})
	for path, args := range commands(root, nil) {
		cmd, _, err := root.Find(args)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(cmd.Example) {
			call, purpose, _ := strings.Cut(line, "#")
			if strings.TrimSpace(purpose) == "" {
				t.Errorf("%s: example %q does not say what it is for", path, strings.TrimSpace(line))
			}
			if about := strings.Contains(purpose, "shell looks") || strings.Contains(purpose, "script for bash"); about != strings.HasPrefix(path, "lineshaft completion") {
				t.Errorf("%s: example %q is about completion, or is not", path, strings.TrimSpace(line))
			}
			_, call, ok := strings.Cut(call, "lineshaft ")
			if !ok {
				t.Errorf("%s: example %q does not call lineshaft", path, line)
				continue
			}
			found, _, err := root.Find(strings.Fields(strings.Trim(strings.TrimSpace(call), ")")))
			if err != nil || path != "lineshaft" && path != "lineshaft help" && found.CommandPath() != path && !strings.HasPrefix(found.CommandPath(), path+" ") {
				t.Errorf("%s: example %q calls %s, %v", path, strings.TrimSpace(line), found.CommandPath(), err)
			}
			for word := range strings.FieldsSeq(call) {
				if name, isFlag := strings.CutPrefix(word, "--"); isFlag && found.Flag(name) == nil {
					t.Errorf("%s: example has the unknown flag --%s", path, name)
				}
			}
		}
	}
}

func TestI1Completion(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		if r := s.run(t.Context(), "completion", shell); r.code != 0 || !strings.Contains(r.out, "lineshaft") {
			t.Errorf("%s: exit %d, %q", shell, r.code, r.err)
		}
	}
	for _, tc := range []struct {
		args []string
		want string
	}{
		{[]string{"runs", ""}, "followup"},
		{[]string{"runs", "list", "--state", ""}, "inprogress\n"},
		{[]string{"runs", "list", "--sort", ""}, "created_at\n"},
		{[]string{"apikey", "create", "x", "--role", ""}, "manager\n"},
		{[]string{"runs", "list", "--output", ""}, "ndjson\n"},
		{[]string{"run", "--harness", ""}, "opencode\n"},
		{[]string{"run", "--permissions", ""}, "ask\n"},
		{[]string{"automation", "create", "--concurrency-policy", ""}, "cancel_previous\n"},
	} {
		if r := s.run(t.Context(), append([]string{"__complete"}, tc.args...)...); r.code != 0 || !strings.Contains(r.out, tc.want) {
			t.Errorf("%v: %+v", tc.args, r)
		}
	}
	if len(s.requests()) != 0 {
		t.Error("completion asked the server")
	}
}

func TestI1Version(t *testing.T) {
	t.Parallel()
	r := newStage(t).run(t.Context(), "version", "-o", "json")
	var about build
	if err := json.Unmarshal([]byte(r.out), &about); err != nil || about.Version != Version() || about.Go == "" || about.Platform == "" {
		t.Errorf("%+v, %v", r, err)
	}
	flag, command := newStage(t).run(t.Context(), "--version"), newStage(t).run(t.Context(), "version")
	if flag.code != 0 || flag.out != about.String()+"\n" || command.out != flag.out {
		t.Errorf("--version gives %+v, version %+v", flag, command)
	}
}

// TestI1HelpSaysWhatIsNeeded: what a newcomer would miss.
func TestI1HelpSaysWhatIsNeeded(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	for _, tc := range []struct{ line, want string }{
		{"completion bash --help", "the package bash-completion"},
		{"--help", "  docs "},
		{"backup --help", "--data-dir DIR"},
		{"factory apply --help", "--yes"},
		{"factory delete --help", "--yes"},
	} {
		if r := s.run(t.Context(), strings.Fields(tc.line)...); r.code != shell.ExitOK || !strings.Contains(r.out, tc.want) {
			t.Errorf("%s has no %q:\n%s", tc.line, tc.want, r.out)
		}
	}
}

// TestI1HelpFits the terminal; where there is none, or a very wide one, people can read it.
// On a narrow one, examples and lines of texts that are set in stay whole, for copying.
func TestI1HelpFits(t *testing.T) {
	t.Parallel()
	for terminal, want := range map[int]int{0: 80, 80: 80, 60: 60, 200: 100} {
		var out bytes.Buffer
		root := newProgram(shell.Surroundings{Environ: []string{}, Stdout: &out, Width: func(io.Writer) int { return terminal }}).root(server.Programs{})
		for path, args := range commands(root, nil) {
			cmd, _, err := root.Find(args)
			if err != nil {
				t.Fatal(err)
			}
			cmd.InitDefaultHelpFlag()
			out.Reset()
			if err := cmd.Help(); err != nil {
				t.Fatal(err)
			}
			about, usage, _ := strings.Cut(out.String(), "Usage:\n")
			_, flags, _ := strings.Cut(usage, "\nFlags:\n")
			called, _, _ := strings.Cut(usage, "\n\n")
			for line := range strings.Lines(about + called + "\n" + flags) {
				line = strings.TrimRight(line, "\n")
				copied := want < 80 && strings.HasPrefix(line, "  ") && strings.Contains(about+called, line)
				if n := utf8.RuneCountInString(line); n > want && !copied {
					t.Errorf("%s on %d columns: %d in %q", path, terminal, n, line)
				}
			}
			_, examples, _ := strings.Cut(usage, "\nExamples:\n")
			examples, _, _ = strings.Cut(examples, "\n\n")
			for line := range strings.Lines(examples) {
				if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > want && want >= 80 {
					t.Errorf("%s on %d columns: %d in the example %q", path, terminal, n, line)
				}
			}
			if !strings.Contains(flags, "--help") {
				t.Errorf("%s: the flags are missing:\n%s", path, out.String())
			}
		}
	}
}

// TestI1HelpLooks: flags and their texts in columns, long flags on lines of their own.
func TestI1HelpLooks(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, line string
		columns    int
	}{{"help", "--help", 0}, {"help-worker", "worker --help", 0}, {"help-worker-60", "worker --help", 60}, {"help-worker-200", "worker --help", 200}, {"help-factory", "factory --help", 80}} {
		s := newStage(t)
		s.terminal(tc.columns)
		r := s.run(t.Context(), strings.Fields(tc.line)...)
		if r.code != shell.ExitOK || r.err != "" {
			t.Errorf("%+v", r)
		}
		golden(t, tc.name, r.out)
	}
}
