package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control"
)

const (
	// recentWithin is how far back recent runs go, and recentUntil when the last of
	// them began: all that ended had an hour for it.
	recentWithin = 8 * 24 * time.Hour
	recentUntil  = time.Hour + time.Minute
	// longLog is how many events one run has.
	longLog = 5000
	// recentFactories is how many factories have recent runs.
	recentFactories = 5
)

// recent is a database of fillDatabase that is in use: configured as a team
// has it, with runs of the last days and deliveries.
type recent struct {
	db *database
	// runs are those that are not recent; recent ones have the numbers that follow.
	runs, added int
	began       time.Time
	// deliveries and audit are how many the webhook and the log have.
	deliveries, audit int
	team              team
	// folded is how long it took to count the recent ends for the first time, longest its
	// longest transaction.
	folded, longest time.Duration
}

// makeRecent adds to a database what makes it look used.
func (s *session) makeRecent(ctx context.Context, engine string, runs int) (*recent, error) {
	db, err := s.fillDatabase(ctx, engine, runs)
	if err != nil {
		return nil, err
	}
	r := &recent{
		db: db, runs: runs, added: runs / 10, began: time.Now().Add(-recentWithin),
		deliveries: s.opts.count(10_000, 200), audit: s.opts.count(100_000, 500),
	}
	s.progress.stepf("B13 %s: a team on %s runs", engine, thousands(int64(runs)))
	if err := r.inside(ctx, func(c *control.Service) (err error) { r.team, err = newTeam(ctx, c, s.opts.count); return err }); err != nil {
		return nil, fmt.Errorf("make a team: %w", err)
	}
	s.progress.stepf("B13 %s: recent runs after %s", engine, thousands(int64(runs)))
	if err := db.with(ctx, r.fill); err != nil {
		return nil, fmt.Errorf("make recent runs: %w", err)
	}
	s.progress.stepf("B13 %s: count the ends of %s", engine, thousands(int64(r.added)))
	return r, r.inside(ctx, func(c *control.Service) error { return errors.Join(r.fold(ctx, c), settleAll(ctx, c)) })
}

// settleAll settles what was filled in at once, as a server has long done with runs of the last days.
func settleAll(ctx context.Context, c *control.Service) error {
	for _, settle := range []func(context.Context) (bool, error){c.SettleRuns, c.SettleDeliveries} {
		for more := true; more; {
			var err error
			if more, err = settle(ctx); err != nil {
				return fmt.Errorf("settle what was filled in: %w", err)
			}
		}
	}
	return nil
}

