package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"time"
)

const (
	// ingressTime is how long each load lasts, ingressWarm how much of it does not count.
	ingressTime = 20 * time.Second
	ingressWarm = 2 * time.Second
	// anchorToken is the bearer token of the anchors; ours are as long.
	anchorToken = "ws_benchmark_anchor_token_0123456789abcdef"
)

// ingressConnections are the numbers of senders at once.
func ingressConnections() []int { return []int{32, 256} }

// ingressCase is what B1 and B2 differ in.
type ingressCase struct {
	id, what string
	anchor   anchorKind
	filter   string
	// bar is the lowest ratio to the anchor's rate, slower the highest to its p99; 0 for
	// none.
	bar, slower float64
	// runs says that every delivery starts one.
	runs bool
}

// benchIngress is B1: deliveries that start nothing.
func benchIngress(ctx context.Context, s *session) error {
	return s.ingress(ctx, ingressCase{id: "B1", what: "ingress", anchor: anchorOne, filter: filterMisses, bar: 0.80, slower: 2})
}

// benchTriggers is B2: deliveries that start a run each.
func benchTriggers(ctx context.Context, s *session) error {
	return s.ingress(ctx, ingressCase{id: "B2", what: "ingress that starts runs", anchor: anchorTwo, filter: filterMatches, bar: 0.45, runs: true})
}

func (s *session) ingress(ctx context.Context, c ingressCase) error {
	for _, engine := range s.opts.engines {
		if engine == postgres && s.admin == "" {
			s.report.missing(c.id, c.what, engine, errNoPostgres)
			continue
		}
		found, err := s.ingressOn(ctx, engine, c)
		if err != nil {
			return fmt.Errorf("%s: %w", engine, err)
		}
		s.ingressRows(engine, c, found)
	}
	return nil
}

// ingressOn measures the anchors, ours, and the anchors again.
func (s *session) ingressOn(ctx context.Context, engine string, c ingressCase) (found ingressFound, err error) {
	if found.NullFirst, err = s.measureAnchor(ctx, engine, anchorNull); err != nil {
		return found, err
	}
	if found.First, err = s.measureAnchor(ctx, engine, c.anchor); err != nil {
		return found, err
	}
	if found.Ours, err = s.measureOurs(ctx, engine, c); err != nil {
		return found, err
	}
	if found.Last, err = s.measureAnchor(ctx, engine, c.anchor); err != nil {
		return found, err
	}
	found.NullLast, err = s.measureAnchor(ctx, engine, anchorNull)
	return found, err
}

// ingressFound has one measurement for each number of connections.
type ingressFound struct {
	NullFirst []hitFound `json:"null_first"`
	First     []hitFound `json:"anchor_first"`
	Ours      []hitFound `json:"ours"`
	Last      []hitFound `json:"anchor_last"`
	NullLast  []hitFound `json:"null_last"`
}

// hit loads a server with each number of connections in turn.
func (s *session) hit(ctx context.Context, srv *server, connections []int, order hitOrder) (all []hitFound, err error) {
	order.Address = srv.address()
	order.Duration, order.Warm = s.opts.time(ingressTime, 200*time.Millisecond), s.opts.time(ingressWarm, 20*time.Millisecond)
	for _, n := range connections {
		order.Connections, order.Seed = n, rand.Uint64()
		found, err := s.hitOnce(ctx, srv, order)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

func (s *session) hitOnce(ctx context.Context, srv *server, order hitOrder) (found hitFound, err error) {
	before, err := usageOf(srv.cmd.Process.Pid)
	if err != nil {
		return found, err
	}
	if err := s.child(ctx, hitRole, order, &found); err != nil {
		return found, err
	}
	after, err := usageOf(srv.cmd.Process.Pid)
	if err != nil {
		return found, err
	}
	found.ServerCPU = ratio(float64((after.processor - before.processor).Microseconds()), float64(found.Accepted))
	found.Written = ratio(float64(after.written-before.written), float64(found.Accepted))
	return found, found.check()
}

// measureAnchor measures an anchor on a table of its own.
func (s *session) measureAnchor(ctx context.Context, engine string, kind anchorKind) (all []hitFound, err error) {
	s.progress.stepf("%s: anchor %s", engine, kind)
	order := anchorOrder{Kind: kind, Engine: engine, Token: anchorToken, History: s.opts.count(ingressHistory, pastRows+1), Profile: s.profileFile(string(kind) + "-" + engine)}
	var db *database
	if kind != anchorNull {
		if db, err = s.newDatabase(ctx, engine, "anchor"); err != nil {
			return nil, err
		}
		order.Driver, order.DSN = db.driver, db.dsn
		defer func() { err = errors.Join(err, s.dropDatabase(ctx, db)) }()
	}
	srv, err := s.startAnchor(ctx, order)
	if err != nil {
		return nil, err
	}
	all, err = s.hit(ctx, srv, ingressConnections(), hitOrder{Targets: anchorTargets(anchorToken, ingressHooks), Body: issueBody()})
	if err := errors.Join(err, srv.stop()); err != nil || kind == anchorNull {
		return all, err
	}
	logged, err := db.number(ctx, "SELECT COUNT(*) FROM log")
	if err == nil && logged != int64(accepted(all)+order.History) {
		err = fmt.Errorf("the anchor answered %d times with 202 and has %d rows more", accepted(all), logged-int64(order.History))
	}
	return all, err
}

func accepted(all []hitFound) (n int) {
	for _, found := range all {
		n += found.Accepted
	}
	return n
}

// measureOurs measures the real program.
func (s *session) measureOurs(ctx context.Context, engine string, c ingressCase) (all []hitFound, err error) {
	made, err := s.makeHooks(ctx, engine, "ingress", hookPlan{hooks: ingressHooks, filter: c.filter, history: s.opts.count(ingressHistory, pastRows+1)})
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, s.dropDatabase(ctx, made.db)) }()
	srv, err := s.startHooked(ctx, made, c.id+"-"+engine)
	if err != nil {
		return nil, err
	}
	s.progress.stepf("%s %s: load", c.id, engine)
	all, err = s.hit(ctx, srv, ingressConnections(), hitOrder{Targets: made.targets, Body: issueBody()})
	if err := errors.Join(err, srv.stop()); err != nil {
		return nil, err
	}
	runs := 0
	if c.runs {
		runs = accepted(all)
	}
	return all, made.check(ctx, accepted(all), runs)
}

