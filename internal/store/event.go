package store

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
)

// runEvents are consecutive events of one run; the run's row lock is held, so
// numbers have no holes and commit in order.
type runEvents struct {
	runID       string
	executionID string
	first       int64
	drafts      []lineshaft.Draft
}

func (tx *Tx) insertEvents(ctx context.Context, batches []runEvents) error {
	rows := inserts{into: "events (run_id, sequence, id, execution_id, type, time, data, txid)"}
	if tx.d.txid != "" {
		rows.forms = []string{"%s", "%s", "%s", "%s", "%s", "%s", "%s", "CASE WHEN %s = 1 THEN " + tx.d.txid + " ELSE 0 END"}
	}
	for _, b := range batches {
		for i, draft := range b.drafts {
			rows.row(b.runID, b.first+int64(i), tx.newID(), b.executionID, draft.Type, micros(draft.Time), string(draft.Data),
				tx.eventTxid(draft.Type))
		}
	}
	return tx.sendRows(ctx, &rows)
}

// eventTxid is what the stream over all runs orders state changes by, or that PostgreSQL is
// to fill it in.
func (tx *Tx) eventTxid(kind lineshaft.EventType) int64 {
	switch {
	case kind != lineshaft.EventState:
		return 0
	case tx.d.txid != "":
		return 1
	}
	return tx.number
}

const eventColumns = "run_id, sequence, id, execution_id, type, time, data"

func scanEvent(scan func(...any) error, extra ...any) (lineshaft.Event, error) {
	var e lineshaft.Event
	var at int64
	var data string
	dest := append([]any{&e.RunID, &e.Sequence, &e.ID, &e.ExecutionID, &e.Type, &at, &data}, extra...)
	if err := scan(dest...); err != nil {
		return e, fmt.Errorf("scan event: %w", err)
	}
	e.Time, e.Data = fromMicros(at), []byte(data)
	return e, nil
}

// errEnough ends a walk whose budget is used up.
var errEnough = errors.New("enough was read")

// everything is a budget for queries that bound what they return themselves.
const everything = math.MaxInt

