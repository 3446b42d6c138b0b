//go:build linux

package main

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/store"
)

// errNothing says that there was nothing to hit: it is not a fault.
var errNothing = errors.New("there was nothing to hit")

func firstOf(errs ...error) error {
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}

// endDatabase ends the primary with a signal and starts it again.
func endDatabase(with syscall.Signal) func(ctx context.Context, h *hit) error {
	return func(ctx context.Context, h *hit) error {
		n := h.pg.nodes[h.pg.primary]
		h.target = n.name
		n.stop(ctx, with, 10*time.Second)
		pause(ctx, h.between(0, 1500*time.Millisecond))
		return n.start()
	}
}

// killBackend ends a process below the primary, which then recovers on its own.
func killBackend(_ context.Context, h *hit) error {
	n := h.pg.nodes[h.pg.primary]
	all := children(n.pid(), "postgres:")
	if len(all) == 0 {
		return errNothing
	}
	h.target = n.name
	return syscall.Kill(all[h.random.IntN(len(all))], syscall.SIGKILL)
}

// killReplica has every COMMIT wait until the replica is back.
func killReplica(ctx context.Context, h *hit) error {
	n := h.pg.nodes[1-h.pg.primary]
	h.target = n.name
	n.kill()
	pause(ctx, h.between(0, 1500*time.Millisecond))
	return n.start()
}

// promote kills the primary for good. Recovery counts from that moment to the first
// delivery that is accepted; the old primary then becomes the replica of the new one.
func promote(ctx context.Context, h *hit) error {
	h.target = h.pg.nodes[h.pg.primary].name
	if err := h.pg.awaitSync(ctx); err != nil {
		return err
	}
	h.over = time.Now()
	h.after = h.pg.addReplica
	return h.pg.promote(ctx, func(address string) {
		for _, s := range h.servers {
			s.database.lead(address)
		}
	})
}

// freezeDatabase stops all processes of the primary.
func freezeDatabase(ctx context.Context, h *hit) error {
	n := h.pg.nodes[h.pg.primary]
	h.target = n.name
	all := append(children(n.pid(), ""), n.pid())
	for _, pid := range all {
		_ = syscall.Kill(pid, syscall.SIGSTOP) // it may have ended
	}
	pause(ctx, h.beyondLease())
	thaw(n.pid())
	return nil
}

// thaw lets a process and all below it continue.
func thaw(pid int) {
	if pid == 0 {
		return
	}
	for _, pid := range append(children(pid, ""), pid) {
		_ = syscall.Kill(pid, syscall.SIGCONT) // it may have ended
	}
}

func cutDatabase(ctx context.Context, h *hit) error    { return h.holdLink(ctx, h.server().database) }
func cutReplication(ctx context.Context, h *hit) error { return h.holdLink(ctx, h.pg.replication) }

// cutCommit ends the connection of the next COMMIT, before PostgreSQL gets it or after: the
// server cannot know which.
func cutCommit(ctx context.Context, h *hit) error {
	l := h.server().database
	cut := &commitCut{after: h.random.IntN(2) == 0, done: make(chan struct{})}
	h.target = fmt.Sprintf("%s, after %t", l.name, cut.after)
	l.commit.Store(cut)
	select {
	case <-cut.done:
		return nil
	case <-time.After(3 * time.Second):
	case <-ctx.Done():
	}
	if l.commit.CompareAndSwap(cut, nil) {
		return errNothing
	}
	return nil
}

// jumpDatabase does to leases what setting the database's date forward by an hour does:
// all of them run out.
func jumpDatabase(ctx context.Context, h *hit) error {
	h.target = h.pg.nodes[h.pg.primary].name
	const sql = `WITH over AS (UPDATE executions SET lease_until = lease_until - 3600000000 WHERE ended_at = 0 RETURNING 1)
		SELECT count(*) FROM over`
	n := ""
	err := await(ctx, "leases are over", func(ctx context.Context) (done bool) { // servers may be in its way
		var err error
		n, err = h.pg.query(ctx, h.pg.primary, sql)
		return err == nil
	})
	if n == "0" {
		return errNothing
	}
	return err
}

