//go:build linux

package main

import (
	"bytes"
	"context"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// link is the only way from one process to another: a TCP proxy of ours that can be cut (what
// is sent is lost silently), reset, or cut in the middle of a COMMIT. Network namespaces
// can only do the first, need a bridge for each pair, and e2e has them for workers already.
type link struct {
	name     string
	listener net.Listener
	mu       sync.Mutex
	target   string
	cut      bool
	healed   chan struct{} // closed when the cut is over
	conns    map[net.Conn]struct{}
	// commits cut, when there is one: what happens to the next COMMIT that passes.
	commit atomic.Pointer[commitCut]
	// answers counts good answers of HTTP that came back.
	answers atomic.Int64
}

// commitCut ends the connection of the next COMMIT, before it is passed on or after.
type commitCut struct {
	after bool
	done  chan struct{}
	once  sync.Once
}

func newLink(ctx context.Context, name, target string) (*link, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	l := &link{name: name, listener: listener, target: target, conns: map[net.Conn]struct{}{}, healed: make(chan struct{})}
	close(l.healed)
	go l.accept(context.WithoutCancel(ctx))
	return l, nil
}

func (l *link) address() string { return l.listener.Addr().String() }

func (l *link) accept(ctx context.Context) {
	for {
		in, err := l.listener.Accept()
		if err != nil {
			return
		}
		go l.carry(ctx, in)
	}
}

func (l *link) carry(ctx context.Context, in net.Conn) {
	l.mu.Lock()
	target, healed := l.target, l.healed
	l.conns[in] = struct{}{}
	l.mu.Unlock()
	<-healed // who connects during a cut waits, as for an answer that does not come
	out, err := (&net.Dialer{Timeout: 2 * time.Second}).DialContext(ctx, "tcp", target)
	if err != nil {
		l.end(in)
		return
	}
	l.mu.Lock()
	_, alive := l.conns[in]
	l.conns[out] = struct{}{}
	l.mu.Unlock()
	if !alive {
		l.end(out)
		return
	}
	go l.copy(out, in, true)
	l.copy(in, out, false)
}

// copy passes bytes on until one side ends. During a cut it holds them; the end of a cut
// releases them, as a network does that sends again.
func (l *link) copy(to, from net.Conn, towards bool) {
	defer l.end(to)
	defer l.end(from)
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if err != nil {
			return
		}
		l.mu.Lock()
		healed := l.healed
		l.mu.Unlock()
		<-healed
		cut := l.commit.Load()
		if cut != nil && towards && commits(buffer[:n]) && l.commit.CompareAndSwap(cut, nil) {
			if cut.after {
				_, _ = to.Write(buffer[:n])
			}
			l.reset(from)
			l.reset(to)
			cut.once.Do(func() { close(cut.done) })
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
		if !towards && bytes.HasPrefix(buffer[:n], []byte("HTTP/1.1 2")) {
			l.answers.Add(1)
		}
	}
}

// commits says whether a message to PostgreSQL is a COMMIT.
func commits(message []byte) bool {
	return bytes.Contains(bytes.ToLower(message[:min(len(message), 64)]), []byte("commit"))
}

func (l *link) end(conn net.Conn) {
	l.mu.Lock()
	delete(l.conns, conn)
	l.mu.Unlock()
	_ = conn.Close()
}

// reset ends a connection with RST.
func (l *link) reset(conn net.Conn) {
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	l.end(conn)
}

// hold begins a cut, heal ends it.
func (l *link) hold() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.cut {
		l.cut, l.healed = true, make(chan struct{})
	}
}

func (l *link) heal() {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cut {
		l.cut = false
		close(l.healed)
	}
}

// resetAll ends all connections with RST.
func (l *link) resetAll() {
	l.mu.Lock()
	conns := make([]net.Conn, 0, len(l.conns))
	for conn := range l.conns {
		conns = append(conns, conn)
	}
	l.mu.Unlock()
	for _, conn := range conns {
		l.reset(conn)
	}
}

// lead changes where the link goes; what goes elsewhere is ended.
func (l *link) lead(target string) {
	l.mu.Lock()
	l.target = target
	l.mu.Unlock()
	l.resetAll()
}

func (l *link) close() error {
	l.heal()
	err := l.listener.Close()
	l.resetAll()
	return err
}
