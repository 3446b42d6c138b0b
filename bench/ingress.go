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
	// ingressRounds is how many turns that time is divided into. Anchor and ours take turns, so
	// that a noisy machine hits both.
	ingressRounds = 5
	// sustainedTime is how long the load that must not pile up lasts, sustainedIdle how long the
	// server may be busy after it.
	sustainedTime = 2 * time.Minute
	sustainedIdle = 5 * time.Second
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
	// sustained is the lowest ratio under load that lasts; 0 for none.
	sustained float64
	// runs says that every delivery starts one.
	runs bool
}

// benchIngress is B1: deliveries that start nothing.
func benchIngress(ctx context.Context, s *session) error {
	return s.ingress(ctx, ingressCase{id: "B1", what: "ingress", anchor: anchorOne, filter: filterMisses, bar: 0.80, slower: 2})
}

// benchTriggers is B2: deliveries that start a run each.
func benchTriggers(ctx context.Context, s *session) error {
	return s.ingress(ctx, ingressCase{
		id: "B2", what: "ingress that starts runs", anchor: anchorTwo, filter: filterMatches, bar: 0.45, sustained: 0.30, runs: true,
	})
}

func (s *session) ingress(ctx context.Context, c ingressCase) error {
	return s.onEach(ctx, c.id, c.what, func(ctx context.Context, engine string) error {
		found, err := s.ingressOn(ctx, engine, c)
		if err == nil {
			s.ingressRows(engine, c, found)
		}
		return err
	})
}

// ingressOn lets the anchor and ours take turns, round by round, with each number of connections.
func (s *session) ingressOn(ctx context.Context, engine string, c ingressCase) (found ingressFound, err error) {
	if found.Null, err = s.measureNull(ctx, engine); err != nil {
		return found, err
	}
	anchor, err := s.startAnchored(ctx, engine, c.anchor)
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, anchor.finish(ctx, s)) }()
	ours, err := s.startOurs(ctx, engine, c, s.ingressPlan(c))
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, ours.finish(ctx, s)) }()
	length := s.opts.time(ingressTime, time.Second) / ingressRounds
	for _, connections := range ingressConnections() {
		turns := ingressTurns{Connections: connections}
		for n := range ingressRounds {
			s.progress.stepf("%s %s: %d connections, round %d of %d", c.id, engine, connections, n+1, ingressRounds)
			first, err := s.load(ctx, anchor, connections, length)
			if err != nil {
				return found, fmt.Errorf("anchor %s: %w", c.anchor, err)
			}
			second, err := s.load(ctx, ours, connections, length)
			if err != nil {
				return found, err
			}
			turns.Anchor, turns.Ours = append(turns.Anchor, first), append(turns.Ours, second)
		}
		found.Turns = append(found.Turns, turns)
	}
	if c.sustained > 0 {
		s.progress.stepf("%s %s: sustained", c.id, engine)
		if found.Sustained, err = s.load(ctx, ours, ingressConnections()[0], s.opts.time(sustainedTime, time.Second)); err != nil {
			return found, err
		}
	}
	return found, nil
}

// ingressFound is what was measured on one engine.
type ingressFound struct {
	// Null has one measurement for each number of connections.
	Null  []hitFound     `json:"null"`
	Turns []ingressTurns `json:"turns"`
	// Sustained is ours under load for longer; zero where that is not asked for.
	Sustained hitFound `json:"sustained"`
}

// ingressTurns has the rounds with one number of connections.
type ingressTurns struct {
	Connections int        `json:"connections"`
	Anchor      []hitFound `json:"anchor"`
	Ours        []hitFound `json:"ours"`
}

