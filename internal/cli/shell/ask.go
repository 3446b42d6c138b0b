package shell

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/internal/terminal"
)

// YesFlag adds the flag of commands that ask before they change or delete what cannot be restored.
func YesFlag(cmd *cobra.Command, yes *bool) {
	cmd.Flags().BoolVar(yes, "yes", false, "do not ask; without a terminal nothing is asked anyway")
}

// Asks says that there is a person who can be asked. A pipe, and a script whose remarks
// go into a file, are not.
func (sh *Shell) Asks() bool { return sh.TerminalIn() != nil && sh.ErrWidth > 0 }

// Confirm asks the person in front of the terminal; anything but a yes is a no.
func (sh *Shell) Confirm(ctx context.Context, question string) error {
	fmt.Fprintf(sh.Err, "%s [y/N]: ", Clean(question))
	typed, err := ReadLine(ctx, bufio.NewReader(sh.TerminalIn()))
	if answer := strings.ToLower(strings.TrimSpace(typed)); err == nil && (answer == "y" || answer == "yes") {
		return nil
	}
	if err != nil {
		fmt.Fprintln(sh.Err) // the answer has not ended the line
	}
	return Failure(err, "nothing was changed", "Answer y, or add --yes.")
}

// ReadLine reads what a person types, and stops waiting when ctx ends.
func ReadLine(ctx context.Context, lines *bufio.Reader) (string, error) {
	type line struct {
		text string
		err  error
	}
	typed := make(chan line, 1)
	go func() { // reading does not end with ctx; the process does
		text, err := lines.ReadString('\n')
		typed <- line{text, err}
	}()
	select {
	case got := <-typed:
		if errors.Is(got.err, io.EOF) && got.text != "" {
			got.err = nil
		}
		return got.text, got.err
	case <-ctx.Done():
		return "", ctx.Err()
	}
}

// withoutLineBreak takes one line break off the end of what was typed or piped.
func withoutLineBreak(text string) string {
	return strings.TrimSuffix(strings.TrimSuffix(text, "\n"), "\r")
}

// maxSecret is what the server takes (S-1).
const maxSecret = 64 << 10

// SecretValue reads a value from a file, from standard input, or from the person
// at the terminal, who does not see it. It is never shown.
func (sh *Shell) SecretValue(ctx context.Context, name, path string) (string, error) {
	typing := sh.TerminalIn()
	var value string
	var err error
	switch {
	case path != "" && path != "-":
		value, err = secretFile(path)
	case typing != nil:
		value, err = sh.AskHidden(ctx, typing, "Value of "+name)
	default:
		value, err = ReadSecret(sh.In, "standard input")
		value = withoutLineBreak(value)
	}
	if err != nil {
		return "", err
	}
	if value == "" {
		return "", Usage("the value is empty", "Pipe it in, type it, or name a file that holds it with --value-file.")
	}
	return value, nil
}

func secretFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", Usage(fmt.Sprintf("cannot read the value: %v", err), "Check the name given with --value-file.")
	}
	defer func() { _ = file.Close() }() // only read
	return ReadSecret(file, path)
}

// ReadSecret reads a value that is not longer than the server takes.
func ReadSecret(r io.Reader, from string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSecret+3)) // room for a line break
	if err != nil {
		return "", Usage(fmt.Sprintf("cannot read the value: %v", err), "Check what was given with --value-file.")
	}
	if len(withoutLineBreak(string(data))) > maxSecret {
		return "", Usage(fmt.Sprintf("%s has more than %d bytes", from, maxSecret),
			"A secret is at most 64 KiB; keep larger data elsewhere and store the key to it.")
	}
	return string(data), nil
}

// AskHidden reads a line from a terminal that does not show it.
func (sh *Shell) AskHidden(ctx context.Context, from *os.File, question string) (string, error) {
	restore, err := terminal.Hide(from)
	if err != nil {
		return "", Usage("this terminal would show the value", "Pipe it in, or name a file that holds it with --value-file.")
	}
	defer restore()
	fmt.Fprintf(sh.Err, "%s (not shown): ", Clean(question))
	text, err := ReadLine(ctx, bufio.NewReader(io.LimitReader(from, maxSecret+3)))
	fmt.Fprintln(sh.Err)
	switch {
	case ctx.Err() != nil && errors.Is(err, ctx.Err()):
		return "", err
	case err != nil && !errors.Is(err, io.EOF):
		return "", fmt.Errorf("read the value: %w", err)
	}
	return withoutLineBreak(text), nil
}

// maxSecretFile is the largest secret that the server keeps.
const maxSecretFile = 64 << 10

// SecretFrom reads a secret. A line end at its end is the editor's.
func (sh *Shell) SecretFrom(ctx context.Context, path string) (string, error) {
	if path == "" {
		return "", nil
	}
	in := sh.In
	if terminal := sh.TerminalIn(); path == "-" && terminal != nil {
		text, err := sh.AskHidden(ctx, terminal, "Secret") // what is typed must not stay on the screen
		if err == nil && text == "" {
			err = Usage("the secret is empty", "Type it, pipe it in, or name a file that holds it with --secret-file.")
		}
		return text, err
	}
	if path != "-" {
		file, err := os.Open(path)
		if err != nil {
			return "", Usage(fmt.Sprintf("cannot read the secret: %v", err), "Check the name given with --secret-file.")
		}
		defer func() { _ = file.Close() }() // it was only read
		in = file
	}
	data, err := io.ReadAll(io.LimitReader(in, maxSecretFile+1))
	text := strings.TrimSuffix(strings.TrimSuffix(string(data), "\n"), "\r")
	switch {
	case err != nil:
		return "", Failure(err, fmt.Sprintf("cannot read the secret: %v", err), "Check what --secret-file names.")
	case text == "":
		return "", Usage("the secret is empty", "Put it into the file that --secret-file names.")
	case len(data) > maxSecretFile:
		return "", Usage(fmt.Sprintf("the secret has more than %d bytes", maxSecretFile), "Check that --secret-file names the right file.")
	}
	return text, nil
}
