package workerwire

import (
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft"
)

// Prefix is where the routes are, below the API's own prefix.
const Prefix = "/worker/"

// The routes, all POST.
const (
	PathConnect    = Prefix + "connect"
	PathClaim      = Prefix + "claim"
	PathHeartbeat  = Prefix + "heartbeat"
	PathDirectives = Prefix + "directives"
	PathReport     = Prefix + "report"
	PathEndTurn    = Prefix + "end-turn"
	PathUpload     = Prefix + "upload"
	PathDownload   = Prefix + "download"
	PathTakeOver   = Prefix + "take-over"
	PathLeave      = Prefix + "leave"
)

// HeaderProtocol is on every answer: the number of the protocol. An answer
// without it is not the server's word on a worker's call, whatever its status: it is
// a proxy's, or that of a server that is too old.
const HeaderProtocol = "Lineshaft-Worker-Protocol"

// HeaderUpload has the description of an upload, whose body is the content.
const HeaderUpload = "Lineshaft-Upload"

// LongPoll is what the server may take to answer a claim or a question for
// directives when there is nothing to tell.
const LongPoll = 20 * time.Second

// Process says who calls: Host is the id that runs are addressed to, ID names the
// process among several with that id.
type Process struct {
	Host string `json:"worker_host"`
	ID   string `json:"worker_id"`
}

// Caller gives any body its process.
func (p Process) Caller() Process { return p }

// ConnectRequest comes first: it says what the worker is and that it holds nothing.
type ConnectRequest struct {
	Process
	Version string `json:"version"`
	// Protocol is the number of the protocol that the worker speaks.
	Protocol int `json:"protocol"`
}

// ConnectAnswer tells a worker whom it talks to.
type ConnectAnswer struct {
	Version string `json:"version"`
	// Ended is how many executions of an earlier life of this process were given up.
	Ended int `json:"ended"`
}

// ClaimRequest asks for work.
type ClaimRequest struct {
	Process
	Version  string `json:"version"`
	Limit    int    `json:"limit"`
	Capacity int    `json:"capacity"`
	// Labels are what the worker says about its machine, each KEY=VALUE.
	Labels []string `json:"labels,omitempty"`
	// Known are the executions that the process was given and has not ended: what the
	// server has beyond them was given in an answer that never arrived.
	Known []string `json:"known"`
}

// ClaimAnswer has the jobs; none when there was nothing to do.
type ClaimAnswer struct {
	Jobs []Job `json:"jobs"`
}

// HeartbeatRequest names what the process holds.
type HeartbeatRequest struct {
	Process
	Held []lineshaft.ExecutionRef `json:"held"`
}

// DirectivesRequest asks what has changed for the process.
type DirectivesRequest struct{ Process }

// DirectivesAnswer answers a heartbeat and a question for directives.
type DirectivesAnswer struct {
	Directives []lineshaft.Directive `json:"directives"`
}

// ReportRequest has numbered batches of events.
type ReportRequest struct {
	Process
	Reports []Report `json:"reports"`
}

// ReportAnswer has one entry for each report: null when it was taken.
type ReportAnswer struct {
	Errors []*Error `json:"errors"`
}

// EndTurnRequest says how a turn ended.
type EndTurnRequest struct {
	Process
	lineshaft.ExecutionRef
	Result lineshaft.TurnResult `json:"result"`
}

// EndTurnAnswer has the next turn; null when the execution is over.
type EndTurnAnswer struct {
	Next *lineshaft.Turn `json:"next"`
}

// UploadRequest describes the content that comes as the body.
type UploadRequest struct {
	Process
	lineshaft.ExecutionRef
	lineshaft.Upload
}

// EncodeUpload makes the value of HeaderUpload.
func EncodeUpload(u UploadRequest) (string, error) {
	raw, err := json.Marshal(u)
	if err != nil {
		return "", fmt.Errorf("encode upload: %w", err)
	}
	return base64.RawURLEncoding.EncodeToString(raw), nil
}

// DecodeUpload reads the value of HeaderUpload. Its errors quote nothing: the value
// holds a token.
func DecodeUpload(value string) (UploadRequest, error) {
	var u UploadRequest
	raw, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(raw) == 0 || json.Unmarshal(raw, &u) != nil {
		return UploadRequest{}, errors.New("the header is not base64url of a JSON object")
	}
	return u, nil
}

// UploadAnswer names what was stored.
type UploadAnswer struct {
	BlobID string `json:"blob_id"`
}

// DownloadRequest asks for a blob; the answer's body is its content.
type DownloadRequest struct {
	Process
	lineshaft.ExecutionRef
	BlobID string `json:"blob_id"`
}

// TakeOverRequest says that the process works on an execution from now on, which
// another process of the same worker was given.
type TakeOverRequest struct {
	Process
	lineshaft.ExecutionRef
	// Back takes it from the process that it was placed in, which has ended.
	Back bool `json:"back,omitempty"`
}

// TakeOverAnswer has the number of the last event that was reported before.
type TakeOverAnswer struct {
	LastEvent int64 `json:"last_event"`
}

// LeaveRequest says that the process stops.
type LeaveRequest struct{ Process }

// LeaveAnswer is empty.
type LeaveAnswer struct{}

// Within says whether a body has at most so many items, such as reports, held or known
// executions, and events of reports. It looks at nothing else and allocates nothing:
// a few bytes of JSON can become hundreds in memory, so it comes before decoding.
// A body that is no JSON may be within.
func Within(body []byte, items, events int) bool {
	// The lists of a request are at depth 2, those of a report at depth 4.
	const itemDepth, eventDepth = 2, 4
	left := [...]int{itemDepth: items, eventDepth: events}
	var list [len(left)]bool
	depth, quoted := 0, false
	for i := 0; i < len(body); i++ {
		c := body[i]
		if quoted {
			if c == '\\' {
				i++
			}
			quoted = c != '"'
			continue
		}
		begins := false // an element of a list, as far as that can be told cheaply
		switch c {
		case '"':
			quoted = true
		case '{', '[':
			if depth++; depth < len(list) {
				list[depth], begins = c == '[', c == '['
			}
		case '}', ']':
			depth--
		case ',':
			begins = depth > 0 && depth < len(list) && list[depth]
		}
		if begins && (depth == itemDepth || depth == eventDepth) {
			if left[depth]--; left[depth] < 0 {
				return false
			}
		}
		if depth < 0 {
			return true
		}
	}
	return true
}
