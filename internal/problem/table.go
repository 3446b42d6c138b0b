package problem

import (
	_ "embed"
	"encoding/json"
	"net/http"
	"slices"
	"sync"

	"github.com/lineshaft/lineshaft"
)

// Row is what is known about one code: how it is answered and how it is explained.
type Row struct {
	Code lineshaft.Code `json:"code"`
	// Status is the usual HTTP status; zero for codes that only ever appear in
	// the status message of a run.
	Status int    `json:"status"`
	Title  string `json:"title"`
	// Retryable says that an error of this code is worth another try even if the
	// error itself does not say so.
	Retryable bool `json:"retryable"`
	// Explanation and Fix are for the documentation page: what it means, and
	// what to do about it.
	Explanation string `json:"explanation"`
	Fix         string `json:"fix"`
}

//go:embed table.json
var table []byte

// rows reads the table. A test finds one that cannot be read.
var rows = sync.OnceValue(func() (list []Row) {
	_ = json.Unmarshal(table, &list)
	return list
})

// Rows lists every code in the order of the documentation: those of callers, of the
// server, and of runs.
func Rows() []Row { return slices.Clone(rows()) }

// Lookup finds the row of a code. A code that is not in the table is an
// oversight in the server, so it is answered like an internal error.
func Lookup(code lineshaft.Code) (Row, bool) {
	var internal Row
	for _, row := range rows() {
		if row.Code == code {
			return row, true
		}
		if row.Code == lineshaft.CodeInternal {
			internal = row
		}
	}
	return internal, false
}

// Fixed is an answer that tells nothing of the request it is given to: no path, no
// ids (H-4). Two requests that fail alike get the same bytes.
type Fixed struct {
	Status int
	Header http.Header
	Body   []byte
}

// Fix renders err once. Unlike Write it shows the message of a failed
// authentication, so the caller must choose one that fits every cause.
func (p *Writer) Fix(err error) Fixed {
	pub := public(err)
	row, known := Lookup(pub.Code)
	if !known || pub.Code == lineshaft.CodeInternal {
		pub.Message, pub.Field = internalText, ""
	}
	doc := Document{
		Type: p.address(row.Code), Title: row.Title, Status: statusOf(row, pub), Detail: detail(pub),
		Retryable: pub.Retryable || row.Retryable, Code: row.Code,
	}
	doc.Error = oneLine(doc)
	body, encErr := json.Marshal(doc)
	if encErr != nil { // strings and numbers always encode
		body = []byte(`{"status":500}`)
	}
	header := headers(doc, pub.RetryAfter)
	if doc.Status == http.StatusUnauthorized {
		header.Set("WWW-Authenticate", `Bearer realm="webhook"`)
	}
	header.Set("Content-Type", ContentType)
	header.Set("Cache-Control", "no-store")
	return Fixed{Status: doc.Status, Header: header, Body: body}
}

// Write answers with the fixed text.
func (f Fixed) Write(w http.ResponseWriter) {
	for name, values := range f.Header {
		w.Header()[name] = values
	}
	w.WriteHeader(f.Status)
	_, _ = w.Write(f.Body) // nobody is left to tell
}
