package git

import (
	"context"
	"net/netip"
	"path/filepath"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// A git that ignores the pin is not let loose on a name: its own lookup may
// find an address other than the checked one.
func TestS7GitThatCannotBePinned(t *testing.T) {
	t.Parallel()
	for said, want := range map[string]bool{
		"git version 2.37.0": true, "git version 2.39.5 (Apple Git-154)": true, "git version 3.0.1": true, "git version 2.100": true,
		"git version 2.36.9": false, "git version 1.99.0": false, "git version": false, "": false, "git version two.x": false,
	} {
		if canPin(said) != want {
			t.Errorf("%q: %v", said, !want)
		}
	}
	program := filepath.Join(t.TempDir(), "git")
	script(t, program, "#!/bin/sh\necho git version 2.36.1\n")
	c := client(t, func(cfg *Config) {
		cfg.AllowFile, cfg.Program = false, program
		cfg.Resolve = func(context.Context, string) ([]netip.Addr, error) {
			return []netip.Addr{netip.MustParseAddr("8.8.8.8")}, nil
		}
	})
	_, err := c.Head(t.Context(), "https://example.com/o/r", "main")
	wantFault(t, err, lineshaft.CodeUnavailable, "2.37")
}

// What is checked and what git looks up must be the same name.
func TestS7HostsHaveOneWriting(t *testing.T) {
	t.Parallel()
	c := client(t, func(cfg *Config) { cfg.AllowFile = false })
	for _, url := range []string{
		"https://example.com./o/r", "https://ex%61mple.com/o/r", "https://exämple.com/o/r", "https://example.com:0443/o/r", "https://example.com:0/o/r", "https://example.com:99999/o/r",
		"https://[fe80::1%25lo]/o/r", "https://.example.com/o/r", "https://a,b/o/r", "git@example.com.:o/r", "ssh://git@example.com./o/r",
	} {
		wantFault(t, c.Check(url), lineshaft.CodeInvalidRequest, "url")
	}
}
