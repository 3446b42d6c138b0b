package filter_test

import (
	"encoding/json"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft/internal/filter"
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
		strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000), strings.Repeat("[", 10_001) + strings.Repeat("]", 10_001),
		strings.Repeat(`{"a":`, 10_000) + `1` + strings.Repeat("}", 10_000), strings.Repeat(`[`, 100_000),
	}
}

func checkParse(t *testing.T, body []byte) {
	t.Helper()
	doc, err := filter.Parse(body)
	if want := json.Valid(body) && utf8.Valid(body); (err == nil) != want || (doc != nil) != want {
		t.Errorf("Parse(%.60q) = %v, encoding/json says valid=%v", body, err, want)
	}
}

func TestParseAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, body := range texts() {
		checkParse(t, []byte(body))
	}
	body := githubBody(t)
	for i := 0; i < len(body); i += 61 {
		if _, err := filter.Parse(body[:i]); err == nil {
			t.Fatalf("the first %d bytes of a body pass as JSON", i)
		}
	}
}

func TestParseQuotesNothing(t *testing.T) {
	t.Parallel()
	_, err := filter.Parse([]byte(`{"password":"hunter2",}`))
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
	if _, ok := (*filter.Doc)(nil).Lookup("a"); ok {
		t.Error("a nil document holds something")
	}
}

//nolint:paralleltest // AllocsPerRun counts for the whole process
func TestB4MatchingDoesNotAllocatePerValue(t *testing.T) {
	body := githubBody(t)
	if len(body) < 26_000 || len(body) > 28_000 {
		t.Fatalf("the body has %d bytes; B4 is about 27 KB", len(body))
	}
	if n := testing.AllocsPerRun(50, func() { parse(t, string(body)) }); n > 4 {
		t.Errorf("%v allocations to parse a body", n)
	}
	doc := parse(t, string(body))
	f := compile(t, benchFilters()["allmatch"](1))
	if n := testing.AllocsPerRun(50, func() { f.Match(doc) }); n > 0 {
		t.Errorf("%v allocations to match a filter", n)
	}
}
