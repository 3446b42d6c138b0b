package cli

import (
	"errors"
	"fmt"
	"io/fs"
	"net/netip"
	"net/url"
	"os"
	"strings"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/config"
)

const defaultURL = "http://127.0.0.1:8484"

// address is the server that was asked for.
func (sh *shell) address() string {
	switch {
	case sh.url != "":
		return sh.url
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
	return sh.url == "" && sh.env["LINESHAFT_URL"] == "" && sh.env["LINESHAFT_API_KEY"] == "" &&
		sh.env["LINESHAFT_API_URL"] != "" && sh.env["LINESHAFT_RUN_TOKEN"] != ""
}

// connect makes a client. Nothing is sent yet.
func (sh *shell) connect() (*client.Client, error) {
	if err := checkAddress(sh.address()); err != nil {
		return nil, err
	}
	key, err := sh.key()
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
	return nil
}

// key finds the API key. The admin key of the local data directory goes to this
// machine only.
func (sh *shell) key() (string, error) {
	if key := sh.env["LINESHAFT_API_KEY"]; key != "" {
		return key, nil
	}
	if sh.insideRun() {
		return sh.env["LINESHAFT_RUN_TOKEN"], nil
	}
	const hint = "Set LINESHAFT_API_KEY. An admin makes a key with `lineshaft apikey create NAME`; "
	if !isLoopback(sh.address()) {
		return "", &hintError{code: exitDenied, message: "no API key for " + sh.address(), hint: hint + "the first start of a server prints one."}
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
			code: exitDenied, cause: err, message: "no API key: LINESHAFT_API_KEY is not set and there is no " + cfg.AdminKeyFile(),
			hint: "If no server runs here yet, start one: lineshaft serve\n" + hint + "on the\nserver's machine, run this where its data directory is, or set LINESHAFT_DATA_DIR.",
		}
	}
	sh.keyFile = cfg.AdminKeyFile()
	key := strings.TrimSpace(string(data))
	if key == "" {
		return "", &hintError{code: exitDenied, message: cfg.AdminKeyFile() + " is empty", hint: hint + "a restarted server writes the file anew."}
	}
	return key, nil
}

func isLoopback(address string) bool {
	u, err := url.Parse(address)
	if err != nil {
		return false
	}
	addr, err := netip.ParseAddr(u.Hostname())
	return u.Hostname() == "localhost" || err == nil && addr.Unmap().IsLoopback()
}
