package jsontext_test

import (
	"encoding/json"
	"reflect"
	"testing"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

func TestPlainLetters(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		``:                          ``,
		`{"a":"plain \n \\ \" é"}`:  `{"a":"plain \n \\ \" é"}`,
		`"n\u0065edle"`:             `"needle"`,
		`"\u0034\u0030\u0034"`:      `"404"`,
		`"\u0130 \u212A \u00e9"`:    "\"İ \u212a é\"",
		`"\u001b[31m \u003c\u0026"`: `"\u001b[31m \u003c\u0026"`,
		`"\\u0065"`:                 `"\\u0065"`,
		`"\\\u0065"`:                `"\\e"`,
		`"\ud83d\ude00"`:            `"\ud83d\ude00"`,
		`{"\u0061":"\u0022"}`:       `{"a":"\u0022"}`,
	} {
		got := string(jsontext.PlainLetters([]byte(text)))
		if got != want {
			t.Errorf("%s: %s, want %s", text, got, want)
		}
		var before, after any
		if text != "" && (json.Unmarshal([]byte(text), &before) != nil || json.Unmarshal([]byte(got), &after) != nil || !reflect.DeepEqual(before, after)) {
			t.Errorf("%s says something else as %s", text, got)
		}
	}
}

// Whatever valid text comes, it says the same and has no letter as an escape.
func FuzzPlainLetters(f *testing.F) {
	f.Add([]byte(`{"\u0061":["\\u0062","\ud83d\ude00 \u0041"]}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		if !json.Valid(text) {
			return
		}
		got := jsontext.PlainLetters(text)
		var before, after any
		if json.Unmarshal(text, &before) != nil {
			return
		}
		if err := json.Unmarshal(got, &after); err != nil || !reflect.DeepEqual(before, after) {
			t.Fatalf("%q became %q: %v", text, got, err)
		}
		if again := jsontext.PlainLetters(got); string(again) != string(got) {
			t.Fatalf("%q became %q, and then %q", text, got, again)
		}
	})
}
