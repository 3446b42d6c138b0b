package page

import (
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"embed"
	"encoding/hex"
	"fmt"
	"io/fs"
	"net/http"
	"path"
	"strings"
)

//go:embed templates static
var files embed.FS

// asset is a file that pages load, ready to be sent.
type asset struct {
	kind   string
	plain  []byte
	packed []byte // nil for what is compressed in itself
	// hash is a part of the content's hash: an address with it never changes its content.
	hash string
}

// assets are all files that pages load, by name.
type assets map[string]asset

// loadAssets joins the style sheets and the scripts, in the order of their
// names, so that a page needs one of each however many small files there are.
func loadAssets() (assets, error) {
	list := assets{}
	face, err := joined("static/font/inter.woff2")
	if err != nil {
		return nil, err
	}
	if err := list.add("inter.woff2", face); err != nil {
		return nil, err
	}
	address, err := list.address("inter.woff2")
	if err != nil {
		return nil, err
	}
	for name, patterns := range map[string][]string{
		"lineshaft.css":     {"static/css/*.css"},
		"lineshaft.js":      {"static/vendor/*.js", "static/js/*.js"},
		"icon.svg":          {"static/icon.svg"},
		"inter-license.txt": {"static/font/inter-license.txt"}, // goes where the type face goes
	} {
		text, err := joined(patterns...)
		if err != nil {
			return nil, err
		}
		text = bytes.ReplaceAll(text, []byte("url(inter.woff2)"), []byte("url("+address+")"))
		if err := list.add(name, text); err != nil {
			return nil, err
		}
	}
	return list, list.addIcons()
}

// joined reads all files of some patterns, text with a line end after each file.
func joined(patterns ...string) ([]byte, error) {
	var all bytes.Buffer
	for _, pattern := range patterns {
		found, err := fs.Glob(files, pattern)
		if err != nil {
			return nil, fmt.Errorf("list %s: %w", pattern, err)
		}
		for _, file := range found {
			raw, err := files.ReadFile(file)
			if err != nil {
				return nil, fmt.Errorf("read page asset: %w", err)
			}
			all.Write(raw)
			if !dense(file) {
				all.WriteByte('\n')
			}
		}
	}
	return all.Bytes(), nil
}

// dense says that a file is compressed in itself.
func dense(name string) bool { return path.Ext(name) == ".woff2" }

// add makes an asset of its content.
func (a assets) add(name string, content []byte) error {
	sum := sha256.Sum256(content)
	one := asset{kind: kinds()[path.Ext(name)], plain: content, hash: hex.EncodeToString(sum[:6])}
	if !dense(name) {
		var err error
		if one.packed, err = pack(content, gzip.BestCompression); err != nil {
			return err
		}
	}
	a[name] = one
	return nil
}

// addIcons makes the icon of a page about one run: with a dot in the colour of its state.
func (a assets) addIcons() error {
	plain := a["icon.svg"].plain
	for kind, colour := range map[string]string{"good": "#1f8a4c", "bad": "#d2362d", "warn": "#d99a00", "busy": "#1778b5", "idle": "#7d8590"} {
		dot := `<circle cx="24" cy="24" r="8" fill="` + colour + `" stroke="#fff" stroke-width="2"/></svg>`
		if err := a.add("icon-"+kind+".svg", bytes.Replace(plain, []byte("</svg>"), []byte(dot), 1)); err != nil {
			return err
		}
	}
	return nil
}

func kinds() map[string]string {
	return map[string]string{
		".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml", ".txt": "text/plain; charset=utf-8",
		".woff2": "font/woff2",
	}
}

func (a assets) address(name string) (string, error) {
	found, ok := a[name]
	if !ok {
		return "", fmt.Errorf("no page asset %q", name)
	}
	return "/static/" + name + "?v=" + found.hash, nil
}

func (a assets) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	found, ok := a[r.PathValue("file")]
	if !ok {
		http.NotFound(w, r)
		return
	}
	h := w.Header()
	h.Set("Content-Type", found.kind)
	h.Set("Vary", "Accept-Encoding")
	h.Set("Cache-Control", "public, max-age=300")
	if r.URL.Query().Get("v") == found.hash {
		h.Set("Cache-Control", "public, max-age=31536000, immutable")
	}
	body := found.plain
	if found.packed != nil && acceptsGzip(r) {
		h.Set("Content-Encoding", "gzip")
		body = found.packed
	}
	_, _ = w.Write(body) // a reader that went away is nobody's error
}

func acceptsGzip(r *http.Request) bool {
	for coding := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(strings.TrimSpace(coding), ";")
		if name == "gzip" && strings.TrimSpace(weight) != "q=0" {
			return true
		}
	}
	return false
}

func pack(text []byte, level int) ([]byte, error) {
	var out bytes.Buffer
	z, err := gzip.NewWriterLevel(&out, level)
	if err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if _, err := z.Write(text); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	if err := z.Close(); err != nil {
		return nil, fmt.Errorf("compress: %w", err)
	}
	return out.Bytes(), nil
}