// tearWAL ends the server and leaves what a power cut in the middle of a write leaves: the
// beginning of a frame that was never acknowledged.
func tearWAL(ctx context.Context, h *hit) error {
	s := h.server()
	s.kill()
	file, err := os.OpenFile(filepath.Join(s.data, "l.db-wal"), os.O_APPEND|os.O_WRONLY, 0)
	if err == nil {
		torn := make([]byte, 1+h.random.IntN(6000))
		for i := range torn {
			torn[i] = byte(h.random.Uint32())
		}
		_, err = file.Write(torn)
		err = errors.Join(err, file.Close())
	}
	if errors.Is(err, os.ErrNotExist) {
		err = errNothing
	}
	pause(ctx, h.between(0, 200*time.Millisecond))
	return firstOf(s.start(), err)
}

// copyWAL ends the server, copies its database with a part of the WAL, as a power cut leaves it, and
// reads the copy: it must open as it was at an earlier moment, and its runs be whole. What the
// file has already was flushed in the WAL before, so no power cut takes that away.
func copyWAL(ctx context.Context, h *hit) error {
	s := h.server()
	s.kill()
	dir, err := os.MkdirTemp(h.dir, "copy-")
	if err != nil {
		return err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	copied := errors.Join(copyFile(s.data, dir, "l.db"), copyFile(s.data, dir, "l.db-wal"))
	kept, keptErr := keptWAL(s.data)
	if err := s.start(); err != nil {
		return err
	}
	h.over = time.Now()
	if errors.Is(copied, os.ErrNotExist) {
		return errNothing
	} else if copied != nil {
		return copied
	}
	wal := filepath.Join(dir, "l.db-wal")
	info, err := os.Stat(wal)
	if errors.Is(keptErr, io.EOF) || err == nil && keptErr == nil && info.Size() <= kept {
		return errNothing
	}
	if err := errors.Join(err, keptErr); err != nil {
		return err
	}
	if err := os.Truncate(wal, kept+h.random.Int64N(info.Size()-kept)); err != nil {
		return err
	}
	return readCopy(ctx, filepath.Join(dir, "l.db"))
}

// keptWAL is how much of the WAL is in the file already, by its index: a header of 32 bytes and,
// for each page, one of 24.
func keptWAL(data string) (int64, error) {
	head := make([]byte, 12)
	index := make([]byte, 100)
	for name, into := range map[string][]byte{"l.db-wal": head, "l.db-shm": index} {
		file, err := os.Open(filepath.Join(data, name))
		if err != nil {
			return 0, err
		}
		_, err = io.ReadFull(file, into)
		if err := errors.Join(err, file.Close()); err != nil {
			return 0, err
		}
	}
	page := int64(binary.BigEndian.Uint32(head[8:]))
	return 32 + int64(binary.NativeEndian.Uint32(index[96:]))*(24+page), nil
}

func readCopy(ctx context.Context, path string) error {
	db, err := store.Open(ctx, store.Options{Database: path})
	if err != nil {
		return fmt.Errorf("open a copy with a part of its WAL: %w", err)
	}
	defer func() { _ = db.Close() }()
	runs, _, _, err := db.ScanRuns(ctx, store.RunScan{Sort: lineshaft.SortCreated, Limit: 500})
	if err != nil {
		return fmt.Errorf("read a copy with a part of its WAL: %w", err)
	}
	for _, run := range runs {
		if _, err := db.ListRunAttachments(ctx, run.ID); err != nil {
			return fmt.Errorf("read run %s of a copy with a part of its WAL: %w", run.ID, err)
		}
	}
	return nil
}

func copyFile(from, to, name string) error {
	in, err := os.Open(filepath.Join(from, name))
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.Create(filepath.Join(to, name))
	if err != nil {
		return err
	}
	_, err = io.Copy(out, in)
	return errors.Join(err, out.Close())
}
