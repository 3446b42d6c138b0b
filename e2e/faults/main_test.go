//go:build linux

package main

import (
	"fmt"
	"os"
	"testing"
)

// TestMain lets the test program put the filter on others, as the program itself does.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == wrapRole {
		fmt.Fprintln(os.Stderr, wrap(os.Args[2], os.Args[3:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}
