package cli

import (
	_ "embed"
	"strings"

	"github.com/spf13/cobra"
)

// help is what commands say of themselves beyond a line, with examples: after == and the
// command, a text, an empty line, and the examples, which are indented.
//
//go:embed help.txt
var help string

// explain gives the commands their part of help; what a command says by code stays.
func explain(root *cobra.Command) {
	for part := range strings.SplitSeq(strings.TrimPrefix(help, "== "), "\n== ") {
		path, text, _ := strings.Cut(part, "\n")
		cmd, _, err := root.Find(strings.Fields(path)[1:])
		if err != nil || cmd.CommandPath() != path {
			continue // a test finds it
		}
		long, example := cutHelp(text)
		if long != "" {
			cmd.Long = long
		}
		if example != "" {
			cmd.Example = example
		}
	}
}

// cutHelp parts a text from its examples.
func cutHelp(part string) (long, example string) {
	part = strings.TrimRight(part, "\n")
	if strings.HasPrefix(part, "  ") {
		return "", part
	}
	long, example, found := strings.Cut(part, "\n\n  ")
	if found {
		example = "  " + example
	}
	return long, example
}
