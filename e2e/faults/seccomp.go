//go:build linux

package main

import (
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// A static program calls the kernel itself, so no library can get between it and its disk.
// The kernel can: it asks another process about each fsync (seccomp user notification). The
// rig starts databases and servers through itself in this role; it answers "continue", "wait" or
// "EIO".

// wrapRole is the argument that makes this program start another one under the filter.
const wrapRole = "under-filter"

// wrap puts the filter on this thread, sends the listener to the rig and becomes the program.
func wrap(socket string, args []string) error {
	runtime.LockOSThread()
	const load, jumpEqual, answer = unix.BPF_LD | unix.BPF_W | unix.BPF_ABS, unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K,
		unix.BPF_RET | unix.BPF_K
	filter := []unix.SockFilter{
		{Code: load, K: 0}, // the number of the call
		{Code: jumpEqual, K: unix.SYS_FSYNC, Jt: 2},
		{Code: jumpEqual, K: unix.SYS_FDATASYNC, Jt: 1},
		{Code: answer, K: unix.SECCOMP_RET_ALLOW},
		{Code: answer, K: unix.SECCOMP_RET_USER_NOTIF},
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
		return fmt.Errorf("give up privileges: %w", err)
	}
	listener, _, errno := unix.Syscall(unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER,
		uintptr(unsafe.Pointer(&program)))
	if errno != 0 {
		return fmt.Errorf("set the filter: %w", errno)
	}
	conn, err := net.DialUnix("unix", nil, &net.UnixAddr{Name: socket, Net: "unix"})
	if err != nil {
		return fmt.Errorf("call the rig: %w", err)
	}
	if _, _, err := conn.WriteMsgUnix([]byte{0}, unix.UnixRights(int(listener)), nil); err != nil {
		return fmt.Errorf("send the listener: %w", err)
	}
	if _, err := conn.Read(make([]byte, 1)); err != nil { // the rig listens from now on
		return fmt.Errorf("wait for the rig: %w", err)
	}
	_, _ = conn.Close(), unix.Close(int(listener))
	return syscall.Exec(args[0], args, os.Environ())
}

// disk answers for the fsyncs of one program and of all that it starts.
type disk struct {
	path     string
	listener *net.UnixListener
	mu       sync.Mutex
	delay    time.Duration
	broken   bool
	asked    int
}

// newDisk listens for the programs that are started under the filter.
func newDisk(path string) (*disk, error) {
	listener, err := net.ListenUnix("unix", &net.UnixAddr{Name: path, Net: "unix"})
	if err != nil {
		return nil, err
	}
	d := &disk{path: path, listener: listener}
	if err := os.Chmod(path, 0o777); err != nil { // the database is another user's
		return nil, err
	}
	go d.accept()
	return d, nil
}

func (d *disk) accept() {
	for {
		conn, err := d.listener.AcceptUnix()
		if err != nil {
			return
		}
		if fd, err := receive(conn); err == nil {
			go d.serve(fd)
			_, _ = conn.Write([]byte{0}) // a program that is gone needs no word
		}
		_ = conn.Close()
	}
}

func receive(conn *net.UnixConn) (int, error) {
	oob := make([]byte, unix.CmsgSpace(4))
	_, n, _, _, err := conn.ReadMsgUnix(make([]byte, 1), oob)
	if err != nil {
		return 0, err
	}
	messages, err := unix.ParseSocketControlMessage(oob[:n])
	if err != nil || len(messages) != 1 {
		return 0, errors.Join(errors.New("no listener was sent"), err)
	}
	fds, err := unix.ParseUnixRights(&messages[0])
	if err != nil || len(fds) != 1 {
		return 0, errors.Join(errors.New("no listener was sent"), err)
	}
	return fds[0], nil
}

const (
	notifyReceive = 0xc0502100 // SECCOMP_IOCTL_NOTIF_RECV, with 80 bytes
	notifySend    = 0xc0182101 // SECCOMP_IOCTL_NOTIF_SEND, with 24 bytes
	flagContinue  = 1          // SECCOMP_USER_NOTIF_FLAG_CONTINUE
)

// serve answers until all processes of the program are gone.
func (d *disk) serve(fd int) {
	defer func() { _ = unix.Close(fd) }()
	for {
		polled := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
		if _, err := unix.Poll(polled, -1); errors.Is(err, unix.EINTR) {
			continue
		} else if err != nil || polled[0].Revents&unix.POLLIN == 0 {
			return
		}
		var request [80]byte
		if _, _, errno := unix.Syscall(unix.SYS_IOCTL, uintptr(fd), notifyReceive, uintptr(unsafe.Pointer(&request))); errno != 0 {
			continue // the one who asked was killed
		}
		delay, broken := d.mood()
		if delay == 0 {
			reply(fd, request[:8], broken)
			continue
		}
		time.AfterFunc(delay, func() { reply(fd, request[:8], broken) })
	}
}

// reply lets the call continue, or makes it fail.
func reply(fd int, id []byte, broken bool) {
	var response [24]byte // id, value, error, flags
	copy(response[:8], id)
	if broken {
		failed := -int32(unix.EIO)
		binary.NativeEndian.PutUint32(response[16:], uint32(failed))
	} else {
		binary.NativeEndian.PutUint32(response[20:], flagContinue)
	}
	_, _, _ = unix.Syscall(unix.SYS_IOCTL, uintptr(fd), notifySend, uintptr(unsafe.Pointer(&response))) // it may have been killed meanwhile
}

func (d *disk) mood() (time.Duration, bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.asked++
	return d.delay, d.broken
}

// set makes the disk slow or broken, and well again with zeros.
func (d *disk) set(delay time.Duration, broken bool) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.delay, d.broken = delay, broken
}

// during makes the disk slow or broken for a while. It is not a fault if nobody wrote.
func (d *disk) during(delay time.Duration, broken bool, wait func()) error {
	before := d.count()
	d.set(delay, broken)
	wait()
	d.set(0, false)
	if d.count() == before {
		return errNothing
	}
	return nil
}

// count is how many fsyncs there were.
func (d *disk) count() int {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked
}
