package scriptserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// give answers a request as the script says; round counts the times that the same
// answer was given before. It calls begins before the client can have anything of the answer:
// the client may wait for its next request already while this program is still to go on.
func (s *session) give(w http.ResponseWriter, r *http.Request, a *Answer, round int, begins func()) {
	ctx := r.Context()
	pause(ctx, a.DelayMS)
	begins()
	if a.Hang == "before_headers" {
		<-ctx.Done()
		return
	}
	switch a.Cut {
	case "before_headers":
		panic(http.ErrAbortHandler)
	case "reset":
		reset(w)
		return
	}
	body, cut := s.body(r, a, round)
	s.writeHeader(w, a, len(body))
	if cut < len(body) {
		body = body[:cut]
	}
	send(ctx, w, body, a.SlowBody)
	pause(ctx, a.LingerMS)
	switch {
	case a.Hang == "after_body":
		<-ctx.Done()
	case a.Cut == "mid_body" || a.Log != nil && cut != whole:
		panic(http.ErrAbortHandler)
	}
}

// whole is a cut after the end.
const whole = 1 << 60

// body returns the text of an answer and after how many bytes it is cut.
func (s *session) body(r *http.Request, a *Answer, round int) (text []byte, cut int) {
	cut = whole
	if a.Cut == "mid_body" && a.CutAfterBytes != nil {
		cut = *a.CutAfterBytes
	}
	switch {
	case a.Log != nil:
		if round < a.Log.Cuts {
			cut = round
		}
		return frames(a.Log.Events, resumedAfter(r)), cut
	case a.Events != nil:
		return frames(a.Events, 0), cut
	case a.Huge != nil:
		return a.Huge.into(expand(a.JSON)), cut
	case a.JSON != nil:
		return s.fill(expand(a.JSON)), cut
	}
	return s.fill([]byte(a.Body)), cut
}

func (s *session) writeHeader(w http.ResponseWriter, a *Answer, length int) {
	header := w.Header()
	header.Set("X-Request-ID", "req_script")
	status := a.Status
	if status == 0 {
		status = http.StatusOK
	}
	switch {
	case a.Events != nil || a.Log != nil:
		header.Set("Content-Type", "text/event-stream")
	case a.JSON != nil && status >= http.StatusBadRequest:
		header.Set("Content-Type", "application/problem+json")
	case a.JSON != nil:
		header.Set("Content-Type", "application/json")
	}
	if a.Events == nil && a.Log == nil && status != http.StatusNoContent {
		header.Set("Content-Length", strconv.Itoa(length+missing(a)))
	}
	for name, value := range a.Headers {
		header.Set(name, string(s.fill([]byte(value))))
	}
	w.WriteHeader(status)
	_ = http.NewResponseController(w).Flush()
}

// missing makes a cut after the whole text one that a client can see.
func missing(a *Answer) int {
	if a.Cut == "mid_body" && a.CutAfterBytes == nil {
		return 1
	}
	return 0
}

// fill puts this session's addresses and times into a text.
func (s *session) fill(text []byte) []byte {
	if !bytes.Contains(text, []byte("$")) {
		return text
	}
	inTwoSeconds := time.Now().Add(2 * time.Second).UTC().Format(http.TimeFormat)
	return []byte(strings.NewReplacer(
		"$BASE", s.base+"/api/v1", "$OTHER", s.other+"/api/v1", "$KEY", s.key, "$IN_2_SECONDS", inTwoSeconds,
	).Replace(string(text)))
}

func (h *Huge) into(text json.RawMessage) []byte {
	fields := map[string]any{}
	if json.Unmarshal(text, &fields) != nil {
		return text
	}
	fields[h.Field] = strings.Repeat("x", h.Bytes)
	out, err := json.Marshal(fields)
	if err != nil {
		return text
	}
	return out
}

// frames writes events as the server does, those after a sequence alone.
func frames(events []Frame, after int64) []byte {
	var b bytes.Buffer
	for _, e := range events {
		switch {
		case e.Raw != "":
			b.WriteString(e.Raw)
		case e.Sequence > after:
			data := e.Data
			if e.Huge > 0 {
				data = json.RawMessage(`{"text":"` + strings.Repeat("x", e.Huge) + `"}`)
			}
			if data == nil {
				data = json.RawMessage("{}")
			}
			fmt.Fprintf(&b, "id: %d\nevent: %s\ndata: {\"id\":\"evt_%d\",\"sequence\":%d,\"type\":%q,\"time\":\"2026-01-02T03:04:05Z\",\"data\":%s}\n\n",
				e.Sequence, e.Type, e.Sequence, e.Sequence, e.Type, data)
		}
	}
	return b.Bytes()
}

func resumedAfter(r *http.Request) int64 {
	for _, text := range []string{r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"), r.URL.Query().Get("cursor")} {
		if n, err := strconv.ParseInt(text, 10, 64); err == nil {
			return n
		}
	}
	return 0
}

func send(ctx context.Context, w http.ResponseWriter, body []byte, slow *SlowBody) {
	control := http.NewResponseController(w)
	for slow != nil && len(body) > slow.Chunk && ctx.Err() == nil {
		_, _ = w.Write(body[:slow.Chunk])
		_ = control.Flush()
		body = body[slow.Chunk:]
		pause(ctx, slow.EveryMS)
	}
	_, _ = w.Write(body) // the client may be gone; that is for the verdict
	_ = control.Flush()
}

func pause(ctx context.Context, ms int) {
	if ms == 0 {
		return
	}
	timer := time.NewTimer(time.Duration(ms) * time.Millisecond)
	defer timer.Stop()
	select {
	case <-ctx.Done():
	case <-timer.C:
	}
}

// reset ends the connection so that the client's read fails, not ends.
func reset(w http.ResponseWriter) {
	conn, _, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	if tcp, ok := conn.(*net.TCPConn); ok {
		_ = tcp.SetLinger(0)
	}
	_ = conn.Close()
}
