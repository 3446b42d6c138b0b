package client

import "testing"

// I-1: values that the commands print are as they were written, also inside of types with
// an encoding of their own.
func TestI1FiltersAreNotEscapedForBrowsers(t *testing.T) {
	t.Parallel()
	filter := TriggerFilter{Payload: []byte(`{"a":["<b>&"]}`), Sets: map[string]Choice{"labels": {In: []string{"<b>", "x&y"}}}}
	got, err := encodeJSON(struct{ Filter TriggerFilter }{filter})
	if want := `{"Filter":{"labels":{"in":["<b>","x&y"]},"payload":{"a":["<b>&"]}}}`; err != nil || string(got) != want {
		t.Errorf("%s, %v; want %s", got, err, want)
	}
}
