package config

import (
	"slices"
	"testing"
)

func TestS4CORSOrigins(t *testing.T) {
	t.Parallel()
	var got []string
	v := origins(&got)
	if err := v.set([]string{"https://App.example.com/, http://127.0.0.1:3000", "https://x.example:443", "https://app.example.com"}); err != nil {
		t.Fatal(err)
	}
	want := []string{"https://app.example.com", "http://127.0.0.1:3000", "https://x.example"}
	if !slices.Equal(got, want) || v.text() != "https://app.example.com,http://127.0.0.1:3000,https://x.example" {
		t.Errorf("%q, want %q", got, want)
	}
	for _, wrong := range []string{"*", "app.example.com", "https://", "https://*.example.com", "https://x/path", "https://u@x", "https://x?q", "https://x#f", "ftp://x", "null"} {
		if err := v.set([]string{wrong}); err == nil {
			t.Errorf("%q is taken", wrong)
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("a mistake changed the list: %q", got)
	}
}
