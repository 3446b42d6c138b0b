package main

import (
	"bytes"
	"context"
	"strings"
	"testing"
)

// It prints its address and ends when it is told to.
func TestI3PrintsItsAddress(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	var out bytes.Buffer
	if err := run(ctx, []string{"--target", "http://127.0.0.1:1"}, &out); err != nil || !strings.HasPrefix(out.String(), "http://127.0.0.1:") {
		t.Errorf("%q, %v", out.String(), err)
	}
	if err := run(ctx, []string{"--target", "nothing"}, &out); err == nil {
		t.Error("it starts with nothing to serve")
	}
}
