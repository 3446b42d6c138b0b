package git

import (
	"errors"
	"strings"
	"syscall"
	"testing"

	"github.com/lineshaft/lineshaft"
)

// A full disk is ours to fix, whatever else git says of it; what the other side says of its own
// disk is not.
func TestX1FullDisksAreNotDamagedRepositories(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, stderr string
		full         syscall.Errno // 0 for none
		says         string
	}{
		{"full", "fatal: write error: No space left on device\nfatal: index-pack failed", syscall.ENOSPC, "make room"},
		{"quota", "error: unable to write file a: Disk quota exceeded", syscall.EDQUOT, "make room"},
		{"theirs too", "fatal: remote error: No space left on device\nfatal: index-pack failed", 0, "git fsck"},
		{"a file's name", "error: unable to create file No space left on device.txt: File name too long\nfatal: index-pack failed", 0, "git fsck"},
		{"theirs", "remote: fatal: write error: No space left on device\nfatal: index-pack failed", 0, "git fsck"},
		{"damaged", "fatal: index-pack failed", 0, "git fsck"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			err := explain(t.Context(), address{shown: "https://forge/acme/shop.git"}, nil, &commandError{stderr: tc.stderr})
			public, ok := errors.AsType[*lineshaft.Error](err)
			if !ok || !strings.Contains(public.Message, tc.says) {
				t.Errorf("got %v, want %q in it", err, tc.says)
			}
			for _, full := range []syscall.Errno{syscall.ENOSPC, syscall.EDQUOT} {
				if errors.Is(err, full) != (full == tc.full) {
					t.Errorf("got %v, want the cause %v", err, tc.full)
				}
			}
		})
	}
}
