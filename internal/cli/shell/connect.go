package shell

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"os/exec"
	"strings"
	"time"

	isatty "github.com/mattn/go-isatty"
	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

// DefaultURL is where a server listens by default.
const DefaultURL = "http://127.0.0.1:8484"

// Address is the server that was asked for; choose has found the context, if there is one.
func (sh *Shell) Address() string {
	switch {
	case sh.URL != "":
		return sh.URL
	case sh.Saved != nil:
		return sh.Saved.URL
	case sh.Env["LINESHAFT_URL"] != "":
		return sh.Env["LINESHAFT_URL"]
	case sh.InsideRun():
		return sh.Env["LINESHAFT_API_URL"]
	}
	return DefaultURL
}

// InsideRun says whether an agent calls, which has only its run's own address
// and token. They go together: the token is for no other server.
func (sh *Shell) InsideRun() bool {
	return sh.URL == "" && sh.ContextName == "" && sh.Env["LINESHAFT_URL"] == "" && sh.Env["LINESHAFT_API_KEY"] == "" &&
		sh.Env["LINESHAFT_API_URL"] != "" && sh.Env["LINESHAFT_RUN_TOKEN"] != ""
}

// Choose finds the context that says which server is meant. Flags come first, then
// the variables of an address and a key, which go together, then the token of a run; a
// context comes only after these, so that its key goes to no other server, and a
// broken file of contexts does not affect those who do not use it.
func (sh *Shell) Choose() error {
	if sh.URL != "" && sh.ContextName != "" {
		return Usage("--url and --context name two servers", "Give one of them.")
	}
	if sh.URL != "" || sh.ContextName == "" && (sh.Env["LINESHAFT_URL"] != "" || sh.Env["LINESHAFT_API_KEY"] != "" || sh.InsideRun()) {
		return nil
	}
	file, err := sh.Contexts()
	if err != nil {
		return err
	}
	name, where := sh.ContextName, "--context:"
	if name == "" {
		name, where = sh.Env["LINESHAFT_CONTEXT"], "LINESHAFT_CONTEXT:"
	}
	if name == "" {
		name, where = file.Current, "the current context is gone:"
	}
	if name == "" {
		return nil
	}
	sh.Saved, err = file.Find(name, where)
	return err
}

// WithClient is a command that needs a server from its first step on.
func (sh *Shell) WithClient(run func(cmd *cobra.Command, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := sh.Connect(cmd.Context())
		if err != nil {
			return err
		}
		return run(cmd, c, args)
	}
}

// Connect makes a client. Nothing is sent yet.
func (sh *Shell) Connect(ctx context.Context) (*client.Client, error) {
	if err := sh.Choose(); err != nil {
		return nil, err
	}
	if err := checkAddress(sh.Address()); err != nil {
		return nil, err
	}
	key, err := sh.key(ctx)
	if err != nil {
		return nil, err
	}
	return sh.ClientFor(sh.Address(), key)
}

// ClientFor makes a client for a server. Nothing is sent yet.
func (sh *Shell) ClientFor(address, key string) (*client.Client, error) {
	if err := checkAddress(address); err != nil {
		return nil, err
	}
	options := append([]client.Option{
		client.WithHeader("X-Lineshaft-Client", "cli"),
		client.WithHeader("User-Agent", "lineshaft-cli/"+sh.Version),
	}, sh.Deps.ClientOptions...)
	// In a run, or a pipeline that traces, what a command does is a part of that.
	if parent := tracing.Sane(sh.Env[tracing.Variable]); parent != "" {
		options = append(options, client.WithHeader(tracing.Header, parent))
	}
	c, err := client.New(address, key, options...)
	if err != nil {
		return nil, Usage(err.Error(), "Check LINESHAFT_URL and LINESHAFT_API_KEY.")
	}
	return c, nil
}

func checkAddress(address string) error {
	return CheckAddressOf(address, "LINESHAFT_URL or --url")
}

// CheckAddressOf says where to write the address.
func CheckAddressOf(address, where string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return Usage(fmt.Sprintf("%q is not the address of a server", address), "Write a full URL in "+where+", such as "+DefaultURL+".")
	}
	if u.User != nil { // it would be shown in errors
		return Usage("the address must not have a user name or password", "Take them out of "+where+"; a key goes into LINESHAFT_API_KEY.")
	}
	return nil
}

// key finds the API key. The admin key of the local data directory goes to this
// machine only.
func (sh *Shell) key(ctx context.Context) (string, error) {
	if sh.Saved != nil && (sh.Saved.KeySource() != "none" || !IsLoopback(sh.Saved.URL)) {
		return sh.Saved.ReadKey(ctx, sh)
	}
	if key := sh.VariableKey(); key != "" {
		return key, nil
	}
	if sh.InsideRun() {
		return sh.Env["LINESHAFT_RUN_TOKEN"], nil
	}
	const hint = "Set LINESHAFT_API_KEY for this server, or save a key: `lineshaft context add`.\n" +
		"An admin can create a key with `lineshaft apikey create NAME`.\n"
	if !IsLoopback(sh.Address()) {
		return "", Denied(nil, "no API key for "+sh.Address()+strings.TrimSuffix(sh.Withheld(), ","), hint+FirstKey)
	}
	file := sh.adminKeyFile()
	data, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "", Denied(err, "this user cannot read "+file, hint+"The owner of the server may read that file.")
	case err != nil:
		return "", Denied(err, "no API key"+cmp.Or(sh.Withheld(), ": LINESHAFT_API_KEY is not set")+" and there is no "+file,
			sh.startHint()+hint+"On the server's machine, run this where its data directory is, or set\nLINESHAFT_DATA_DIR.")
	}
	sh.keyFile = file
	key := strings.TrimSpace(string(data))
	if key == "" {
		return "", Denied(nil, file+" is empty", hint+"A restarted server writes the file again.")
	}
	return key, nil
}

