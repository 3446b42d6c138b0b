package store

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"

	"github.com/lineshaft/lineshaft"
)

// inUse are tables that say that a database is not a new one.
var inUse = []string{"runs", "api_keys", "factories", "secrets", "deliveries"}

// Restore fills a new database from a backup, all or nothing, and brings it to the
// schema of this version. open is called for each try. progress is as in Backup.
func Restore(ctx context.Context, opts Options, open func() (io.ReadCloser, error), progress func(table string, rows int64)) (BackupSummary, error) {
	head, err := backupHeadOf(open)
	if err != nil {
		return BackupSummary{}, err
	}
	newest, err := SchemaVersion()
	if err != nil {
		return BackupSummary{}, err
	}
	if head.Schema < 1 || head.Schema > newest {
		return BackupSummary{}, lineshaft.Conflict("the backup has schema version %d, but this binary knows 1 to %d: restore it with the version that made it", head.Schema, newest)
	}
	opts.upTo = head.Schema
	made := newFiles(opts.Database)
	s, err := Open(ctx, opts)
	if err != nil {
		return BackupSummary{}, fmt.Errorf("open database: %w", err)
	}
	var found BackupSummary
	err = s.Write(ctx, func(ctx context.Context, tx *Tx) error {
		load := &restore{tx: tx, progress: progress}
		err := load.all(ctx, open)
		found = load.found
		return err
	})
	if err != nil {
		// Between closing the database and releasing its lock nobody else has it.
		unlock := s.unlock
		s.unlock = func() error { return errors.Join(removeFiles(made), unlock()) }
	}
	if err == nil && head.Schema == newest {
		err = s.settleAll(ctx)
	}
	if err = errors.Join(err, s.Close()); err != nil || head.Schema == newest {
		return found, err
	}
	opts.upTo = 0
	if s, err = Open(ctx, opts); err != nil {
		return found, fmt.Errorf("migrate what was restored: %w", err)
	}
	return found, errors.Join(s.settleAll(ctx), s.Close())
}

// settleAll makes what lists look at, which a backup does not hold.
func (s *Store) settleAll(ctx context.Context) error {
	below, err := s.listsBelow(ctx)
	if err != nil {
		return err
	}
	if err := s.Write(ctx, func(ctx context.Context, tx *Tx) error { return tx.settleLogs(ctx) }); err != nil {
		return fmt.Errorf("settle logs that were restored: %w", err)
	}
	s.upgrading.Store(below != "")
	for _, step := range []func(context.Context, int) (bool, error){s.UpgradeLists, s.SettleRuns} {
		for more := true; more; {
			more, err = step(ctx, SettleBatch)
		}
		if err != nil {
			return fmt.Errorf("settle what was restored: %w", err)
		}
	}
	return nil
}

// newFiles are the files and folders that opening a new SQLite database makes, in the
// order in which they can be removed. It is empty if the database already exists.
func newFiles(database string) []string {
	missing := func(path string) bool {
		_, err := os.Lstat(path)
		return errors.Is(err, fs.ErrNotExist)
	}
	if IsPostgres(database) || !missing(database) {
		return nil
	}
	var made []string
	for _, suffix := range []string{"-wal", "-shm", "", ".lock"} {
		if path := database + suffix; missing(path) {
			made = append(made, path)
		}
	}
	for folder := filepath.Dir(database); missing(folder) && filepath.Dir(folder) != folder; folder = filepath.Dir(folder) {
		made = append(made, folder)
	}
	return made
}

// removeFiles removes what a failed restore made: an empty database looks like one that
// is in use. Folders in which something else has appeared stay.
func removeFiles(made []string) error {
	for _, path := range made {
		err := os.Remove(path)
		if err != nil && !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTEMPTY) {
			return fmt.Errorf("remove what the restore made: %w", err)
		}
	}
	return nil
}

