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
		t.Skipf("a small file system cannot be mounted here: %v", err)
	}
	t.Cleanup(func() {
		if err := unix.Unmount(disk, unix.MNT_DETACH); err != nil {
			t.Error(err)
		}
	})
	return disk
}

// A file that came with the message and has no room on the worker's disk is not the run's fault
// either. One that never fits ends after some tries, on the platform's side.
func TestX1FullDiskForAnAttachmentHandsTheRunBack(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	c.blobs["blob-1"] = make([]byte, 2<<20)
	real(t, c, sandbox.NewNone(harnesstest.Options()), Config{DataDir: smallDisk(t), Slots: 2})
	for id, want := range map[string]struct {
		number int
		state  lineshaft.RunState
	}{"a": {roomTries - 1, lineshaft.Queued}, "b": {roomTries, lineshaft.Errored}} {
		j := first(id, script("echo never"))
		j.Number = want.number
		j.Turn.Attachments = []lineshaft.Attachment{{FileName: "event-payload.json", BlobID: "blob-1", Size: 2 << 20}}
		c.jobs <- j
		if result := c.ended(id, 1); result.State != want.state || !strings.Contains(result.Message, "is full") {
			t.Errorf("got %+v, want %s", result, want.state)
		}
		if uploads := c.uploads(id); len(uploads) > 0 {
			t.Errorf("got %q, want nothing stored of an execution that did not begin", uploads)
		}
	}
}

// A snapshot that has no room is not given up: an empty workspace would take its place.
func TestR6FullDiskForASnapshotHandsTheRunBack(t *testing.T) {
	t.Parallel()
	c := newControl(t)
	large := real(t, c, sandbox.NewNone(harnesstest.Options()), Config{})
	c.jobs <- first("a", script("head -c 3000000 /dev/urandom > file"))
	if result := c.ended("a", 1); result.State != lineshaft.Succeeded {
		t.Fatalf("got %+v", result)
	}
	if err := large.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	real(t, c, sandbox.NewNone(harnesstest.Options()), Config{DataDir: smallDisk(t)})
	j := resumed("b", 2, script("echo never"))
	j.Snapshot = "snapshot-a-"
	c.jobs <- j
	if result := c.ended("b", 1); result.State != lineshaft.Queued || !strings.Contains(result.Message, "is full") {
		t.Errorf("got %+v, want the run back in the queue", result)
	}
}