// adminKeyFile is where a server on this machine keeps its first key.
func (sh *Shell) adminKeyFile() string {
	cfg := config.Default()
	if dir := sh.Env["LINESHAFT_DATA_DIR"]; dir != "" {
		cfg.DataDir = dir
	}
	return cfg.AdminKeyFile()
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// startHint is for newcomers: nobody who names a server needs to start one.
func (sh *Shell) startHint() string {
	if sh.URL != "" || sh.Saved != nil || sh.Env["LINESHAFT_URL"] != "" {
		return ""
	}
	return "If no server is running here yet, start one: lineshaft serve\n"
}

// FirstKey says where the key of a new server is.
const FirstKey = "The first start of a server writes one into admin.key of its data directory."

// VariableKey is LINESHAFT_API_KEY where it is meant for the chosen server: not
// for the server of a context, nor for that of --url when LINESHAFT_URL names another.
func (sh *Shell) VariableKey() string {
	if sh.Saved != nil || sh.URL != "" && sh.Env["LINESHAFT_URL"] != "" && !sameServer(sh.URL, sh.Env["LINESHAFT_URL"]) {
		return ""
	}
	return sh.Env["LINESHAFT_API_KEY"]
}

// Withheld says why an existing key was not used; empty when there is none.
func (sh *Shell) Withheld() string {
	switch {
	case sh.Env["LINESHAFT_API_KEY"] == "" || sh.VariableKey() != "":
		return ""
	case sh.Saved != nil:
		return ": LINESHAFT_API_KEY is not for contexts"
	}
	return ": LINESHAFT_API_KEY is for the server of LINESHAFT_URL,"
}

// sameServer says that an address has the host and port of another, and that requests to
// it are protected at least as well.
func sameServer(a, b string) bool {
	one, err := url.Parse(a)
	other, err2 := url.Parse(b)
	if err != nil || err2 != nil {
		return a == b
	}
	port := func(u *url.URL) string {
		return cmp.Or(u.Port(), map[string]string{"http": "80", "https": "443"}[u.Scheme])
	}
	return (one.Scheme == other.Scheme || one.Scheme == "https") && strings.EqualFold(one.Hostname(), other.Hostname()) && port(one) == port(other)
}

// IsLoopback says that an address is one of this machine.
func IsLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && addr.Unmap().IsLoopback()
}

// keyCommandTime is enough for a person to unlock a store of passwords.
const keyCommandTime = 60 * time.Second

// KeySource says where the key of a context is, without the key.
func (c *SavedContext) KeySource() string {
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

// ReadKey finds the key of a context.
func (c *SavedContext) ReadKey(ctx context.Context, sh *Shell) (string, error) {
	var key string
	var err error
	switch {
	case c.Key != "":
		return c.Key, nil
	case c.KeyEnv != "":
		key = sh.Env[c.KeyEnv]
	case c.KeyFile != "":
		var data []byte
		data, err = os.ReadFile(c.KeyFile)
		key = string(data)
	case len(c.KeyCommand) > 0:
		key, err = c.runKeyCommand(ctx, sh)
	}
	key = strings.TrimSpace(key)
	if err != nil || key == "" {
		reason := c.KeySource() + ": it is empty"
		if err != nil {
			reason = c.KeySource() + ": " + err.Error()
		}
		if c.KeySource() == "none" {
			reason = "it has none" + sh.Withheld()
		}
		return "", Denied(err, fmt.Sprintf("no API key for context %q: %s", c.Name, reason),
			fmt.Sprintf("Fix that, or store a key: lineshaft context add %s --replace --url %s", ShellWord(c.Name), ShellWord(c.URL)))
	}
	return key, nil
}

// TerminalIn is the terminal that a person types on; nil when input comes from elsewhere.
func (sh *Shell) TerminalIn() *os.File {
	if file, ok := sh.In.(*os.File); ok && isatty.IsTerminal(file.Fd()) {
		return file
	}
	return nil
}

// runKeyCommand runs a program that prints the key. It may ask the person: its terminal
// is ours. No shell reads the words.
func (c *SavedContext) runKeyCommand(ctx context.Context, sh *Shell) (string, error) {
	if sh.Completing {
		return "", errors.New("not read during completion") // it may want a password
	}
	ctx, cancel := context.WithTimeout(ctx, keyCommandTime)
	defer cancel()
	var out bytes.Buffer
	cmd := exec.CommandContext(ctx, c.KeyCommand[0], c.KeyCommand[1:]...)
	cmd.Stdout, cmd.Stderr, cmd.Env = &out, sh.Err, sh.Deps.Environ
	if terminal := sh.TerminalIn(); terminal != nil { // what is piped in is for us: a prompt, a file
		cmd.Stdin = terminal
	}
	if err := cmd.Run(); err != nil {
		if ctx.Err() != nil {
			return "", errors.New("it did not finish in time")
		}
		return "", err
	}
	line, _, _ := strings.Cut(out.String(), "\n") // stores of passwords print notes below
	return line, nil
}
