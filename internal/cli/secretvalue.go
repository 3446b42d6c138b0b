package cli

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/lineshaft/lineshaft/internal/terminal"
)

// maxSecret is what the server takes (S-1).
const maxSecret = 64 << 10

// secretValue reads a value from a file, from standard input, or from the person
// in front of the terminal, who does not see it. It is never shown.
func (sh *shell) secretValue(ctx context.Context, name, path string) (string, error) {
	typing := sh.terminalIn()
	var value string
	var err error
	switch {
	case path != "" && path != "-":
		value, err = secretFile(path)
	case typing != nil:
		value, err = sh.askHidden(ctx, typing, "Value of "+name)
	default:
		value, err = readSecret(sh.in, "standard input")
		value = withoutLineBreak(value)
	}
	if err != nil {
		return "", err
	}
	if value == "" {
		return "", usage("the value is empty", "Pipe it in, type it, or name a file that holds it with --value-file.")
	}
	return value, nil
}

func secretFile(path string) (string, error) {
	file, err := os.Open(path)
	if err != nil {
		return "", usage(fmt.Sprintf("cannot read the value: %v", err), "Check the name given with --value-file.")
	}
	defer func() { _ = file.Close() }() // only read
	return readSecret(file, path)
}

func readSecret(r io.Reader, from string) (string, error) {
	data, err := io.ReadAll(io.LimitReader(r, maxSecret+3)) // room for a line break
	if err != nil {
		return "", usage(fmt.Sprintf("cannot read the value: %v", err), "Check what was given with --value-file.")
	}
	if len(withoutLineBreak(string(data))) > maxSecret {
		return "", usage(fmt.Sprintf("%s has more than %d bytes", from, maxSecret), "A secret is at most 64 KiB; keep larger things elsewhere and store what opens them.")
	}
	return string(data), nil
}

// askHidden reads a line from a terminal that does not show it.
func (sh *shell) askHidden(ctx context.Context, from *os.File, question string) (string, error) {
	restore, err := terminal.Hide(from)
	if err != nil {
		return "", usage("this terminal would show the value", "Pipe it in, or name a file that holds it with --value-file.")
	}
	defer restore()
	fmt.Fprintf(sh.err, "%s (not shown): ", clean(question))
	type line struct {
		text string
		err  error
	}
	typed := make(chan line, 1)
	go func() { // reading does not end with ctx; the process does
		text, err := bufio.NewReader(io.LimitReader(from, maxSecret+3)).ReadString('\n')
		typed <- line{text, err}
	}()
	select {
	case got := <-typed:
		fmt.Fprintln(sh.err)
		if got.err != nil && !errors.Is(got.err, io.EOF) {
			return "", fmt.Errorf("read the value: %w", got.err)
		}
		return withoutLineBreak(got.text), nil
	case <-ctx.Done():
		fmt.Fprintln(sh.err)
		return "", ctx.Err()
	}
}
