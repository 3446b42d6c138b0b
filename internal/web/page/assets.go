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
	packed []byte
	// hash is a part of the content's hash: an address with it never changes its content.
	hash string
}

// assets are all files that pages load, by name.
type assets map[string]asset

// loadAssets joins the style sheets and the scripts, in the order of their
// names, so that a page needs one of each however many small files there are.
func loadAssets() (assets, error) {
	list := assets{}
	for name, patterns := range map[string][]string{
		"lineshaft.css": {"static/css/*.css"},
		"lineshaft.js":  {"static/vendor/*.js", "static/js/*.js"},
		"icon.svg":      {"static/icon.svg"},
	} {
		var text bytes.Buffer
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
				text.Write(raw)
				text.WriteByte('\n')
			}
		}
		packed, err := pack(text.Bytes(), gzip.BestCompression)
		if err != nil {
			return nil, err
		}
		sum := sha256.Sum256(text.Bytes())
		list[name] = asset{kind: kinds()[path.Ext(name)], plain: text.Bytes(), packed: packed, hash: hex.EncodeToString(sum[:6])}
	}
	return list, list.addIcons()
}

// addIcons makes the icon of a page about one run: with a dot in the colour of its state.
func (a assets) addIcons() error {
	plain := a["icon.svg"].plain
	for kind, colour := range map[string]string{"good": "#1f8a4c", "bad": "#d2362d", "warn": "#d99a00", "busy": "#1778b5", "idle": "#7d8590"} {
		dot := `<circle cx="24" cy="24" r="8" fill="` + colour + `" stroke="#fff" stroke-width="2"/></svg>`
		text := bytes.Replace(plain, []byte("</svg>"), []byte(dot), 1)
		packed, err := pack(text, gzip.BestCompression)
		if err != nil {
			return err
		}
		sum := sha256.Sum256(text)
		a["icon-"+kind+".svg"] = asset{kind: kinds()[".svg"], plain: text, packed: packed, hash: hex.EncodeToString(sum[:6])}
	}
	return nil
}

func kinds() map[string]string {
	return map[string]string{".css": "text/css; charset=utf-8", ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml"}
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
	if acceptsGzip(r) {
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
