package problem

import (
	"encoding/json"
	"net/http"

	"github.com/lineshaft/lineshaft"
)

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
