package jsontext_test

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

func TestMember(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ doc, path, want string }{
		{`{"id":"a"}`, "id", `"a"`},
		{" \t\r\n{ \"id\" : 7 , \"x\":1}", "id", `7`},
		{`{"x":{"id":1},"y":[{"id":2}],"id":3}`, "id", `3`},
		{`{"x":"\"id\":1,{","id":3}`, "id", `3`},
		{`{"x":"\\","id":3}`, "id", `3`},
		{`{"\u0069d":3}`, "id", `3`},
		{`{"id":1,"id":2}`, "id", `2`},
		{`{"id":1,"x":{"id":3},"\u0069d":2}`, "id", `2`},
		{`{"e":{"id":1},"e":{"id":2}}`, "e.id", `2`},
		{`{"ID":1}`, "id", ``},
		{`{"event":{"id":"e"},"id":"x"}`, "event.id", `"e"`},
		{`{"event":[{"id":"e"}]}`, "event.id", ``},
		{`{"event":null}`, "event.id", ``},
		{`{"id":{"a":[1,2,"]}"]}}`, "id", `{"a":[1,2,"]}"]}`},
		{`{"id":[]}`, "id", `[]`},
		{`{"id":true}`, "id", `true`},
		{`["id"]`, "id", ``},
		{`{}`, "id", ``},
		{``, "id", ``},
		{`{"id`, "id", ``},
		{`{"id"`, "id", ``},
		{`{"id":`, "id", ``},
		{`{"id":}`, "id", ``},
		{`{"id":,}`, "id", ``},
		{`{"id":"x`, "id", ``},
		{`{"id":"x\`, "id", ``},
		{`{"id":[1`, "id", ``},
		{`{"x" 1,"id":2}`, "id", ``},
		{`{x:1,"id":2}`, "id", ``},
	} {
		got, found := jsontext.Member([]byte(c.doc), c.path)
		if string(got) != c.want || found != (c.want != "") {
			t.Errorf("%s in %s: %s", c.path, c.doc, got)
		}
	}
}

// FuzzMember compares with the standard library, which reads everything.
func FuzzMember(f *testing.F) {
	for _, doc := range []string{
		`{"id":"evt_1","event":{"id":"x"},"text":"\u00e9"}`, `{}`, `[]`, `{"id":1,"id":2}`, `{"x":"\\\"","\u0069d":{"id":[]}}`, `{"x":[{"id":1}],"id" : -1.5e3 }`, "\xff", `{"id`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, found := jsontext.Member(doc, "id")
		_ = jsontext.MemberText(doc, "event.id")
		if !json.Valid(doc) {
			return
		}
		want, exists := lastMember(doc, "id")
		if found != exists || !bytes.Equal(got, want) {
			t.Errorf("%s: got %s %v, want %s %v", doc, got, found, want, exists)
		}
	})
}

// lastMember finds the last member of that name in a valid document.
func lastMember(doc []byte, name string) (json.RawMessage, bool) {
	decoder := json.NewDecoder(bytes.NewReader(doc))
	if open, err := decoder.Token(); err != nil || open != json.Delim('{') {
		return nil, false
	}
	var last json.RawMessage
	for decoder.More() {
		key, err := decoder.Token()
		if err != nil {
			return nil, false
		}
		var raw json.RawMessage
		if decoder.Decode(&raw) != nil {
			return nil, false
		}
		if key == name {
			last = raw
		}
	}
	return last, last != nil
}

// A cursor on a text that nobody has checked comes to an end and stays inside of it.
func FuzzCursor(f *testing.F) {
	for _, text := range texts() {
		f.Add([]byte(text))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		c := jsontext.NewCursor(text)
		for range 2*len(text) + 2 {
			if !c.Next() && c.Peek() == 0 {
				return
			}
			c.Name()
			c.Skip()
		}
		t.Fatalf("no end of %q", text)
	})
}

func TestUnescapeNeverPanics(t *testing.T) {
	t.Parallel()
	for _, text := range []string{`\`, `a\`, `\u`, `\u12`, `\ud800\u`, `\ud800\u12`, `\uzzzz`} {
		jsontext.AppendUnescaped(nil, []byte(text))
	}
}
