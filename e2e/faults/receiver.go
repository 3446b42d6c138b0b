//go:build linux

package main

import (
	"bufio"
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/e2e/faults/history"
)

// receiver takes the callbacks. Of some events it refuses the first try, as the seed says.
type receiver struct {
	book   *history.Writer
	seed   uint64
	server *http.Server
	url    string
	mu     sync.Mutex
	seen   map[string]bool
}

func newReceiver(ctx context.Context, book *history.Writer, seed uint64) (*receiver, error) {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &receiver{book: book, seed: seed, url: "http://" + listener.Addr().String(), seen: map[string]bool{}}
	r.server = &http.Server{Handler: r, ReadHeaderTimeout: 10 * time.Second}
	go func() { _ = r.server.Serve(listener) }() // it ends when it is closed
	return r, nil
}

// ServeHTTP writes a callback down and answers.
func (r *receiver) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	e := history.Entry{
		Kind: history.Callback, Op: "state", Key: req.Header.Get("Webhook-Id"), Begin: time.Now(),
		Status: http.StatusNoContent,
	}
	hash := fnv.New64a()
	_, _ = fmt.Fprint(hash, r.seed, e.Key)
	r.mu.Lock()
	if !r.seen[e.Key] && hash.Sum64()%10 == 0 {
		e.Status = http.StatusServiceUnavailable
	}
	r.seen[e.Key] = true
	r.mu.Unlock()
	e.End = time.Now()
	r.book.Add(e) // before the answer: who was answered is in the history
	w.WriteHeader(e.Status)
}

// addSigns puts the signs that agents left in a folder into the history.
func addSigns(dir string, book *history.Writer) error {
	file, err := os.Open(filepath.Join(dir, "ledger"))
	if err != nil {
		return fmt.Errorf("read the signs of agents: %w", err)
	}
	defer func() { _ = file.Close() }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var run, pid, what string
		var at int64
		if n, _ := fmt.Sscan(lines.Text(), &run, &pid, &what, &at); n != 4 {
			continue // it was killed while it wrote
		}
		moment := time.Unix(0, at)
		book.Add(history.Entry{
			Kind: history.Agent, Op: what, Begin: moment, End: moment,
			Args: map[string]string{"run_id": run, "pid": pid},
		})
	}
	return lines.Err()
}
