package page

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// sent is the request of a form.
func sent(form url.Values) *Request {
	r := httptest.NewRequest(http.MethodPost, "/", strings.NewReader(form.Encode()))
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	return &Request{Request: r}
}

// What a form shows of a value and what it reads of it are the same.
func TestI2FieldsGoBothWays(t *testing.T) {
	t.Parallel()
	type form struct {
		name, text string
		limit      int
		minutes    *int
		secrets    []string
	}
	rows := func(f *form) []Field {
		return []Field{
			{Name: "name", Into: &f.name, Options: []Option{{"a", "A"}}, Gone: " (gone)"},
			{Name: "text", Into: &f.text, Rows: 3},
			{Name: "limit", Into: &f.limit},
			{Name: "minutes", Blame: "config.minutes", Into: &f.minutes},
			{Name: "secrets", Into: &f.secrets},
		}
	}
	stored := form{"b", " two\nlines\n", 7, new(20), []string{"A", "B"}}
	shown, typed := ShowFields(rows(&stored)), url.Values{}
	for _, field := range shown {
		typed.Set(field.Name, field.Value)
	}
	if got := shown[0].Options; len(got) != 2 || got[1] != (Option{"b", "b (gone)"}) {
		t.Errorf("what is chosen and gone is not offered: %v", got)
	}
	var read form
	if err := sent(typed).ReadFields(rows(&read)); err != nil {
		t.Fatal(err)
	}
	if read.name != "b" || read.text != stored.text || read.limit != 7 || *read.minutes != 20 || !slices.Equal(read.secrets, stored.secrets) {
		t.Errorf("%+v became %+v", stored, read)
	}

	typed = url.Values{"limit": {"many"}, "minutes": {"soon"}}
	fields := rows(&read)
	err := sent(typed).ReadFields(fields)
	if told, ok := errors.AsType[*lineshaft.Error](err); !ok || told.Field != "limit" || fields[3].Value != "soon" || read.secrets == nil || len(read.secrets) > 0 {
		t.Errorf("%v, %+v", err, read)
	}
	for field, blamed := range map[string]bool{"minutes": true, "config.minutes": true, "": false, "limit": false} {
		if p := (Page{Error: &lineshaft.Error{Field: field, Message: "no"}}); (p.Blames(fields[3]) != "") != blamed {
			t.Errorf("%q blames the field: %v", field, !blamed)
		}
	}
	if p := (Page{Error: &lineshaft.Error{Message: "no"}}); p.Blames(fields[0]) != "" {
		t.Error("an error of no field blames one")
	}
}
