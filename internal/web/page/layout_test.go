package page

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"
)

func TestPayloadIsLaidOutAsJSONIs(t *testing.T) {
	t.Parallel()
	for _, body := range []string{
		`null`, `"text"`, ` -1.50e+3 `, `[]`, `{}`, `[[],{}]`, `{"a":[1,2,{"b":null}],"c":"x,{[:\"\\"}`, " { \"a\" : [ ] ,\n\t\"b\" : { } } ",
		`{"double":1,"double":2}`, `"\u202e\ud83d\ude00 é"`,
	} {
		var want bytes.Buffer
		if err := json.Indent(&want, []byte(strings.TrimSpace(body)), "", "  "); err != nil {
			t.Fatal(err)
		}
		if got, cut := LayOut([]byte(body), 1<<20); got != want.String() || cut {
			t.Errorf("%s:\n%s\nwant\n%s", body, got, &want)
		}
	}
}

func TestPayloadIsCutWherePageEnds(t *testing.T) {
	t.Parallel()
	deep := strings.Repeat("[", 500) + strings.Repeat("[],", 300_000) + "1" + strings.Repeat("]", 500)
	for name, body := range map[string]string{"deep": deep, "long": `"` + strings.Repeat("é", 1<<19) + `"`, "not JSON": strings.Repeat("]}", 1<<19)} {
		text, cut := LayOut([]byte(body), 4096)
		if !cut || len(text) > 4096 || len(text) < 4000 || strings.ContainsRune(text, '\ufffd') {
			t.Errorf("%s: %d bytes, cut %v", name, len(text), cut)
		}
	}
	if text, cut := LayOut([]byte("{}"), 0); text != "" || !cut {
		t.Errorf("nothing wanted: %q", text)
	}
}
