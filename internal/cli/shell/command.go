package shell

import (
	"cmp"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lineshaft/lineshaft/internal/nearest"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

// AnyChanged says that one of the flags was given.
func AnyChanged(cmd *cobra.Command, flags ...string) bool {
	return slices.ContainsFunc(flags, func(name string) bool { return cmd.Flags().Changed(name) })
}

// Example lays out pairs of a command line and what it is for.
func Example(pairs ...string) string {
	width := 0
	for i := 0; i < len(pairs); i += 2 {
		width = max(width, len(pairs[i]))
	}
	var lines []string
	for i := 0; i+1 < len(pairs); i += 2 {
		lines = append(lines, strings.TrimRight(fmt.Sprintf("  %-*s   # %s", width, pairs[i], pairs[i+1]), " "))
	}
	return strings.Join(lines, "\n")
}

// Group makes a command that only has subcommands help instead of doing nothing
// when it is called without one of them, or with a wrong one.
func Group(cmd *cobra.Command, subs ...*cobra.Command) *cobra.Command {
	cmd.AddCommand(subs...)
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return UnknownCommand(cmd, args[0])
	}
	return cmd
}

// UnknownCommand is about a word that is not a command, with the command that was probably meant.
func UnknownCommand(cmd *cobra.Command, word string) error {
	var names, nouns []string
	for _, sub := range cmd.Commands() {
		if !sub.IsAvailableCommand() {
			continue
		}
		names = append(names, sub.Name())
		if slices.ContainsFunc(sub.Commands(), func(verb *cobra.Command) bool { return verb.Name() == word }) {
			nouns = append(nouns, fmt.Sprintf("`%s %s`", sub.CommandPath(), word))
		}
	}
	hint := fmt.Sprintf("Commands are: %s. See `%s --help`.", strings.Join(names, ", "), cmd.CommandPath())
	near := nearest.Word(word, names)
	switch {
	case near != "" && nearest.Distance(word, near) <= max(1, len(word)/3): // further off it would be a guess
		hint = fmt.Sprintf("Did you mean `%s %s`?", cmd.CommandPath(), near)
	case len(nouns) > 0:
		hint = fmt.Sprintf("Add what it is about, such as %s. See `%s --help`.", strings.Join(nouns[:min(3, len(nouns))], ", "), cmd.CommandPath())
	}
	return Usage(fmt.Sprintf("%q is not a command of %s", word, cmd.CommandPath()), hint)
}

// DidYouMean is the beginning of a hint that names what was probably meant; empty when
// nothing is near.
func DidYouMean(word string, names []string) string {
	if near := nearest.Word(word, names); near != "" {
		return fmt.Sprintf("Did you mean %s? ", near)
	}
	return ""
}

// NamesOf are the names of things.
func NamesOf[T any](list []T, name func(T) string) []string {
	var names []string
	for _, item := range list {
		names = append(names, name(item))
	}
	return names
}

// FlagError explains what the flag parser did not like.
func FlagError(cmd *cobra.Command, err error) error {
	// The parser stops at the first unknown flag; a wrong command before it is the
	// real mistake, since it has none of the flags that were meant.
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return UnknownCommand(cmd, words[0])
	}
	hint := fmt.Sprintf("See `%s --help`.", cmd.CommandPath())
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := nearest.Word(name, names); near != "" {
			hint = fmt.Sprintf("Did you mean --%s? %s", near, hint)
		} else if others := siblingsWith(cmd, name); others != "" {
			hint = fmt.Sprintf("%s has it. %s", others, hint)
		}
	}
	if lacks, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		value, _ := pflag.UnquoteUsage(lacks.GetFlag())
		return Usage(fmt.Sprintf("--%s needs a value", lacks.GetFlag().Name),
			strings.TrimSpace(fmt.Sprintf("Write: --%s %s", lacks.GetFlag().Name, value))+". "+hint)
	}
	return Usage(flagMistake(err), hint)
}

