package store

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/id"
)

// Hash is how tokens and keys are stored: never themselves.
func Hash(secret string) string {
	sum := sha256.Sum256([]byte(secret))
	return hex.EncodeToString(sum[:])
}

// Execution is one attempt of a worker at a run.
type Execution struct {
	ID         string
	RunID      string
	Number     int
	WorkerHost string
	WorkerID   string
	ClaimedAt  time.Time
	StartedAt  time.Time
	EndedAt    time.Time
	// LastNumber is the worker's newest event number that was taken.
	LastNumber  int64
	SnapshotID  string
	Interrupted bool
	// Ask is the newest question of the agent, and AskAfter the newest follow-up that
	// existed before it.
	Ask, AskAfter string
	tokenHash     string
	// Expired says that the lease is over by the database's clock.
	Expired bool
}

// Named says that a reference names the execution, with its token.
func (e *Execution) Named(ref lineshaft.ExecutionRef) bool {
	return e.ID == ref.ExecutionID && e.tokenHash == Hash(ref.Token)
}

// Claim is a run that was just given to a worker.
type Claim struct {
	Head  *RunHead
	Body  RunBody
	Title string
	// Source is where the run came from.
	Source         lineshaft.Source
	ConversationID string
	TraceParent    string
	ExecutionID    string
	Token          string
	RunToken       string
	Followup       *Followup
}

// PickQueued locks up to limit runs that a worker of this host may claim now, in
// the order they were queued: all, or those of some factories. On PostgreSQL it passes
// over runs that another claimer is looking at.
func (tx *Tx) PickQueued(ctx context.Context, host string, limit int, factories ...string) ([]*Claim, error) {
	var claims []*Claim
	args := []any{host, limit}
	const columns = headColumns + ", title, source, conversation_id, trace_parent"
	query := "SELECT " + columns + ", b.submitted_prompt, b.config, b.files, b.skills, b.continues FROM (SELECT " + columns + " FROM runs" +
		queueOf(tx.d, &args, factories) + " ORDER BY queued_at, id LIMIT $2" + tx.d.skipLocked + ") AS r " +
		tx.d.bodies + " ORDER BY queued_at, id"
	err := tx.each(ctx, query, args, func(scan rowScan) (err error) {
		c := &Claim{}
		var config, skills string
		c.Head, err = scanHead(scan, &c.Title, &c.Source, &c.ConversationID, &c.TraceParent,
			&c.Body.Submitted, &config, &c.Body.Files, &skills, &c.Body.Continues)
		if err != nil {
			return err
		}
		claims = append(claims, c)
		if err := decodeParts(c.Head.ID, skills, "", &c.Body.Skills, nil); err != nil {
			return err
		}
		return json.Unmarshal([]byte(config), &c.Body.Config)
	})
	if err != nil {
		return nil, fmt.Errorf("read claimed runs: %w", err)
	}
	return claims, nil
}

// InsertExecutions writes an execution for each claim and fills in its id and tokens.
func (tx *Tx) InsertExecutions(ctx context.Context, claims []*Claim, workerID string, lease time.Duration) error {
	rows := inserts{into: `executions (id, run_id, number, worker_host, worker_id, token_hash, run_token_hash, claimed_at,
		started_at, ended_at, last_number, interrupted, snapshot_id, lease_until)`}
	rows.forms = slices.Repeat([]string{"%s"}, 13)
	rows.forms = append(rows.forms, tx.d.now+" + %s")
	for _, c := range claims {
		executionID, at := tx.store.ids.Next()
		c.ExecutionID, c.Token, c.RunToken = executionID, id.Secret(24), "ls_run_"+id.Secret(32)
		c.Head.ExecutionID = executionID
		c.Head.Executions++
		rows.row(executionID, c.Head.ID, c.Head.Executions, c.Head.WorkerHost, workerID, Hash(c.Token), Hash(c.RunToken), micros(at), 0, 0,
			0, 0, "", lease.Microseconds())
	}
	return tx.sendRows(ctx, &rows)
}

const executionColumns = "id, run_id, number, worker_host, worker_id, claimed_at, started_at, ended_at, last_number, snapshot_id, interrupted, token_hash, ask, ask_after"

