package cli

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/goccy/go-yaml"

	"github.com/lineshaft/lineshaft/internal/cli/server"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/config"
)

// TestI1EveryWordOfTheContract: the commands and flags that are promised are there.
func TestI1EveryWordOfTheContract(t *testing.T) {
	t.Parallel()
	root := newProgram(shell.Surroundings{Environ: []string{}}).root(server.Programs{})
	for line, flags := range map[string]string{
		"serve": "listen data-dir database base-url config no-worker", "worker": "id server", "worker list": "",
		"run":       "name model environment skill host mcp file wait follow",
		"runs list": "", "runs get": "", "runs logs": "follow", "runs followup": "", "runs cancel": "", "runs open": "",
		"factory list": "", "factory validate": "", "factory plan": "", "factory apply": "", "factory drift": "", "factory export": "", "factory link": "",
		"webhook create": "scheme", "webhook list": "", "webhook get": "", "webhook rotate": "", "webhook enable": "", "webhook disable": "", "webhook delete": "",
		"webhook deliveries": "status outcome event q", "webhook test": "event data", "factory deliveries": "status outcome event q", "webhook redeliver": "", "webhook test-filter": "", "webhook send": "scheme",
		"automation list": "", "automation enable": "", "automation disable": "",
		"secret create": "team", "secret update": "team", "secret list": "team", "secret delete": "team",
		"environment list": "", "environment create": "", "schedule list": "", "schedule create": "", "apikey create": "role", "apikey list": "", "apikey revoke": "",
		"migrate": "database", "backup": "", "restore": "", "doctor": "", "completion bash": "", "version": "",
	} {
		cmd, rest, err := root.Find(strings.Fields(line))
		if err != nil || len(rest) > 0 || cmd.CommandPath() != "lineshaft "+line {
			t.Errorf("there is no command %q: %v", line, err)
			continue
		}
		for flag := range strings.FieldsSeq(flags + " output url context") {
			if cmd.Flag(flag) == nil && cmd.InheritedFlags().Lookup(flag) == nil {
				t.Errorf("%s has no --%s", line, flag)
			}
		}
	}
}

// TestI1EveryFormOfOutput: what reads prints JSON, lines of JSON and YAML that programs
// can read, and nothing else on standard output.
func TestI1EveryFormOfOutput(t *testing.T) {
	t.Parallel()
	s := startServer(t)
	made := s.exitWorld(t)
	for _, tc := range exitCases() {
		if !tc.reads || strings.Contains(tc.ok, "{folder}") || strings.Contains(tc.ok, "Folder") {
			continue // those are about a factory that the table makes first
		}
		for format, read := range map[string]func([]byte) error{
			shell.FormatJSON:   func(text []byte) error { var v any; return json.Unmarshal(text, &v) },
			shell.FormatYAML:   func(text []byte) error { var v any; return yaml.Unmarshal(text, &v) },
			shell.FormatNDJSON: readLines,
		} {
			words, err := config.SplitWords(made.Replace(tc.command + " " + tc.ok + " -o " + format))
			if err != nil {
				t.Fatal(err)
			}
			r := s.run(t.Context(), words...)
			if err := read([]byte(r.out)); r.code != shell.ExitOK || err != nil || format != shell.FormatNDJSON && r.out == "" {
				t.Errorf("lineshaft %s: %v, %+v", strings.Join(words, " "), err, r)
			}
		}
	}
}

func readLines(text []byte) error {
	for line := range strings.Lines(string(text)) {
		var v any
		if err := json.Unmarshal([]byte(line), &v); err != nil {
			return err
		}
	}
	return nil
}
