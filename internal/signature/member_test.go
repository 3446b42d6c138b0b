package signature

import (
	"bytes"
	"encoding/json"
	"testing"
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
		got, found := member([]byte(c.doc), c.path)
		if string(got) != c.want || found != (c.want != "") {
			t.Errorf("%s in %s: %s", c.path, c.doc, got)
		}
	}
}

// FuzzMember compares with the standard library, which reads everything.
func FuzzMember(f *testing.F) {
	for _, doc := range []string{
		testBody, `{}`, `[]`, `{"id":1,"id":2}`, `{"x":"\\\"","\u0069d":{"id":[]}}`, `{"x":[{"id":1}],"id" : -1.5e3 }`, "\xff", `{"id`,
	} {
		f.Add([]byte(doc))
	}
	f.Fuzz(func(t *testing.T, doc []byte) {
		got, found := member(doc, "id")
		_ = memberText(doc, "event.id")
		if !json.Valid(doc) {
			return
		}
		want, exists := reference(doc, "id")
		if found != exists || !bytes.Equal(got, want) {
			t.Errorf("%s: got %s %v, want %s %v", doc, got, found, want, exists)
		}
	})
}

// reference finds the last member of that name in a valid document.
func reference(doc []byte, name string) (json.RawMessage, bool) {
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
