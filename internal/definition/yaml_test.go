package definition

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// The core schema of YAML 1.2 decides what an unquoted value is, and numbers keep
// their digits.
func TestF2ScalarsAreThoseOfYAML12(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"yes": `"yes"`, "on": `"on"`, "No": `"No"`, "true": `true`, "TRUE": `true`, "tRUE": `"tRUE"`, "null": `null`, "~": `null`, "Null": `null`, "": `null`,
		"1": `1`, "+1": `1`, "-1": `-1`, "010": `10`, "0o17": `15`, "0x1F": `31`, "1_000": `"1_000"`, "0b11": `"0b11"`, "1.0": `1.0`, ".5": `0.5`, "5.": `5`, "-.5": `-0.5`, "1e3": `1e3`, "1E-3": `1E-3`,
		"12345678901234567890123": `12345678901234567890123`, "0.1000000000000000000000000001": `0.1000000000000000000000000001`, "2024-01-01": `"2024-01-01"`, "12:30": `"12:30"`, ".inf": `".inf"`, ".nan": `".nan"`,
		`"1"`: `"1"`, `'yes'`: `"yes"`, `"\u0041\n"`: `"A\n"`, `'it''s'`: `"it's"`, "a b": `"a b"`, "[1, yes, {a: ~}]": `[1,"yes",{"a":null}]`, "{1: a, true: b, null: c}": `{"1":"a","true":"b","null":"c"}`,
		"|\n  a\n  b\n": `"a\nb\n"`, ">-\n  a\n  b\n": `"a b"`, "a\n  b": `"a b"`, "# x\n  a": `"a"`, "a # b": `"a"`, "a#b": `"a#b"`, "-": `null`,
		"0x" + strings.Repeat("f", 400): `"0x` + strings.Repeat("f", 400) + `"`,
	} {
		n, _, m := parseYAML("k: "+text+"\n", maxWork)
		if text == "-" { // a list of nothing, which is not YAML here
			if m == nil {
				t.Errorf("%q is taken", text)
			}
			continue
		}
		if m != nil || n.get("k").json() != want {
			t.Errorf("%q is read as %v (%+v), want %s", text, n, m, want)
		}
	}
}

// JSON is YAML, and comes through unchanged.
func TestF2JSONComesThrough(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`{}`, `{"a":[]}`, `{"a":{"b":[1,2.50,-0,1e9,"x",true,null]},"a.b":{"é😀":["\"\\ /"]}}`} {
		n, err := fromJSON([]byte(text))
		if err != nil || n.json() != text {
			t.Errorf("%s is read as %s (%v)", text, n.json(), err)
		}
		if back, _, m := parseYAML(n.json(), maxWork); m != nil || back.json() != n.json() {
			t.Errorf("%s is YAML %v (%+v)", text, back, m)
		}
	}
	for _, text := range []string{``, `{`, `{"a":`, `[1,`, `{"a":[}`} {
		if _, err := fromJSON([]byte(text)); err == nil {
			t.Errorf("%s is taken", text)
		}
	}
}

// Every text is read back as it was written, at every depth.
func TestF5WrittenTextsReadBack(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		text, key := textOf(anyText().Draw(t, "text")), anyText().Draw(t, "key")
		inner := &node{kind: objectNode, fields: []field{{key: key, value: text}, {key: "last", value: text}}}
		n := &node{kind: objectNode, fields: []field{
			{key: "list", value: &node{kind: listNode, items: []*node{text, inner, {kind: listNode}, {kind: objectNode}, {}, {kind: listNode, items: []*node{text}}}}},
			{key: "inner", value: inner},
			{key: "text", value: text},
		}}
		if key == "last" {
			return
		}
		written := writeYAML(n)
		back, _, m := parseYAML(written, maxWork)
		if m != nil || back.json() != n.json() {
			t.Fatalf("%s was written as\n%s\nand read as %v (%+v)", n.json(), written, back, m)
		}
		if strings.HasPrefix(written, "{") {
			t.Fatalf("%s was written as JSON", n.json())
		}
	})
}

// What is written for people looks like it.
func TestF5YAMLLooksGood(t *testing.T) {
	t.Parallel()
	n, err := fromJSON([]byte(`{"name":"Acme factory","no":"no","when":"2024-01-01","url":"https://a.test/b?c=d","say":"it's: here","list":["a","b"],"empty":{},"text":"one\n\n  two\n","more":{"deep":[{"a":1,"b":"x\ny"}]},"end":"trailing \nspace"}`))
	if err != nil {
		t.Fatal(err)
	}
	const want = `name: Acme factory
"no": "no"
when: "2024-01-01"
url: https://a.test/b?c=d
say: "it's: here"
list:
  - a
  - b
empty: {}
text: |
  one

    two
more:
  deep:
    - a: 1
      b: |-
        x
        y
end: "trailing \nspace"
`
	if got := writeYAML(n); got != want {
		t.Errorf("written as\n%s", got)
	}
}
