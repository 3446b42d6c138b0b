package problem

import (
	"bytes"
	"crypto/sha256"
	_ "embed" // the page and its style sheet
	"encoding/base64"
	"fmt"
	"html/template"
	"net/http"
	"strings"

	"github.com/lineshaft/lineshaft"
)

//go:embed page.html
var pageSource string

//go:embed page.css
var pageStyle string

// Pages serves the explanations: an index at PagePath and one page per code. They
// are rendered once; nothing is fetched from another host.
type Pages struct {
	index  []byte
	pages  map[lineshaft.Code][]byte
	policy string
}

type pageData struct {
	Style template.CSS
	Rows  []Row
	Row   *Row
}

// NewPages renders the pages. An error means that the embedded template is broken.
func NewPages() (*Pages, error) {
	tmpl, err := template.New("page").Parse(pageSource)
	if err != nil {
		return nil, fmt.Errorf("parse error page: %w", err)
	}
	p := &Pages{pages: map[lineshaft.Code][]byte{}, policy: StylePolicy(pageStyle)}
	render := func(row *Row) ([]byte, error) {
		var out bytes.Buffer
		err := tmpl.Execute(&out, pageData{Style: template.CSS(pageStyle), Rows: Rows(), Row: row})
		return out.Bytes(), err
	}
	if p.index, err = render(nil); err != nil {
		return nil, fmt.Errorf("render error index: %w", err)
	}
	for _, row := range Rows() {
		if p.pages[row.Code], err = render(&row); err != nil {
			return nil, fmt.Errorf("render page of %s: %w", row.Code, err)
		}
	}
	return p, nil
}

// ServeHTTP answers PagePath and what is below it.
func (p *Pages) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	code := strings.Trim(strings.TrimPrefix(r.URL.Path, strings.TrimSuffix(PagePath, "/")), "/")
	page, status := p.pages[lineshaft.Code(code)], http.StatusOK
	switch {
	case code == "":
		page = p.index
	case page == nil:
		page, status = p.index, http.StatusNotFound
	}
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.Header().Set("Content-Security-Policy", p.policy)
	w.Header().Set("X-Content-Type-Options", "nosniff")
	w.Header().Set("Referrer-Policy", "no-referrer")
	w.WriteHeader(status)
	_, _ = w.Write(page) // nobody is left to tell
}

// StylePolicy is a Content-Security-Policy that allows one inline style sheet and
// nothing else.
func StylePolicy(style string) string {
	sum := sha256.Sum256([]byte(style))
	return "default-src 'none'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; style-src 'sha256-" +
		base64.StdEncoding.EncodeToString(sum[:]) + "'"
}