func backupHeadOf(open func() (io.ReadCloser, error)) (backupHead, error) {
	from, err := open()
	if err != nil {
		return backupHead{}, fmt.Errorf("open backup: %w", err)
	}
	r, err := openBackup(from)
	if err != nil {
		return backupHead{}, errors.Join(err, from.Close())
	}
	return r.head, from.Close()
}

// restore is the transaction of a Restore.
type restore struct {
	tx       *Tx
	progress func(string, int64)
	found    BackupSummary
	head     backupHead
	tables   []string // of the database
	// rows are those of the table that is read now and not yet written.
	rows inserts
	size int
	// txid, setting and since are the places of columns that hold numbers of
	// transactions, or -1.
	txid, setting, since int
	done                 int64
}

// restoreBytes bounds what is held back before it is written.
const restoreBytes = 8 << 20

func (l *restore) all(ctx context.Context, open func() (io.ReadCloser, error)) error {
	from, err := open()
	if err != nil {
		return fmt.Errorf("open backup: %w", err)
	}
	defer from.Close()
	r, err := openBackup(from)
	if err != nil {
		return err
	}
	l.head = r.head
	l.found = BackupSummary{Schema: r.head.Schema, Engine: r.head.Engine}
	if err := l.clear(ctx); err != nil {
		return err
	}
	err = r.each(func(table backupTable) error { return l.begin(ctx, table) }, func(row []any) error { return l.row(ctx, row) })
	if err != nil {
		return err
	}
	if err := l.flush(ctx); err != nil {
		return err
	}
	if err := l.check(ctx, r.rows); err != nil || l.head.Schema < listsMigration {
		return err
	}
	// All runs were noted as they came; how far the upgrade of the backup's database had come does not matter here.
	return l.tx.do(ctx, "forget an upgrade of lists", "DELETE FROM settings WHERE name = $1", belowSetting)
}

// clear refuses a database that is in use, and removes what migrations put in.
func (l *restore) clear(ctx context.Context) error {
	var have int
	if err := l.tx.one(ctx, "SELECT COALESCE(MAX(version), 0) FROM schema_version", nil, &have); err != nil {
		return fmt.Errorf("read schema version: %w", err)
	}
	used := have != l.head.Schema
	for _, table := range inUse {
		var n int
		if err := l.tx.one(ctx, "SELECT COUNT(*) FROM (SELECT 1 FROM "+table+" LIMIT 1) AS first", nil, &n); err != nil {
			return fmt.Errorf("look into %s: %w", table, err)
		}
		used = used || n > 0
	}
	if used {
		return lineshaft.Conflict("the database is in use already; restore into a new one: another --data-dir, or an empty PostgreSQL database")
	}
	tables, err := l.tx.texts(ctx, l.tx.d.tables)
	if err != nil {
		return fmt.Errorf("list tables: %w", err)
	}
	for _, table := range tables {
		if _, err := l.tx.exec(ctx, "DELETE FROM "+table); err != nil {
			return fmt.Errorf("clear %s: %w", table, err)
		}
	}
	l.tables, l.found.Tables = tables, len(tables)
	return nil
}

func (l *restore) begin(ctx context.Context, table backupTable) error {
	if err := l.flush(ctx); err != nil {
		return err
	}
	// Names become a part of statements, so only those that the database has pass.
	if !slices.Contains(l.tables, table.Name) {
		return damaged("%.80q is not a table of schema version %d", table.Name, l.head.Schema)
	}
	columns, err := l.columnsOf(ctx, table.Name)
	if err != nil {
		return err
	}
	for i, name := range table.Columns {
		if !slices.Contains(columns, name) || slices.Contains(table.Columns[:i], name) {
			return damaged("%.80q is not a column of %s, or is there twice", name, table.Name)
		}
	}
	l.rows = inserts{into: table.Name + " (" + strings.Join(table.Columns, ", ") + ")", width: len(table.Columns)}
	l.txid, l.setting, l.since, l.done = -1, -1, -1, 0
	if l.tx.d.txid != "" { // the engine numbers transactions itself
		l.txid, l.setting = columnOf(table, "events", "txid"), columnOf(table, "settings", "value")
		l.since = columnOf(table, "notifications", "since")
	}
	return nil
}

