package jsontext_test

import (
	"slices"
	"testing"

	"github.com/lineshaft/lineshaft/internal/jsontext"
)

func root(t *testing.T, body string) jsontext.Value {
	t.Helper()
	return parse(t, body).Root()
}

func TestValueAt(t *testing.T) {
	t.Parallel()
	v := root(t, `{"a":{"b":"in","b":"\u0041 last","c.d":"x"},"s":"","n":7,"l":[{"a":"y"}],"yes":true,"no":false,"nil":null,"A":"other"}`)
	for path, want := range map[string]string{"a.b": "A last", "s": "", "A": "other"} {
		if got, ok := v.At(path).Text(); !ok || got != want {
			t.Errorf("At(%q) = %q, %v, want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"", "a", "a.c", "a.c.d", "a.b.x", "n", "l", "l.a", "yes", "nil", "nil.x", "x", "x.y.z", "."} {
		if got, ok := v.At(path).Text(); ok {
			t.Errorf("At(%q) = %q, want no text", path, got)
		}
	}
	for path, want := range map[string]bool{"yes": true, "no": false, "nil": false, "a": false, "x": false, "n": false} {
		if got := v.At(path).True(); got != want {
			t.Errorf("At(%q).True() = %v", path, got)
		}
	}
}

func TestValueElements(t *testing.T) {
	t.Parallel()
	v := root(t, `{"l":["a",["b"],{"x":"c"},1,"d"],"o":{"x":"y"},"empty":[]}`)
	var texts []string
	for e := range v.At("l").Elements() {
		if text, ok := e.Text(); ok {
			texts = append(texts, text)
		}
		if text, ok := e.At("x").Text(); ok {
			texts = append(texts, text)
		}
	}
	if !slices.Equal(texts, []string{"a", "c", "d"}) {
		t.Errorf("elements say %q", texts)
	}
	for range v.At("l").Elements() {
		break // the rest is not asked for
	}
	for _, path := range []string{"o", "empty", "none", "l.x"} {
		for range v.At(path).Elements() {
			t.Errorf("%s has an element", path)
		}
	}
}

func TestValueOfNothing(t *testing.T) {
	t.Parallel()
	for name, v := range map[string]jsontext.Value{"zero": {}, "no document": (*jsontext.Doc)(nil).Root(), "empty document": (&jsontext.Doc{}).Root()} {
		if _, ok := v.At("a.b").Text(); ok || v.True() || v.At("x").True() {
			t.Errorf("%s says something", name)
		}
		for range v.Elements() {
			t.Errorf("%s has an element", name)
		}
	}
	if got, ok := root(t, `"alone"`).Text(); !ok || got != "alone" {
		t.Errorf("a text alone is %q", got)
	}
}
