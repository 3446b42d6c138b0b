package e2e

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"io"
	"net/http"
	"path/filepath"
	"strings"
	"testing"

	"github.com/lineshaft/lineshaft/client"
)

// TestR9StreamCutAnywhere cuts the stream of one run after every byte and resumes
// it: the parts together are the log, each event once and in order.
func TestR9StreamCutAnywhere(t *testing.T) {
	t.Parallel()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"))
	n.start(t.Context())
	c := n.client()
	started, err := c.Runs.Create(t.Context(), client.RunRequest{Prompt: "```sh\necho one; echo two >&2; printf 'ünï\\ncödé'\n```"})
	if err != nil {
		t.Fatal(err)
	}
	waitEnd(t.Context(), t, c, started.RunID)
	whole := n.stream(t, started.RunID, "", -1)
	frames := split(whole)
	if len(frames) < 8 {
		t.Fatalf("only %d events: %q", len(frames), whole)
	}
	step := 1
	if testing.Short() {
		step = 7
	}
	for cut := 0; cut <= len(whole); cut += step {
		head := split(n.stream(t, started.RunID, "", cut))
		last := ""
		if len(head) > 0 {
			last = head[len(head)-1].id
		}
		got := append(head, split(n.stream(t, started.RunID, last, -1))...)
		if len(got) != len(frames) {
			t.Fatalf("cut after %d bytes: %d events, want %d", cut, len(got), len(frames))
		}
		for i := range got {
			if got[i] != frames[i] {
				t.Fatalf("cut after %d bytes: event %d is %+v, want %+v", cut, i, got[i], frames[i])
			}
		}
	}
	t.Logf("%d bytes, %d events, cut after every %d bytes", len(whole), len(frames), step)
}

// stream reads at most limit bytes of a run's stream after an event, then hangs up.
func (n *node) stream(t *testing.T, runID, last string, limit int) []byte {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, n.url+"/api/v1/agent/runs/"+runID+"/events", nil)
	if err != nil {
		t.Fatal(err)
	}
	req.Header.Set("Authorization", "Bearer "+adminKey)
	req.Header.Set("Accept", "text/event-stream")
	if last != "" {
		req.Header.Set("Last-Event-ID", last)
	}
	res, err := browser().Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = res.Body.Close() }()
	if limit < 0 {
		body, err := io.ReadAll(res.Body)
		if err != nil {
			t.Fatal(err)
		}
		return body
	}
	body := make([]byte, limit)
	k, err := io.ReadFull(res.Body, body)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Fatal(err)
	}
	return body[:k]
}

// frame is one complete event of a stream.
type frame struct{ id, event, data string }

// split reads the complete frames of a stream; a cut one at the end is not counted,
// as a browser would not count it.
func split(stream []byte) (frames []frame) {
	var f frame
	lines := bufio.NewReader(bytes.NewReader(stream))
	for {
		line, err := lines.ReadString('\n')
		if err != nil {
			return frames
		}
		line = strings.TrimSuffix(line, "\n")
		name, value, _ := strings.Cut(line, ": ")
		switch {
		case line == "" && f.data != "":
			frames = append(frames, f)
			f = frame{}
		case name == "id":
			f.id = value
		case name == "event":
			f.event = value
		case name == "data":
			f.data += value
		}
	}
}