func scanExecution(scan func(...any) error, extra ...any) (*Execution, error) {
	var e Execution
	var claimed, started, ended int64
	var interrupted int
	dest := append([]any{
		&e.ID, &e.RunID, &e.Number, &e.WorkerHost, &e.WorkerID, &claimed, &started, &ended, &e.LastNumber, &e.SnapshotID,
		&interrupted, &e.tokenHash, &e.Ask, &e.AskAfter,
	}, extra...)
	if err := scan(dest...); err != nil {
		return nil, fmt.Errorf("scan execution: %w", err)
	}
	e.ClaimedAt, e.StartedAt, e.EndedAt, e.Interrupted = fromMicros(claimed), fromMicros(started), fromMicros(ended), interrupted == 1
	return &e, nil
}

// GetExecutions reads executions by reference. Those that do not exist or come
// with a wrong token are left out.
func (r reader) GetExecutions(ctx context.Context, refs []lineshaft.ExecutionRef) (map[string]*Execution, error) {
	tokens := map[string]string{}
	ids := make([]string, len(refs))
	for i, ref := range refs {
		ids[i], tokens[ref.ExecutionID] = ref.ExecutionID, Hash(ref.Token)
	}
	found := map[string]*Execution{}
	if len(ids) == 0 {
		return found, nil
	}
	var args []any
	query := "SELECT " + executionColumns + " FROM executions WHERE id IN " + list(&args, ids)
	err := r.each(ctx, query, args, func(scan rowScan) error {
		e, err := scanExecution(scan)
		if err == nil && e.tokenHash == tokens[e.ID] {
			found[e.ID] = e
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read executions: %w", err)
	}
	return found, nil
}

// LockExecutions reads executions by reference with their runs, all locked until
// the transaction ends. Those that do not exist, have no run any more or come with
// wrong tokens only are left out. The references may be those of several callers, so each
// must be compared with what it names; see Execution.Named.
func (tx *Tx) LockExecutions(ctx context.Context, refs []lineshaft.ExecutionRef) (map[string]*Execution, map[string]*RunHead, error) {
	executions, heads, tokens := map[string]*Execution{}, map[string]*RunHead{}, map[lineshaft.ExecutionRef]bool{}
	ids := make([]string, len(refs))
	for i, ref := range refs {
		ids[i], tokens[lineshaft.ExecutionRef{ExecutionID: ref.ExecutionID, Token: Hash(ref.Token)}] = ref.ExecutionID, true
	}
	if len(ids) == 0 {
		return executions, heads, nil
	}
	var args []any
	query := "SELECT " + lockedColumns + " FROM runs r JOIN executions e ON e.run_id = r.id WHERE e.id IN " + list(&args, ids) + " ORDER BY r.id, e.id" + tx.d.forUpdate
	err := tx.each(ctx, query, args, func(scan rowScan) error {
		var h *RunHead
		e, err := scanExecution(func(dest ...any) (err error) {
			h, err = scanHead(scan, dest...)
			return err
		})
		if err != nil || !tokens[lineshaft.ExecutionRef{ExecutionID: e.ID, Token: e.tokenHash}] {
			return err
		}
		executions[e.ID] = e
		if heads[h.ID] == nil {
			heads[h.ID] = h
		}
		return nil
	})
	if err != nil {
		return nil, nil, fmt.Errorf("lock executions: %w", err)
	}
	return executions, heads, nil
}

// lockedColumns are those of a run and of its execution.
var lockedColumns = qualified("r", headColumns) + ", " + qualified("e", executionColumns)

// qualified puts a table's short name before each column of a list.
func qualified(table, columns string) string {
	names := strings.Split(columns, ",")
	for i, name := range names {
		names[i] = table + "." + strings.TrimSpace(name)
	}
	return strings.Join(names, ", ")
}

// SaveExecutions writes back what a report changed. It leaves the interrupt alone,
// which is set and unset without the run's row lock.
func (tx *Tx) SaveExecutions(ctx context.Context, list []*Execution) error {
	rows := inserts{forms: casts("TEXT", "BIGINT", "BIGINT", "BIGINT", "TEXT")}
	for _, e := range list {
		rows.row(e.ID, micros(e.StartedAt), micros(e.EndedAt), e.LastNumber, e.SnapshotID)
	}
	text, args := rows.padded(tx.d)
	return tx.send(ctx, "save executions", "WITH v (id, started_at, ended_at, last_number, snapshot_id) AS (VALUES "+text+`)
		UPDATE executions SET started_at = v.started_at, ended_at = v.ended_at, last_number = v.last_number,
		snapshot_id = v.snapshot_id FROM v WHERE executions.id = v.id`, args...)
}

// ExtendLeases renews the leases of live executions that a worker holds and that
// have not run out; it returns those that were renewed.
func (tx *Tx) ExtendLeases(ctx context.Context, workerID string, ids []string, lease time.Duration) ([]string, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	args := []any{workerID}
	query := "UPDATE executions SET lease_until = " + tx.d.now + " + " + fmt.Sprint(lease.Microseconds()) +
		" WHERE id IN (SELECT id FROM executions WHERE worker_id = $1 AND id IN " + list(&args, ids) + " AND ended_at = 0 AND lease_until > " + tx.d.now +
		" ORDER BY run_id, id" + tx.d.forUpdate + ") RETURNING id"
	renewed, err := tx.texts(ctx, query, args...)
	if err != nil {
		return nil, fmt.Errorf("extend leases: %w", err)
	}
	return renewed, nil
}

// Held is a live execution as its worker needs to know it.
type Held struct {
	ExecutionID string
	RunID       string
	State       lineshaft.RunState
	Current     bool
	Interrupted bool
	// FollowupID is the oldest follow-up that waits; empty if none does.
	FollowupID string
}

// ListHeld reads the live executions of a worker process.
func (r reader) ListHeld(ctx context.Context, workerID string) ([]Held, error) {
	return collect(ctx, r, "read held executions",
		`SELECT e.id, e.run_id, r.state, r.execution_id, e.interrupted,
		COALESCE((SELECT MIN(f.id) FROM followups f WHERE f.run_id = e.run_id AND f.state <> 'done' AND f.state = 'pending'), '')
		FROM executions e JOIN runs r ON r.id = e.run_id WHERE e.worker_id = $1 AND e.ended_at = 0`, []any{workerID}, func(scan rowScan) (*Held, error) {
			h := &Held{}
			var current string
			var interrupted int
			err := scan(&h.ExecutionID, &h.RunID, &h.State, &current, &interrupted, &h.FollowupID)
			h.Current, h.Interrupted = current == h.ExecutionID, interrupted == 1
			return h, err
		})
}

// SetInterrupted marks a live execution.
func (tx *Tx) SetInterrupted(ctx context.Context, executionID string) error {
	_, err := tx.exec(ctx, "UPDATE executions SET interrupted = 1 WHERE id = $1 AND ended_at = 0", executionID)
	return err
}

// TakeInterrupt unmarks an execution and says whether it was marked: of several callers
// about to notify its worker, one does. If the agent has not begun, the store remembers
// that the execution's process was notified (2): the process that it moves to was not.
func (tx *Tx) TakeInterrupt(ctx context.Context, executionID string, begun bool) (bool, error) {
	left := 0
	if !begun {
		left = 2
	}
	n, err := tx.exec(ctx, "UPDATE executions SET interrupted = $2 WHERE id = $1 AND interrupted = 1", executionID, left)
	return n == 1, err
}

// ListExpired finds live executions whose lease is over, oldest first.
func (r reader) ListExpired(ctx context.Context, limit int) ([]*Execution, error) {
	return r.executions(ctx, "SELECT "+executionColumns+" FROM executions WHERE ended_at = 0 AND lease_until <= "+r.d.now+" ORDER BY lease_until LIMIT $1", limit)
}

// StillExpired says, inside the transaction that ends it, whether an execution is
// live with its lease over: its worker may have renewed it since it was listed.
func (tx *Tx) StillExpired(ctx context.Context, executionID string) (bool, error) {
	var expired bool
	_, err := tx.look(ctx, "read lease", "SELECT CASE WHEN ended_at = 0 AND lease_until <= "+tx.d.now+" THEN 1 ELSE 0 END FROM executions WHERE id = $1"+tx.d.forUpdate,
		[]any{executionID}, toFlag(&expired))
	return expired, err
}

// ListExecutions reads all executions of a run in order.
func (r reader) ListExecutions(ctx context.Context, runID string) ([]*Execution, error) {
	return r.executions(ctx, "SELECT "+executionColumns+" FROM executions WHERE run_id = $1 ORDER BY number", runID)
}

func (r reader) executions(ctx context.Context, query string, args ...any) ([]*Execution, error) {
	var found []*Execution
	err := r.each(ctx, query, args, func(scan rowScan) error {
		e, err := scanExecution(scan)
		found = append(found, e)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read executions: %w", err)
	}
	return found, nil
}

// NewestSnapshot is the blob of the last workspace snapshot of a run that is still
// kept, or "".
func (r reader) NewestSnapshot(ctx context.Context, runID string) (blob string, err error) {
	_, err = r.look(ctx, "read newest snapshot", `SELECT e.snapshot_id FROM executions e JOIN blobs b ON b.id = e.snapshot_id
		WHERE e.run_id = $1 AND (b.expires_at = 0 OR b.expires_at > `+r.d.now+") ORDER BY e.number DESC LIMIT 1", []any{runID}, &blob)
	return blob, err
}

// TokenRun is the run that a run token opens, with the live execution that has the token.
type TokenRun struct {
	RunID       string
	ExecutionID string
	Title       string
	FactoryUID  string
	TraceParent string
	// Held says that the execution still holds the run.
	Held bool
}

// RunOfToken finds the live execution that a run token belongs to. Each call of an agent
// asks it, so it reads nothing long.
func (r reader) RunOfToken(ctx context.Context, token string) (TokenRun, error) {
	var run TokenRun
	var state lineshaft.RunState
	var holder string
	err := r.one(ctx, `SELECT e.run_id, e.id, r.title, r.factory_uid, r.trace_parent, r.state, r.execution_id FROM executions e JOIN runs r ON r.id = e.run_id
		WHERE e.run_token_hash = $1 AND e.ended_at = 0 AND e.lease_until > `+r.d.now, []any{Hash(token)},
		&run.RunID, &run.ExecutionID, &run.Title, toText(&run.FactoryUID), &run.TraceParent, &state, &holder)
	run.Held = holder == run.ExecutionID && state.Held()
	return run, err
}

// ExecutionOfToken finds the execution that a run token was made for, whatever its
// state: one that ended gets that answer instead of being treated as a stranger.
func (r reader) ExecutionOfToken(ctx context.Context, token string) (*Execution, error) {
	found, err := r.executions(ctx, "SELECT "+executionColumns+" FROM executions WHERE run_token_hash = $1", Hash(token))
	if err == nil && len(found) == 0 {
		err = errNoRows
	}
	if err != nil {
		return nil, err
	}
	return found[0], nil
}

// MoveExecution gives a live execution to another worker process.
func (tx *Tx) MoveExecution(ctx context.Context, executionID, workerID string) error {
	return tx.do(ctx, "move execution",
		`UPDATE executions SET worker_id = $1, interrupted = CASE WHEN interrupted = 2 THEN 1 ELSE interrupted END
		WHERE id = $2 AND ended_at = 0`, workerID, executionID)
}

// CountReport counts an event that the agent of an execution reported, if it is still
// within its bounds. The first one beyond them closes the execution for reports, even
// for smaller ones.
func (tx *Tx) CountReport(ctx context.Context, executionID string, bytes, mostEvents, mostBytes int64) (within, first bool, err error) {
	n, err := tx.exec(ctx, `UPDATE executions SET reported_events = reported_events + 1, reported_bytes = reported_bytes + $2
		WHERE id = $1 AND reported_events < $3 AND reported_bytes + $2 <= $4`, executionID, bytes, mostEvents, mostBytes)
	if err != nil {
		return false, false, fmt.Errorf("count report: %w", err)
	}
	if n > 0 {
		return true, false, nil
	}
	n, err = tx.exec(ctx, "UPDATE executions SET reported_bytes = $2 WHERE id = $1 AND reported_bytes < $2", executionID, int64(math.MaxInt64/2))
	if err != nil {
		return false, false, fmt.Errorf("close execution for reports: %w", err)
	}
	return false, n > 0, nil
}

// IsLive says whether an execution has not ended and holds its lease.
func (r reader) IsLive(ctx context.Context, executionID string) (bool, error) {
	return r.exists(ctx, "look for live execution", "SELECT 1 FROM executions WHERE id = $1 AND ended_at = 0 AND lease_until > "+r.d.now, executionID)
}

// CountBusy counts the live executions of a host and the runs that could be
// claimed, the latter at most up to limit.
func (r reader) CountBusy(ctx context.Context, host string, limit int) (live, queued int, err error) {
	err = r.one(ctx, `SELECT (SELECT COUNT(*) FROM executions WHERE worker_host = $1 AND ended_at = 0),
		(SELECT COUNT(*) FROM (SELECT 1 FROM runs`+queueOf(r.d, nil, nil)+` LIMIT $2) AS q)`, []any{host, limit}, &live, &queued)
	return live, queued, err
}

// queueOf selects from runs the queue of a host: all of it, or the runs of some factories. Each
// factory has its own stretch of an index, so the runs of others are not read. $1 is the
// host and $2 the limit.
func queueOf(d *dialect, args *[]any, factories []string) string {
	const waits = " WHERE state = 'QUEUED' AND hold = 0 AND "
	if len(factories) == 0 {
		return d.by("runs_queue") + waits + "worker_host = $1"
	}
	each := make([]string, len(factories))
	for i, uid := range factories {
		*args = append(*args, uid)
		each[i] = fmt.Sprintf(`SELECT id FROM (SELECT id FROM runs%s
			WHERE worker_host = $1 AND worker_host <> 'hosted' AND factory_uid = $%d AND state = 'QUEUED' AND hold = 0 ORDER BY queued_at, id LIMIT $2) AS f%d`, d.by("runs_queue_factory"), len(*args), i)
	}
	return d.by("sqlite_autoindex_runs_1") + waits + "id IN (" + strings.Join(each, " UNION ALL ") + ")"
}

// CountQueued counts the runs that could be claimed for a host, up to a limit: all, or
// those of some factories.
func (r reader) CountQueued(ctx context.Context, host string, limit int, factories ...string) (queued int, err error) {
	args := []any{host, limit}
	query := "SELECT COUNT(*) FROM (SELECT 1 FROM runs" + queueOf(r.d, &args, factories) + " LIMIT $2) AS q"
	err = r.one(ctx, query, args, &queued)
	return queued, err
}

// QueuedHosts reads the worker ids that queued runs are for. It steps from one to the
// next and does not look at the runs between.
func (r reader) QueuedHosts(ctx context.Context, limit int) ([]string, error) {
	var hosts []string
	next := "SELECT worker_host FROM runs" + r.d.by("runs_queue") +
		" WHERE state = 'QUEUED' AND hold = 0 AND worker_host > %s ORDER BY worker_host, queued_at, id LIMIT 1"
	err := r.each(ctx, "WITH RECURSIVE h (host) AS (SELECT ("+fmt.Sprintf(next, "''")+") UNION ALL SELECT ("+fmt.Sprintf(next, "h.host")+
		") FROM h WHERE h.host IS NOT NULL) SELECT host FROM h WHERE host IS NOT NULL LIMIT $1", []any{limit}, func(scan rowScan) error {
		var host string
		err := scan(&host)
		hosts = append(hosts, host)
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("list hosts of queued runs: %w", err)
	}
	return hosts, nil
}

// ExpireLease makes an execution's lease run out now; operators use it to take a
// run from a worker that is known to be gone.
func (tx *Tx) ExpireLease(ctx context.Context, executionID string) error {
	_, err := tx.exec(ctx, "UPDATE executions SET lease_until = 0 WHERE id = $1", executionID)
	return err
}
