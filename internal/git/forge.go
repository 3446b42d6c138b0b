package git

import (
	"fmt"
	"net/url"
	"path/filepath"
	"strings"

	"github.com/lineshaft/lineshaft"
)

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

// has says whether a host is the forge's own.
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
