package control_test

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/control/notify"
	"github.com/lineshaft/lineshaft/internal/control/overview"
	"github.com/lineshaft/lineshaft/internal/store/storetest"
)

func (b *callbackBench) backlog() notify.CallbackBacklog {
	b.Helper()
	wantCode(b, b.s.WatchCallbacks(b.Context()), "")
	return b.s.CallbackBacklog()
}

func (b *callbackBench) late(c lineshaft.Caller) []overview.Attention {
	b.Helper()
	return b.attention(c)[overview.AttentionLate]
}

// Unread changes are late, and people are notified; what waits for an attempt is counted.
func TestI5BacklogOfCallbacks(t *testing.T) {
	t.Parallel()
	eachCallback(t, func(b *callbackBench) {
		b.start(lineshaft.NewRun{})
		b.clock.advance(time.Hour)
		if got := b.backlog(); got != (notify.CallbackBacklog{}) {
			b.Errorf("without an endpoint: %+v", got)
		}
		began := b.clock.now()
		n := b.endpoint(notify.NewNotification{States: []lineshaft.RunState{lineshaft.Queued}})
		if got := b.backlog(); got.Lag > b.clock.now().Sub(began)+time.Second {
			b.Errorf("of before the endpoint: %+v", got)
		}
		b.start(lineshaft.NewRun{})
		b.settle()
		b.clock.advance(2 * time.Minute)
		if got := b.backlog(); got.Lag < 2*time.Minute || got.Lag > 3*time.Minute || got.HeldBy != "" || got.Pending != 0 || got.Overdue != 0 {
			b.Errorf("not looked at for two minutes: %+v", got)
		}
		factory := b.factory("one", "one").UID
		if got := b.late(b.admin); len(got) != 1 || got[0].At.IsZero() || len(b.late(b.caller(lineshaft.RoleViewer, factory))) != 0 {
			b.Errorf("people are told: %+v", got)
		}
		if log := b.log.String(); strings.Count(log, "callbacks are late") != 1 {
			b.Error(log)
		}
		b.fan()
		if got := b.backlog(); got.Lag != 0 || got.Pending != 1 || len(b.late(b.admin)) != 0 {
			b.Errorf("looked at: %+v", got)
		}
		b.clock.advance(time.Minute)
		if got := b.backlog(); got.Overdue < time.Minute || got.Overdue > 2*time.Minute {
			b.Errorf("due for a minute: %+v", got)
		}
		b.receiver.says(status(500))
		b.send()
		if got := b.backlog(); got.Overdue != 0 || got.Pending != 1 {
			b.Errorf("tried, and to be tried again: %+v", got)
		}
		b.enable(n.ID, false)
		b.clock.advance(time.Hour)
		b.enable(n.ID, true) // due at once
		b.clock.advance(time.Minute)
		if got := b.backlog(); got.Overdue < time.Minute || got.Overdue > 2*time.Minute {
			b.Errorf("due since it was enabled: %+v", got)
		}
		b.receiver.says(nil)
		b.send()
		b.claim(1) // a change that nobody wants
		b.fan()
		b.send()
		b.clock.advance(time.Hour)
		if got := b.backlog(); got != (notify.CallbackBacklog{}) {
			b.Errorf("at rest: %+v", got)
		}
	})
}

// On PostgreSQL a transaction that writes, in any database of the server, holds callbacks
// back. It is named.
func TestI5BacklogNamesTheTransaction(t *testing.T) {
	t.Parallel()
	b := openCallbacks(t, storetest.Postgres(t), &receiver{})
	b.endpoint(notify.NewNotification{})
	elsewhere, err := sql.Open("pgx", storetest.Postgres(t))
	wantCode(b, err, "")
	defer func() { _ = elsewhere.Close() }()
	tx, err := elsewhere.BeginTx(t.Context(), nil)
	wantCode(b, err, "")
	var pid int
	var database, number string
	wantCode(b, tx.QueryRowContext(t.Context(), "SELECT pg_backend_pid(), current_database(), CAST(pg_current_xact_id() AS TEXT)").Scan(&pid, &database, &number), "")
	b.start(lineshaft.NewRun{})
	more, err := b.s.FanOut(t.Context())
	wantCode(b, err, "")
	b.clock.advance(2 * time.Minute)
	held, late := b.backlog(), b.late(b.admin)
	since, by, err := b.store.HeldBack(t.Context())
	wantCode(b, err, "")
	wantCode(b, tx.Rollback(), "")
	if more || held.Lag < 2*time.Minute || held.HeldBy == "" || since.IsZero() || by == "" {
		t.Errorf("held back: %+v since %s by %q", held, since, by)
	}
	// Another test may have an older transaction open; then that one is named.
	if !strings.Contains(held.HeldBy, "process ") || !strings.Contains(held.HeldBy, " in database ") || strings.Contains(held.HeldBy, strconv.Itoa(pid)) != strings.Contains(held.HeldBy, database) {
		t.Errorf("%q does not name process %d in database %s", held.HeldBy, pid, database)
	}
	if len(late) != 1 || strings.Contains(late[0].Reason, database) || !strings.Contains(late[0].Reason, "transaction") {
		t.Errorf("people are told %+v", late)
	}
	b.fan()
	if got := b.backlog(); got.Lag != 0 || got.HeldBy != "" {
		t.Errorf("after it ended: %+v", got)
	}
}

