package gateway

import (
	"bufio"
	"fmt"
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

// TestX12ConnectionsAreBounded: an agent that opens many takes no descriptors of the
// server for them.
func TestX12ConnectionsAreBounded(t *testing.T) {
	t.Parallel()
	r := newRig(t, say("", ""))
	conns := []net.Conn{}
	for range maxConns {
		conns = append(conns, r.dial())
	}
	next := r.dial()
	if _, err := next.Write([]byte("GET /nothing HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	answered := make(chan string, 1)
	go func() {
		line, _ := bufio.NewReader(next).ReadString('\n')
		answered <- line
	}()
	select {
	case line := <-answered:
		t.Fatalf("one more than the bound was answered: %q", line)
	case <-time.After(50 * time.Millisecond): // it cannot be seen that nothing comes
	}
	_ = conns[0].Close()
	if line := <-answered; !strings.Contains(line, "404") {
		t.Errorf("when one has ended: %q", line)
	}
}

// TestX12ListenerEndsWhileFull: Close does not wait for a place.
func TestX12ListenerEndsWhileFull(t *testing.T) {
	t.Parallel()
	p := newPipe()
	l := limit(p, 1)
	var dialled sync.WaitGroup
	dialled.Go(func() { _, _ = p.dial(t.Context(), "", "") })
	conn, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	dialled.Wait()
	ended := make(chan error)
	go func() {
		_, err := l.Accept()
		ended <- err
	}()
	_ = l.Close()
	if err := <-ended; err == nil {
		t.Error("a closed listener accepts")
	}
	_, _ = conn.Close(), conn.Close() // the place is given back once
	if len(l.free) != 0 {
		t.Errorf("%d places are taken", len(l.free))
	}
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
