package jsonbody_test

import (
	"encoding/json"
	"errors"
	"io"
	"math"
	"os"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/jsonbody"
	"github.com/lineshaft/lineshaft/internal/jsontext"
)

func nested(open, inner, closing string, depth int) string {
	return strings.Repeat(open, depth) + inner + strings.Repeat(closing, depth)
}

func TestH3CheckAgreesWithEncodingJSON(t *testing.T) {
	t.Parallel()
	for _, body := range corpus() {
		err := jsonbody.Check([]byte(body), jsonbody.Options{Limit: 1 << 20, AllowNUL: true})
		want := json.Valid([]byte(body)) && utf8.ValidString(body)
		if (err == nil) != want {
			t.Errorf("Check(%.60q) = %v, encoding/json says valid=%v", body, err, want)
		}
	}
}

func corpus() []string {
	return []string{
		`{}`, `[]`, `""`, `0`, `-0`, `1.5e+10`, `1E-7`, `true`, `false`, `null`, ` { "a" : [ 1 , {"b":null} ] } `,
		`{"a":1,"a":2}`, `"\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00"`, `"\ud800"`, `"é€😀"`, "\n[1,\t2]\r\n", `[[[]],{},[{}]]`,
		``, ` `, `{`, `}`, `[`, `]`, `{]`, `[}`, `[1}`, `{"a":1]`, `[1 2]`, `[1,]`, `[,1]`, `{"a"}`, `{"a":}`, `{"a" 1}`, `{a:1}`,
		`{'a':1}`, `{"a":1,}`, `{,}`, `{"a":1 "b":2}`, `01`, `-`, `+1`, `.5`, `1.`, `1.e1`, `1e`, `1e+`, `0x10`, `1_000`, `NaN`,
		`Infinity`, `tru`, `truex`, `nul`, `fals`, `True`, `"`, `"\`, `"\x"`, `"\u12"`, `"\u12G4"`, "\"\n\"", "\"\x00\"",
		"\"\xff\"", "\"\xc3\"", "\"\xed\xa0\x80\"", "\xef\xbb\xbf{}", `{}{}`, `{} x`, `1 1`, `"a""b"`, `// c`, `/**/1`, `[1]]`,
		"\u00a01", nested("[", "", "]", 300), nested(`{"a":`, "1", "}", 300), nested("[", "", "]", 300) + "]",
	}
}

func TestH3DepthIsBounded(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, body string
		ok         bool
	}{
		{"arrays at the limit", nested("[", "", "]", jsontext.MaxDepth), true},
		{"objects at the limit", nested(`{"a":`, "1", "}", jsontext.MaxDepth), true},
		{"one array more", nested("[", "", "]", jsontext.MaxDepth+1), false},
		{"one object more", nested(`{"a":`, "1", "}", jsontext.MaxDepth+1), false},
		{"an empty one at the bottom counts", nested("[", "{}", "]", jsontext.MaxDepth), false},
		{"alternating", nested(`[{"a":`, "1", "}]", jsontext.MaxDepth/2), true},
		{"far too deep", nested("[", "", "]", 200_000), false},
	} {
		err := jsonbody.Check([]byte(tc.body), jsonbody.Options{Limit: 1 << 20})
		if (err == nil) != tc.ok {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}

func TestH3NULIsRefusedUnlessAllowed(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		body   string
		hasNUL bool
	}{
		{`"a\u0000b"`, true},
		{`{"\u0000":1}`, true},
		{`["x",{"a":"\\\u0000"}]`, true},
		{`"\\u0000"`, false},   // an escaped backslash, then plain letters
		{`"\\\\u0000"`, false}, // two of them
		{`"\\\\\u0000"`, true}, // two, then the escape
		{`"\u0001\u000a"`, false},
		{`"u0000"`, false},
	} {
		strict := jsonbody.Check([]byte(tc.body), jsonbody.Options{Limit: 100})
		if (strict != nil) != tc.hasNUL {
			t.Errorf("Check(%s) = %v, has NUL: %v", tc.body, strict, tc.hasNUL)
		}
		if err := jsonbody.Check([]byte(tc.body), jsonbody.Options{Limit: 100, AllowNUL: true}); err != nil {
			t.Errorf("AllowNUL: Check(%s) = %v", tc.body, err)
		}
	}
}

