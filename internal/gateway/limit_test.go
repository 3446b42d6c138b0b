package gateway

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"sync"
	"testing"
	"time"
)

func (r *rig) dial() net.Conn {
	r.t.Helper()
	conn, err := (&net.Dialer{}).DialContext(r.t.Context(), "tcp", r.base.Host)
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() }) // closed twice at the worst
	return conn
}

// ask sends a request over a connection that stays open, and gives the first line of
// the answer.
func (r *rig) ask(conn net.Conn, key string) string {
	_, _ = fmt.Fprintf(conn, "GET /openai/v1/models HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\n\r\n", key)
	line, _ := bufio.NewReader(conn).ReadString('\n') // empty when the connection has ended
	return line
}

// TestX12ConnectionsAreBounded: those that have shown the key wait for each other, and
// those that have not make room.
func TestX12ConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`))
	conns := []net.Conn{}
	for range maxConns {
		conns = append(conns, r.dial())
		if line := r.ask(conns[len(conns)-1], r.key); !strings.Contains(line, "200") {
			t.Fatalf("connection %d: %q", len(conns), line)
		}
	}
	next, answered := r.dial(), make(chan string, 1)
	go func() { answered <- r.ask(next, r.key) }()
	select {
	case line := <-answered:
		t.Fatalf("one more than the bound was answered: %q", line)
	case <-time.After(50 * time.Millisecond): // it cannot be seen that nothing comes
	}
	_ = conns[0].Close()
	if line := <-answered; !strings.Contains(line, "200") {
		t.Errorf("when one has ended: %q", line)
	}
	oldest := r.dial()
	for range maxStrangers {
		r.dial()
	}
	if _, err := oldest.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("the oldest of too many strangers: %v", err)
	}
	if line := r.ask(conns[1], r.key); !strings.Contains(line, "200") {
		t.Errorf("one that has shown the key: %q", line)
	}
	r.await(nil, func() bool { return len(r.strangers) <= maxStrangers && r.known == maxConns })
}

func soon(c *Config, _ *SessionConfig) { c.queueWait = 50 * time.Millisecond }

// TestX12BodiesInFlightAreBounded: by what they may become.
func TestX12BodiesInFlightAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`), soon)
	var open []net.Conn
	for i, length := range []string{"Transfer-Encoding: chunked", fmt.Sprintf("Content-Length: %d", maxRequest)} {
		conn := r.dial()
		open = append(open, conn)
		_, _ = fmt.Fprintf(conn, "POST /openai/v1/responses HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer %s\r\nExpect: 100-continue\r\n%s\r\n\r\n", r.key, length)
		if line, err := bufio.NewReader(conn).ReadString('\n'); !strings.Contains(line, "100 Continue") {
			t.Fatalf("%d: %q %v", i, line, err)
		}
	}
	resp, body := r.post("/openai/v1/responses", `{"model":"m1"}`)
	if resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, "gateway_busy") {
		t.Errorf("without room: %d %s", resp.StatusCode, body)
	}
	for _, conn := range open {
		_ = conn.Close()
	}
	r.counted() // waits until nothing runs
	if resp, body := r.post("/openai/v1/responses", `{"model":"m1"}`); resp.StatusCode != http.StatusOK {
		t.Errorf("with room: %d %s", resp.StatusCode, body)
	}
	r.await(nil, func() bool { return r.requests == 0 && r.Session.bodies == 0 })
}

func TestX12RequestsInFlightAreBounded(t *testing.T) {
	t.Parallel()
	running, goOn := make(chan struct{}), make(chan struct{})
	r := newRig(t, func(w http.ResponseWriter, req *http.Request) {
		running <- struct{}{}
		<-goOn
		say("application/json", `{}`)(w, req)
	}, soon)
	var all sync.WaitGroup
	for range maxModels {
		all.Go(func() { r.post("/anthropic/v1/messages", `{"model":"m1"}`) })
	}
	for range maxModels {
		<-running
	}
	for path, shape := range map[string]string{"/anthropic/v1/messages": "rate_limit_error", "/gemini/v1beta/models/m1:generateContent": "RESOURCE_EXHAUSTED", "/openai/v1/responses": "gateway_busy"} {
		if resp, body := r.post(path, `{"model":"m1"}`); resp.StatusCode != http.StatusTooManyRequests || !strings.Contains(body, shape) {
			t.Errorf("one more: %d %s", resp.StatusCode, body)
		}
	}
	close(goOn)
	all.Wait()
	if len(r.counted()) != maxModels {
		t.Errorf("counted %d", len(r.counted()))
	}
}

// TestX12ManyFieldsAreRefused: they would take many times their size.
func TestX12ManyFieldsAreRefused(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("application/json", `{}`))
	var body strings.Builder
	for i := range maxFields {
		_, _ = fmt.Fprintf(&body, `"f%d":0,`, i)
	}
	if resp, got := r.post("/openai/v1/responses", `{`+body.String()+`"model":"m1"}`); resp.StatusCode != http.StatusBadRequest || !strings.Contains(got, "more than") {
		t.Errorf("%d %s", resp.StatusCode, got)
	}
	for _, bad := range []string{`{} {}`, `{"a":1}]`, `{"a":1`, `{"a"}`, `{"a":1 "b":2}`, `{"a":1,}`, `{1:2}`} {
		if resp, got := r.post("/openai/v1/responses", bad); resp.StatusCode != http.StatusBadRequest {
			t.Errorf("%s: %d %s", bad, resp.StatusCode, got)
		}
	}
	if r.sent() != 0 {
		t.Error("something was passed on")
	}
}

// TestX12StrangersDoNotStarveARun: another run with the machine's network can find the
// port and open connections, but not keep the owner of the key out.
func TestX12StrangersDoNotStarveARun(t *testing.T) {
	t.Parallel()
	for name, first := range map[string]string{"idle": "", "begun": "POST /openai/v1/responses HTTP/1.1\r\nX-Slow: ", "wrong key": "GET /openai/v1/models HTTP/1.1\r\nHost: x\r\n\r\n"} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r := newRig(t, say("application/json", `{}`))
			for range 3 * maxConns {
				conn := r.dial()
				_, _ = conn.Write([]byte(first))
			}
			ctx, enough := context.WithTimeout(t.Context(), time.Minute) // it would be forever
			defer enough()
			for i := range 3 {
				if resp, body := r.do(ctx, http.MethodPost, "/openai/v1/responses", `{"model":"m1"}`, map[string]string{"Authorization": "Bearer " + r.key}); resp.StatusCode != http.StatusOK {
					t.Errorf("call %d of the owner: %d %s", i, resp.StatusCode, body)
				}
			}
		})
	}
}