// startHooked starts the real program on webhooks, or this one when its profile is
// wanted.
func (s *session) startHooked(ctx context.Context, made *hooked, name string) (*server, error) {
	if profile := s.profileFile(name); profile != "" {
		return s.startChild(ctx, serveOrder{Database: made.db.url, DataDir: made.dataDir, NoWorker: true, Log: made.dataDir + ".log", Profile: profile})
	}
	return s.startLogged(ctx, made.db.url, made.dataDir)
}

// ingressRows writes what was found.
func (s *session) ingressRows(engine string, c ingressCase, found ingressFound) {
	for i, ours := range found.Ours {
		first, last := found.First[i], found.Last[i]
		s.report.anchor(c.id, fmt.Sprintf("%s at %d connections, %s", c.anchor, ours.Connections, engine), figure{first.Rate, perSecond}, figure{last.Rate, perSecond})
		nothing := between(found.NullFirst[i], found.NullLast[i])
		s.report.anchor(c.id, fmt.Sprintf("N at %d connections, beside %s", ours.Connections, engine), figure{found.NullFirst[i].Rate, perSecond}, figure{found.NullLast[i].Rate, perSecond})
		anchor := between(first, last)
		what := fmt.Sprintf("%s, %d connections", c.what, ours.Connections)
		line := row{
			ID: c.id, What: what, Engine: engine, Measured: figure{ours.Rate, perSecond}, Anchor: figure{anchor.Rate, perSecond},
			AnchorName: string(c.anchor), Ratio: ratio(ours.Rate, anchor.Rate), Bar: fmt.Sprintf("≥ %.2f of %s", c.bar, c.anchor),
			Note: ours.beside(string(c.anchor), anchor, engine) + fmt.Sprintf("; the null handler answers %s", figure{nothing.Rate, perSecond}),
		}
		line.Verdict = judge(line.Ratio >= c.bar)
		if i == 0 {
			line.Detail = found
		}
		s.report.add(line)
		line = row{
			ID: c.id, What: what + ", p99", Engine: engine, Measured: inMillis(ours.P99), Anchor: inMillis(anchor.P99),
			AnchorName: string(c.anchor), Ratio: ratio(float64(ours.P99), float64(anchor.P99)), Verdict: shown,
		}
		if c.slower > 0 {
			line.Bar, line.Verdict = fmt.Sprintf("≤ %.0f × %s", c.slower, c.anchor), judge(line.Ratio <= c.slower)
		}
		s.report.add(line)
	}
}

// between is the middle of two measurements of the same.
func between(a, b hitFound) hitFound {
	a.Rate, a.ServerCPU, a.Written = (a.Rate+b.Rate)/2, (a.ServerCPU+b.ServerCPU)/2, (a.Written+b.Written)/2
	a.P50, a.P99 = (a.P50+b.P50)/2, (a.P99+b.P99)/2
	return a
}

// beside says what the rate has no room for, next to the same of something else.
func (f hitFound) beside(name string, other hitFound, engine string) string {
	text := fmt.Sprintf("p50 %s, %s %s; processor time for a delivery %s, %s %s", inMillis(f.P50), name, inMillis(other.P50),
		figure{f.ServerCPU, microseconds}, name, figure{other.ServerCPU, microseconds})
	if engine == postgres {
		return text + ", both without the database server's"
	}
	return text + fmt.Sprintf("; written for a delivery %s, %s %s", figure{f.Written / 1e3, kilobytes}, name, figure{other.Written / 1e3, kilobytes})
}
