package client

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"strconv"
	"strings"
	"time"
)

// maxFrameBytes bounds the memory for one Server-Sent Event.
const maxFrameBytes = 32 << 20

// errStreamEnd is an orderly end of a stream, between two frames. It is not io.EOF,
// which net/http also returns for a server that hangs up.
var errStreamEnd = errors.New("the stream ended")

var errFrameTooLarge = errors.New("an event of the stream is too large")

// frame is the data of one Server-Sent Event. Its event field repeats what is in it.
type frame []byte

// frameReader cuts a stream into frames. Only a frame that a blank line ended is
// returned: what comes before a cut is dropped and comes again after a resume.
type frameReader struct {
	r     *bufio.Reader
	first bool
	// limit is the size of the largest frame.
	limit int
	// retry is the pause that the server last asked for; zero if it did not.
	retry time.Duration
	// opened is the pause that a whole frame asked for, openedAt when the first such came.
	opened   time.Duration
	openedAt time.Time
	// within says that the stream ended within a frame.
	within bool
	// id is that of the last frame.
	id string
	// comment says that a frame with a comment came whole: the server's sign of life.
	comment bool
}

func newFrameReader(r io.Reader) *frameReader {
	return &frameReader{r: bufio.NewReaderSize(r, 64<<10), first: true, limit: maxFrameBytes}
}

// next waits for a frame with data. It returns errStreamEnd at an orderly end and a
// *transportError for any other.
func (f *frameReader) next() (frame, error) {
	var data bytes.Buffer
	id := f.id
	begun, comment := false, false
	for {
		line, err := f.line()
		f.within = f.within || err != nil && begun
		if errors.Is(err, io.EOF) && begun {
			err = io.ErrUnexpectedEOF
		}
		if err != nil {
			return nil, readFailed(err)
		}
		if len(line) == 0 {
			f.comment = f.comment || comment
			f.open()
			if data.Len() > 0 {
				f.id = id
				return bytes.TrimSuffix(data.Bytes(), []byte("\n")), nil
			}
			begun, comment = false, false
			continue
		}
		name, value := splitField(line)
		begun, comment = begun || name != "", comment || name == ""
		switch name {
		case "data":
			if data.Len()+len(value) > f.limit {
				return nil, errFrameTooLarge
			}
			data.WriteString(value + "\n")
		case "id":
			id = value
		case "retry":
			if ms, err := strconv.Atoi(value); err == nil && ms >= 0 {
				f.retry = time.Duration(min(ms, int(longestRetryAfter/time.Millisecond))) * time.Millisecond
			}
		}
	}
}

// open takes what a frame asked for, now that it is whole.
func (f *frameReader) open() {
	f.opened = f.retry
	if f.opened > 0 && f.openedAt.IsZero() {
		f.openedAt = time.Now()
	}
}

// line reads a line without its end, or fails: a last line without an end counts
// as cut.
func (f *frameReader) line() (string, error) {
	var full []byte
	for {
		part, err := f.r.ReadSlice('\n')
		full = append(full, part...)
		if err == nil {
			break
		}
		f.within = !errors.Is(err, bufio.ErrBufferFull) && len(full) > 0
		if len(full) > f.limit {
			return "", errFrameTooLarge
		}
		if errors.Is(err, io.EOF) && len(full) > 0 {
			return "", io.ErrUnexpectedEOF
		}
		if !errors.Is(err, bufio.ErrBufferFull) {
			return "", err
		}
	}
	line := strings.TrimSuffix(strings.TrimSuffix(string(full), "\n"), "\r")
	if f.first {
		f.first = false
		line = strings.TrimPrefix(line, "\ufeff")
	}
	return line, nil
}

// readFailed recognises an orderly end and marks what connecting again may fix.
func readFailed(err error) error {
	if errors.Is(err, io.EOF) {
		return errStreamEnd
	}
	if errors.Is(err, errFrameTooLarge) {
		return err
	}
	return &transportError{op: "read the stream", err: err}
}

// splitField splits a line into name and value. A comment has no name.
func splitField(line string) (name, value string) {
	name, value, _ = strings.Cut(line, ":")
	return name, strings.TrimPrefix(value, " ")
}
