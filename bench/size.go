package main

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/app"
	"github.com/lineshaft/lineshaft/internal/config"
	"github.com/lineshaft/lineshaft/internal/control"
	"github.com/lineshaft/lineshaft/internal/control/trigger"
	"github.com/lineshaft/lineshaft/internal/harness"
)

// sizeCase is a delivery whose place in the database is measured.
type sizeCase struct {
	what  string
	body  []byte
	count int
	// lines is how many lines the agent of its run prints; without a run it is negative.
	lines int
	// bar is the most bytes that one may take; 0 for none.
	bar float64
}

func (s *session) sizeCases() []sizeCase {
	small, large := issueBody(), pullBody()
	return []sizeCase{
		{"delivery of 2 KB", small, s.opts.count(4000, 40), -1, 3000},
		{"delivery of 27 KB", large, s.opts.count(1000, 40), -1, 0.4 * float64(len(large))},
		{"delivery of 2 KB with a run of one line", small, s.opts.count(2000, 40), 1, 7000},
		{"delivery of 2 KB with a run of 20 lines", small, s.opts.count(2000, 40), 20, 0},
	}
}

// benchSize is B16: what deliveries and their runs take in the database.
func benchSize(ctx context.Context, s *session) error {
	return s.onEach(ctx, "B16", "size", func(ctx context.Context, engine string) error {
		for _, c := range s.sizeCases() {
			s.progress.stepf("B16 %s: %s", engine, c.what)
			bytes, err := s.sizeOf(ctx, engine, c)
			if err != nil {
				return fmt.Errorf("%s: %w", c.what, err)
			}
			line := row{
				ID: "B16", What: c.what, Engine: engine, Measured: figure{bytes / 1e3, kilobytes}, Verdict: shown,
				Anchor: figure{float64(len(c.body)) / 1e3, kilobytes}, AnchorName: "the body alone", Ratio: ratio(bytes, float64(len(c.body))),
			}
			if c.bar > 0 {
				line.Bar, line.Verdict = fmt.Sprintf("≤ %.1f KB", c.bar/1e3), judge(bytes <= c.bar)
			}
			s.report.add(line)
		}
		return nil
	})
}

// sizeOf is by how much a database grows for each delivery of a kind, everything settled.
func (s *session) sizeOf(ctx context.Context, engine string, c sizeCase) (bytes float64, err error) {
	filter := filterMisses
	if c.lines >= 0 {
		filter = filterMatches
	}
	made, err := s.makeHooks(ctx, engine, "size", hookPlan{hooks: ingressHooks, filter: filter})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, s.dropDatabase(ctx, made.db)) }()
	before, err := made.db.size(ctx)
	if err != nil {
		return 0, err
	}
	if err := s.sizeFill(ctx, made, c); err != nil {
		return 0, err
	}
	after, err := made.db.size(ctx)
	return float64(after-before) / float64(c.count), err
}

// sizeFill sends the deliveries, lets their runs end, and stops when all is settled.
func (s *session) sizeFill(ctx context.Context, made *hooked, c sizeCase) (err error) {
	cfg := config.Default()
	cfg.Listen, cfg.Database, cfg.DataDir, cfg.NoWorker = "127.0.0.1:0", made.db.url, made.dataDir, true
	server, err := app.Start(ctx, cfg, app.Options{Version: "bench", Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Stop(context.WithoutCancel(ctx))) }()
	for i := range c.count {
		s.progress.at(i, c.count)
		if err := sizeSend(ctx, server.Control(), made.targets[i%len(made.targets)], c.body, i); err != nil {
			return err
		}
	}
	if c.lines >= 0 {
		round := queueRound{Slots: 8, Runs: c.count}
		if err := s.drain(ctx, server.Control(), filepath.Join(made.dataDir, "worker"), printer{lines: c.lines}, &round); err != nil {
			return err
		}
		if round.Ended < round.Runs {
			return fmt.Errorf("%d of %d runs ended in time", round.Ended, round.Runs)
		}
	}
	if err := awaitLists(ctx, made.db); err != nil {
		return err
	}
	return awaitNone(ctx, made.db, "SELECT COUNT(*) FROM deliveries WHERE webhook_uid = ''")
}

func sizeSend(ctx context.Context, c *control.Service, to hitTarget, body []byte, i int) error {
	return c.Receive(ctx, filepath.Base(to.Path), func(hook *trigger.Hook) error {
		name := "delivery-" + strconv.Itoa(i)
		headers := "Content-Type: application/json\nUser-Agent: bench\n" + to.IDHeader + ": " + name
		_, err := c.Accept(ctx, trigger.Received{
			Hook: hook, Body: body, Identity: name, IdentitySource: "header " + to.IDHeader, RemoteAddr: "127.0.0.1",
			Exchange: trigger.Exchange{Headers: headers, AnswerStatus: 202},
		})
		return err
	})
}

// size is what the database takes on the disk.
func (d *database) size(ctx context.Context) (n int64, err error) {
	if d.engine == postgres {
		err = d.with(ctx, func(ctx context.Context, db *sql.DB) error {
			_, err := db.ExecContext(ctx, "CHECKPOINT")
			return err
		})
		if err != nil {
			return 0, err
		}
		return d.number(ctx, "SELECT pg_database_size(current_database())")
	}
	info, err := os.Stat(d.url)
	if err != nil {
		return 0, err
	}
	return info.Size(), nil
}

// printer is an agent in process that prints lines, one event each, and succeeds.
type printer struct {
	idle

	lines int
}

// Open makes a session.
func (p printer) Open(context.Context, harness.Environment) (harness.Session, error) { return p, nil }

// Turn prints.
func (p printer) Turn(_ context.Context, _ lineshaft.Turn, emit harness.Emit) (lineshaft.TurnResult, error) {
	for i := range p.lines {
		emit(lineshaft.NewDraft(lineshaft.EventOutput, time.Now(), lineshaft.OutputData{Stream: "stdout", Text: fmt.Sprint(i) + words}))
	}
	return lineshaft.TurnResult{State: lineshaft.Succeeded}, nil
}
