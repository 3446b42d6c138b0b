package store

import (
	"context"
	"strings"
	"time"
)

// Worker is a worker process that has been heard of.
type Worker struct {
	ID          string
	WorkerHost  string
	Version     string
	Capacity    int
	Running     int
	ConnectedAt time.Time
	LastSeenAt  time.Time
	// Labels are KEY=VALUE and have no commas.
	Labels []string
	// FactoryUIDs are those whose runs it takes; empty means runs of all and of none.
	FactoryUIDs []string
}

// PutWorker records that a worker process was seen. Its connection time stays
// that of its first appearance, unless it had been away past gone.
func (tx *Tx) PutWorker(ctx context.Context, w Worker, gone time.Time) error {
	return tx.do(ctx, "put worker",
		`INSERT INTO workers (id, worker_host, version, capacity, running, connected_at, last_seen_at, labels, factory_uids)
		VALUES ($1, $2, $3, $4, $5, $6, $6, $8, $9) ON CONFLICT (id) DO UPDATE SET worker_host = excluded.worker_host, version = excluded.version,
		capacity = excluded.capacity, running = excluded.running, labels = excluded.labels, factory_uids = excluded.factory_uids, last_seen_at = excluded.last_seen_at,
		connected_at = CASE WHEN workers.last_seen_at < $7 THEN excluded.connected_at ELSE workers.connected_at END`,
		w.ID, w.WorkerHost, w.Version, w.Capacity, w.Running, micros(w.LastSeenAt), micros(gone), strings.Join(w.Labels, ","), strings.Join(w.FactoryUIDs, ","))
}

// TouchWorker notes that a known worker process is alive and how much it runs.
func (tx *Tx) TouchWorker(ctx context.Context, workerID string, running int, at time.Time) error {
	return tx.do(ctx, "touch worker",
		"UPDATE workers SET last_seen_at = $2, running = $3 WHERE id = $1 AND last_seen_at < $2", workerID, micros(at), running)
}

// DeleteWorker forgets a worker process that said good-bye.
func (tx *Tx) DeleteWorker(ctx context.Context, workerID string) error {
	_, err := tx.exec(ctx, "DELETE FROM workers WHERE id = $1", workerID)
	return err
}

// DeleteOldWorkers forgets worker processes that were last seen before a time.
func (tx *Tx) DeleteOldWorkers(ctx context.Context, before time.Time) error {
	_, err := tx.exec(ctx, "DELETE FROM workers WHERE last_seen_at < $1", micros(before))
	return err
}

const workerColumns = "id, worker_host, version, capacity, running, connected_at, last_seen_at, labels, factory_uids"

func scanWorker(scan rowScan) (*Worker, error) {
	w := &Worker{}
	var labels, factories string
	err := scan(&w.ID, &w.WorkerHost, &w.Version, &w.Capacity, &w.Running, toTime(&w.ConnectedAt), toTime(&w.LastSeenAt), &labels, &factories)
	if labels != "" {
		w.Labels = strings.Split(labels, ",")
	}
	if factories != "" {
		w.FactoryUIDs = strings.Split(factories, ",")
	}
	return w, err
}

// GetWorker reads one worker process.
func (r reader) GetWorker(ctx context.Context, workerID string) (Worker, error) {
	w, err := scanWorker(func(dest ...any) error {
		return r.one(ctx, "SELECT "+workerColumns+" FROM workers WHERE id = $1", []any{workerID}, dest...)
	})
	return *w, err
}

// ListWorkers reads the worker processes seen since a time.
func (r reader) ListWorkers(ctx context.Context, since time.Time) ([]Worker, error) {
	const query = "SELECT " + workerColumns + " FROM workers WHERE last_seen_at >= $1 ORDER BY worker_host, id"
	return collect(ctx, r, "list workers", query, []any{micros(since)}, scanWorker)
}
