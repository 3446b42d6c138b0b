package store

import (
	"bufio"
	"compress/gzip"
	"context"
	"crypto/sha256"
	"database/sql"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/url"
	"os"
	"slices"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/stdlib"

	"github.com/lineshaft/lineshaft"
)

// A backup is a gzip file of JSON lines that does not depend on the engine: a head,
// then for each table a line with its columns and a line for each row, and finally the
// counts and the digest of everything before. A file that was cut off has no end, and a
// changed one has another digest.
const (
	backupFormat  = "lineshaft-backup"
	backupVersion = 1
	// backupName is how a node that cannot migrate knows what it must wait for.
	backupName = "lineshaft backup"
)

type (
	backupHead struct {
		Format    string    `json:"format"`
		Version   int       `json:"version"`
		Schema    int       `json:"schema"`
		Engine    string    `json:"engine"`
		CreatedAt time.Time `json:"created_at"`
		// Positions are the places of the state stream that settings keep. Numbers of
		// transactions mean nothing in another PostgreSQL server, so they are given again.
		Positions []StatePosition `json:"positions,omitempty"`
	}
	backupTable struct {
		Name    string   `json:"name"`
		Columns []string `json:"columns"`
	}
	backupEnd struct {
		Rows   map[string]int64 `json:"rows"`
		SHA256 string           `json:"sha256"`
	}
	// backupLine is every line but those of rows, which are arrays.
	backupLine struct {
		Head  *backupHead  `json:"head,omitempty"`
		Table *backupTable `json:"table,omitempty"`
		End   *backupEnd   `json:"end,omitempty"`
	}
	// backupBytes is a value that is not a text: a BLOB, or a text that JSON cannot hold.
	backupBytes struct {
		Blob []byte  `json:"blob,omitempty"`
		Text *[]byte `json:"text,omitempty"`
	}
)

// BackupSummary says what a backup holds.
type BackupSummary struct {
	Schema int
	Engine string
	Tables int
	Rows   int64
	// Outside are files that the database only names: they are kept elsewhere.
	Outside int64
}

// ReadOnly is a database as it was at one moment, for a backup. A server may continue
// to work with the database.
type ReadOnly struct {
	reader
	db *sql.DB
	tx *sql.Tx
}

// OpenReadOnly opens a database for reading. It takes no lock and changes nothing, not
// even the schema.
func OpenReadOnly(ctx context.Context, database string) (*ReadOnly, error) {
	s, opts, err := newReadOnly(database)
	if err != nil {
		return nil, err
	}
	s.db.SetMaxOpenConns(1)
	if s.tx, err = s.db.BeginTx(ctx, opts); err != nil {
		_ = s.db.Close()
		return nil, fmt.Errorf("open database: %w", translate(err))
	}
	s.q = roTx{s.tx}
	return s, nil
}

func newReadOnly(database string) (*ReadOnly, *sql.TxOptions, error) {
	if IsPostgres(database) {
		config, err := pgx.ParseConfig(database)
		if err != nil {
			return nil, nil, fmt.Errorf("read database URL: %w (expected postgres://user:password@host:port/name)", redact(err))
		}
		config.RuntimeParams["application_name"] = backupName
		s := &ReadOnly{reader: reader{d: postgresDialect()}, db: stdlib.OpenDB(*config)}
		return s, &sql.TxOptions{Isolation: sql.LevelRepeatableRead, ReadOnly: true}, nil
	}
	if _, err := os.Stat(database); err != nil {
		return nil, nil, lineshaft.Invalid("database", "there is no database at %s; name another with --data-dir or --database", database)
	}
	lite, err := sqliteDriver()
	if err != nil {
		return nil, nil, fmt.Errorf("find sqlite driver: %w", err)
	}
	dsn := "file:" + (&url.URL{Path: database}).EscapedPath() + "?mode=rw"
	connector := liteConnector{driver: lite, dsn: dsn, pragmas: []string{"busy_timeout = 5000", "query_only = 1"}}
	return &ReadOnly{reader: reader{d: sqliteDialect()}, db: sql.OpenDB(connector)}, nil, nil
}

// Close ends the snapshot.
func (s *ReadOnly) Close() error {
	_ = s.tx.Rollback() // it has only read
	return translate(s.db.Close())
}

// Backup writes everything. progress, if there is one, hears each table with its rows.
func (s *ReadOnly) Backup(ctx context.Context, to io.Writer, progress func(table string, rows int64)) (BackupSummary, error) {
	head, err := s.head(ctx)
	if err != nil {
		return BackupSummary{}, err
	}
	tables, err := s.texts(ctx, s.d.tables)
	if err != nil {
		return BackupSummary{}, fmt.Errorf("list tables: %w", err)
	}
	w := newBackupWriter(to)
	w.line(backupLine{Head: &head})
	found := BackupSummary{Schema: head.Schema, Engine: head.Engine, Tables: len(tables)}
	for _, table := range tables {
		rows, err := s.backupTable(ctx, w, table)
		if err != nil {
			return found, fmt.Errorf("back up %s: %w", table, err)
		}
		w.rows[table] = rows
		found.Rows += rows
		if progress != nil {
			progress(table, rows)
		}
	}
	found.Outside, err = s.outside(ctx)
	if err != nil {
		return found, err
	}
	return found, w.finish()
}

