package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"runtime/debug"
	"strconv"
	"sync"
	"time"
)

// Where an isolated agent finds what is Lineshaft's.
const (
	// guestProgramDir holds this program, for the forward and for the agent to use.
	guestProgramDir = "/run/lineshaft/bin"
	guestProgram    = guestProgramDir + "/" + programName
	guestSocket     = "/run/lineshaft/gateway.sock"
	programName     = "lineshaft"
)

// The words of the hidden subcommand: forward PORT SOCKET -- COMMAND…, and
// forward serve SOCKET for its second process.
const (
	forwardWord = "forward"
	serveWord   = "serve"
)

// forwardProcesses is the number of threads of the forwarding process, which do
// not count as the agent's.
const forwardProcesses = 10

// forwardFD is where the forwarding process finds its listener.
const forwardFD = 3

// The exit codes of a forward that did not get to the agent, as those of shells.
const (
	codeNotStarted = 126
	codeUsage      = 2
)

// RunForward is the whole of the hidden subcommand "forward", with the arguments
// after that word. It listens on a port of the loopback interface, leaves a process
// behind that passes connections on to a unix socket, and becomes the agent:
// process id, signals, streams and exit code are the agent's own. It returns only
// when something went wrong, and in the process that was left behind.
func RunForward(ctx context.Context, args []string) int {
	if len(args) == 2 && args[0] == serveWord {
		return serveForward(ctx, args[1])
	}
	port, err := forwardPort(args)
	if err != nil {
		fmt.Fprintln(os.Stderr, "lineshaft forward is started by a worker, not by hand")
		return codeUsage
	}
	err = becomeAgent(ctx, port, args[1], args[3:])
	fmt.Fprintln(os.Stderr, "lineshaft: start agent:", err)
	return codeNotStarted
}

// forwardCommand puts the forward in front of a command.
func forwardCommand(port int, command []string) []string {
	return append([]string{guestProgram, forwardWord, strconv.Itoa(port), guestSocket, "--"}, command...)
}

func forwardPort(args []string) (int, error) {
	if len(args) < 4 || args[2] != "--" {
		return 0, errors.New("arguments are missing")
	}
	return strconv.Atoi(args[0])
}

// validate says what is wrong with a forward.
func (f Forward) validate() error {
	switch {
	case f == Forward{}:
		return nil
	case f.Socket == "" || f.Socket[0] != '/':
		return fmt.Errorf("forward to socket %q, which is not an absolute path", f.Socket)
	case f.Port < 1024 || f.Port > 65535:
		return fmt.Errorf("forward from port %d, which is not between 1024 and 65535", f.Port)
	}
	return nil
}

// serveForward passes connections on until the sandbox ends.
func serveForward(ctx context.Context, socket string) int {
	// It shares the agent's memory limit, so it stays small.
	debug.SetGCPercent(20)
	file := os.NewFile(forwardFD, "listener")
	listener, err := net.FileListener(file)
	if err != nil {
		return codeUsage
	}
	_ = file.Close()
	pass(ctx, listener, socket)
	return 0
}

// pass accepts connections until the listener is closed.
func pass(ctx context.Context, listener net.Listener, socket string) {
	const pause = 10 * time.Millisecond
	for {
		conn, err := listener.Accept()
		switch {
		case errors.Is(err, net.ErrClosed):
			return
		case err != nil: // no descriptor left, perhaps; the agent may close some
			<-time.After(pause)
		default:
			go passOne(ctx, conn, socket)
		}
	}
}

// halfConn is a connection of which each direction can be closed.
type halfConn interface {
	net.Conn
	CloseRead() error
	CloseWrite() error
}

// passOne joins one connection with one to the socket. The end of either direction
// is passed on as such: the other direction continues.
func passOne(ctx context.Context, conn net.Conn, socket string) {
	defer func() { _ = conn.Close() }()
	var dialer net.Dialer
	other, err := dialer.DialContext(ctx, "unix", socket)
	if err != nil {
		return
	}
	defer func() { _ = other.Close() }()
	inner, ok1 := conn.(halfConn)
	outer, ok2 := other.(halfConn)
	if !ok1 || !ok2 {
		return
	}
	var both sync.WaitGroup
	both.Go(func() { copyHalf(outer, inner) })
	both.Go(func() { copyHalf(inner, outer) })
	both.Wait()
}

func copyHalf(to, from halfConn) {
	_, err := io.Copy(to, from)
	if err != nil {
		// One of the two is broken: what the other direction still has is for nobody.
		_, _ = to.Close(), from.Close()
		return
	}
	_, _ = to.CloseWrite(), from.CloseRead()
}
