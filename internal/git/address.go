package git

import (
	"fmt"
	"net/url"
	"path/filepath"
	"regexp"
	"strings"

	"github.com/lineshaft/lineshaft"
)

const maxAddress = 2048

type kind string

const (
	kindHTTPS kind = "https"
	kindHTTP  kind = "http" // of this machine only
	kindSSH   kind = "ssh"
	kindLocal kind = "file"
)

// address is a repository's place, checked.
type address struct {
	kind kind
	// text is what git is given; shown is what people are shown.
	text, shown string
	host, port  string
}

var (
	helperForm = regexp.MustCompile(`^[A-Za-z0-9.+-]*::`)
	scpForm    = regexp.MustCompile(`^(?:([A-Za-z0-9._][A-Za-z0-9._-]*)@)?([A-Za-z0-9][A-Za-z0-9.-]*|\[[0-9A-Fa-f:.]+\]):([A-Za-z0-9._~/].*)$`)
	userForm   = regexp.MustCompile(`^[A-Za-z0-9._][A-Za-z0-9._-]*$`)
)

// address checks where a repository is said to be. Only its results may
// be given to git.
func (c *Client) address(raw string) (address, error) {
	if err := checkLetters(raw); err != nil {
		return address{}, err
	}
	path, local := localPath(raw)
	if !local {
		return parseRemote(raw)
	}
	if strings.ContainsFunc(path, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return address{}, lineshaft.Invalid("url", "has a control character")
	}
	path = filepath.Clean(path)
	below := strings.HasPrefix(path, c.forge.root+"/")
	if c.forge.root != "" && below {
		return address{kind: kindLocal, text: path, shown: strings.TrimPrefix(path, c.forge.root+"/")}, nil
	}
	if !c.cfg.AllowFile {
		return address{}, lineshaft.Invalid("url", "this server does not read repositories from its own disk; use https or ssh, or start it with --allow-local-git")
	}
	return address{kind: kindLocal, text: path, shown: raw}, nil
}

func checkLetters(raw string) error {
	switch {
	case raw == "":
		return lineshaft.Invalid("url", "a repository needs an address, such as https://example.com/owner/repo.git")
	case len(raw) > maxAddress:
		return lineshaft.Invalid("url", "longer than %d bytes", maxAddress)
	case strings.ContainsFunc(raw, func(r rune) bool { return r <= ' ' || r == 0x7f || r == '\\' || r == 0xfffd }):
		return lineshaft.Invalid("url", "has a space, a backslash or a control character; percent-encode it")
	case strings.HasPrefix(raw, "-"):
		return lineshaft.Invalid("url", "must not begin with '-'")
	case helperForm.MatchString(raw):
		return lineshaft.Invalid("url", "must be an https or ssh address; helpers of git, such as ext::, are not run")
	}
	return nil
}

var userinfo = regexp.MustCompile(`(://)[^/@\s]*@`)

// redact takes users and passwords out of URLs in a text.
func redact(text string) string { return userinfo.ReplaceAllString(text, "$1") }

// checkBranch accepts only the name of one branch: no option, no pattern, no refspec.
func checkBranch(name string) error {
	if !lineshaft.ValidBranch(name) {
		return lineshaft.Invalid("branch", "%q cannot be the name of a branch", lineshaft.Clip(name, 80))
	}
	return nil
}

var commitForm = regexp.MustCompile(`^([0-9a-f]{40}|[0-9a-f]{64})$`)

func checkCommit(commit string) error {
	if !commitForm.MatchString(commit) {
		return lineshaft.Invalid("commit", "%q is not the full id of a commit", lineshaft.Clip(commit, 80))
	}
	return nil
}

// forge is where repositories are that have an owner and a name.
type forge struct {
	template string
	// root is the folder of a local forge; empty for others.
	root string
	// remote is an address at the forge, for its host.
	remote address
}

// parseForge reads a template. Placeholders that are missing come at its end.
func parseForge(template string) (forge, error) {
	if path, ok := localPath(template); ok || strings.HasPrefix(template, ".") {
		if !ok {
			path = template
		}
		abs, err := filepath.Abs(path)
		if err != nil {
			return forge{}, fmt.Errorf("forge: %w", err)
		}
		f := forge{template: withPlaceholders(abs, "/{owner}/{repo}")}
		static, _, _ := strings.Cut(f.template, "{")
		f.root = filepath.Clean(static[:strings.LastIndex(static, "/")+1])
		if f.root == "/" {
			return forge{}, fmt.Errorf("forge %q: give a folder below /", template)
		}
		return f, nil
	}
	f := forge{template: withPlaceholders(template, "/{owner}/{repo}.git")}
	var err error
	if f.remote, err = parseRemote(f.url(lineshaft.Repository{Owner: "o", Name: "r"})); err != nil {
		return forge{}, fmt.Errorf("forge %q: write a URL such as %s, or a folder: %w", redact(template), DefaultForge, err)
	}
	return f, nil
}

func withPlaceholders(template, ending string) string {
	if strings.Contains(template, "{repo}") {
		return template
	}
	return strings.TrimRight(template, "/") + ending
}

func (f forge) url(r lineshaft.Repository) string {
	return strings.NewReplacer("{owner}", r.Owner, "{repo}", r.Name).Replace(f.template)
}

func (f forge) has(a address) bool {
	return f.root == "" && a.host != "" && a.kind == f.remote.kind && a.host == f.remote.host && a.port == f.remote.port
}

// localPath reads a path, or a file:// URL.
func localPath(s string) (string, bool) {
	if rest, ok := strings.CutPrefix(s, "file://"); ok {
		rest = strings.TrimPrefix(rest, "localhost")
		// Placeholders are not percent-encoded, but other letters may be.
		if decoded, err := url.PathUnescape(rest); err == nil {
			rest = decoded
		}
		return rest, strings.HasPrefix(rest, "/")
	}
	return s, strings.HasPrefix(s, "/")
}
