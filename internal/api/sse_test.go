package api

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/lineshaft/lineshaft"
)

func TestR9EncodeSSE(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 8, 1, 9, 30, 0, 250_000_000, time.FixedZone("x", 7200))
	for _, tc := range []struct {
		name  string
		event lineshaft.Event
		want  string
	}{
		{
			"all fields",
			lineshaft.Event{ID: "e1", RunID: "r", Sequence: 7, ExecutionID: "x1", Type: "message", Time: at, Data: json.RawMessage("{\n \"text\": \"<b>&\" }")},
			"id: 7\nevent: message\ndata: {\"id\":\"e1\",\"sequence\":7,\"execution_id\":\"x1\",\"type\":\"message\",\"time\":\"2026-08-01T07:30:00.250000Z\",\"data\":{\"text\":\"<b>&\"}}\n\n",
		},
		{
			"no execution, no data",
			lineshaft.Event{ID: "e2", Sequence: 1, Type: "state", Time: at},
			"id: 1\nevent: state\ndata: {\"id\":\"e2\",\"sequence\":1,\"type\":\"state\",\"time\":\"2026-08-01T07:30:00.250000Z\",\"data\":{}}\n\n",
		},
		{
			"data that is not JSON",
			lineshaft.Event{ID: "e3", Sequence: 2, Type: "output", Time: at, Data: json.RawMessage("{\n\ndata: injected")},
			"id: 2\nevent: output\ndata: {\"id\":\"e3\",\"sequence\":2,\"type\":\"output\",\"time\":\"2026-08-01T07:30:00.250000Z\",\"data\":{}}\n\n",
		},
	} {
		if got := string(EncodeSSE(tc.event)); got != tc.want {
			t.Errorf("%s:\n%q\nwant\n%q", tc.name, got, tc.want)
		}
	}
}

func TestR9FramesCannotBeForged(t *testing.T) {
	t.Parallel()
	frame := string(encodeFrame("1\ndata: x\r\n", RunEvent{Type: "a\n\nevent: b\x00", Data: json.RawMessage(`{"t":"line\nbreak"}`)}))
	if strings.Count(frame, "\n") != 4 || strings.ContainsAny(frame, "\r\x00") || !strings.HasSuffix(frame, "\n\n") {
		t.Errorf("%q", frame)
	}
}

// sink collects a stream and counts its flushes; failAfter breaks it off.
type sink struct {
	bytes.Buffer
	flushes   int
	failAfter int
}

func (s *sink) flush() error {
	s.flushes++
	if s.failAfter > 0 && s.flushes > s.failAfter {
		return errors.New("the reader is gone")
	}
	return nil
}

// script gives the batches in turn, each after its delay, then io.EOF.
func script(steps ...func(context.Context) ([]byte, error)) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		if len(steps) == 0 {
			return nil, io.EOF
		}
		batch, err := steps[0](ctx)
		if !errors.Is(err, context.DeadlineExceeded) {
			steps = steps[1:]
		}
		return batch, err
	}
}

// after gives text once its time has come, however often it was asked before.
func after(begun time.Time, delay time.Duration, text string) func(context.Context) ([]byte, error) {
	return func(ctx context.Context) ([]byte, error) {
		timer := time.NewTimer(time.Until(begun.Add(delay)))
		defer timer.Stop()
		select {
		case <-ctx.Done():
			return nil, ctx.Err()
		case <-timer.C:
			return []byte(text), nil
		}
	}
}

func TestR9HeartbeatEvery15Seconds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		begun := time.Now()
		out := &sink{}
		err := pump(t.Context(), out, heartbeat, script(after(begun, time.Second, "A"), after(begun, 50*time.Second, "B")))
		const beat = ": heartbeat\n\n"
		if want := "retry: 1000\n\nA" + beat + beat + beat + "B"; err != nil || out.String() != want {
			t.Errorf("%v %q, want %q", err, out.String(), want)
		}
		if out.flushes != 6 {
			t.Errorf("%d flushes", out.flushes)
		}
		if took := time.Since(begun); took != 50*time.Second {
			t.Errorf("took %v", took)
		}
	})
}

func TestR9StreamEnds(t *testing.T) {
	t.Parallel()
	broken := errors.New("store is away")
	for name, tc := range map[string]struct {
		sink *sink
		next func(context.Context) ([]byte, error)
		want error
		text string
	}{
		"at the end of the log":       {&sink{}, script(), nil, "retry: 1000\n\n"},
		"with the last batch":         {&sink{}, func(context.Context) ([]byte, error) { return []byte("X"), io.EOF }, nil, "retry: 1000\n\nX"},
		"when the store fails":        {&sink{}, func(context.Context) ([]byte, error) { return nil, broken }, broken, "retry: 1000\n\n"},
		"when the reader goes away":   {&sink{failAfter: 1}, func(context.Context) ([]byte, error) { return []byte("X"), nil }, nil, "retry: 1000\n\nX"},
		"before anything was written": {&sink{failAfter: -1}, script(), nil, "retry: 1000\n\n"},
	} {
		err := pump(t.Context(), tc.sink, time.Hour, tc.next)
		if tc.want != nil && !errors.Is(err, tc.want) {
			t.Errorf("%s: %v", name, err)
		}
		if tc.sink.String() != tc.text {
			t.Errorf("%s: %q", name, tc.sink.String())
		}
	}
}

func TestR9StreamStopsWithItsContext(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		out := &sink{}
		go func() { done <- pump(ctx, out, time.Hour, silent(time.Hour)) }()
		synctest.Wait()
		cancel()
		if err := <-done; !errors.Is(err, context.Canceled) {
			t.Errorf("%v", err)
		}
	})
}

// silent is a source with nothing to say for a long time.
func silent(delay time.Duration) func(context.Context) ([]byte, error) {
	return after(time.Now(), delay, "")
}
