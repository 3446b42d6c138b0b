//go:build linux && (amd64 || arm64)

package sandbox

import (
	"encoding/binary"

	"golang.org/x/sys/unix"
)

// filtering says that there is a filter for this processor.
const filtering = true

// Where the kernel puts what a filter may read: struct seccomp_data. Both
// processors have the low half of an argument first.
const (
	dataNumber   = 0
	dataArch     = 4
	dataFirstArg = 16
)

// newNamespace are the flags of clone that make a namespace; unshareOnly is one
// that clone cannot be given.
const (
	newNamespace = unix.CLONE_NEWUSER | unix.CLONE_NEWNS | unix.CLONE_NEWPID | unix.CLONE_NEWNET | unix.CLONE_NEWIPC | unix.CLONE_NEWUTS | unix.CLONE_NEWCGROUP
	unshareOnly  = unix.CLONE_NEWTIME
)

// refusedCalls are those that an agent has no use for and that reach much of the
// kernel, most of all from a user namespace of the agent's own: they get EPERM.
// docs/isolation.md lists them.
var refusedCalls = []uint32{
	// Namespaces and mounts.
	unix.SYS_SETNS, unix.SYS_MOUNT, unix.SYS_UMOUNT2, unix.SYS_PIVOT_ROOT, unix.SYS_OPEN_TREE, unix.SYS_MOVE_MOUNT, unix.SYS_FSOPEN,
	unix.SYS_FSCONFIG, unix.SYS_FSMOUNT, unix.SYS_FSPICK, unix.SYS_MOUNT_SETATTR, unix.SYS_OPEN_BY_HANDLE_AT,
	// Keyrings, which are not part of any namespace.
	unix.SYS_KEYCTL, unix.SYS_ADD_KEY, unix.SYS_REQUEST_KEY,
	// Parts of the kernel that attacks on it have come through.
	unix.SYS_BPF, unix.SYS_PERF_EVENT_OPEN, unix.SYS_USERFAULTFD,
	// The machine.
	unix.SYS_KEXEC_LOAD, unix.SYS_KEXEC_FILE_LOAD, unix.SYS_INIT_MODULE, unix.SYS_FINIT_MODULE, unix.SYS_DELETE_MODULE, unix.SYS_REBOOT,
	unix.SYS_SWAPON, unix.SYS_SWAPOFF, unix.SYS_ACCT, unix.SYS_QUOTACTL, unix.SYS_SYSLOG, unix.SYS_LOOKUP_DCOOKIE, unix.SYS_NFSSERVCTL,
	unix.SYS_SETTIMEOFDAY, unix.SYS_CLOCK_SETTIME, unix.SYS_ADJTIMEX, unix.SYS_CLOCK_ADJTIME,
}

// missingCalls get ENOSYS, so that libraries fall back to what they did before
// there were such calls. The flags of clone3 are in memory, which a filter cannot read.
var missingCalls = []uint32{unix.SYS_CLONE3, unix.SYS_IO_URING_SETUP, unix.SYS_IO_URING_ENTER, unix.SYS_IO_URING_REGISTER}

// seccompFilter is the program that the kernel runs at each system call of an agent,
// in the form that bubblewrap reads.
func seccompFilter() []byte {
	deny := func(errno unix.Errno) uint32 { return unix.SECCOMP_RET_ERRNO | uint32(errno) }
	p := filter{}
	p.load(dataArch)
	p.unless(unix.BPF_JEQ, nativeArch, unix.SECCOMP_RET_KILL_PROCESS) // numbers mean something else there
	p.load(dataNumber)
	if foreignNumbers > 0 {
		p.when(unix.BPF_JGE, foreignNumbers, deny(unix.ENOSYS))
	}
	for _, call := range missingCalls {
		p.when(unix.BPF_JEQ, call, deny(unix.ENOSYS))
	}
	for _, calls := range [][]uint32{refusedCalls, refusedHere} {
		for _, call := range calls {
			p.when(unix.BPF_JEQ, call, deny(unix.EPERM))
		}
	}
	for call, flags := range map[uint32]uint32{unix.SYS_CLONE: newNamespace, unix.SYS_UNSHARE: newNamespace | unshareOnly} {
		p.add(unix.BPF_JMP|unix.BPF_JEQ|unix.BPF_K, 0, 4, call)
		p.load(dataFirstArg)
		p.when(unix.BPF_JSET, flags, deny(unix.EPERM))
		p.add(unix.BPF_RET|unix.BPF_K, 0, 0, unix.SECCOMP_RET_ALLOW)
	}
	p.add(unix.BPF_RET|unix.BPF_K, 0, 0, unix.SECCOMP_RET_ALLOW)
	return p.code
}

// filter is a program of classic BPF. What decides returns at once, so that no jump
// is longer than the few instructions of one decision.
type filter struct{ code []byte }

func (p *filter) add(op uint16, yes, no uint8, value uint32) {
	p.code = binary.NativeEndian.AppendUint16(p.code, op)
	p.code = append(p.code, yes, no)
	p.code = binary.NativeEndian.AppendUint32(p.code, value)
}

func (p *filter) load(offset uint32) { p.add(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, 0, 0, offset) }

// when ends with a verdict if what was loaded compares with a value.
func (p *filter) when(compare uint16, value, verdict uint32) {
	p.add(unix.BPF_JMP|compare|unix.BPF_K, 0, 1, value)
	p.add(unix.BPF_RET|unix.BPF_K, 0, 0, verdict)
}

// unless ends with a verdict if it does not.
func (p *filter) unless(compare uint16, value, verdict uint32) {
	p.add(unix.BPF_JMP|compare|unix.BPF_K, 1, 0, value)
	p.add(unix.BPF_RET|unix.BPF_K, 0, 0, verdict)
}