// readEvents reads the events that a query returns, until size bytes are read.
func (r reader) readEvents(ctx context.Context, query string, args []any, size int) (events []lineshaft.Event, err error) {
	err = r.each(ctx, query, args, func(scan rowScan) error {
		e, err := scanEvent(scan)
		if err != nil {
			return err
		}
		events = append(events, e)
		if size -= len(e.Data) + EventOverhead; size <= 0 {
			return errEnough
		}
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, fmt.Errorf("read events: %w", err)
	}
	return events, nil
}

// EventOverhead is what an event costs besides its data: its ids, its type and its time.
const EventOverhead = 256

// ListEvents reads events of a run after a sequence, in order: at most limit of them, and
// not more than size bytes, except that a single event is read however long it is. More
// says that the log continues.
//
// The lengths alone show where to stop, and neither engine reads the data for them:
// PostgreSQL does not send the rows beyond only for us to throw them away.
func (r reader) ListEvents(ctx context.Context, runID string, after int64, limit int, size int64) (events []lineshaft.Event, more bool, err error) {
	query := "SELECT " + eventColumns + ` FROM events WHERE run_id = $1 AND sequence > $2 AND sequence <= COALESCE((
		SELECT MAX(sequence) FROM (SELECT sequence, size, SUM(size) OVER (ORDER BY sequence) AS total FROM (
			SELECT sequence, octet_length(data) + $4 AS size FROM events WHERE run_id = $1 AND sequence > $2 ORDER BY sequence LIMIT $3
		) AS lengths) AS sums WHERE total <= $5 OR total = size), 0) ORDER BY sequence`
	events, err = r.readEvents(ctx, query, []any{runID, after, limit, EventOverhead, size}, everything)
	if err != nil || len(events) == 0 {
		return nil, false, err
	}
	err = r.one(ctx, "SELECT EXISTS (SELECT 1 FROM events WHERE run_id = $1 AND sequence > $2)", []any{runID, events[len(events)-1].Sequence}, &more)
	if err != nil {
		return nil, false, fmt.Errorf("look for more events: %w", err)
	}
	return events, more, nil
}

// ListEventsBefore reads the last events of a run before a sequence, in order: at most
// limit of them, and not more than size bytes, except that a single event is read however
// long it is.
func (r reader) ListEventsBefore(ctx context.Context, runID string, before int64, limit int, size int64) ([]lineshaft.Event, error) {
	query := "SELECT " + eventColumns + ` FROM events WHERE run_id = $1 AND sequence < $2 AND sequence >= COALESCE((
		SELECT MIN(sequence) FROM (SELECT sequence, size, SUM(size) OVER (ORDER BY sequence DESC) AS total FROM (
			SELECT sequence, octet_length(data) + $4 AS size FROM events WHERE run_id = $1 AND sequence < $2 ORDER BY sequence DESC LIMIT $3
		) AS lengths) AS sums WHERE total <= $5 OR total = size), $2) ORDER BY sequence`
	return r.readEvents(ctx, query, []any{runID, before, limit, EventOverhead, size}, everything)
}

// The steps of environments are among the first events of a run, unless set-up prints more.
const (
	stepWindow = 1000
	stepsLimit = 1000
)

// ListEnvironmentSteps reads the notices of some kinds about environments at the beginning of runs, run by run. No
// text of an agent looks like one: quotes in texts are escaped.
func (r reader) ListEnvironmentSteps(ctx context.Context, runIDs []string, kinds ...string) ([]lineshaft.Event, error) {
	if len(runIDs) == 0 || len(kinds) == 0 {
		return nil, nil
	}
	args := []any{stepWindow, lineshaft.EventNotice, stepsLimit}
	query := "SELECT " + eventColumns + " FROM events WHERE run_id IN " + list(&args, runIDs)
	var either []string
	for _, kind := range kinds {
		args = append(args, `%"environment":{"step":"`+kind+`"%`)
		either = append(either, fmt.Sprintf("data LIKE $%d", len(args)))
	}
	query += " AND sequence <= $1 AND type = $2 AND (" + strings.Join(either, " OR ") + ") ORDER BY run_id, sequence LIMIT $3"
	return r.readEvents(ctx, query, args, everything)
}

// ListMessages reads the last messages of a run, the newest first. It searches the last
// window events without reading those that are not messages, and stops once what it has
// read is larger than size: one message may be as long as many.
func (r reader) ListMessages(ctx context.Context, runID string, window int64, limit, size int) ([]lineshaft.Event, error) {
	last, _, err := r.LogEnd(ctx, runID)
	if err != nil {
		return nil, err
	}
	// The bounds are on the key alone, so that both engines walk it backward.
	query := "SELECT " + eventColumns + " FROM events WHERE run_id = $1 AND sequence > $2 AND type = $3 ORDER BY sequence DESC LIMIT $4"
	return r.readEvents(ctx, query, []any{runID, max(0, last-window), lineshaft.EventMessage, limit}, size)
}

// FactoryOfRun says which factory a run belongs to; none is the empty text.
func (r reader) FactoryOfRun(ctx context.Context, runID string) (factoryUID string, err error) {
	err = r.must(ctx, "run", runID, "SELECT factory_uid FROM runs WHERE id = $1", []any{runID}, toText(&factoryUID))
	return factoryUID, err
}

// LogEnd says how far a run's log goes and in which state the run is.
func (r reader) LogEnd(ctx context.Context, runID string) (last int64, state lineshaft.RunState, err error) {
	err = r.must(ctx, "run", runID, "SELECT last_sequence, state FROM runs WHERE id = $1", []any{runID}, &last, &state)
	return last, state, err
}

// StatePosition is a place in the stream of state changes over all runs.
type StatePosition struct {
	Txid     int64  `json:"txid"`
	RunID    string `json:"run_id"`
	Sequence int64  `json:"sequence"`
}

// Compare orders places.
func (p StatePosition) Compare(other StatePosition) int {
	return cmp.Or(cmp.Compare(p.Txid, other.Txid), cmp.Compare(p.RunID, other.RunID), cmp.Compare(p.Sequence, other.Sequence))
}

// Encode writes a place as a setting keeps it.
func (p StatePosition) Encode() string {
	text, _ := json.Marshal(p) // numbers and a text always can be
	return string(text)
}

// DecodePosition reads what Encode wrote.
func DecodePosition(text string) (p StatePosition, err error) {
	if err := json.Unmarshal([]byte(text), &p); err != nil {
		return p, fmt.Errorf("decode place: %w", err)
	}
	return p, nil
}

// StateChange is a state event with its place.
type StateChange struct {
	Position StatePosition
	Event    lineshaft.Event
}

// ListStateChanges reads settled state changes after a place, in an order that
// nothing committed later can be put before.
func (s *Store) ListStateChanges(ctx context.Context, after StatePosition, limit int) ([]StateChange, error) {
	query := "SELECT " + eventColumns + ", txid FROM events WHERE (txid, run_id, sequence) > ($1, $2, $3) AND txid > 0 AND txid < " + s.d.horizon +
		" ORDER BY txid, run_id, sequence LIMIT $4"
	return collect(ctx, s.reader, "read state changes", query, []any{after.Txid, after.RunID, after.Sequence, limit}, scanStateChange)
}

func scanStateChange(scan rowScan) (*StateChange, error) {
	change := &StateChange{}
	e, err := scanEvent(scan, &change.Position.Txid)
	change.Event, change.Position.RunID, change.Position.Sequence = e, e.RunID, e.Sequence
	return change, err
}

// ListRunStateChanges reads the state changes of one run after a place, settled or not. It
// goes through the log of the run, which is finite, or through what came since the place,
// whichever is shorter: either may be very long.
func (r reader) ListRunStateChanges(ctx context.Context, after StatePosition, runID string, last int64) ([]StateChange, error) {
	place := []any{after.Txid, after.RunID, after.Sequence}
	var since int64
	err := r.one(ctx, "SELECT COUNT(*) FROM (SELECT txid FROM events WHERE (txid, run_id, sequence) > ($1, $2, $3) AND txid > 0 AND txid < "+r.d.ahead+" ORDER BY txid, run_id, sequence LIMIT $4) AS since",
		append(place, last), &since)
	if err != nil {
		return nil, fmt.Errorf("count state changes: %w", err)
	}
	// The order names the index to follow.
	where, order := "(txid, run_id, sequence) > ($1, $2, $3) AND txid > 0 AND run_id || '' = $4", " ORDER BY txid, run_id, sequence"
	if since >= last {
		where, order = "(txid + 0, run_id, sequence) > ($1, $2, $3) AND txid + 0 > 0 AND run_id = $4", " ORDER BY sequence"
	}
	query := "SELECT " + eventColumns + ", txid FROM events WHERE " + where + " AND txid < " + r.d.ahead + order
	changes, err := collect(ctx, r, "read state changes of run", query, append(place, runID), scanStateChange)
	if err != nil {
		return nil, err
	}
	slices.SortFunc(changes, func(a, b StateChange) int { return a.Position.Compare(b.Position) })
	return changes, nil
}

// NextStateChange says when the first state change after a place happened, settled or not,
// and in which transaction; a zero time is none.
func (s *Store) NextStateChange(ctx context.Context, after StatePosition) (at time.Time, txid int64, err error) {
	query := "SELECT time, txid FROM events WHERE (txid, run_id, sequence) > ($1, $2, $3) AND txid > 0 AND txid < " + s.d.ahead +
		" ORDER BY txid, run_id, sequence LIMIT 1"
	_, err = s.look(ctx, "read next state change", query, []any{after.Txid, after.RunID, after.Sequence}, toTime(&at), &txid)
	return at, txid, err
}

// unseenHolder is a transaction that the database does not show.
const unseenHolder = "a transaction that this user of the database may not see"

// HeldBack says since when state changes wait for a transaction that began before them and
// has not ended, and which one that is, as far as this user of the database may see it. A
// zero time is none; with one writer there never is. That changes wait is reported even if
// finding the transaction fails.
func (s *Store) HeldBack(ctx context.Context) (since time.Time, by string, err error) {
	if s.d.holder == "" {
		return since, "", nil
	}
	query := "SELECT time FROM events WHERE txid > 0 AND txid >= " + s.d.horizon + " AND txid < " + s.d.ahead + " ORDER BY txid, run_id, sequence LIMIT 1"
	if found, err := s.look(ctx, "look for what is held back", query, nil, toTime(&since)); !found {
		return since, "", err
	}
	found, err := s.look(ctx, "look for what holds back", s.d.holder, nil, &by)
	if !found {
		by = unseenHolder
	}
	return since, by, err
}

// StateEnd is the place after which nothing has been settled yet.
func (s *Store) StateEnd(ctx context.Context) (StatePosition, error) {
	var p StatePosition
	query := "SELECT txid, run_id, sequence FROM events WHERE txid > 0 AND txid < " + s.d.horizon + " ORDER BY txid DESC, run_id DESC, sequence DESC LIMIT 1"
	_, err := s.look(ctx, "read end of state changes", query, nil, &p.Txid, &p.RunID, &p.Sequence)
	return p, err
}

// Horizon is the number below which every transaction has ended.
func (s *Store) Horizon(ctx context.Context) (txid int64, err error) {
	if err := s.one(ctx, "SELECT "+s.d.horizon, nil, &txid); err != nil {
		return 0, fmt.Errorf("read horizon: %w", err)
	}
	return txid, nil
}

// ListUnsettled reads the places of state changes after another that can be seen
// already, although a transaction that is still running may come before them.
func (s *Store) ListUnsettled(ctx context.Context, after StatePosition) ([]StatePosition, error) {
	// The place comes first: SQLite begins at the first bound that it reads, and would
	// otherwise go through every state change there ever was.
	query := "SELECT txid, run_id, sequence FROM events WHERE (txid, run_id, sequence) > ($1, $2, $3) AND txid > 0 AND txid < " + s.d.ahead
	return collect(ctx, s.reader, "read unsettled state changes", query, []any{after.Txid, after.RunID, after.Sequence}, func(scan rowScan) (*StatePosition, error) {
		p := &StatePosition{}
		return p, scan(&p.Txid, &p.RunID, &p.Sequence)
	})
}
