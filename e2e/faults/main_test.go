//go:build linux

package main

import (
	"fmt"
	"os"
	"testing"
)

// TestMain makes the test program the one that puts the filter on others, as the program itself is.
func TestMain(m *testing.M) {
	if len(os.Args) > 3 && os.Args[1] == wrapRole {
		fmt.Fprintln(os.Stderr, wrap(os.Args[2], os.Args[3:]))
		os.Exit(1)
	}
	os.Exit(m.Run())
}
