package server

import (
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// demoBoard is where callbacks of the demo are refused.
const demoBoard = "/board"

// demoReceiver takes the callbacks of the demo, so that none leaves this machine.
type demoReceiver struct {
	at     string
	server http.Server
	done   chan struct{}
}

func newDemoReceiver(ctx context.Context) (*demoReceiver, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("receive callbacks of the demo: %w", err)
	}
	r := &demoReceiver{at: "http://" + listener.Addr().String(), done: make(chan struct{})}
	r.server = http.Server{ReadHeaderTimeout: 10 * time.Second, Handler: http.HandlerFunc(func(w http.ResponseWriter, req *http.Request) {
		if req.URL.Path == demoBoard {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})}
	go func() {
		defer close(r.done)
		_ = r.server.Serve(listener) // until it is stopped
	}()
	return r, nil
}

func (r *demoReceiver) stop() {
	_ = r.server.Close() // nobody waits for an answer any more
	<-r.done
}
