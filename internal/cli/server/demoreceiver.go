package server

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/http"
	"time"
)

// demoAnswers are those of receivers that do not take callbacks: one is down, one is gone.
var demoAnswers = map[string]int{"/board": http.StatusBadGateway, "/pager": http.StatusGone}

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
		w.WriteHeader(cmp.Or(demoAnswers[req.URL.Path], http.StatusNoContent))
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
