package acp

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"sync/atomic"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/lineshaft/lineshaft/internal/harness"
)

const (
	// maxLine is the longest message of an agent. The SDK ends a connection at 10 MiB.
	maxLine = 10<<20 - 1024
	// headLength is how much of an overlong message is searched for its kind.
	headLength = 512
	// maxUnanswered is how many requests an agent may have open. All but a few
	// questions to people are answered at once: an agent with more does not read the answers.
	maxUnanswered = 256
	// maxID is the longest id of a request: its answer repeats it.
	maxID = 1 << 10
)

// wire splits the standard output of an agent into messages. One goroutine
// writes to it.
type wire struct {
	queue *queue
	// calls gets the requests and answers, for the SDK.
	calls io.Writer
	// noise gets what is not a message.
	noise io.Writer
	// tooLong is called for a message longer than maxLine; harmless says that the
	// session can do without it.
	tooLong func(harmless bool)
	// misuse is called, once, with the reason to end the agent.
	misuse func(why string)
	// unanswered are the requests that were passed on and whose answers are not sent.
	unanswered atomic.Int64
	// replay is set while the agent replays the history of a session that it loads:
	// the run's log has it already.
	replay   atomic.Bool
	replayed atomic.Int64 // updates that were passed over because of it

	line    []byte
	dropped bool // the present line is too long
	misused bool // no request is passed on any more
}

// Write takes the next piece. It blocks while the turn is not ready for more.
func (w *wire) Write(p []byte) (int, error) {
	n := len(p)
	for {
		i := bytes.IndexByte(p, '\n')
		if i < 0 {
			w.gather(p)
			return n, nil
		}
		w.gather(p[:i])
		w.end()
		p = p[i+1:]
	}
}

func (w *wire) gather(p []byte) {
	switch {
	case w.dropped:
	case len(w.line)+len(p) > maxLine:
		head := w.line[:min(len(w.line), headLength)]
		w.tooLong(bytes.Contains(head, []byte(sdk.ClientMethodSessionUpdate)))
		w.dropped, w.line = true, nil
	default:
		w.line = append(w.line, p...)
	}
}

// end is called at the end of a line.
func (w *wire) end() {
	line := bytes.TrimSpace(w.line)
	if !w.dropped && len(line) > 0 {
		w.message(line)
	}
	w.dropped, w.line = false, w.line[:0]
	if cap(w.line) > 1<<20 {
		w.line = nil // one long message must not cost memory for ever
	}
}

// message dispatches one line.
func (w *wire) message(line []byte) {
	var head struct {
		ID     json.RawMessage `json:"id"`
		Method string          `json:"method"`
		Params json.RawMessage `json:"params"`
	}
	if line[0] != '{' || json.Unmarshal(line, &head) != nil || len(head.ID) == 0 && head.Method == "" {
		_, _ = w.noise.Write(append(bytes.Clone(line), '\n')) // an Output takes everything
		return
	}
	if head.Method != "" && string(head.ID) == "null" {
		head.ID = nil // nobody would take the answer
	}
	if len(head.ID) > 0 && head.Method != "" {
		w.request(line, head.ID, head.Method, head.Params)
		return
	}
	if len(head.ID) > 0 || head.Method == "$/cancel_request" {
		_, _ = w.calls.Write(append(bytes.Clone(line), '\n')) // after the end of a connection nobody waits for it
		return
	}
	switch {
	case head.Method != sdk.ClientMethodSessionUpdate:
	case w.replay.Load():
		w.replayed.Add(1)
	default:
		w.queue.push(item{update: bytes.Clone(head.Params)})
	}
}

// request passes on a request. While it is open its text is kept, so it is made short.
func (w *wire) request(line []byte, id json.RawMessage, method string, params json.RawMessage) {
	why := ""
	switch {
	case w.misused:
		return
	case len(id) > maxID:
		why = fmt.Sprintf("the agent sent a request with an id of more than %d bytes", maxID)
	case w.unanswered.Add(1) > maxUnanswered:
		why = fmt.Sprintf("the agent sent more than %d requests without reading the answers", maxUnanswered)
	}
	if why != "" {
		w.misused = true
		w.misuse(why)
		return
	}
	if len(line) > harness.MaxToolText {
		short := struct {
			Version string          `json:"jsonrpc"`
			ID      json.RawMessage `json:"id"`
			Method  string          `json:"method"`
			Params  any             `json:"params,omitempty"`
		}{"2.0", id, clip(method, maxID), nil}
		if method == sdk.ClientMethodSessionRequestPermission {
			short.Params = shorten(params)
		}
		line, _ = json.Marshal(short) // all of it was JSON before
	}
	_, _ = w.calls.Write(append(bytes.Clone(line), '\n')) // after the end of a connection nobody waits for it
}

// answers is the way to the agent; it counts the answers to its requests.
type answers struct {
	io.Writer
	wire *wire
}

// Write sends one message.
func (a answers) Write(p []byte) (int, error) {
	n, err := a.Writer.Write(p)
	var head struct {
		Method string `json:"method"`
	}
	if json.Unmarshal(p, &head) == nil && head.Method == "" {
		a.wire.unanswered.Add(-1)
	}
	return n, err
}
