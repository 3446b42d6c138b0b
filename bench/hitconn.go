package main

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"net"
	"strconv"
	"sync/atomic"
	"time"
)

// gunner is one connection of the load generator: it sends prepared bytes and reads
// no more of an answer than it must, so that the generator takes little from the
// machine that it shares with the server.
type gunner struct {
	conn     net.Conn
	reader   *bufio.Reader
	buffer   []byte
	accepted int
	other    map[int]int
	took     []time.Duration
	last     time.Time
}

func dial(ctx context.Context, address string) (*gunner, error) {
	var dialer net.Dialer
	conn, err := dialer.DialContext(ctx, "tcp", address)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return &gunner{conn: conn, reader: bufio.NewReader(conn), other: map[int]int{}}, nil
}

func (g *gunner) close() { _ = g.conn.Close() } // all that was sent is answered, or an error was seen

// run sends one request after the other until the time is over or none is left.
func (g *gunner) run(shots *magazine, next *atomic.Int64, began time.Time, order hitOrder) error {
	warm, end := began.Add(order.Warm), began.Add(order.Duration)
	for {
		sent := time.Now()
		if !sent.Before(end) {
			return nil
		}
		n := next.Add(1) - 1
		if order.Limit > 0 && n >= int64(order.Limit) {
			return nil
		}
		g.buffer = shots.append(g.buffer[:0], n)
		if _, err := g.conn.Write(g.buffer); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		status, err := readAnswer(g.reader)
		if err != nil {
			return fmt.Errorf("read answer: %w", err)
		}
		if status != order.Want {
			g.other[status]++
			continue
		}
		g.accepted++
		g.last = time.Now()
		if !g.last.Before(warm) {
			g.took = append(g.took, g.last.Sub(sent))
		}
	}
}

// readAnswer reads one answer, whose length must be given, and returns its status.
func readAnswer(r *bufio.Reader) (status int, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, err
	}
	if len(line) < 12 || !bytes.HasPrefix(line, []byte("HTTP/1.1 ")) {
		return 0, fmt.Errorf("%q is no answer", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, fmt.Errorf("%q is no answer", line)
	}
	length := -1
	for {
		line, err := r.ReadSlice('\n')
		if err != nil {
			return 0, err
		}
		if len(line) <= 2 {
			break
		}
		if value, ok := header(line, "content-length:"); ok {
			if length, err = strconv.Atoi(string(value)); err != nil {
				return 0, fmt.Errorf("%q is no length", value)
			}
		}
	}
	if length < 0 {
		return 0, fmt.Errorf("an answer %d without Content-Length", status)
	}
	_, err = r.Discard(length)
	return status, err
}

// header returns the value of a line that begins with the name, given in small
// letters with its colon.
func header(line []byte, name string) ([]byte, bool) {
	if len(line) < len(name) || !bytes.EqualFold(line[:len(name)], []byte(name)) {
		return nil, false
	}
	return bytes.TrimSpace(line[len(name):]), true
}
