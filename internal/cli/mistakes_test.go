package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/config"
)

// slip is a mistake of a person, and the exit code that it deserves.
type slip struct {
	name string
	line string
	code int
	// env replaces variables; stdin is piped in.
	env   []string
	stdin string
}

// TestI1FortyMistakes: each is answered on standard error with what is wrong and what to
// do next, in a few lines, and nothing goes to standard output. The golden file is what
// people read; look at it when it changes.
func TestI1FortyMistakes(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	world := s.slipWorld(t)
	var log strings.Builder
	list := slips()
	if len(list) < 40 {
		t.Errorf("only %d mistakes", len(list))
	}
	for _, m := range list {
		words, err := config.SplitWords(world.Replace(m.line))
		if err != nil {
			t.Fatal(err)
		}
		who := s.as(serverKey)
		for _, pair := range m.env {
			who.with(world.Replace(pair))
		}
		who.deps.Stdin = strings.NewReader(m.stdin)
		r := who.run(t.Context(), words...)
		lines := strings.Split(strings.TrimSuffix(r.err, "\n"), "\n")
		if r.code != m.code || r.out != "" || !strings.HasPrefix(lines[0], "Error: ") {
			t.Errorf("%s: lineshaft %s: %+v, want exit %d", m.name, m.line, r, m.code)
		}
		if len(lines) < 2 || len(lines) > 8 || strings.Contains(r.err, "Usage:") {
			t.Errorf("%s: lineshaft %s: %d lines say what is wrong and what to do:\n%s", m.name, m.line, len(lines), r.err)
		}
		fmt.Fprintf(&log, "# %s\n$ lineshaft %s\n[exit %d]\n%s\n", m.name, m.line, r.code, r.err)
	}
	golden(t, "mistakes", strings.ReplaceAll(steady(strings.ReplaceAll(log.String(), s.home, "/home")), s.address, "server"))
}

