// Package history is the file that a fault run leaves: one JSON line for each call with its
// answer, each callback that arrived, each sign of an agent and each fault. Its writer
// decides nothing; package check reads it.
package history

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"
)

// The kinds of entries.
const (
	Call     = "call"     // a request to the server, with its answer
	Callback = "callback" // a request of the server to the receiver
	Agent    = "agent"    // a sign of life of an agent: Op is begin, second or end
	Fault    = "fault"    // Op is its class
	Mark     = "mark"     // Op is calm: the faults are over, and all is given back
)

// The calls, by what they are about.
const (
	Setup    = "setup"    // Key names what was made, Answer has its id
	Deliver  = "deliver"  // Key is the identity of the delivery
	Run      = "run"      // Key is the idempotency key, and in the metadata of the run
	Followup = "followup" // Key is the idempotency key, and a word of the message
	Cancel   = "cancel"
	Apply    = "apply"  // Key is the comment of the revision
	Rotate   = "rotate" // Key is the version of the secret, a number
	Get      = "get"
)

// Entry is one line.
type Entry struct {
	N     int64     `json:"n"`
	Kind  string    `json:"kind"`
	Op    string    `json:"op"`
	Key   string    `json:"key,omitempty"`
	Begin time.Time `json:"begin"`
	End   time.Time `json:"end"`
	// Request is the X-Request-Id that was sent.
	Request string            `json:"request,omitempty"`
	Args    map[string]string `json:"args,omitempty"`
	// Status is that of the answer; 0 is none: nobody knows whether the call had an effect.
	Status int               `json:"status,omitempty"`
	Answer map[string]string `json:"answer,omitempty"`
}

// OK says whether a call was acknowledged.
func (e Entry) OK() bool { return e.Status/100 == 2 }

// Writer appends entries.
type Writer struct {
	mu  sync.Mutex
	out io.Writer
	n   int64
	err error
}

// NewWriter writes to out, which is not buffered: a killed program leaves what it knew.
func NewWriter(out io.Writer) *Writer { return &Writer{out: out} }

// Add appends an entry and numbers it.
func (w *Writer) Add(e Entry) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.n++
	e.N = w.n
	line, err := json.Marshal(e)
	if err == nil {
		_, err = w.out.Write(append(line, '\n'))
	}
	if err != nil && w.err == nil {
		w.err = fmt.Errorf("write history: %w", err)
	}
}

// Err is why the file is not whole.
func (w *Writer) Err() error {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.err
}

// Read reads all entries.
func Read(in io.Reader) ([]Entry, error) {
	var all []Entry
	lines := bufio.NewScanner(in)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var e Entry
		if err := json.Unmarshal(lines.Bytes(), &e); err != nil {
			return nil, fmt.Errorf("read history: line %d: %w", len(all)+1, err)
		}
		all = append(all, e)
	}
	return all, lines.Err()
}
