package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/tracing"
)

const defaultURL = "http://127.0.0.1:8484"

// address is the server that was asked for; choose has found the context, if there is one.
func (sh *shell) address() string {
	switch {
	case sh.url != "":
		return sh.url
	case sh.saved != nil:
		return sh.saved.URL
	case sh.env["LINESHAFT_URL"] != "":
		return sh.env["LINESHAFT_URL"]
	case sh.insideRun():
		return sh.env["LINESHAFT_API_URL"]
	}
	return defaultURL
}

// insideRun says whether an agent calls, which has nothing but its run's own address
// and token. They go together: the token is for no other server.
func (sh *shell) insideRun() bool {
	return sh.url == "" && sh.contextName == "" && sh.env["LINESHAFT_URL"] == "" && sh.env["LINESHAFT_API_KEY"] == "" &&
		sh.env["LINESHAFT_API_URL"] != "" && sh.env["LINESHAFT_RUN_TOKEN"] != ""
}

// choose finds the context that says which server is meant. Flags say it first, then
// the variables of an address and a key, which go together, then the token of a run; a
// context is asked only after these, so that its key goes to no other server, and a
// broken file of contexts is in nobody's way who does not use it.
func (sh *shell) choose() error {
	if sh.url != "" && sh.contextName != "" {
		return usage("--url and --context name two servers", "Give one of them.")
	}
	if sh.url != "" || sh.contextName == "" && (sh.env["LINESHAFT_URL"] != "" || sh.env["LINESHAFT_API_KEY"] != "" || sh.insideRun()) {
		return nil
	}
	file, err := sh.contexts()
	if err != nil {
		return err
	}
	name, where := sh.contextName, "--context:"
	if name == "" {
		name, where = sh.env["LINESHAFT_CONTEXT"], "LINESHAFT_CONTEXT:"
	}
	if name == "" {
		name, where = file.Current, "the current context is gone:"
	}
	if name == "" {
		return nil
	}
	sh.saved, err = file.find(name, where)
	return err
}

// withClient is a command that needs a server from its first step on.
func (sh *shell) withClient(run func(cmd *cobra.Command, c *client.Client, args []string) error) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := sh.connect(cmd.Context())
		if err != nil {
			return err
		}
		return run(cmd, c, args)
	}
}

// connect makes a client. Nothing is sent yet.
func (sh *shell) connect(ctx context.Context) (*client.Client, error) {
	if err := sh.choose(); err != nil {
		return nil, err
	}
	if err := checkAddress(sh.address()); err != nil {
		return nil, err
	}
	key, err := sh.key(ctx)
	if err != nil {
		return nil, err
	}
	return sh.clientFor(sh.address(), key)
}

func (sh *shell) clientFor(address, key string) (*client.Client, error) {
	if err := checkAddress(address); err != nil {
		return nil, err
	}
	options := append([]client.Option{
		client.WithHeader("X-Lineshaft-Client", "cli"),
		client.WithHeader("User-Agent", "lineshaft-cli/"+version),
	}, sh.deps.clientOptions...)
	// In a run, or a pipeline that traces, what a command does is a part of that.
	if parent := tracing.Sane(sh.env[tracing.Variable]); parent != "" {
		options = append(options, client.WithHeader(tracing.Header, parent))
	}
	c, err := client.New(address, key, options...)
	if err != nil {
		return nil, usage(err.Error(), "Check LINESHAFT_URL and LINESHAFT_API_KEY.")
	}
	return c, nil
}

func checkAddress(address string) error {
	return checkAddressOf(address, "LINESHAFT_URL or --url")
}

// checkAddressOf says where to write the address.
func checkAddressOf(address, where string) error {
	u, err := url.Parse(address)
	if err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
		return usage(fmt.Sprintf("%q is not the address of a server", address), "Write a whole URL in "+where+", such as "+defaultURL+".")
	}
	if u.User != nil { // it would be shown in errors
		return usage("the address must not have a user name or password", "Take them out of "+where+"; a key goes into LINESHAFT_API_KEY.")
	}
	return nil
}

// key finds the API key. The admin key of the local data directory goes to this
// machine only.
func (sh *shell) key(ctx context.Context) (string, error) {
	if sh.saved != nil && (sh.saved.keySource() != "none" || !isLoopback(sh.saved.URL)) {
		return sh.saved.readKey(ctx, sh)
	}
	if key := sh.variableKey(); key != "" {
		return key, nil
	}
	if sh.insideRun() {
		return sh.env["LINESHAFT_RUN_TOKEN"], nil
	}
	const hint = "Set LINESHAFT_API_KEY for this server, or keep a key with `lineshaft context add`. An admin makes a key with `lineshaft apikey create NAME`; "
	if !isLoopback(sh.address()) {
		return "", &hintError{code: exitDenied, message: "no API key for " + sh.address() + strings.TrimSuffix(sh.withheld(), ","), hint: hint + firstKey}
	}
	cfg := config.Default()
	if dir := sh.env["LINESHAFT_DATA_DIR"]; dir != "" {
		cfg.DataDir = dir
	}
	data, err := os.ReadFile(cfg.AdminKeyFile())
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "", &hintError{code: exitDenied, cause: err, message: "this user may not read " + cfg.AdminKeyFile(), hint: hint + "the owner of the server may read that file."}
	case err != nil:
		return "", &hintError{
			code: exitDenied, cause: err, message: "no API key" + cmp.Or(sh.withheld(), ": LINESHAFT_API_KEY is not set") + " and there is no " + cfg.AdminKeyFile(),
			hint: sh.startHint() + hint + "on the\nserver's machine, run this where its data directory is, or set LINESHAFT_DATA_DIR.",
		}
	}
	sh.keyFile = cfg.AdminKeyFile()
	key := strings.TrimSpace(string(data))
	if key == "" {
		return "", &hintError{code: exitDenied, message: cfg.AdminKeyFile() + " is empty", hint: hint + "a restarted server writes the file anew."}
	}
	return key, nil
}

// startHint is for newcomers: nobody who names a server needs to start one.
func (sh *shell) startHint() string {
	if sh.url != "" || sh.saved != nil || sh.env["LINESHAFT_URL"] != "" {
		return ""
	}
	return "If no server runs here yet, start one: lineshaft serve\n"
}

// firstKey says where the key of a new server is.
const firstKey = "the first start of a server\nwrites one into admin.key of its data directory."

// variableKey is LINESHAFT_API_KEY where it is meant for the server that was chosen: not
// for that of a context, nor for one of --url when LINESHAFT_URL names another.
func (sh *shell) variableKey() string {
	if sh.saved != nil || sh.url != "" && sh.env["LINESHAFT_URL"] != "" && !sameServer(sh.url, sh.env["LINESHAFT_URL"]) {
		return ""
	}
	return sh.env["LINESHAFT_API_KEY"]
}

// withheld says why a key that is there was not used; empty when there is none.
func (sh *shell) withheld() string {
	switch {
	case sh.env["LINESHAFT_API_KEY"] == "" || sh.variableKey() != "":
		return ""
	case sh.saved != nil:
		return ": LINESHAFT_API_KEY is not for contexts"
	}
	return ": LINESHAFT_API_KEY is for the server of LINESHAFT_URL,"
}

// sameServer says that an address has the host and port of another, and that what goes
// there is protected at least as well.
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

func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && addr.Unmap().IsLoopback()
}
