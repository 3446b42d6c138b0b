package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"time"

	"github.com/mattn/go-isatty"
)

// keyCommandTime is enough for a person to unlock a store of passwords.
const keyCommandTime = 60 * time.Second

// keySource says where the key of a context is, without the key.
func (c *savedContext) keySource() string {
	switch {
	case c.Key != "":
		return "stored"
	case c.KeyFile != "":
		return "file " + c.KeyFile
	case c.KeyEnv != "":
		return "variable " + c.KeyEnv
	case len(c.KeyCommand) > 0:
		return "command " + c.KeyCommand[0] // its arguments are nobody's business
	}
	return "none"
}

// readKey finds the key of a context.
func (c *savedContext) readKey(ctx context.Context, sh *shell) (string, error) {
	var key string
	var err error
	switch {
	case c.Key != "":
		return c.Key, nil
	case c.KeyEnv != "":
		key = sh.env[c.KeyEnv]
	case c.KeyFile != "":
		var data []byte
		data, err = os.ReadFile(c.KeyFile)
		key = string(data)
	case len(c.KeyCommand) > 0:
		key, err = c.runKeyCommand(ctx, sh)
	}
	key = strings.TrimSpace(key)
	if err != nil || key == "" {
		reason := c.keySource() + ": it is empty"
		if err != nil {
			reason = c.keySource() + ": " + err.Error()
		}
		if c.keySource() == "none" {
			reason = "it has none" + sh.withheld()
		}
		return "", &hintError{
			code: exitDenied, cause: err, message: fmt.Sprintf("no API key for context %q: %s", c.name, reason),
			hint: fmt.Sprintf("Mend that, or store a key: lineshaft context add %s --replace --url %s", shellWord(c.name), shellWord(c.URL)),
		}
	}
	return key, nil
}

// terminalIn is the terminal that a person types on; nil when input comes from elsewhere.
func (sh *shell) terminalIn() *os.File {
	if file, ok := sh.in.(*os.File); ok && isatty.IsTerminal(file.Fd()) {
		return file
	}
	return nil
}

// runKeyCommand runs a program that prints the key. It may ask the person: its terminal
// is ours. No shell reads the words.
func (c *savedContext) runKeyCommand(ctx context.Context, sh *shell) (string, error) {
	if sh.completing {
		return "", errors.New("not asked for while a word is completed") // it may want a password
	}
	ctx, cancel := context.WithTimeout(ctx, keyCommandTime)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, c.KeyCommand[0], c.KeyCommand[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, sh.err, sh.deps.Environ
	if terminal := sh.terminalIn(); terminal != nil { // what is piped in is for us: a prompt, a file
		cmd.Stdin = terminal
	}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", errors.New("it did not end in time")
		}
		return "", err
	}
	line, _, _ := strings.Cut(out.String(), "\n") // stores of passwords print notes below
	return line, nil
}
