package cli

import (
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Documented commands have flags that there are, and those that work inside a factory
// name it: without, they fail for everybody who has a second one.
func TestI7DocumentedCommandsNameTheirFactory(t *testing.T) {
	t.Parallel()
	pages, err := filepath.Glob("../../docs/*.md")
	if err != nil || len(pages) == 0 {
		t.Fatal(pages, err)
	}
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
	cmd, rest, err := newShell(Deps{Environ: []string{}, Stdout: io.Discard, Stderr: io.Discard}).root().Find(words)
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
