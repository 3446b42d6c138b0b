package store_test

import (
	"errors"
	"testing"
)

// must ends the test with the error and what caused it, which the error itself
// keeps to itself.
func must(t *testing.T, err error) {
	t.Helper()
	if err == nil {
		return
	}
	cause := err
	for next := errors.Unwrap(cause); next != nil; next = errors.Unwrap(cause) {
		cause = next
	}
	t.Fatalf("%v (%v)", err, cause)
}
