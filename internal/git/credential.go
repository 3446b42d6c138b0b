package git

import (
	"net"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

const (
	userVariable     = "LINESHAFT_GIT_USER"
	passwordVariable = "LINESHAFT_GIT_PASSWORD"
	// anyUser is for tokens, with which forges ignore the user.
	anyUser = "x-access-token"
	// keyAge is when a key that a killed process left is surely not in use.
	keyAge = time.Hour
)

// login is what a forge gets to see.
type login struct {
	user, password string
	// key is a private key for ssh; file is where it lies while git runs.
	key, file string
}

// parseCredentials reads a token, user:token, or a private key in PEM. It is nil for "".
func parseCredentials(text string) (*login, error) {
	text = strings.TrimSpace(strings.ReplaceAll(text, "\r\n", "\n"))
	switch {
	case text == "":
		return nil, nil
	case strings.HasPrefix(text, "-----BEGIN "):
		return &login{key: text + "\n"}, nil
	case strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }):
		return nil, lineshaft.Invalid("git_credentials", "must be a token, user:token, or a private key in PEM; it has several lines and is not a key")
	}
	if user, password, ok := strings.Cut(text, ":"); ok {
		return &login{user: user, password: password}, nil
	}
	return &login{user: anyUser, password: text}, nil
}

// prepare checks that the login is of the right kind and puts a key where ssh finds
// it. The caller must call done.
func (c *Client) prepareLogin(credentials string, a address) (l *login, done func(), err error) {
	done = func() {}
	l, err = parseCredentials(credentials)
	if err != nil || l == nil || a.kind == kindLocal {
		return nil, done, err
	}
	if (l.key != "") != (a.kind == kindSSH) {
		if l.key != "" {
			return nil, done, lineshaft.Invalid("git_credentials", "are a private key, which is for ssh, but %s is asked over %s; use a token", a.shown, a.kind)
		}
		return nil, done, lineshaft.Invalid("git_credentials", "are a token, but %s is asked over ssh; use a private key in PEM", a.shown)
	}
	if l.key == "" {
		return l, done, nil
	}
	dir, err := os.MkdirTemp(c.path("keys"), "key-*")
	if err != nil {
		return nil, done, err
	}
	done = func() { _ = os.RemoveAll(dir) } // sweepKeys tries again
	l.file = filepath.Join(dir, "key")
	if err := os.WriteFile(l.file, []byte(l.key), 0o600); err != nil {
		done()
		return nil, func() {}, err
	}
	return l, done, nil
}

// sweepKeys removes keys that a killed process has left.
func (c *Client) sweepKeys() {
	entries, err := os.ReadDir(c.path("keys"))
	if err != nil {
		return
	}
	for _, entry := range entries {
		if info, err := entry.Info(); err == nil && time.Since(info.ModTime()) > keyAge {
			_ = os.RemoveAll(c.path("keys", entry.Name()))
		}
	}
}

// arguments name a helper for the one host that the login is for. The helper takes it
// from the environment, so that it appears in no argument and no file.
func (l *login) arguments(a address) []string {
	if l.key != "" {
		return nil
	}
	host := net.JoinHostPort(a.host, a.port)
	if a.kind == kindHTTPS && a.port == "443" || a.kind == kindHTTP && a.port == "80" {
		host = strings.TrimSuffix(host, ":"+a.port)
	}
	helper := `!f() { test "$1" = get && printf 'username=%s\npassword=%s\n' "$` + userVariable + `" "$` + passwordVariable + `"; }; f`
	return []string{"-c", "credential." + string(a.kind) + "://" + host + ".helper=" + helper}
}

func (l *login) environment() []string {
	if l.key != "" {
		return nil
	}
	return []string{userVariable + "=" + l.user, passwordVariable + "=" + l.password}
}

func (l *login) mask(text string) string {
	for _, secret := range []string{l.password, l.file, strings.TrimSpace(l.key)} {
		if secret != "" {
			text = strings.ReplaceAll(text, secret, "…")
		}
	}
	return text
}

// sshCommand is what git runs for ssh: it asks nothing and reads nobody's settings.
// A host is trusted at first contact, and must not change after.
func (c *Client) sshCommand(l *login, at address, pin string) string {
	words := []string{
		quote(c.cfg.SSH), "-F", "/dev/null", "-o", "BatchMode=yes", "-o", "StrictHostKeyChecking=accept-new",
		"-o", quote("UserKnownHostsFile=" + sshQuote(c.path("known_hosts"))), "-o", "ConnectTimeout=30",
		"-o", "ForwardAgent=no", "-o", "ClearAllForwardings=yes", "-o", "IdentitiesOnly=yes", "-o", "IdentityAgent=none",
	}
	if pin != "" && at.kind == kindSSH { // what was checked is what is connected to
		words = append(words, "-o", quote("HostName="+pin), "-o", quote("HostKeyAlias="+at.host))
	}
	if l != nil && l.file != "" {
		words = append(words, "-i", quote(l.file))
	} else {
		words = append(words, "-o", "IdentityFile=none")
	}
	return strings.Join(words, " ")
}

func quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

func sshQuote(s string) string { return `"` + strings.ReplaceAll(s, `"`, `\"`) + `"` }
