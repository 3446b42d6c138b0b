//go:build !linux

package tree

// Attributes are for Linux alone.
func (*Entry) Attributes(int) ([]Attribute, error) { return nil, nil }

// SetAttributes is for Linux alone.
func SetAttributes(string, []Attribute) error { return nil }
