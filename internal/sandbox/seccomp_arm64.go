//go:build linux

package sandbox

import "golang.org/x/sys/unix"

const (
	nativeArch = unix.AUDIT_ARCH_AARCH64
	// foreignNumbers: there are none.
	foreignNumbers = 0
)

// refusedHere are the calls to refuse that only this processor has.
var refusedHere []uint32
