package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lineshaft/lineshaft/internal/terminal"
)

// widestFlag is where the texts of flags begin at the latest; those of longer ones begin
// on a line of their own.
const widestFlag = 32

// helpWidth is where help is wrapped: at the end of the terminal, but text of more columns
// than widestText is hard to read. Examples are for copying and stay lines.
func (sh *shell) helpWidth() int {
	if sh.outWidth == 0 {
		return defaultWidth
	}
	return min(sh.outWidth, widestText)
}

// wrapHelp makes the help of all commands fit, which that of cobra does not.
func (sh *shell) wrapHelp(root *cobra.Command) {
	width := sh.helpWidth()
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		about := cmd.Long
		if about == "" {
			about = cmd.Short
		}
		fmt.Fprintf(cmd.OutOrStdout(), "%s\n\n", reflow(about, width))
		writeUsage(cmd.OutOrStdout(), cmd, width)
	})
	root.SetUsageFunc(func(cmd *cobra.Command) error {
		writeUsage(cmd.OutOrStderr(), cmd, width)
		return nil
	})
}

// reflow wraps paragraphs; those with lines that are set in, such as commands, stay.
func reflow(text string, width int) string {
	paragraphs := strings.Split(strings.TrimSpace(text), "\n\n")
	for i, paragraph := range paragraphs {
		if !strings.HasPrefix(paragraph, " ") && !strings.Contains(paragraph, "\n ") {
			paragraphs[i] = strings.Join(wrapText(strings.ReplaceAll(paragraph, "\n", " "), width), "\n")
		}
	}
	return strings.Join(paragraphs, "\n\n")
}

// wrapText breaks text into lines. What stands between backticks is for copying, and stays
// in one as long as it fits.
func wrapText(text string, width int) []string {
	const joined = "\u00a0"
	width = max(width, 20)
	parts := strings.Split(text, "`")
	for i := 1; i < len(parts)-1; i += 2 {
		if terminal.Width(parts[i])+2 <= width {
			parts[i] = strings.ReplaceAll(parts[i], " ", joined)
		}
	}
	var lines []string
	for _, line := range terminal.Wrap(terminal.Text(terminal.Plain, strings.Join(parts, "`")), width, "") {
		lines = append(lines, strings.ReplaceAll(line.String(false), joined, " "))
	}
	return lines
}

// writeUsage tells how a command is called.
func writeUsage(w io.Writer, cmd *cobra.Command, width int) {
	fmt.Fprintln(w, "Usage:")
	if cmd.Runnable() {
		fmt.Fprintln(w, "  "+cmd.UseLine())
	}
	if cmd.HasAvailableSubCommands() {
		fmt.Fprintf(w, "  %s [command]\n", cmd.CommandPath())
	}
	if len(cmd.Aliases) > 0 {
		fmt.Fprintf(w, "\nAliases:\n  %s\n", cmd.NameAndAliases())
	}
	if cmd.HasExample() {
		fmt.Fprintf(w, "\nExamples:\n%s\n", cmd.Example)
	}
	writeCommands(w, cmd, width)
	writeFlags(w, "Flags:", cmd.LocalFlags(), width)
	writeFlags(w, "Global Flags:", cmd.InheritedFlags(), width)
	if cmd.HasAvailableSubCommands() {
		about := fmt.Sprintf("Use \"%s [command] --help\" for more information about a command.", cmd.CommandPath())
		fmt.Fprintf(w, "\n%s\n", reflow(about, width))
	}
}

// writeCommands lists the commands below one, in their groups.
func writeCommands(w io.Writer, cmd *cobra.Command, width int) {
	groups := slices.Clone(cmd.Groups())
	title := "Available Commands:"
	if len(groups) > 0 {
		title = "Additional Commands:"
	}
	for _, group := range append(groups, &cobra.Group{Title: title}) {
		var rows [][2]string
		for _, sub := range cmd.Commands() {
			if sub.GroupID == group.ID && (sub.IsAvailableCommand() || sub.Name() == "help") {
				rows = append(rows, [2]string{fmt.Sprintf("  %-*s", sub.NamePadding(), sub.Name()), sub.Short})
			}
		}
		writeRows(w, group.Title, rows, 1, width)
	}
}

func writeFlags(w io.Writer, title string, flags *pflag.FlagSet, width int) {
	var rows [][2]string
	flags.VisitAll(func(f *pflag.Flag) {
		if !f.Hidden {
			names, help := aboutFlag(f)
			if f.Shorthand == "" {
				names = "    " + names
			}
			rows = append(rows, [2]string{"  " + names, help})
		}
	})
	writeRows(w, title, rows, 2, width)
}

// aboutFlag is a flag as it is written, and what it is for.
func aboutFlag(f *pflag.Flag) (names, help string) {
	value, help := pflag.UnquoteUsage(f)
	names = "--" + f.Name
	if f.Shorthand != "" {
		names = "-" + f.Shorthand + ", " + names
	}
	if value != "" {
		names += " " + value
	}
	if d := f.DefValue; d != "" && d != "false" && d != "[]" && d != "0" {
		help += " (default " + d + ")"
	}
	return names, help
}

// writeRows writes words and, in a column behind them, their texts.
func writeRows(w io.Writer, title string, rows [][2]string, gap, width int) {
	if len(rows) == 0 {
		return
	}
	column := 0
	for _, row := range rows {
		column = max(column, len(row[0])+gap)
	}
	column = min(column, widestFlag)
	fmt.Fprintln(w, "\n"+title)
	for _, row := range rows {
		head := row[0]
		if len(head)+gap > column {
			fmt.Fprintln(w, head)
			head = ""
		}
		for _, line := range wrapText(row[1], width-column) {
			fmt.Fprintln(w, strings.TrimRight(fmt.Sprintf("%-*s%s", column, head, line), " "))
			head = ""
		}
	}
}
