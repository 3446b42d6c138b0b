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
		hint = fmt.Sprintf("Say first what it is about, such as %s. See `%s --help`.", strings.Join(nouns[:min(3, len(nouns))], ", "), cmd.CommandPath())
	}
	return usage(fmt.Sprintf("%q is not a command of %s", word, cmd.CommandPath()), hint)
}

// didYouMean is the beginning of a hint that names what was probably meant; empty when
// nothing is near.
func didYouMean(word string, names []string) string {
	if near := nearest.Word(word, names); near != "" {
		return fmt.Sprintf("Did you mean %s? ", near)
	}
	return ""
}

// namesOf are the names of things.
func namesOf[T any](list []T, name func(T) string) []string {
	var names []string
	for _, item := range list {
		names = append(names, name(item))
	}
	return names
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
		} else if others := siblingsWith(cmd, name); others != "" {
			hint = fmt.Sprintf("%s has it. %s", others, hint)
		}
	}
	if lacks, ok := errors.AsType[*pflag.ValueRequiredError](err); ok {
		value, _ := pflag.UnquoteUsage(lacks.GetFlag())
		return usage(fmt.Sprintf("--%s needs a value", lacks.GetFlag().Name), strings.TrimSpace(fmt.Sprintf("Write: --%s %s", lacks.GetFlag().Name, value))+". "+hint)
	}
	return usage(flagMistake(err), hint)
}

// siblingsWith names a command beside this one that has the flag.
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

// adopt makes the commands that cobra brings along like our own: with examples, and with
// the same answers to mistakes.
func adopt(root *cobra.Command) {
	for _, sub := range root.Commands() {
		switch line := sub.CommandPath(); sub.Name() {
		case "help":
			sub.Example = example(line+" runs list", "what `runs list` does")
			sub.Run, sub.RunE = nil, func(cmd *cobra.Command, args []string) error {
				about, rest, err := cmd.Root().Find(args)
				if err != nil || len(rest) > 0 {
					return unknownCommand(about, rest[0])
				}
				return about.Help()
			}
		case "completion":
			sub.Example = example(line+" bash", "print the script for bash")
			sub.Short = "Print the script that makes a shell complete commands, flags, names and ids"
			group(sub)
			for _, shell := range sub.Commands() {
				shell.Args = needs(0, 0, "")
				shell.Example = example(shell.CommandPath()+" > FILE", "write it where your shell looks for it")
				if shell.Name() == "bash" {
					shell.Long = bashCompletionHelp
				}
			}
		}
	}
}

const bashCompletionHelp = "Print the script that makes bash complete commands, flags, names and ids.\n\n" +
	"It needs the package bash-completion, version 2 or newer: without it, Tab only prints\n" +
	"\"_get_comp_words_by_ref: command not found\". Install that with your package manager (apt, dnf, apk,\n" +
	"brew install bash-completion@2), and start a new shell.\n\n" +
	"For this shell:\n\n" +
	"  source <(lineshaft completion bash)\n\n" +
	"For every new one:\n\n" +
	"  mkdir -p ~/.local/share/bash-completion/completions\n" +
	"  lineshaft completion bash > ~/.local/share/bash-completion/completions/lineshaft"
