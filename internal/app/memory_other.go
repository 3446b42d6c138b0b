//go:build !linux

package app

// closeMemory does nothing: other systems guard the memory of processes themselves,
// or have no way to ask for it.
func closeMemory() error { return nil }
