package jsontext_test

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

// texts are JSON and what is nearly JSON.
func texts() []string {
	return []string{
		`{}`, `[]`, `""`, `0`, `-0`, `1.5e+10`, `1E-7`, `true`, `false`, `null`, ` { "a" : [ 1 , {"b":null} ] } `, "\n[1,\t2]\r\n", `[[[]],{},[{}]]`,
		`{"a":1,"a":2}`, `"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, `"\ud800"`, `"é€😀"`, `"12345678"`, `"1234567\"90123456\\"`, `"1234567é9012345678"`,
		``, ` `, `{`, `}`, `[`, `]`, `{]`, `[}`, `[1}`, `{"a":1]`, `[1 2]`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{a:1}`, `{1:1}`,
		`{'a':1}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `01`, `-`, `+1`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `-01`, `0x10`, `1_000`, `NaN`, `--1`, `0.`, `0e`,
		`Infinity`, `tru`, `truex`, `nul`, `fals`, `True`, `"`, `"\`, `"\x"`, `"\u12"`, `"\u12G4"`, `"\u`, "\"\n\"", "\"\x00\"", "\"1234567\x1f\"", "\"\x7f\"",
		"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\xef\xbb\xbf{}", `{}{}`, `{} x`, `1 1`, `"a""b"`, `// c`, `/**/1`, `[1]]`, `{"a":1}}`, "\u00a01",
		strings.Repeat("[", jsontext.MaxDepth) + strings.Repeat("]", jsontext.MaxDepth), strings.Repeat(`[`, 100_000),
		strings.Repeat(`{"a":`, jsontext.MaxDepth) + `1` + strings.Repeat("}", jsontext.MaxDepth),
	}
}

func parse(tb testing.TB, body string) *jsontext.Doc {
	tb.Helper()
	doc, err := jsontext.Parse([]byte(body))
	if err != nil {
		tb.Fatalf("Parse(%.80q): %v", body, err)
	}
	return doc
}

// checkParse compares with the standard library: whether it is JSON, and what it says.
func checkParse(t *testing.T, body []byte) {
	t.Helper()
	doc, err := jsontext.Parse(body)
	if checked := jsontext.Check(body, true); (checked == nil) != (err == nil) || err != nil && checked.Error() != err.Error() {
		t.Fatalf("Parse(%.60q) = %v, Check = %v", body, err, checked)
	}
	want := json.Valid(body) && utf8.Valid(body)
	if err != nil && want && strings.Contains(err.Error(), "deeper") {
		return
	}
	if (err == nil) != want || (doc != nil) != want {
		t.Fatalf("Parse(%.60q) = %v, encoding/json says valid=%v", body, err, want)
	}
	if err == nil && !reflect.DeepEqual(decoded(doc, 0), reference(t, body)) {
		t.Fatalf("Parse(%q) reads %#v, encoding/json %#v", body, decoded(doc, 0), reference(t, body))
	}
}

// decoded is what a document says as encoding/json has it.
func decoded(d *jsontext.Doc, at int32) any {
	switch n := d.Nodes[at]; n.Kind {
	case jsontext.Object:
		object := map[string]any{}
		for m := range d.Members(at) {
			object[d.Name(m)] = decoded(d, m)
		}
		return object
	case jsontext.Array:
		array := []any{}
		for e := range d.Members(at) {
			array = append(array, decoded(d, e))
		}
		return array
	case jsontext.String:
		return string(d.Text(at, nil))
	case jsontext.Number:
		return json.Number(d.Raw(at))
	case jsontext.True, jsontext.False:
		return n.Kind == jsontext.True
	default:
		return nil
	}
}

func reference(t *testing.T, body []byte) (value any) {
	t.Helper()
	decoder := json.NewDecoder(bytes.NewReader(body))
	decoder.UseNumber()
	if err := decoder.Decode(&value); err != nil {
		t.Fatal(err)
	}
	return value
}

func TestParseAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, body := range texts() {
		checkParse(t, []byte(body))
	}
	const body = ` {"a":[1,-2.5e3,"x\u00e9é",{"b":[true,false,null,"\ud83d\ude00"]}],"c":{"d":{}},"e":[]}`
	for i := range body {
		checkParse(t, []byte(body[:i]))
	}
	checkParse(t, []byte(body))
}

func FuzzParse(f *testing.F) {
	for _, text := range texts() {
		if len(text) < 1000 {
			f.Add([]byte(text))
		}
	}
	f.Fuzz(checkParse)
}

// An array or object more than MaxDepth is refused, whether or not nodes are kept.
func TestH3DepthIsTheSameForAll(t *testing.T) {
	t.Parallel()
	for _, text := range []string{strings.Repeat("[", jsontext.MaxDepth+1), strings.Repeat(`{"a":`, jsontext.MaxDepth+1)} {
		_, err := jsontext.Parse([]byte(text))
		if checked := jsontext.Check([]byte(text), false); err == nil || checked == nil || err.Error() != checked.Error() || !strings.Contains(err.Error(), "deeper") {
			t.Errorf("Parse: %v, Check: %v", err, checked)
		}
	}
}

func TestParseQuotesNothing(t *testing.T) {
	t.Parallel()
	_, err := jsontext.Parse([]byte(`{"password":"hunter2",}`))
	if err == nil || !strings.Contains(err.Error(), "at byte 22") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

func TestX10LookupForTemplates(t *testing.T) {
	t.Parallel()
	const body = `{"ref":"refs/heads/main","n":9007199254740993,"f":1.50e1,"t":true,"z":null,"e":"","esc":"a\n\"\u00e9\ud83d\ude00",` +
		`"o":{"a":{"b":"deep"},"list":[{"a":1}],"\u006bey":"escaped"},"":{"":"nothing"},` +
		`"metadata":{"order.id":"7","order":{"id":{"no":"scalar"}},"a.b":{"c.d":"dots"},"a":{"b":{"x":1}}},"d":"first","d":"last","x":{"y":1},"x":2}`
	doc := parse(t, body)
	for path, want := range map[string]string{
		"ref": "refs/heads/main", "n": "9007199254740993", "f": "1.50e1", "t": "true", "z": "null", "e": "", "esc": "a\n\"é😀",
		"o.a.b": "deep", "o.key": "escaped", ".": "nothing", "metadata.order.id": "7", "metadata.order.id.no": "scalar",
		"metadata.a.b.c.d": "dots", "d": "last", "x": "2",
	} {
		if got, ok := doc.Lookup(path); !ok || got != want {
			t.Errorf("Lookup(%q) = %q, %v; want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"", "o", "o.a", "o.list", "o.list.a", "o.list.0", "o.list.0.a", "ref.x", "missing", "o.missing", "z.x", "x.y", "REF", "o.", ".o", "o..a", "..", "payload.ref"} {
		if got, ok := doc.Lookup(path); ok {
			t.Errorf("Lookup(%q) = %q", path, got)
		}
	}
	for _, body := range []string{`[{"a":1}]`, `"a"`, `1`, `null`} {
		if got, ok := parse(t, body).Lookup("a"); ok {
			t.Errorf("Lookup in %s = %q", body, got)
		}
	}
	if _, ok := (*jsontext.Doc)(nil).Lookup("a"); ok {
		t.Error("a nil document holds something")
	}
}
