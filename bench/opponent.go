package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/lineshaft/lineshaft/internal/pause"
)

// opponent is a server that deliveries are sent to, an anchor or ours, with what must be true
// of its database in the end.
type opponent struct {
	srv     *server
	targets []hitTarget
	// db is nil for the null handler.
	db *database
	// check compares what is stored with the number of answers.
	check    func(ctx context.Context, accepted int) error
	accepted int
}

// startAnchored starts an anchor on a table of its own.
func (s *session) startAnchored(ctx context.Context, engine string, kind anchorKind) (o *opponent, err error) {
	s.progress.stepf("%s: anchor %s", engine, kind)
	order := anchorOrder{
		Kind: kind, Engine: engine, Token: anchorToken, History: s.opts.count(ingressHistory, pastRows+1),
		Profile: s.profileFile(string(kind) + "-" + engine),
	}
	o = &opponent{targets: anchorTargets(anchorToken, ingressHooks)}
	if kind != anchorNull {
		if o.db, err = s.newDatabase(ctx, engine, "anchor"); err != nil {
			return nil, err
		}
		order.Driver, order.DSN = o.db.driver, o.db.dsn
		o.check = func(ctx context.Context, accepted int) error {
			logged, err := o.db.number(ctx, "SELECT COUNT(*) FROM log")
			if err == nil && logged != int64(accepted+order.History) {
				err = fmt.Errorf("the anchor answered %d times with 202 and has %d rows more", accepted, logged-int64(order.History))
			}
			return err
		}
	}
	o.srv, err = s.startAnchor(ctx, order)
	return o, err
}

// ingressPlan has the webhooks of the ingress, with their past.
func (s *session) ingressPlan(c ingressCase) hookPlan {
	return hookPlan{hooks: ingressHooks, filter: c.filter, history: s.opts.count(ingressHistory, pastRows+1)}
}

// startOurs starts the real program.
func (s *session) startOurs(ctx context.Context, engine string, c ingressCase, plan hookPlan) (*opponent, error) {
	made, err := s.makeHooks(ctx, engine, "ingress"+plan.scheme, plan)
	if err != nil {
		return nil, err
	}
	srv, err := s.startHooked(ctx, made, c.id+"-"+engine)
	if err != nil {
		return nil, err
	}
	return &opponent{srv: srv, targets: made.targets, db: made.db, check: func(ctx context.Context, accepted int) error {
		if c.runs {
			return made.check(ctx, accepted, accepted)
		}
		return made.check(ctx, accepted, 0)
	}}, nil
}

// load sends deliveries for a time, of which the first tenth does not count, and waits until the
// server has done what it put off: the next measurement has the machine to itself, and processor
// time has everything in it.
func (s *session) load(ctx context.Context, o *opponent, connections int, length time.Duration) (found hitFound, err error) {
	order := hitOrder{Targets: o.targets, Body: issueBody(), Connections: connections, Duration: length, Warm: length / 10}
	found, err = s.hitOnce(ctx, o.srv, order, s.settle)
	o.accepted += found.Accepted
	return found, err
}

// finish stops the server and compares its database with its answers.
func (o *opponent) finish(ctx context.Context, s *session) error {
	err := o.srv.stop()
	if err == nil && o.check != nil {
		err = o.check(ctx, o.accepted)
	}
	if o.db == nil {
		return err
	}
	return errors.Join(err, s.dropDatabase(ctx, o.db))
}

// waiting waits for a process after its load and says how long.
type waiting func(ctx context.Context, pid int) (time.Duration, error)

// notAtAll is for servers that have other load beside it, or are stopped next.
func notAtAll(context.Context, int) (time.Duration, error) { return 0, nil }

const (
	// idleWatch is how long a server has to use less than a twentieth of a core to be idle.
	idleWatch = 400 * time.Millisecond
	// idleWithin is when waiting for that is given up.
	idleWithin = 2 * time.Minute
)

// awaitIdle waits until a server does nothing more and says how long that took.
func awaitIdle(ctx context.Context, pid int) (time.Duration, error) {
	return idleAfter(ctx, idleWatch, func() (usage, error) { return usageOf(pid) })
}

func idleAfter(ctx context.Context, watch time.Duration, read func() (usage, error)) (time.Duration, error) {
	began := time.Now()
	last, err := read()
	for err == nil && time.Since(began) < idleWithin {
		if !pause.For(ctx, watch) {
			return 0, ctx.Err()
		}
		var now usage
		if now, err = read(); err == nil && now.processor-last.processor < watch/20 {
			return max(0, time.Since(began)-watch), nil
		}
		last = now
	}
	if err == nil {
		err = fmt.Errorf("the server is still busy %s after the load", idleWithin)
	}
	return 0, err
}