// siblingsWith names a sibling of this command that has the flag.
func siblingsWith(cmd *cobra.Command, flag string) string {
	if !cmd.HasParent() {
		return ""
	}
	for _, sibling := range cmd.Parent().Commands() {
		if sibling.IsAvailableCommand() && sibling.Flags().Lookup(flag) != nil {
			return "`" + sibling.CommandPath() + "`"
		}
	}
	return ""
}

// flagMistake says what is wrong without the words of the parser's own program.
func flagMistake(err error) string {
	wrong, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok {
		return err.Error()
	}
	flag := wrong.GetFlag()
	kind := map[string]string{"int": "a whole number", "bool": "true or false"}[flag.Value.Type()]
	if kind == "" {
		return err.Error()
	}
	return fmt.Sprintf("--%s %q is not %s", flag.Name, wrong.GetValue(), kind)
}

// Needs checks the number of arguments; most < 0 means any number.
func Needs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		line := fmt.Sprintf("Run: %s %s", cmd.Parent().CommandPath(), cmd.Use)
		if len(args) < least {
			return Usage(fmt.Sprintf("`%s` needs %s", cmd.CommandPath(), what), line)
		}
		if most >= 0 && len(args) > most {
			return Usage(fmt.Sprintf("`%s` does not know what to do with %q", cmd.CommandPath(), args[most]), line)
		}
		if i := slices.Index(args, ""); i >= 0 {
			return Usage(fmt.Sprintf("argument %d of `%s` is empty", i+1, cmd.CommandPath()), line)
		}
		return nil
	}
}

// CompleteWords offers the values of a flag to the shell.
func CompleteWords(cmd *cobra.Command, flag string, words ...string) {
	// It fails only for a flag that does not exist, which the tests of help would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// Adopt makes the commands that cobra brings along like our own: with examples, and with
// the same answers to mistakes.
func Adopt(root *cobra.Command) {
	for _, sub := range root.Commands() {
		switch line := sub.CommandPath(); sub.Name() {
		case "help":
			sub.Example = Example(line+" runs list", "help for `runs list`")
			sub.Run, sub.RunE = nil, func(cmd *cobra.Command, args []string) error {
				about, rest, err := cmd.Root().Find(args)
				if err != nil || len(rest) > 0 {
					return UnknownCommand(about, rest[0])
				}
				return about.Help()
			}
		case "completion":
			sub.Example = Example(line+" bash", "print the script for bash")
			sub.Short = "Print the script that makes a shell complete commands, flags, names and ids"
			Group(sub)
			for _, shell := range sub.Commands() {
				shell.Args = Needs(0, 0, "")
				shell.Example = Example(shell.CommandPath()+" > FILE", "write it where your shell looks for it")
				shell.Short = "Print the script that makes " + shell.Name() + " complete commands, flags, names and ids"
				shell.Long = shell.Short + ".\n\n" + completionHelp(shell.Name())
			}
		}
	}
}

// completionHelp says for each shell where the script goes.
func completionHelp(shell string) string {
	return map[string]string{
		"bash": "It needs the package bash-completion, version 2 or newer; without it, Tab only prints\n" +
			"\"_get_comp_words_by_ref: command not found\". Install it with your package manager (apt, dnf, apk,\n" +
			"brew install bash-completion@2), and start a new shell.\n\n" +
			"For this shell:\n\n" +
			"  source <(lineshaft completion bash)\n\n" +
			"For every new one:\n\n" +
			"  dir=~/.local/share/bash-completion/completions\n" +
			"  mkdir -p $dir && lineshaft completion bash > $dir/lineshaft",
		"zsh": "For this shell:\n\n" +
			"  autoload -U compinit; compinit\n" +
			"  source <(lineshaft completion zsh)\n\n" +
			"For every new one, write it to a folder in $fpath, and start a new shell:\n\n" +
			"  lineshaft completion zsh > \"${fpath[1]}/_lineshaft\"",
		"fish": "For this shell:\n\n" +
			"  lineshaft completion fish | source\n\n" +
			"For every new one:\n\n" +
			"  lineshaft completion fish > ~/.config/fish/completions/lineshaft.fish",
		"powershell": "For this session:\n\n" +
			"  lineshaft completion powershell | Out-String | Invoke-Expression\n\n" +
			"For every new one, add that line to your PowerShell profile.",
	}[shell]
}

// OneOf refuses a word that is not in a list.
func OneOf(flag, word string, words []string) error { return Known("--"+flag, word, words) }

// Known checks a word of what was asked for, however that was.
func Known(what, word string, words []string) error {
	if word == "" || slices.Contains(words, word) {
		return nil
	}
	return Usage(fmt.Sprintf("%s %q is not known", what, word), DidYouMean(word, words)+"It is one of: "+strings.Join(words, ", ")+".")
}

// SetTexts writes the texts of the flags that were given, and says whether one was.
func SetTexts(cmd *cobra.Command, texts map[string]struct{ To, From *string }) (changed bool) {
	for flag, text := range texts {
		if cmd.Flags().Changed(flag) {
			*text.To, changed = *text.From, true
		}
	}
	return changed
}

// IfChanged sets what a flag was given for.
func IfChanged[T any](cmd *cobra.Command, flag string, to **T, value T) {
	if cmd.Flags().Changed(flag) {
		*to = &value
	}
}

// widestFlag is the last column in which the texts of flags begin; those of longer flags begin
// on a line of their own.
const widestFlag = 32

// WidestText is where text for reading is wrapped on a wide terminal.
const WidestText = 100

// helpWidth is where help is wrapped: at the end of the terminal, but text of more columns
// than widestText is hard to read.
func (sh *Shell) helpWidth() int {
	if sh.OutWidth == 0 {
		return defaultWidth
	}
	return min(sh.OutWidth, WidestText)
}

// WrapHelp makes the help of all commands fit, which that of cobra does not.
func (sh *Shell) WrapHelp(root *cobra.Command) {
	width := sh.helpWidth()
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) {
		about := cmd.Long
		about = cmp.Or(about, cmd.Short)
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

// wrapText breaks text into lines. Text between backticks is for copying, and stays
// in one line as long as it fits.
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

// writeUsage says how a command is called.
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
		fmt.Fprintf(w, "\nExamples:\n%s\n", fitExamples(cmd.Example, width))
	}
	writeCommands(w, cmd, width)
	writeFlags(w, "Flags:", cmd.LocalFlags(), width)
	writeFlags(w, "Global Flags:", cmd.InheritedFlags(), width)
	if cmd.HasAvailableSubCommands() {
		about := fmt.Sprintf("Use \"%s [command] --help\" for more information about a command.", cmd.CommandPath())
		fmt.Fprintf(w, "\n%s\n", reflow(about, width))
	}
}