// slipWorld makes what the mistakes are made with.
func (s *realServer) slipWorld(t *testing.T) *strings.Replacer {
	t.Helper()
	s.must(t, "factory", "create", "shop", "--alias", "one")
	s.must(t, "factory", "create", "twin")
	s.must(t, "factory", "create", "twin")
	secret := file(t, "secret", "a-secret-of-the-table-of-mistakes")
	s.must(t, "webhook", "create", "ci", "--factory", "one", "--secret-file", secret)
	s.must(t, "webhook", "create", "off", "--factory", "one", "--disabled")
	s.must(t, "automation", "create", "triage", "--webhook", "ci", "--factory", "one", "--prompt", "x")
	s.must(t, "secret", "create", "USED", "--value-file", secret)
	s.must(t, "automation", "create", "spender", "--webhook", "ci", "--factory", "one", "--prompt", "x", "--secret", "USED")
	run, _ := s.liveRun(t)
	for name, text := range map[string]string{
		"bad.json": "{\n  \"action\": [\"opened\"\n}\n", "settings.yaml": "lisen: 127.0.0.1:1\n", "other/admin.key": "ls_the_admin_key_of_another_server_0000000000000",
		"wrong/factory.yaml": "name: [\n", "folder/note.txt": "no factory is here",
	} {
		path := filepath.Join(s.home, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return strings.NewReplacer(
		"{run}", run, "{home}", s.home, "{server}", s.address, "{away}", freeAddress(t), "{secret}", secret,
		"{viewer}", s.must(t, "apikey", "create", "v", "--role", "viewer"), "{member}", s.must(t, "apikey", "create", "m", "--role", "member"),
	)
}

func slips() []slip {
	var list []slip
	for _, part := range [][]slip{slipsOfWords(), slipsOfServers(), slipsOfValues(), slipsOfFiles(), slipsOfThings()} {
		list = append(list, part...)
	}
	return list
}

func slipsOfWords() []slip {
	return []slip{
		{name: "misspelt command", line: "rnus list", code: shell.ExitUsage},
		{name: "misspelt subcommand", line: "runs lsit", code: shell.ExitUsage},
		{name: "a word that is no command", line: "deploy", code: shell.ExitUsage},
		{name: "misspelt flag", line: "runs list --stat failed", code: shell.ExitUsage},
		{name: "flag of another command", line: "runs get {run} --follow", code: shell.ExitUsage},
		{name: "flag without its value", line: "runs list --name", code: shell.ExitUsage},
		{name: "missing argument", line: "runs get", code: shell.ExitUsage},
		{name: "one argument too many", line: "runs get a b", code: shell.ExitUsage},
		{name: "wrong order", line: `runs followup "Do more" {run}`, code: shell.ExitUsage},
		{name: "prompt without quotes", line: "run fix the bug", code: shell.ExitUsage},
		{name: "no prompt", line: "run", code: shell.ExitUsage},
		{name: "empty prompt", line: `run " "`, code: shell.ExitUsage},
		{name: "nothing piped in", line: "run -", code: shell.ExitUsage},
		{name: "help about nothing", line: "help me", code: shell.ExitUsage},
		{name: "completion for an unknown shell", line: "completion tcsh", code: shell.ExitUsage},
		{name: "verb before noun", line: "list runs", code: shell.ExitUsage},
		{name: "two flags that exclude each other", line: "factory update one --pause --resume", code: shell.ExitUsage},
		{name: "prompt twice", line: "automation create a --factory one --webhook ci --prompt x --prompt-file y", code: shell.ExitUsage},
		{name: "nothing to change", line: "webhook update ci --factory one", code: shell.ExitUsage},
		{name: "internal command by hand", line: "supervise", code: shell.ExitUsage},
	}
}

func slipsOfServers() []slip {
	return []slip{
		{name: "address without http", line: "runs list --url localhost:8484", code: shell.ExitUsage},
		{name: "address of a page", line: "runs list --url http://{server}/runs", code: shell.ExitFailed},
		{name: "https where http is spoken", line: "runs list --url https://{server}", code: shell.ExitFailed},
		{name: "no server runs", line: "runs list", env: []string{"LINESHAFT_URL=http://{away}"}, code: shell.ExitFailed},
		{name: "no key", line: "runs list", env: []string{"LINESHAFT_API_KEY=", "LINESHAFT_DATA_DIR={home}/nowhere"}, code: shell.ExitDenied},
		{name: "wrong key", line: "runs list", env: []string{"LINESHAFT_API_KEY=ls_wrong"}, code: shell.ExitDenied},
		{name: "wrong key beside a good one", line: "runs list", env: []string{"LINESHAFT_API_KEY=ls_wrong", "LINESHAFT_DATA_DIR={home}/other"}, code: shell.ExitDenied},
		{name: "key of another server", line: "runs list", env: []string{"LINESHAFT_API_KEY=", "LINESHAFT_DATA_DIR={home}/other"}, code: shell.ExitDenied},
		{name: "key with a space", line: "runs list", env: []string{"LINESHAFT_API_KEY=ls_half half"}, code: shell.ExitUsage},
		{name: "unknown context", line: "runs list --context prod", code: shell.ExitNotFound},
		{name: "context and address", line: "runs list --context prod --url http://{server}", code: shell.ExitUsage},
		{name: "context without a key", line: "context add prod --url http://{server}", code: shell.ExitUsage},
		{name: "role that may not", line: "run hello", env: []string{"LINESHAFT_API_KEY={viewer}"}, code: shell.ExitDenied},
		{name: "only for admins", line: "apikey list", env: []string{"LINESHAFT_API_KEY={member}"}, code: shell.ExitDenied},
		{name: "worker without an id", line: "worker", code: shell.ExitUsage},
		{name: "worker with a context", line: "worker --id mac --context prod", code: shell.ExitUsage},
		{name: "setting that is unknown", line: "serve --config {home}/settings.yaml", code: shell.ExitUsage},
		{name: "database that is unknown", line: "migrate --database mysql://db/x", code: shell.ExitUsage},
	}
}

func slipsOfValues() []slip {
	return []slip{
		{name: "unknown state", line: "runs list --state cancled", code: shell.ExitUsage},
		{name: "unknown form of output", line: "runs list -o xml", code: shell.ExitUsage},
		{name: "unknown role", line: "apikey create ci --role managr", code: shell.ExitUsage},
		{name: "unknown scheme", line: "webhook create x --factory one --scheme githab", code: shell.ExitUsage},
		{name: "not a time", line: "runs list --since yesterday", code: shell.ExitUsage},
		{name: "end before begin", line: "webhook redeliver ci --factory one --since 1h --until 2h", code: shell.ExitUsage},
		{name: "not a number", line: "runs list --limit many", code: shell.ExitUsage},
		{name: "number too large", line: "runs list --limit 9999", code: shell.ExitUsage},
		{name: "not a pair", line: "run hello --metadata team", code: shell.ExitUsage},
		{name: "not a tool server", line: "run hello --mcp nothing", code: shell.ExitUsage},
		{name: "not a cron expression", line: "schedule create s --cron daily --prompt x", code: shell.ExitFailed},
		{name: "not a time zone", line: `schedule create s --cron @daily --timezone Europe/Berln --prompt x`, code: shell.ExitFailed},
		{name: "not a header", line: "webhook send ci --factory one --secret-file {secret} --header oops", code: shell.ExitUsage},
		{name: "key instead of its id", line: "apikey revoke ls_abcdefghijklmnop", code: shell.ExitUsage},
		{name: "worker key for nobody", line: "apikey create w --role worker", code: shell.ExitUsage},
		{name: "name that a secret cannot have", line: "secret create my-token", stdin: "x", code: shell.ExitUsage},
		{name: "cursor of another list", line: "runs list --cursor nonsense", code: shell.ExitFailed},
		{name: "JSON with a mistake", line: `automation create a --factory one --webhook ci --prompt x --filter '{"action": [opened]}'`, code: shell.ExitUsage},
		{name: "filter with an unknown operator", line: `automation create a --factory one --webhook ci --prompt x --filter '{"action": {"$like": "x"}}'`, code: shell.ExitFailed},
	}
}

func slipsOfFiles() []slip {
	return []slip{
		{name: "missing file", line: "run hello --file {home}/none.txt", code: shell.ExitUsage},
		{name: "folder instead of a file", line: "run hello --file {home}", code: shell.ExitUsage},
		{name: "missing file with a prompt", line: "automation create a --factory one --webhook ci --prompt-file {home}/none.md", code: shell.ExitUsage},
		{name: "folder with a prompt", line: "automation create a --factory one --webhook ci --prompt-file {home}", code: shell.ExitUsage},
		{name: "file with broken JSON", line: "automation create a --factory one --webhook ci --prompt x --filter @{home}/bad.json", code: shell.ExitUsage},
		{name: "missing secret file", line: "webhook send ci --factory one --secret-file {home}/none", code: shell.ExitUsage},
		{name: "no secret file", line: "webhook send ci --factory one", code: shell.ExitUsage},
		{name: "folder that is not there", line: "factory plan {home}/none", code: shell.ExitUsage},
		{name: "folder without a factory", line: "factory apply {home}/folder", code: shell.ExitFailed},
		{name: "broken YAML", line: "factory plan {home}/wrong", code: shell.ExitFailed},
		{name: "missing settings", line: "serve --config {home}/none.yaml", code: shell.ExitUsage},
		{name: "folder that is not empty", line: "factory init {home}", code: shell.ExitUsage},
	}
}

func slipsOfThings() []slip {
	return []slip{
		{name: "run that is not there", line: "runs get 0000", code: shell.ExitNotFound},
		{name: "factory that is not there", line: "factory get shp", code: shell.ExitNotFound},
		{name: "name of several factories", line: "factory get twin", code: shell.ExitUsage},
		{name: "several factories and none named", line: "webhook list", code: shell.ExitUsage},
		{name: "harness with a typo", line: "run hello --harness clade", code: shell.ExitUsage},
		{name: "mode that is none", line: "run hello --mode acpp", code: shell.ExitUsage},
		{name: "permissions that are none", line: "run hello --permissions alow", code: shell.ExitUsage},
		{name: "factory without an agent", line: "run hello --factory one", code: shell.ExitUsage},
		{name: "webhook that is not there", line: "webhook get cii --factory one", code: shell.ExitNotFound},
		{name: "webhook name that is taken", line: "webhook create ci --factory one", code: shell.ExitFailed},
		{name: "alias that is taken", line: "factory create other --alias one", code: shell.ExitFailed},
		{name: "automation of a webhook that is not there", line: "automation create a --factory one --webhook cii --prompt x", code: shell.ExitNotFound},
		{name: "automation that is not there", line: "automation enable triag --factory one", code: shell.ExitNotFound},
		{name: "webhook that is switched off", line: "webhook send off --factory one --secret-file {secret}", code: shell.ExitNotFound},
		{name: "wrong secret of a webhook", line: "webhook send ci --factory one --secret-file {home}/settings.yaml", code: shell.ExitDenied},
		{name: "secret of several lines", line: "webhook send ci --factory one --secret-file {home}/bad.json", code: shell.ExitUsage},
		{name: "live run deleted", line: "runs delete {run}", code: shell.ExitFailed},
		{name: "secret that is in use", line: "secret delete USED", code: shell.ExitFailed},
		{name: "secret that is not there", line: "run hello --secret NOPE", code: shell.ExitFailed},
		{name: "factory that is not there", line: "apikey create ci --factory 00000000-0000-7000-8000-000000000000", code: shell.ExitFailed},
		{name: "agent that is not there", line: "run hello --agent nobody", code: shell.ExitNotFound},
		{name: "report outside of a run", line: "report message hello", code: shell.ExitUsage},
	}
}
