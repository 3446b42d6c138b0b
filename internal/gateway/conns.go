package gateway

import (
	"context"
	"net"
	"net/http"
	"slices"
)

const (
	// maxConns is how many connections that have shown the key may be open at a time. It leaves room
	// for programs that fetch many files through the proxy.
	maxConns = 128
	// maxStrangers is how many may be open that have not shown it yet. Other runs with the machine's
	// network can reach the port: what they open must not count against the run.
	maxStrangers = 256
)

// entrance is a session's listener. It never refuses a connection: the oldest of those
// that have not shown the key make room for new ones.
type entrance struct {
	net.Listener
	session *Session
}

// Accept is net.Listener's.
func (e entrance) Accept() (net.Conn, error) {
	conn, err := e.Listener.Accept()
	if err != nil {
		return nil, err
	}
	s, g := e.session, &guest{Conn: conn, session: e.session}
	s.mu.Lock()
	s.strangers = append(s.strangers, g)
	var oldest *guest
	if len(s.strangers) > maxStrangers {
		oldest = s.strangers[0]
	}
	s.mu.Unlock()
	if oldest != nil {
		_ = oldest.Close() // nobody waits for it
	}
	return g, nil
}

// guest is a connection. The session's lock is for its fields.
type guest struct {
	net.Conn
	session     *Session
	known, gone bool
}

type guestKey struct{}

// withGuest keeps the connection of a request at hand.
func withGuest(ctx context.Context, conn net.Conn) context.Context {
	return context.WithValue(ctx, guestKey{}, conn)
}

// Close is net.Conn's.
func (g *guest) Close() error {
	s := g.session
	s.change(func() {
		switch {
		case g.gone:
			return
		case g.known:
			s.known--
		default:
			s.strangers = slices.DeleteFunc(s.strangers, func(other *guest) bool { return other == g })
		}
		g.gone = true
	})
	return g.Conn.Close()
}

// CloseWrite is for tunnels.
func (g *guest) CloseWrite() error {
	if half, ok := g.Conn.(interface{ CloseWrite() error }); ok {
		return half.CloseWrite()
	}
	return g.Close()
}

// join counts the connection of a request that has shown the key among those of the
// run, as soon as there is room. Until then it can still make room for others.
func (s *Session) join(ctx context.Context) *fault {
	g, ok := ctx.Value(guestKey{}).(*guest)
	if !ok {
		return nil // from within this process
	}
	met := func() bool {
		if g.known || g.gone {
			return true
		}
		if s.known >= maxConns {
			return false
		}
		g.known = true
		s.known++
		s.strangers = slices.DeleteFunc(s.strangers, func(other *guest) bool { return other == g })
		return true
	}
	if bad := s.awaitFor(ctx, met); bad != nil {
		return bad
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if g.gone {
		return &fault{http.StatusServiceUnavailable, codeBusy, "too many connections of this execution are open; close some"}
	}
	return nil
}