// fitExamples puts the purpose of an example that is too wide on a line before it, and
// breaks the call before its flags in a way that a shell accepts.
func fitExamples(examples string, width int) string {
	var lines []string
	for line := range strings.SplitSeq(examples, "\n") {
		call, purpose, _ := strings.Cut(line, "   # ")
		if terminal.Width(line) <= width {
			lines = append(lines, line)
			continue
		}
		for _, part := range wrapText(purpose, width-4) {
			lines = append(lines, "  # "+part)
		}
		lines = append(lines, breakCall(strings.TrimSpace(call), width)...)
	}
	return strings.Join(lines, "\n")
}

// breakCall breaks a call before flags that are not within quotes.
func breakCall(call string, width int) (lines []string) {
	line := " "
	for i, part := range strings.Split(call, " --") {
		if i > 0 {
			part = "--" + part
		}
		quoted := strings.Count(line, "'")%2 == 1 || strings.Count(line, `"`)%2 == 1
		if i > 0 && !quoted && terminal.Width(line+" "+part)+2 > width {
			lines, line = append(lines, line+` \`), "     "
		}
		line += " " + part
	}
	return append(lines, line)
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
			names, help := AboutFlag(f)
			if f.Shorthand == "" {
				names = "    " + names
			}
			rows = append(rows, [2]string{"  " + names, help})
		}
	})
	writeRows(w, title, rows, 2, width)
}

// AboutFlag is a flag as it is written, and what it is for.
func AboutFlag(f *pflag.Flag) (names, help string) {
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