func (l *restore) columnsOf(ctx context.Context, table string) ([]string, error) {
	rows, err := l.tx.q.query(ctx, "SELECT * FROM "+table+" WHERE 1 = 0")
	if err != nil {
		return nil, fmt.Errorf("look into %s: %w", table, translate(err))
	}
	defer rows.Close()
	names, err := rows.Columns()
	return names, translate(errors.Join(err, rows.Err()))
}

func columnOf(table backupTable, name, column string) int {
	if table.Name == name {
		for i, c := range table.Columns {
			if c == column {
				return i
			}
		}
	}
	return -1
}

func (l *restore) row(ctx context.Context, row []any) error {
	if len(row) != l.rows.width {
		return damaged("a row has %d values, its table %d columns", len(row), l.rows.width)
	}
	if l.txid >= 0 {
		l.renumber(row)
	}
	if l.setting >= 0 {
		l.replace(row)
	}
	if l.since >= 0 { // the place in the settings says what endpoints have heard of
		row[l.since] = Snapshot{}.String()
	}
	l.rows.row(row...)
	l.found.Rows++
	l.done++
	for _, value := range row {
		switch v := value.(type) {
		case string:
			l.size += len(v)
		case []byte:
			l.size += len(v)
		}
	}
	if l.rows.rows() >= 512 || l.size > restoreBytes {
		return l.write(ctx)
	}
	return nil
}

func (l *restore) write(ctx context.Context) error {
	err := l.tx.insert(ctx, &l.rows)
	l.rows.args, l.size = l.rows.args[:0], 0
	return err
}

func (l *restore) flush(ctx context.Context) error {
	if l.rows.into == "" {
		return nil
	}
	if err := l.write(ctx); err != nil {
		return err
	}
	if l.progress != nil {
		l.progress(l.rows.table(), l.done)
	}
	return nil
}

// renumber gives a state change the number of a transaction of the past: the server it
// came from may have counted further than this one. Changes before and after a position
// from which someone continues keep their side.
func (l *restore) renumber(row []any) {
	number, _ := row[l.txid].(int64)
	if number == 0 {
		return
	}
	var runID string
	var sequence int64
	for i, name := range l.columns() {
		switch name {
		case "run_id":
			runID, _ = row[i].(string)
		case "sequence":
			sequence, _ = row[i].(int64)
		}
	}
	row[l.txid] = l.segment(StatePosition{number, runID, sequence})
}

func (l *restore) columns() []string {
	_, names, _ := strings.Cut(strings.TrimSuffix(l.rows.into, ")"), "(")
	return strings.Split(names, ", ")
}

// segment counts the places before a change, from 1.
func (l *restore) segment(at StatePosition) int64 {
	number := int64(1)
	for _, place := range l.head.Positions {
		if at.Compare(place) > 0 {
			number++
		}
	}
	return number
}

// replace writes a place in the numbers that renumber gives.
func (l *restore) replace(row []any) {
	value, _ := row[l.setting].(string)
	if place, ok := asPosition(value); ok {
		// No run id sorts after a tilde.
		row[l.setting] = fmt.Sprintf(`{"txid":%d,"run_id":"~","sequence":%d}`, l.segment(place), int64(math.MaxInt64))
	}
}

// check counts the rows after the restore.
func (l *restore) check(ctx context.Context, want map[string]int64) error {
	for table, rows := range want {
		var have int64
		if err := l.tx.one(ctx, "SELECT COUNT(*) FROM "+table, nil, &have); err != nil {
			return fmt.Errorf("count %s: %w", table, err)
		}
		if have != rows {
			return fmt.Errorf("restore %s: %d of %d rows arrived", table, have, rows)
		}
	}
	return nil
}
