package store

import (
	"fmt"
	"strings"
	"sync"
)

// dialect is everything that differs between the two engines.
type dialect struct {
	name string
	// texts keeps what tuples made.
	texts *sync.Map
	// forUpdate locks rows that a transaction is about to change. SQLite has one
	// writer, so there is nothing to lock out.
	forUpdate string
	// skipLocked lets claimers pass each other. Same reason.
	skipLocked string
	// follow is an equality of a column whose index a list follows. PostgreSQL would
	// rather follow another index and filter, which reads few rows only if the
	// requested runs are spread evenly in it. It does not see through an array: the
	// column then stays in the order, and only its own index gives that.
	follow string
	// index names the index to read by. Without statistics, which it never has, SQLite takes
	// every queued run as like as those of one host, and reads them all to sort them.
	index string
	// jsonObject makes a JSON object of names and values.
	jsonObject string
	// now is the database's clock in microseconds: leases of many nodes must be
	// measured by one clock.
	now string
	// txid is the number of the running transaction. SQLite has none to ask for, so
	// the writer gives one as a parameter (the empty string here).
	txid string
	// horizon is the smallest transaction number that may still be running. With one
	// writer every visible row is settled.
	horizon string
	// ahead is a number that no transaction had yet. In a database that was moved to another
	// server, what came along may lie there for years; it waits for nobody.
	ahead string
	// holder describes the oldest transaction that writes. Its statement is left out: it
	// may contain values, and what this user of the database may not see.
	holder string
	// snapshot is which transactions have committed; SQLite's writer knows that without a query.
	snapshot string
	// lockFactory and shareFactory order changes of a factory and deliveries to it. The
	// locks are in memory, because locking the row would be a write for each delivery.
	// SQLite has one writer: what it reads does not change until the commit.
	lockFactory  string
	shareFactory string
	// lockNames locks names in their order before the rows behind them: transactions
	// that need several then wait for each other instead of in a circle.
	lockNames string
	// waits bounds how many milliseconds a transaction waits for a lock. SQLite has none.
	waits string
	// ownLists asks for the right to settle lists, until the transaction ends.
	ownLists string
	// settlesLogs says that deliveries are put into the logs of their webhooks some time after
	// they were inserted. PostgreSQL would write each row again for that.
	settlesLogs bool
	// packs says that bodies of deliveries are packed before they are stored.
	packs bool
	// backlog is the runs that changed since they were settled, each once. Neither engine
	// may read all runs for it.
	backlog string
	// bodies joins the body of each run r. PostgreSQL does not know how few runs there are,
	// and must not read all bodies for them.
	bodies string
	// metadata is a value of a run's metadata, by its key.
	metadata string
	// likeAnyCase compares with a pattern, in any case of ASCII letters at least.
	likeAnyCase string
	// tables lists the tables that a backup holds: all but the schema's version and what
	// lists of runs read, which is made again.
	tables string
	// searchInsert, searchMatch and searchDelete are the full-text index, which is the
	// engine's own. SQLite's knows a run by its number in run_list. Insertions take their
	// rows from v: SQLite writes out the words of each statement separately.
	searchInsert string
	searchMatch  string
	searchDelete string
	// oldWords takes parts out of the index of words of the previous version, until none is left.
	oldWords []string
}

func sqliteDialect() *dialect {
	return &dialect{
		name:         "sqlite",
		texts:        &sync.Map{},
		follow:       "%s = %s",
		index:        " INDEXED BY %s",
		jsonObject:   "json_object",
		now:          "CAST(unixepoch('subsec') * 1000000 AS INTEGER)",
		horizon:      "9223372036854775807",
		ahead:        "9223372036854775807",
		settlesLogs:  true,
		packs:        true,
		backlog:      "run_backlog c CROSS JOIN runs r ON r.id = c.run_id",
		bodies:       "JOIN run_bodies b ON b.run_id = r.id",
		metadata:     "json_extract(b.metadata, '$.\"' || %s || '\"')",
		likeAnyCase:  "LIKE",
		tables:       "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite%' AND name NOT LIKE 'run\\_search%' ESCAPE '\\' AND name NOT IN ('schema_version', 'run_list', 'run_backlog') ORDER BY name",
		searchInsert: "INSERT OR REPLACE INTO run_search (rowid, words) SELECT l.number, v.words FROM v JOIN run_list l ON l.id = v.id",
		// Whole words first: their runs are read one by one, those of a beginning all put together.
		searchMatch: `SELECT l.id FROM run_search s JOIN run_list l ON l.number = s.rowid WHERE run_search MATCH CASE
			WHEN (SELECT COUNT(*) FROM (SELECT 1 FROM run_search WHERE run_search MATCH REPLACE($1, '*', '') LIMIT $2)) < $2
			THEN $1 ELSE REPLACE($1, '*', '') END LIMIT $2`,
		searchDelete: "DELETE FROM run_search WHERE rowid = (SELECT number FROM run_list WHERE id = $1)",
		oldWords: []string{
			"DELETE FROM run_search_before_data WHERE id IN (SELECT id FROM run_search_before_data WHERE id > 10 LIMIT 500)",
			"DELETE FROM run_search_before_content WHERE id IN (SELECT id FROM run_search_before_content LIMIT 2000)",
		},
	}
}

