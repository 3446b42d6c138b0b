package sse

import (
	"net/http"
	"strings"
)

const (
	// ContentType is that of a stream.
	ContentType = "text/event-stream"
	// Retry is the first that a stream says: come back after a second.
	Retry = "retry: 1000\n\n"
	// Beat is a comment that keeps proxies and readers of a quiet stream from giving up.
	Beat = ": heartbeat\n\n"
)

// Begin sets the headers of an answer that is a stream.
func Begin(header http.Header) {
	header.Set("Content-Type", ContentType)
	header.Set("X-Accel-Buffering", "no")
}

var oneLine = strings.NewReplacer("\r", "", "\n", "", "\x00", "")

// Append writes one event; id and name may be empty. The data is one line, as JSON is:
// neither it nor the others can begin a line of their own.
func Append(dst []byte, id, name string, data []byte) []byte {
	if id != "" {
		dst = append(dst, "id: "+oneLine.Replace(id)+"\n"...)
	}
	if name != "" {
		dst = append(dst, "event: "+oneLine.Replace(name)+"\n"...)
	}
	return append(dst, "data: "+oneLine.Replace(string(data))+"\n\n"...)
}