// What holds callbacks back may be hidden from the user of the database. That they are late
// is reported all the same.
func TestI5BacklogWithoutTheRightToLook(t *testing.T) {
	t.Parallel()
	database := storetest.Postgres(t)
	storetest.Exec(t, database, "GRANT ALL ON SCHEMA public TO pg_signal_backend", "GRANT ALL ON ALL TABLES IN SCHEMA public TO pg_signal_backend")
	b := openCallbacks(t, as(database, "pg_signal_backend"), &receiver{}) // a role that sees as little as any
	b.endpoint(notify.NewNotification{})
	b.start(lineshaft.NewRun{})
	b.fan()
	held := storetest.Hold(t, storetest.Postgres(t), "runs") // elsewhere, by someone else
	b.start(lineshaft.NewRun{})
	b.clock.advance(2 * time.Minute)
	if got := b.backlog(); got.Lag < 2*time.Minute || !strings.HasPrefix(got.HeldBy, "process ") || strings.Contains(got.HeldBy, "since") {
		t.Errorf("when it began is hidden: %+v", got)
	}
	storetest.Exec(t, database, "REVOKE SELECT ON pg_prepared_xacts FROM PUBLIC")
	b.clock.advance(2 * time.Minute)
	wantCode(b, b.s.WatchCallbacks(t.Context()), lineshaft.CodeInternal)
	if got := b.s.CallbackBacklog(); got.Lag < 4*time.Minute || !strings.Contains(got.HeldBy, "may not see") || got.Pending != 1 || got.Overdue < 4*time.Minute || len(b.late(b.admin)) != 1 {
		t.Errorf("it must not be looked for: %+v", got)
	}
	held.Release()
	b.fan()
	if got := b.backlog(); got.Lag != 0 || got.HeldBy != "" || got.Pending != 2 {
		t.Errorf("after it ended: %+v", got)
	}
}

// as is an address of a database for another role.
func as(database, role string) string {
	separator := "?"
	if strings.Contains(database, "?") {
		separator = "&"
	}
	return database + separator + "role=" + role
}

// A round that is stuck in the database must be reported: looking does not wait for it.
func TestI5BacklogDoesNotWaitForARound(t *testing.T) {
	t.Parallel()
	b := openCallbacks(t, storetest.Postgres(t), &receiver{})
	b.endpoint(notify.NewNotification{})
	b.start(lineshaft.NewRun{})
	b.fan()
	b.start(lineshaft.NewRun{})
	b.settle()
	held := storetest.Hold(t, b.database, "run_bodies")
	round, looked := make(chan error, 1), make(chan error, 1)
	go func() {
		_, err := b.s.FanOut(t.Context())
		round <- err
	}()
	held.Waiting()
	b.clock.advance(2 * time.Minute)
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	go func() { looked <- b.s.WatchCallbacks(ctx) }()
	select {
	case err := <-looked:
		wantCode(b, err, "")
	case <-ctx.Done():
		t.Error("it waits for the round")
	}
	if got := b.s.CallbackBacklog(); got.Lag < 2*time.Minute || got.HeldBy != "" || got.Pending != 1 {
		t.Errorf("while a round is stuck: %+v", got)
	}
	held.Release()
	wantCode(b, <-round, "")
	if got := b.backlog(); got.Lag != 0 || got.Pending != 2 {
		t.Errorf("after the round: %+v", got)
	}
}

// In a database that was moved to another server, what came along has numbers that the server
// will not reach for years. It waits for nobody, and is reported to nobody when it goes.
func TestI5BacklogLeavesOutWhatLiesAhead(t *testing.T) {
	t.Parallel()
	before := openCallbacks(t, storetest.Postgres(t), &receiver{})
	n := before.endpoint(notify.NewNotification{})
	old := before.ended()
	before.fan()
	before.send()
	storetest.Exec(t, before.database,
		"DELETE FROM notification_deliveries",
		"UPDATE events SET txid = txid + 1000000000000 WHERE txid > 0",
		`UPDATE settings SET value = '{"txid":1000000000000}' WHERE name = 'notification_position'`,
		"UPDATE notifications SET since = '1000000000000:1000000000000:'")
	b := openCallbacks(t, before.database, &receiver{})
	must[bool](b.bench)(b.s.FanOut(t.Context()))
	run := b.start(lineshaft.NewRun{}).RunID
	b.fan()
	b.send()
	b.clock.advance(time.Hour)
	if got := b.backlog(); got != (notify.CallbackBacklog{}) || len(b.late(b.admin)) != 0 {
		t.Errorf("all was looked at: %+v", got)
	}
	if since, by, err := b.store.HeldBack(t.Context()); !since.IsZero() || err != nil {
		t.Errorf("held back since %s by %q, %v", since, by, err)
	}
	wantCode(b, b.s.DeleteRun(t.Context(), b.admin, old), "")
	b.wantEvents(b.deliveries(n.ID, ""), b.stateIDs(run))
}
