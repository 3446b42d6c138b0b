package cli

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/lineshaft/lineshaft/internal/nearest"
)

// example lays out pairs of a command line and what it is for.
func example(pairs ...string) string {
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

// group makes a command that only has subcommands help instead of doing nothing
// when it is called without one of them, or with a wrong one.
func group(cmd *cobra.Command) {
	cmd.Args = cobra.ArbitraryArgs
	cmd.RunE = func(cmd *cobra.Command, args []string) error {
		if len(args) == 0 {
			return cmd.Help()
		}
		return unknownCommand(cmd, args[0])
	}
}

func unknownCommand(cmd *cobra.Command, word string) error {
	var names []string
	for _, sub := range cmd.Commands() {
		if sub.IsAvailableCommand() {
			names = append(names, append(sub.Aliases, sub.Name())...)
		}
	}
	hint := fmt.Sprintf("Commands are: %s. See `%s --help`.", strings.Join(names, ", "), cmd.CommandPath())
	if near := nearest.Word(word, names); near != "" {
		hint = fmt.Sprintf("Did you mean `%s %s`?", cmd.CommandPath(), near)
	}
	return usage(fmt.Sprintf("%q is not a command of %s", word, cmd.CommandPath()), hint)
}

// flagError explains what the flag parser did not like.
func flagError(cmd *cobra.Command, err error) error {
	// The parser stops at the first unknown flag; a wrong command before it is the
	// real mistake, since it has none of the flags that were meant.
	if words := cmd.Flags().Args(); cmd.HasSubCommands() && len(words) > 0 {
		return unknownCommand(cmd, words[0])
	}
	hint := fmt.Sprintf("See `%s --help`.", cmd.CommandPath())
	if name, ok := strings.CutPrefix(err.Error(), "unknown flag: --"); ok {
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, f.Name) })
		if near := nearest.Word(name, names); near != "" {
			hint = fmt.Sprintf("Did you mean --%s? %s", near, hint)
		}
	}
	return usage(flagMistake(err), hint)
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

// needs checks the number of arguments; most < 0 means any number.
func needs(least, most int, what string) cobra.PositionalArgs {
	return func(cmd *cobra.Command, args []string) error {
		line := fmt.Sprintf("Write: %s %s", cmd.Parent().CommandPath(), cmd.Use)
		if len(args) < least {
			return usage(fmt.Sprintf("`%s` needs %s", cmd.CommandPath(), what), line)
		}
		if most >= 0 && len(args) > most {
			return usage(fmt.Sprintf("`%s` does not know what to do with %q", cmd.CommandPath(), args[most]), line)
		}
		if i := slices.Index(args, ""); i >= 0 {
			return usage(fmt.Sprintf("argument %d of `%s` is empty", i+1, cmd.CommandPath()), line)
		}
		return nil
	}
}

// completeWords offers the values of a flag to the shell.
func completeWords(cmd *cobra.Command, flag string, words ...string) {
	// It fails only for a flag that does not exist, which the tests of help would show.
	_ = cmd.RegisterFlagCompletionFunc(flag, cobra.FixedCompletions(words, cobra.ShellCompDirectiveNoFileComp))
}

// addMissingExamples gives examples to the commands that cobra brings along; our own
// have theirs, which a test holds.
func addMissingExamples(root *cobra.Command) {
	for _, sub := range root.Commands() {
		switch line := sub.CommandPath(); sub.Name() {
		case "help":
			sub.Example = example(line+" runs list", "what `runs list` does")
		case "completion":
			sub.Example = example(line+" bash", "print the script for bash")
			for _, shell := range sub.Commands() {
				shell.Example = example(shell.CommandPath()+" > FILE", "write it where your shell looks for it")
			}
		}
	}
}
