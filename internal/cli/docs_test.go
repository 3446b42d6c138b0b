package cli

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lineshaft/lineshaft/internal/cli/server"
	"github.com/lineshaft/lineshaft/internal/cli/shell"
)

// Documented commands have existing flags, and those that work inside a factory
// name it: otherwise they fail for everyone who has a second one.
func TestI7DocumentedCommandsNameTheirFactory(t *testing.T) {
	t.Parallel()
	var pages []string
	for _, pattern := range []string{"../../docs/*.md", "../../docs/*/*.md"} {
		found, err := filepath.Glob(pattern)
		if err != nil || len(found) == 0 {
			t.Fatal(found, err)
		}
		pages = append(pages, found...)
	}
	pages = slices.DeleteFunc(pages, func(page string) bool { return strings.HasSuffix(page, "/reference/commands.md") }) // it lists, and calls nothing
	checked := 0
	for _, page := range pages {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(string(text)) {
			line, _, _ = strings.Cut(strings.TrimSpace(line), " #")
			if words := strings.Fields(line); len(words) > 1 && words[0] == "lineshaft" {
				checked++
				checkDocumented(t, page, line, words[1:])
			}
		}
	}
	if checked < 50 {
		t.Errorf("only %d commands were found", checked)
	}
}

func checkDocumented(t *testing.T, page, line string, words []string) {
	t.Helper()
	cmd, rest, err := newProgram(shell.Surroundings{Environ: []string{}, Stdout: io.Discard, Stderr: io.Discard}).root(server.Programs{}).Find(words)
	if err != nil {
		t.Errorf("%s: %s: %v", page, line, err)
		return
	}
	for _, word := range rest {
		name, long := strings.CutPrefix(word, "--")
		if name, _, _ = strings.Cut(strings.TrimRight(name, "`,;)"), "="); long && name != "" && name != "help" && cmd.Flag(name) == nil {
			t.Errorf("%s: %s: there is no flag --%s", page, line, name)
		}
	}
	inside := false
	cmd.InheritedFlags().VisitAll(func(f *pflag.Flag) { inside = inside || f.Name == "factory" })
	address := slices.ContainsFunc(rest, func(word string) bool { return strings.Contains(word, "://") })
	if inside && !address && !slices.Contains(rest, "--factory") {
		t.Errorf("%s: %s: add --factory", page, line)
	}
}

// commandsPage lists every command that people are shown, with its flags.
func commandsPage(cmd *cobra.Command, page *strings.Builder) {
	if !cmd.HasAvailableSubCommands() || cmd.LocalNonPersistentFlags().HasAvailableFlags() {
		fmt.Fprintf(page, "\n## %s\n\n%s\n\n    %s\n", cmd.CommandPath(), markdownText(cmd.Short)+".", cmd.UseLine())
		var rows strings.Builder
		all := pflag.NewFlagSet("", pflag.ContinueOnError)
		all.AddFlagSet(cmd.LocalFlags())
		all.AddFlagSet(cmd.InheritedFlags())
		all.VisitAll(func(f *pflag.Flag) {
			if f.Hidden || f.Name == "help" || cmd.HasParent() && cmd.Root().PersistentFlags().Lookup(f.Name) == f {
				return
			}
			value, about := pflag.UnquoteUsage(f)
			name := strings.TrimSpace("--" + f.Name + " " + value)
			if f.Shorthand != "" {
				name = "-" + f.Shorthand + ", " + name
			}
			if f.DefValue != "" && f.DefValue != "false" && f.DefValue != "[]" && f.DefValue != "0" {
				about += " (default `" + f.DefValue + "`)"
			}
			fmt.Fprintf(&rows, "| `%s` | %s |\n", name, markdownText(about))
		})
		if rows.Len() > 0 {
			page.WriteString("\n| flag | |\n| --- | --- |\n" + rows.String())
		}
	}
	for _, sub := range shownCommands(cmd) {
		commandsPage(sub, page)
	}
}

func markdownText(text string) string {
	return strings.NewReplacer("|", `\|`, "<", `\<`, "*", `\*`).Replace(text)
}

// TestI7ReferenceOfCommands holds the list of commands to the program.
func TestI7ReferenceOfCommands(t *testing.T) {
	t.Parallel()
	var page strings.Builder
	page.WriteString("# Every command\n\n<!-- Generated: go test ./internal/cli -run ReferenceOfCommands -update -->\n\n" +
		"`lineshaft COMMAND --help` has the same, with examples. [The command line](../cli.md) explains what commands have in common, and\n" +
		"[settings](../operation.md) the flags of `serve` and `worker` with their variables.\n")
	commandsPage(newProgram(shell.Surroundings{Environ: []string{}, Stdout: io.Discard, Stderr: io.Discard}).root(server.Programs{}), &page)
	const name = "../../docs/reference/commands.md"
	if *update {
		if err := os.WriteFile(name, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if got, err := os.ReadFile(name); err != nil || string(got) != page.String() {
		t.Errorf("docs/reference/commands.md is not what the program has (%v); run: go test ./internal/cli -run ReferenceOfCommands -update", err)
	}
}