func TestH3ReadStopsAtTheLimit(t *testing.T) {
	t.Parallel()
	counted := func(body string) *countingReader { return &countingReader{r: strings.NewReader(body)} }
	body := `"` + strings.Repeat("x", 98) + `"`

	if got, err := jsonbody.Read(counted(body), jsonbody.Options{Limit: 100, Length: -1}); err != nil || string(got) != body {
		t.Errorf("a body of exactly the limit: %q, %v", got, err)
	}
	long := counted(body + strings.Repeat(" ", 10_000))
	_, err := jsonbody.Read(long, jsonbody.Options{Limit: 100, Length: -1})
	if lineshaft.CodeOf(err) != lineshaft.CodePayloadTooLarge {
		t.Errorf("an overlong body: %v", err)
	}
	if long.n > 101 {
		t.Errorf("read %d bytes of a body limited to 100", long.n)
	}
	announced := counted(body)
	_, err = jsonbody.Read(announced, jsonbody.Options{Limit: 100, Length: math.MaxInt64})
	if lineshaft.CodeOf(err) != lineshaft.CodePayloadTooLarge || announced.n != 0 {
		t.Errorf("a body that announces too much: %v after %d bytes", err, announced.n)
	}
}

func TestH3EmptyBody(t *testing.T) {
	t.Parallel()
	if _, err := jsonbody.Read(strings.NewReader(""), jsonbody.Options{Limit: 10, AllowEmpty: true}); err != nil {
		t.Errorf("allowed: %v", err)
	}
	if _, err := jsonbody.Read(strings.NewReader(""), jsonbody.Options{Limit: 10}); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
		t.Errorf("not allowed: %v", err)
	}
	if _, err := jsonbody.Read(strings.NewReader(" \n"), jsonbody.Options{Limit: 10, AllowEmpty: true}); lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest {
		t.Errorf("white space is not empty: %v", err)
	}
}

func TestH3ReadTellsWhyABodyDidNotArrive(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		cause error
		want  string
	}{
		{os.ErrDeadlineExceeded, "in time"},
		{iotest.ErrTimeout, "complete"}, // not a net.Error: just broken
		{io.ErrUnexpectedEOF, "complete"},
	} {
		_, err := jsonbody.Read(io.MultiReader(strings.NewReader(`{"a":`), iotest.ErrReader(tc.cause)), jsonbody.Options{Limit: 100, Length: -1})
		if lineshaft.CodeOf(err) != lineshaft.CodeInvalidRequest || !strings.Contains(err.Error(), tc.want) || !errors.Is(err, tc.cause) {
			t.Errorf("cause %v: %v", tc.cause, err)
		}
	}
}

func TestH3ErrorsNameThePlaceAndQuoteNothing(t *testing.T) {
	t.Parallel()
	err := jsonbody.Check([]byte(`{"password":"hunter2",}`), jsonbody.Options{Limit: 100})
	if err == nil || !strings.Contains(err.Error(), "at byte 22") || strings.Contains(err.Error(), "hunter2") {
		t.Errorf("got %v", err)
	}
}

//nolint:paralleltest // AllocsPerRun counts for the whole process
func TestCheckDoesNotAllocate(t *testing.T) {
	body := []byte(`{"a":[1,2.5e3,"x\u00e9é",{"b":[true,false,null]}],"c":{"d":{}}}`)
	if n := testing.AllocsPerRun(100, func() {
		if err := jsonbody.Check(body, jsonbody.Options{Limit: 1000}); err != nil {
			t.Fatal(err)
		}
	}); n > 0 {
		t.Errorf("%v allocations per body", n)
	}
}

type countingReader struct {
	r io.Reader
	n int
}

func (c *countingReader) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	return n, err
}

func FuzzCheck(f *testing.F) {
	for _, body := range corpus() {
		f.Add([]byte(body))
	}
	f.Add([]byte(`"\\u0000"`))
	f.Add([]byte(`"\\\u0000"`))
	f.Fuzz(func(t *testing.T, body []byte) {
		err := jsonbody.Check(body, jsonbody.Options{Limit: 1 << 20, AllowNUL: true})
		valid := json.Valid(body) && utf8.Valid(body)
		if err == nil && !valid {
			t.Fatalf("accepted what encoding/json refuses: %q", body)
		}
		if err != nil && valid && !strings.Contains(err.Error(), "deeper") {
			t.Fatalf("refused what encoding/json accepts: %q: %v", body, err)
		}
		if err != nil {
			return
		}
		var value any
		decodeErr := json.Unmarshal(body, &value)
		strict := jsonbody.Check(body, jsonbody.Options{Limit: 1 << 20})
		if decodeErr == nil && strict == nil && holdsNUL(value) {
			t.Fatalf("let U+0000 through: %q", body)
		}
		if strict != nil && !strings.Contains(string(body), `\u0000`) {
			t.Fatalf("saw a U+0000 that is not there: %q: %v", body, strict)
		}
	})
}

func holdsNUL(value any) bool {
	switch v := value.(type) {
	case string:
		return strings.ContainsRune(v, 0)
	case []any:
		for _, item := range v {
			if holdsNUL(item) {
				return true
			}
		}
	case map[string]any:
		for key, item := range v {
			if strings.ContainsRune(key, 0) || holdsNUL(item) {
				return true
			}
		}
	}
	return false
}
