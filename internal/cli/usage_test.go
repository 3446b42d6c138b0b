package cli

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// mistake is a wrong call, what is wrong with it and the hint that it gets.
type mistake struct{ name, line, wrong, hint string }

// check wants exit code 2, the message, the hint, and that nothing is sent.
func (m mistake) check(t *testing.T) {
	t.Helper()
	s := newStage(t)
	r := s.run(t.Context(), strings.Split(m.line, " ")...)
	if r.code != shell.ExitUsage || r.out != "" {
		t.Errorf("exit %d, output %q", r.code, r.out)
	}
	message, hint, _ := strings.Cut(r.err, "\n")
	if !strings.HasPrefix(message, "Error: ") || !strings.Contains(message, m.wrong) || !strings.Contains(hint, m.hint) || !strings.HasPrefix(hint, "  ") {
		t.Errorf("said %q\nwant %q with the hint %q", r.err, m.wrong, m.hint)
	}
	if n := len(s.requests()); n != 0 {
		t.Errorf("%d requests were sent", n)
	}
	if strings.Contains(r.err, "pw") {
		t.Error("a password is shown")
	}
}

func TestI1Mistakes(t *testing.T) {
	t.Parallel()
	for _, tc := range []mistake{
		{"unknown command", "rnus", `"rnus" is not a command of lineshaft`, "Did you mean `lineshaft runs`?"},
		{"unknown command with its flags", "rum Hi --follow", `"rum" is not a command`, "Did you mean `lineshaft run`?"},
		{"nothing near", "frobnicate", `"frobnicate" is not a command`, "Commands are: agent"},
		{"unknown subcommand", "runs lsit", `"lsit" is not a command of lineshaft runs`, "Did you mean `lineshaft runs list`?"},
		{"unknown key command", "apikey make x", `"make" is not a command of lineshaft apikey`, "Commands are: "},
		{"flag of nobody", "runs list --frobnicate", "unknown flag: --frobnicate", "lineshaft runs list --help"},
		{"flag without value", "runs list --name", "--name needs a value", "Write: --name NAME. See `lineshaft runs list --help"},
		{"bad number", "runs list --limit many", `--limit "many" is not a whole number`, "lineshaft runs list --help"},
		{"bad switch", "runs list --all=perhaps", `--all "perhaps" is not true or false`, "lineshaft runs list --help"},
		{"bad output", "runs list -o xml", `--output "xml" is not one of table, json, ndjson, yaml`, "--help"},
		{"no id", "runs get", "`lineshaft runs get` needs a run id", "Run: lineshaft runs get RUN_ID"},
		{"two ids", "runs get a b", `does not know what to do with "b"`, "Run: lineshaft runs get RUN_ID"},
		{"no ids", "runs cancel", "needs a run id (`lineshaft runs list` shows them)", "Run: lineshaft runs cancel RUN_ID..."},
		{"arguments to list", "runs list failed", `does not know what to do with "failed"`, "lineshaft runs list"},
		{"bad state", "runs list --state cancled", `--state "cancled" is not a state`, "Did you mean cancelled?"},
		{"far state", "runs list --state zzz", "is not a state", "States are: queued"},
		{"bad sort", "runs list --sort age", `--sort "age" is not one of`, "Leave it out"},
		{"limit too large", "runs list --limit 1000", "not between 1 and 500", "--all"},
		{"limit zero", "runs list --limit 0", "not between 1 and 500", "--all"},
		{"bad time", "runs list --since yesterday", `--since "yesterday" is not a time`, "--since 12h"},
		{"negative after", "runs logs x --after -1", "cannot be negative", "last event"},
		{"no message", "runs followup run-1", "needs a message", "lineshaft runs followup run-1 "},
		{"message without quotes", "runs followup run-1 more please", `does not know what to do with "please"`, "RUN_ID MESSAGE"},
		{"key without name", "apikey create", "needs a name for the key", "lineshaft apikey create NAME"},
		{"bad role", "apikey create ci --role managr", `--role "managr" is not a role`, "Did you mean manager?"},
		{"worker without id", "apikey create ci --role worker", "needs the ids", "--worker ID"},
		{"bad expiry", "apikey create ci --expires never", `--expires "never" is not a time`, "--expires 30d"},
		{"key instead of id", "apikey revoke ls_abcdef", "that is a key, not the id of one", "lineshaft apikey list"},
		{"bad address", "runs list --url localhost:8484", `"localhost:8484" is not the address`, "http://127.0.0.1:8484"},
		{"address with password", "runs list --url http://u:pw@h", "user name or password", "LINESHAFT_URL"},
		{"supervise by hand", "supervise", "workers start `supervise` themselves", "lineshaft serve"},
		{"forward by hand", "forward", "workers start `forward` themselves", "lineshaft serve"},
		{"arguments to version", "version 2", `does not know what to do with "2"`, "lineshaft version"},
		{"serve with argument", "serve here", `does not know what to do with "here"`, "lineshaft serve"},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

func TestI1MistakesOfRun(t *testing.T) {
	t.Parallel()
	directory := t.TempDir()
	big := filepath.Join(directory, "big.bin")
	if err := os.WriteFile(big, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.Truncate(big, 10<<20+1); err != nil {
		t.Fatal(err)
	}
	one, two := file(t, "same.txt", "1"), file(t, "same.txt", "2")
	for _, tc := range []mistake{
		{"unknown flag", "run Hi --folow", "unknown flag: --folow", "Did you mean --follow?"},
		{"no conversation", "run x --conversation=", "--conversation is empty", "start a new conversation"},
		{"no prompt", "run", "a run needs a prompt", `lineshaft run "what the agent should do"`},
		{"prompt without quotes", "run fix the bug", "more than one argument", "with quotes around"},
		{"command of runs", "run list", `"list" is a command of lineshaft runs`, "Did you mean: lineshaft runs list? To use it as a prompt: echo list | lineshaft run -"},
		{"command of runs with an id", "run cancel " + agentOne, `"cancel" is a command of lineshaft runs`, "lineshaft runs cancel " + agentOne + "?"},
		{"command of runs in a prompt", "run list files", "more than one argument", "with quotes around"},
		{"blank prompt", "run \u00a0", "the prompt is empty", "Run: lineshaft run"},
		{"empty input", "run -", "standard input is empty", "Pipe the text in"},
		{"metadata without value", "run Hi --metadata team", `--metadata "team" has no value`, "--metadata KEY=VALUE"},
		{"metadata without key", "run Hi --metadata =x", "has no key", "--metadata KEY=VALUE"},
		{"metadata twice", "run Hi --metadata a=1 --metadata a=2", `gives "a" twice`, "once"},
		{"missing file", "run Hi --file " + directory + "/none", "no such file", "--file"},
		{"directory as file", "run Hi --file " + directory, "is not a file", "archive"},
		{"large file", "run Hi --file " + big, "more than 10485760 bytes", "Attach less"},
		{"six files", "run Hi --file a --file b --file c --file d --file e --file f", "6 files; at most 5", "one archive"},
		{"same name", "run Hi --file " + one + " --file " + two, "two files are named same.txt", "Rename one"},
		{"bad tool", "run Hi --mcp nothing", `--mcp "nothing" is not a tool server`, "NAME=https://"},
		{"bad tool JSON", "run Hi --mcp {x", "--mcp is not valid JSON", `"command"`},
	} {
		t.Run(tc.name, func(t *testing.T) { t.Parallel(); tc.check(t) })
	}
}

func TestI1EmptyArgument(t *testing.T) {
	t.Parallel()
	s := newStage(t)
	if r := s.run(t.Context(), "runs", "delete", "run-1", ""); r.code != shell.ExitUsage || !strings.Contains(r.err, "argument 2") || len(s.requests()) != 0 {
		t.Errorf("%+v", r)
	}
}

// TestI1GroupsHelp: a command that only groups others shows them.
func TestI1GroupsHelp(t *testing.T) {
	t.Parallel()
	for _, args := range [][]string{{}, {"runs"}, {"apikey"}, {"factory"}, {"automation"}, {"help"}, {"help", "runs"}} {
		s := newStage(t)
		title := "Available Commands:"
		if len(args) == 0 || strings.Join(args, " ") == "help" {
			title = "Start here:"
		}
		if r := s.run(t.Context(), args...); r.code != 0 || !strings.Contains(r.out, title) || r.err != "" {
			t.Errorf("%v: %+v", args, r)
		}
	}
}
