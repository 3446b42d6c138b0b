package cli

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lineshaft/lineshaft/internal/cli/shell"
	"github.com/lineshaft/lineshaft/internal/manual"
)

func (sh program) docsCommand() *cobra.Command {
	return shell.Group(&cobra.Command{
		Use: "docs", Short: "Write the documentation, or the manual pages of this command",
	}, sh.docsManCommand(), sh.docsHTMLCommand())
}

func (sh program) docsHTMLCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "html", Short: "Write the documentation as static files", Args: shell.Needs(0, 0, ""),
		RunE: func(*cobra.Command, []string) error {
			if dir == "" {
				return shell.Usage("the folder is missing", "Run: lineshaft docs html --dir site")
			}
			written, err := manual.Write(dir)
			if err != nil {
				return shell.Failure(err, fmt.Sprintf("cannot write the documentation: %v", err), "Name a folder that you may write to.")
			}
			return sh.Show(map[string]any{"dir": dir, "pages": written}, func() {
				fmt.Fprintf(sh.Out, "%s in %s\n", shell.Count(written, "page"), dir)
			})
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`FOLDER` to write to; it is created if needed")
	return cmd
}

func (sh program) docsManCommand() *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: "man", Short: "Write a manual page for every command", Args: shell.Needs(0, 0, ""),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if dir == "" {
				return shell.Usage("the folder is missing", "Run: lineshaft docs man --dir man")
			}
			if err := os.MkdirAll(dir, 0o755); err != nil { // everyone may read manuals
				return shell.Usage(fmt.Sprintf("cannot create the folder: %v", err), "Name a folder that you may write to.")
			}
			written := 0
			for _, page := range manPages(cmd.Root()) {
				if err := os.WriteFile(filepath.Join(dir, page.name), []byte(page.text), 0o644); err != nil { // as above
					return shell.Failure(err, fmt.Sprintf("cannot write a page: %v", err), "Name a folder that you may write to.")
				}
				written++
			}
			return sh.Show(map[string]any{"dir": dir, "pages": written}, func() {
				fmt.Fprintf(sh.Out, "%s in %s\n", shell.Count(written, "page"), dir)
			})
		},
	}
	cmd.Flags().StringVar(&dir, "dir", "", "`FOLDER` to write to; it is created if needed")
	return cmd
}

// manPage is one file of the manual.
type manPage struct{ name, text string }

// manPages are those of a command and of all below it that people are shown.
func manPages(cmd *cobra.Command) []manPage {
	pages := []manPage{{manName(cmd) + ".1", manText(cmd)}}
	for _, sub := range shownCommands(cmd) {
		pages = append(pages, manPages(sub)...)
	}
	return pages
}

func manName(cmd *cobra.Command) string { return strings.ReplaceAll(cmd.CommandPath(), " ", "-") }

// manText is a page in the language of man, without a date: the same program makes the
// same pages.
func manText(cmd *cobra.Command) string {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	fmt.Fprintf(&b, ".TH %s 1 \"\" %s \"Lineshaft\"\n", roffQuote(strings.ToUpper(manName(cmd))), roffQuote("lineshaft "+version))
	fmt.Fprintf(&b, ".SH NAME\n%s \\- %s\n", roff(manName(cmd)), roff(cmd.Short))
	fmt.Fprintf(&b, ".SH SYNOPSIS\n.B %s\n", roff(cmd.UseLine()))
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	b.WriteString(".SH DESCRIPTION\n" + roffText(about))
	if subs := shownCommands(cmd); len(subs) > 0 {
		b.WriteString(".SH COMMANDS\n")
		for _, sub := range subs {
			fmt.Fprintf(&b, ".TP\n.B %s\n%s\n", roff(sub.Name()), roff(sub.Short))
		}
	}
	manFlags(&b, "OPTIONS", cmd.NonInheritedFlags())
	manFlags(&b, "OPTIONS OF ALL COMMANDS", cmd.InheritedFlags())
	if cmd.Example != "" {
		b.WriteString(".SH EXAMPLES\n.nf\n" + roffLines(cmd.Example) + ".fi\n")
	}
	b.WriteString(".SH EXIT STATUS\n0 it worked, 1 it failed, 2 the command line is wrong, 3 not found, 4 not allowed.\n")
	manSeeAlso(&b, cmd)
	return b.String()
}

func shownCommands(cmd *cobra.Command) []*cobra.Command {
	var subs []*cobra.Command
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() && !sub.IsAdditionalHelpTopicCommand() {
			subs = append(subs, sub)
		}
	}
	return subs
}

func manFlags(b *strings.Builder, title string, flags *pflag.FlagSet) {
	if !flags.HasAvailableFlags() {
		return
	}
	b.WriteString(".SH " + title + "\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		names, help := shell.AboutFlag(f)
		fmt.Fprintf(b, ".TP\n.B %s\n%s\n", roff(names), roff(help))
	})
}

func manSeeAlso(b *strings.Builder, cmd *cobra.Command) {
	var others []string
	if cmd.HasParent() {
		others = append(others, manName(cmd.Parent()))
	}
	for _, sub := range shownCommands(cmd) {
		others = append(others, manName(sub))
	}
	if len(others) == 0 {
		return
	}
	for i, other := range others {
		others[i] = ".BR " + roff(other) + " (1)"
	}
	b.WriteString(".SH SEE ALSO\n" + strings.Join(others, ",\n") + "\n")
}

// roff escapes one line: backslashes and dashes, and a dot or quote that would be read
// as a request.
func roff(text string) string {
	text = strings.NewReplacer(`\`, `\e`, "-", `\-`, "\n", " ").Replace(text)
	if strings.HasPrefix(text, ".") || strings.HasPrefix(text, "'") {
		return `\&` + text
	}
	return text
}

func roffQuote(text string) string { return `"` + strings.ReplaceAll(roff(text), `"`, `\(dq`) + `"` }

// roffText lays out paragraphs; lines that are set in stay lines.
func roffText(text string) string {
	var b strings.Builder
	for i, paragraph := range strings.Split(strings.TrimSpace(text), "\n\n") {
		if i > 0 {
			b.WriteString(".PP\n")
		}
		if strings.HasPrefix(paragraph, "  ") {
			b.WriteString(".nf\n" + roffLines(paragraph) + ".fi\n")
			continue
		}
		b.WriteString(roffLines(paragraph))
	}
	return b.String()
}

func roffLines(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		b.WriteString(roff(strings.TrimRight(line, "\n")) + "\n")
	}
	return b.String()
}