func postgresDialect() *dialect {
	return &dialect{
		name:       "postgres",
		texts:      &sync.Map{},
		follow:     "%s = ANY (ARRAY[CAST(%s AS TEXT)])",
		forUpdate:  " FOR UPDATE",
		skipLocked: " FOR UPDATE SKIP LOCKED",
		jsonObject: "json_build_object",
		now:        "CAST(extract(epoch FROM statement_timestamp()) * 1000000 AS BIGINT)",
		txid:       "CAST(CAST(pg_current_xact_id() AS TEXT) AS BIGINT)",
		horizon:    "CAST(CAST(pg_snapshot_xmin(pg_current_snapshot()) AS TEXT) AS BIGINT)",
		ahead:      "CAST(CAST(pg_snapshot_xmax(pg_current_snapshot()) AS TEXT) AS BIGINT)",
		holder: `SELECT what FROM (
			SELECT 'process ' || pid || COALESCE(' in database ' || datname, '') || COALESCE(', since ' || to_char(xact_start AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC', '') AS what, age(backend_xid) AS old
			FROM pg_stat_activity WHERE backend_xid IS NOT NULL
			UNION ALL SELECT 'prepared transaction ' || gid || ' in database ' || database || ', since ' || to_char(prepared AT TIME ZONE 'UTC', 'YYYY-MM-DD HH24:MI:SS') || ' UTC', age(transaction)
			FROM pg_prepared_xacts) AS holders ORDER BY old DESC LIMIT 1`,
		snapshot:     "CAST(pg_current_snapshot() AS TEXT)",
		lockFactory:  "SELECT pg_advisory_xact_lock(hashtextextended($1, 7001))",
		shareFactory: "SELECT pg_advisory_xact_lock_shared(hashtextextended(uid, 7001)) FROM (VALUES %s) AS v (uid)",
		lockNames:    "SELECT pg_advisory_xact_lock(hashtextextended(name, 7002)) FROM (VALUES %s) AS v (name)",
		waits:        "SET LOCAL lock_timeout = %d",
		ownLists:     "SELECT pg_try_advisory_xact_lock(hashtextextended(current_schema(), 7003))",
		backlog: "(SELECT DISTINCT run_id FROM run_backlog) AS c " +
			"CROSS JOIN LATERAL (SELECT * FROM runs WHERE id = c.run_id LIMIT 1) AS r",
		bodies:       "CROSS JOIN LATERAL (SELECT * FROM run_bodies WHERE run_id = r.id LIMIT 1) AS b",
		metadata:     "CAST(b.metadata AS jsonb) ->> %s",
		likeAnyCase:  "ILIKE",
		tables:       "SELECT CAST(tablename AS TEXT) FROM pg_tables WHERE schemaname = current_schema() AND tablename NOT IN ('run_search', 'schema_version', 'run_list', 'run_backlog') ORDER BY tablename",
		searchInsert: "INSERT INTO run_search (run_id, words) SELECT v.id, array_to_tsvector(string_to_array(v.words, ' ')) FROM v ON CONFLICT (run_id) DO UPDATE SET words = excluded.words",
		searchMatch:  "SELECT run_id FROM run_search WHERE words @@ CAST($1 AS tsquery) LIMIT $2",
		searchDelete: "DELETE FROM run_search WHERE run_id = $1",
	}
}

// searchQuery writes the words of a query in the engine's own language: each word
// must begin a word of the text. Words hold letters and digits only, so quoting is
// enough.
func (d *dialect) searchQuery(words []string) string {
	quote, join, prefix := `"`, " AND ", `*`
	if d.name == "postgres" {
		quote, join, prefix = `'`, " & ", `:*`
	}
	return quote + strings.Join(words, quote+prefix+join+quote) + quote + prefix
}

// by makes a statement read a table by an index, where the engine does not find out itself.
func (d *dialect) by(index string) string {
	if d.index == "" {
		return ""
	}
	return fmt.Sprintf(d.index, index)
}