func (s *ReadOnly) head(ctx context.Context) (backupHead, error) {
	newest, err := SchemaVersion()
	if err != nil {
		return backupHead{}, err
	}
	head := backupHead{Format: backupFormat, Version: backupVersion, Engine: s.d.name, CreatedAt: time.Now().UTC()}
	err = s.one(ctx, "SELECT COALESCE(MAX(version), 0) FROM schema_version", nil, &head.Schema)
	if err != nil {
		return head, fmt.Errorf("read schema version: %w; is this a database of lineshaft?", err)
	}
	if head.Schema > newest {
		return head, lineshaft.Conflict("the database has schema version %d, but this binary knows only %d: back it up with the version that uses it", head.Schema, newest)
	}
	head.Positions, err = s.positions(ctx)
	return head, err
}

// positions reads the places that settings keep, each once and in order.
func (s *ReadOnly) positions(ctx context.Context) ([]StatePosition, error) {
	values, err := s.texts(ctx, "SELECT value FROM settings")
	if err != nil {
		return nil, fmt.Errorf("read settings: %w", err)
	}
	var places []StatePosition
	for _, value := range values {
		if place, ok := asPosition(value); ok {
			places = append(places, place)
		}
	}
	slices.SortFunc(places, StatePosition.Compare)
	return slices.Compact(places), nil
}

// asPosition says whether a setting is a place of the state stream.
func asPosition(value string) (StatePosition, bool) {
	var fields map[string]json.RawMessage
	var place StatePosition
	if json.Unmarshal([]byte(value), &fields) != nil || fields["txid"] == nil || fields["sequence"] == nil {
		return place, false
	}
	return place, json.Unmarshal([]byte(value), &place) == nil
}

// outside counts files whose bytes are not in the database.
func (s *ReadOnly) outside(ctx context.Context) (n int64, err error) {
	err = s.one(ctx, "SELECT COUNT(*) FROM blobs b WHERE b.size > 0 AND NOT EXISTS (SELECT 1 FROM blob_chunks c WHERE c.blob_id = b.id)", nil, &n)
	if err != nil {
		return 0, fmt.Errorf("count files outside: %w", err)
	}
	return n, nil
}

func (s *ReadOnly) backupTable(ctx context.Context, w *backupWriter, table string) (n int64, err error) {
	rows, err := s.q.query(ctx, "SELECT * FROM "+table) // the name is the database's own
	if err != nil {
		return 0, translate(err)
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return 0, translate(err)
	}
	w.line(backupLine{Table: &backupTable{Name: table, Columns: columns}})
	row, into := make([]any, len(columns)), make([]any, len(columns))
	for i := range row {
		into[i] = &row[i]
	}
	for rows.Next() {
		if err := rows.Scan(into...); err != nil {
			return n, fmt.Errorf("scan: %w", err)
		}
		for i, value := range row {
			row[i] = backupValue(value)
		}
		w.line(row)
		n++
	}
	if w.err != nil {
		return n, w.err
	}
	return n, translate(rows.Err())
}

// backupValue converts a value to one that JSON gives back unchanged.
func backupValue(value any) any {
	switch v := value.(type) {
	case []byte:
		return backupBytes{Blob: v}
	case string:
		if !utf8.ValidString(v) {
			return backupBytes{Text: new([]byte(v))}
		}
	}
	return value
}

// backupWriter writes lines until the first error, which finish returns.
type backupWriter struct {
	zip  *gzip.Writer
	buf  *bufio.Writer
	json *json.Encoder
	sum  hash.Hash
	rows map[string]int64
	err  error
}

func newBackupWriter(to io.Writer) *backupWriter {
	w := &backupWriter{zip: gzip.NewWriter(to), sum: sha256.New(), rows: map[string]int64{}}
	w.buf = bufio.NewWriterSize(io.MultiWriter(w.zip, w.sum), 1<<16)
	w.json = json.NewEncoder(w.buf)
	w.json.SetEscapeHTML(false)
	return w
}

func (w *backupWriter) line(value any) {
	if w.err == nil {
		w.err = w.json.Encode(value)
	}
}

func (w *backupWriter) finish() error {
	if w.err == nil {
		w.err = w.buf.Flush()
	}
	w.line(backupLine{End: &backupEnd{Rows: w.rows, SHA256: hex.EncodeToString(w.sum.Sum(nil))}})
	if w.err == nil {
		w.err = w.buf.Flush()
	}
	if w.err == nil {
		w.err = w.zip.Close()
	}
	if w.err != nil {
		return fmt.Errorf("write backup: %w", w.err)
	}
	return nil
}
