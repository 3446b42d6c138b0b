package worker

import (
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/sandbox"
)

// smallDisk is a file system of one megabyte.
func smallDisk(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("a small file system can only be mounted by root")
	}
	disk := t.TempDir()
	if err := unix.Mount("tmpfs", disk, "tmpfs", 0, "size=1m,mode=755"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// A file that came with the message and has no room on the worker's disk is not the run's
// fault either.
func TestX1FullDiskForAnAttachmentHandsTheRunBack(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	c.blobs["blob-1"] = make([]byte, 2<<20)
	real(t, c, sandbox.NewNone(harnesstest.Options()), Config{DataDir: smallDisk(t)})
	j := job("a", script("echo never"))
	j.Turn.Attachments = []lineshaft.Attachment{{FileName: "event-payload.json", BlobID: "blob-1", Size: 2 << 20}}
	c.jobs <- j
	if result := c.ended("a", 1); result.State != lineshaft.Queued || !strings.Contains(result.Message, "is full") {
		t.Errorf("got %+v, want the run back in the queue", result)
	}
}
