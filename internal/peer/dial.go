package peer

import (
	"context"
	"net"
	"net/netip"
	"syscall"
	"time"
)

// Dialer dials for outbound requests (S-7). Unless private addresses are allowed, it
// returns refused for each that is not of the open internet. The address is checked when
// it is dialled, after its name was looked up, so that no answer of a name server gets
// round it; neither does a redirect, which is dialled like everything else.
func Dialer(timeout time.Duration, allowPrivate bool, refused error) *net.Dialer {
	dialer := &net.Dialer{Timeout: timeout}
	if allowPrivate {
		return dialer
	}
	dialer.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		at, err := netip.ParseAddrPort(address)
		if err != nil || !Public(at.Addr()) {
			return refused
		}
		return nil
	}
	return dialer
}