// hit loads a server with each number of connections in turn.
func (s *session) hit(ctx context.Context, srv *server, connections []int, order hitOrder) (all []hitFound, err error) {
	order.Duration, order.Warm = s.opts.time(ingressTime, 200*time.Millisecond), s.opts.time(ingressWarm, 20*time.Millisecond)
	for _, n := range connections {
		order.Connections = n
		found, err := s.hitOnce(ctx, srv, order, notAtAll)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

// hitOnce sends deliveries and then waits for the server as it is asked to.
func (s *session) hitOnce(ctx context.Context, srv *server, order hitOrder, wait waiting) (found hitFound, err error) {
	order.Address, order.Seed = srv.address(), rand.Uint64()
	before, err := usageOf(srv.cmd.Process.Pid)
	if err != nil {
		return found, err
	}
	if err := s.child(ctx, hitRole, order, &found); err != nil {
		return found, err
	}
	if found.PutOff, err = wait(ctx, srv.cmd.Process.Pid); err != nil {
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

// measureNull measures the null handler.
func (s *session) measureNull(ctx context.Context, engine string) (all []hitFound, err error) {
	null, err := s.startAnchored(ctx, engine, anchorNull)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, null.finish(ctx, s)) }()
	for _, connections := range ingressConnections() {
		found, err := s.load(ctx, null, connections, s.opts.time(ingressTime, time.Second)/ingressRounds)
		if err != nil {
			return nil, err
		}
		all = append(all, found)
	}
	return all, nil
}

// measureOurs measures the real program alone.
func (s *session) measureOurs(ctx context.Context, engine string, c ingressCase) (all []hitFound, err error) {
	ours, err := s.startOurs(ctx, engine, c, s.ingressPlan(c))
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, ours.finish(ctx, s)) }()
	all, err = s.hit(ctx, ours.srv, ingressConnections(), hitOrder{Targets: ours.targets, Body: issueBody()})
	for _, found := range all {
		ours.accepted += found.Accepted
	}
	return all, err
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
	for i, turns := range found.Turns {
		first, last := turns.Anchor[0], turns.Anchor[len(turns.Anchor)-1]
		name := fmt.Sprintf("%s at %d connections, %s", c.anchor, turns.Connections, engine)
		s.report.anchor(c.id, name, figure{first.Rate, perSecond}, figure{last.Rate, perSecond})
		ours, anchor := middle(turns.Ours), middle(turns.Anchor)
		what := fmt.Sprintf("%s, %d connections", c.what, turns.Connections)
		line := row{
			ID: c.id, What: what, Engine: engine, Measured: figure{ours.Rate, perSecond}, Anchor: figure{anchor.Rate, perSecond},
			AnchorName: string(c.anchor), Bar: fmt.Sprintf("≥ %.2f of %s", c.bar, c.anchor),
			Note: fmt.Sprintf("%s; the null handler answers %s", ours.beside(string(c.anchor), anchor, engine), figure{found.Null[i].Rate, perSecond}),
		}
		line.inTurn(turns.each(func(f hitFound) float64 { return f.Rate }))
		line.Verdict = judge(line.Ratio >= c.bar)
		if i == 0 {
			line.Detail = found
		}
		s.report.add(line)
		line = row{
			ID: c.id, What: what + ", p99", Engine: engine, Measured: inMillis(ours.P99), Anchor: inMillis(anchor.P99),
			AnchorName: string(c.anchor), Verdict: shown,
		}
		line.inTurn(turns.each(func(f hitFound) float64 { return float64(f.P99) }))
		if c.slower > 0 {
			line.Bar, line.Verdict = fmt.Sprintf("≤ %.0f × %s", c.slower, c.anchor), judge(line.Ratio <= c.slower)
		}
		s.report.add(line)
	}
	if c.sustained > 0 {
		s.sustainedRow(engine, c, found)
	}
}

// sustainedRow is about load that lasts: what the server puts off must not grow.
func (s *session) sustainedRow(engine string, c ingressCase, found ingressFound) {
	anchor, ours := middle(found.Turns[0].Anchor), found.Sustained
	line := row{
		ID: c.id, What: fmt.Sprintf("%s, %d connections, sustained", c.what, ours.Connections), Engine: engine,
		Measured: figure{ours.Rate, perSecond}, Anchor: figure{anchor.Rate, perSecond}, AnchorName: string(c.anchor),
		Ratio: ratio(ours.Rate, anchor.Rate), Bar: fmt.Sprintf("≥ %.2f of %s, idle within %s", c.sustained, c.anchor, sustainedIdle),
		Note: fmt.Sprintf("%.0f s of load, idle %s after it; p99 %s", ours.Seconds, ours.PutOff.Round(100*time.Millisecond), inMillis(ours.P99)),
	}
	line.Verdict = judge(line.Ratio >= c.sustained && ours.PutOff <= sustainedIdle)
	s.report.add(line)
}

// each compares a figure round by round, ours with the anchor's.
func (t ingressTurns) each(of func(hitFound) float64) (ratios []float64) {
	for n := range t.Ours {
		ratios = append(ratios, ratio(of(t.Ours[n]), of(t.Anchor[n])))
	}
	return ratios
}

// middle is the round in the middle, figure by figure.
func middle(rounds []hitFound) hitFound {
	of := func(value func(hitFound) float64) float64 {
		values := make([]float64, len(rounds))
		for i, found := range rounds {
			values[i] = value(found)
		}
		return median(values)
	}
	return hitFound{
		Connections: rounds[0].Connections,
		Rate:        of(func(f hitFound) float64 { return f.Rate }),
		ServerCPU:   of(func(f hitFound) float64 { return f.ServerCPU }),
		Written:     of(func(f hitFound) float64 { return f.Written }),
		P50:         time.Duration(of(func(f hitFound) float64 { return float64(f.P50) })),
		P99:         time.Duration(of(func(f hitFound) float64 { return float64(f.P99) })),
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
