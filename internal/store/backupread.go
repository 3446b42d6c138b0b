package store

import (
	"bufio"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"maps"

	"github.com/lineshaft/lineshaft"
)

// The bounds of what is read. The longest row ever written is a run's body with all its
// instructions: 10 MiB at most, which JSON may make six times as long. No table has
// nearly so many columns.
const (
	maxBackupLine    = 64 << 20
	maxBackupColumns = 200
)

// backupReader reads a backup and watches that it is whole.
type backupReader struct {
	buf  *bufio.Reader
	sum  hash.Hash
	head backupHead
	rows map[string]int64
}

// openBackup reads the head.
func openBackup(from io.Reader) (*backupReader, error) {
	zip, err := gzip.NewReader(from)
	if err != nil {
		return nil, notBackup(err)
	}
	r := &backupReader{buf: bufio.NewReaderSize(zip, 1<<16), sum: sha256.New(), rows: map[string]int64{}}
	text, err := r.next()
	if err != nil {
		return nil, notBackup(err)
	}
	var line backupLine
	if err := json.Unmarshal(text, &line); err != nil || line.Head == nil || line.Head.Format != backupFormat {
		return nil, notBackup(err)
	}
	if line.Head.Version != backupVersion {
		return nil, lineshaft.Invalid("file", "the backup has format %d, this version reads %d: restore it with a newer lineshaft", line.Head.Version, backupVersion)
	}
	r.add(text)
	r.head = *line.Head
	return r, nil
}

func notBackup(cause error) error {
	err := lineshaft.Invalid("file", "this is not a file that lineshaft backup has written")
	err.Cause = cause
	return err
}

// damaged refuses a file whose bytes are not those that were written.
func damaged(format string, args ...any) error {
	return lineshaft.Invalid("file", "the backup is damaged: "+format+"; nothing was restored: take another copy of it", args...)
}

// next reads one line without its end.
func (r *backupReader) next() ([]byte, error) {
	var line []byte
	for {
		part, err := r.buf.ReadSlice('\n')
		line = append(line, part...)
		switch {
		case err == nil:
			return line, nil
		case len(line) > maxBackupLine:
			return nil, damaged("a line is longer than any that is written")
		case !errors.Is(err, bufio.ErrBufferFull):
			return nil, err
		}
	}
}

func (r *backupReader) add(line []byte) { _, _ = r.sum.Write(line) } // a hash never fails

// each calls table for each table and row for each of its rows, and returns when the
// file has been read to its end and is what was written.
func (r *backupReader) each(table func(backupTable) error, row func([]any) error) error {
	var at string
	for {
		text, err := r.next()
		if err != nil {
			return damaged("it ends too early")
		}
		if text[0] == '[' {
			r.add(text)
			values, err := backupRow(text)
			if err != nil || at == "" {
				return damaged("a row cannot be read")
			}
			r.rows[at]++
			if err := row(values); err != nil {
				return err
			}
			continue
		}
		var line backupLine
		if err := json.Unmarshal(text, &line); err != nil {
			return damaged("a line cannot be read")
		}
		switch {
		case line.End != nil:
			return r.end(line.End)
		case line.Table == nil || r.rows[line.Table.Name] > 0 || len(line.Table.Columns) == 0 || len(line.Table.Columns) > maxBackupColumns:
			return damaged("a line is in the wrong place")
		}
		r.add(text)
		at = line.Table.Name
		r.rows[at] = 0
		if err := table(*line.Table); err != nil {
			return err
		}
	}
}

func (r *backupReader) end(end *backupEnd) error {
	if got := hex.EncodeToString(r.sum.Sum(nil)); got != end.SHA256 || !maps.Equal(r.rows, end.Rows) {
		return damaged("its digest is another")
	}
	if _, err := r.buf.ReadByte(); !errors.Is(err, io.EOF) {
		return damaged("something follows its end")
	}
	return nil
}

// backupRow reads a row: texts, whole numbers, bytes and nulls. A foreign line must not
// become far larger in memory, so values are counted and nothing else is decoded.
func backupRow(text []byte) ([]any, error) {
	dec := json.NewDecoder(bytes.NewReader(text))
	if _, err := dec.Token(); err != nil { // the bracket
		return nil, fmt.Errorf("decode row: %w", err)
	}
	var row []any
	for dec.More() {
		if len(row) == maxBackupColumns {
			return nil, errors.New("too many values")
		}
		var raw json.RawMessage
		if err := dec.Decode(&raw); err != nil {
			return nil, fmt.Errorf("decode row: %w", err)
		}
		value, err := backupPart(raw)
		if err != nil {
			return nil, err
		}
		row = append(row, value)
	}
	if _, err := dec.Token(); err != nil {
		return nil, fmt.Errorf("decode row: %w", err)
	}
	if rest := text[dec.InputOffset():]; len(bytes.TrimSpace(rest)) > 0 {
		return nil, errors.New("something follows the row")
	}
	return row, nil
}

// backupPart reads one value.
func backupPart(raw json.RawMessage) (value any, err error) {
	switch {
	case string(raw) == "null":
		return nil, nil
	case raw[0] == '"':
		var text string
		err = json.Unmarshal(raw, &text)
		value = text
	case raw[0] == '{':
		var held backupBytes
		err = json.Unmarshal(raw, &held)
		value = append([]byte{}, held.Blob...) // an empty BLOB is left out
		if held.Text != nil {
			value = string(*held.Text)
		}
	default:
		var number int64
		err = json.Unmarshal(raw, &number)
		value = number
	}
	if err != nil {
		return nil, fmt.Errorf("decode value: %w", err)
	}
	return value, nil
}