// inside calls fn with a server on the database that does nothing of its own accord.
func (r *recent) inside(ctx context.Context, fn func(c *control.Service) error) error {
	cfg := config.Default()
	cfg.Listen, cfg.Database, cfg.DataDir, cfg.NoWorker = "127.0.0.1:0", r.db.url, r.db.dataDir, true
	cfg.AdminKey = adminKey
	server, err := app.Start(ctx, cfg, app.Options{Version: "bench", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	return errors.Join(fn(server.Control()), server.Stop(context.WithoutCancel(ctx)))
}

// fold counts the ends of recent runs, as the first start after an update does.
func (r *recent) fold(ctx context.Context, c *control.Service) error {
	began := time.Now()
	for {
		step := time.Now()
		n, err := c.FoldRates(ctx)
		if err != nil {
			return fmt.Errorf("count ends: %w", err)
		}
		if n == 0 {
			r.folded = time.Since(began)
			return nil
		}
		r.longest = max(r.longest, time.Since(step))
	}
}

// dialect writes recent runs, in the factories of the team.
func (r *recent) dialect() fillDialect {
	d := fillDialects()[r.db.engine]
	d.every = max(1, (recentWithin-recentUntil).Milliseconds()/int64(max(r.added, 1)))
	d.began = r.began.UnixMilli() - int64(r.runs)*d.every
	var factory strings.Builder
	factory.WriteString("CASE works / 5")
	for i, uid := range r.team.factories[:recentFactories] {
		fmt.Fprintf(&factory, " WHEN %d THEN '%s'", i, uid)
	}
	d.factory = factory.String() + " END"
	return d
}

// id is that of a recent run, by its number.
func (r *recent) id(i int) string {
	d := r.dialect()
	h := fmt.Sprintf("%012x", d.began+int64(r.runs+i)*d.every)
	return fmt.Sprintf("%s-%s-7000-8000-%012x", h[:8], h[8:], r.runs+i)
}

func (r *recent) fill(ctx context.Context, db *sql.DB) error {
	d := r.dialect()
	for _, statement := range d.before {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	for _, statement := range d.statements() {
		if _, err := db.ExecContext(ctx, statement, r.runs, r.runs+r.added); err != nil {
			return fmt.Errorf("insert: %w\n%s", err, statement)
		}
	}
	hooks := &hooked{db: r.db, targets: []hitTarget{{Path: "/" + r.team.webhooks[0]}}, history: r.deliveries}
	for _, step := range []func(context.Context, *sql.DB) error{r.fillDetails, r.fillLog, r.fillAudit, hooks.fill, r.refuse} {
		if err := step(ctx, db); err != nil {
			return err
		}
	}
	for _, statement := range d.after {
		if _, err := db.ExecContext(ctx, statement); err != nil {
			return fmt.Errorf("%s: %w", statement, err)
		}
	}
	return nil
}

// fillDetails gives failures their codes, says what started some runs, and asks questions.
func (r *recent) fillDetails(ctx context.Context, db *sql.DB) error {
	for code, ending := range map[string]string{"agent_process_failed": "%2", "run_timeout": "%5", "budget_exceeded": "%8"} {
		if _, err := db.ExecContext(ctx, "UPDATE runs SET error_code = $1 WHERE id >= $2 AND (state = 'FAILED' OR state = 'ERROR') AND id LIKE $3", code, r.id(0), ending); err != nil {
			return fmt.Errorf("give failures a code: %w", err)
		}
	}
	for _, of := range []struct{ key, value, ending string }{
		{lineshaft.MetadataAutomation, r.team.automation, "%3"}, {lineshaft.MetadataWebhook, r.team.webhooks[0], "%3"},
	} {
		_, err := db.ExecContext(ctx, `INSERT INTO run_tags (tag, run_id, updated_at)
			SELECT CAST($1 AS TEXT), id, updated_at FROM runs WHERE id >= $2 AND id LIKE $3`,
			"m:"+of.key+"="+of.value, r.id(0), of.ending)
		if err != nil {
			return fmt.Errorf("say what started runs: %w", err)
		}
	}
	_, err := db.ExecContext(ctx, "UPDATE runs SET state = 'BLOCKED' WHERE id IN (SELECT id FROM runs WHERE id >= $1 AND state = 'QUEUED' ORDER BY id LIMIT 20)", r.id(0))
	if err != nil {
		return fmt.Errorf("ask questions: %w", err)
	}
	return nil
}

// fillLog gives one run a long log.
func (r *recent) fillLog(ctx context.Context, db *sql.DB) error {
	at := r.began.UnixMicro()
	execution := fmt.Sprintf("x%d", r.runs+1)
	err := insertMany(ctx, db, r.db.engine, "events (run_id, sequence, id, execution_id, type, time, data, txid)", 8, longLog, func(i int) []any {
		kind, data := "message", fmt.Sprintf(`{"role":"assistant","text":"Step %d: the **test** in `+"`module`"+` fails because of a missing file."}`, i)
		switch i % 5 {
		case 1:
			kind, data = "tool_call", fmt.Sprintf(`{"id":"t%d","category":"command","name":"bash","input":{"command":"go test ./... -run Test%d"}}`, i, i)
		case 2:
			kind, data = "tool_result", fmt.Sprintf(`{"id":"t%d","state":"completed","output":"ok  example.com/module%d 0.2s\nok  example.com/other 0.1s"}`, i-1, i)
		case 3:
			kind, data = "usage", `{"model":"model-a","input_tokens":1200,"output_tokens":300,"cost_micros":4000}`
		}
		return []any{r.id(1), i + 3, fmt.Sprintf("long-%d", i), execution, kind, at + int64(i)*1000, data, 0}
	})
	if err != nil {
		return fmt.Errorf("write a long log: %w", err)
	}
	_, err = db.ExecContext(ctx, "UPDATE runs SET last_sequence = $1 WHERE id = $2", longLog+2, r.id(1))
	return err
}

func (r *recent) fillAudit(ctx context.Context, db *sql.DB) error {
	actions := []string{"run.cancel", "agent.update", "webhook.rotate", "session.create", "secret.update"}
	step := (recentWithin - time.Hour).Milliseconds() / int64(r.audit)
	err := insertMany(ctx, db, r.db.engine, "audit_log (id, actor_uid, actor_type, actor_name, key_id, action, target_type, target_id, remote_addr, request_id, detail)", 11, r.audit, func(i int) []any {
		h := fmt.Sprintf("%012x", r.began.UnixMilli()+int64(i)*step)
		action := actions[i%len(actions)]
		target, _, _ := strings.Cut(action, ".")
		return []any{
			fmt.Sprintf("%s-%s-7000-8000-%012x", h[:8], h[8:], i), fmt.Sprintf("user_%d", i%20), string(lineshaft.User), fmt.Sprintf("Person %d", i%20), "", action,
			target, fmt.Sprintf("target-%d", i%1000), "127.0.0.1", fmt.Sprintf("request-%d", i), "{}",
		}
	})
	if err != nil {
		return fmt.Errorf("write the audit log: %w", err)
	}
	return nil
}

// refuse makes one delivery in some fifteen one that was not accepted.
func (r *recent) refuse(ctx context.Context, db *sql.DB) error {
	_, err := db.ExecContext(ctx, "UPDATE deliveries SET status = 'rejected_auth' WHERE id LIKE '%7'")
	return err
}
