package main

import (
	"context"
	"errors"
	"fmt"
	"time"
)

const (
	// signatureBar is the least part of the rate with a bearer token.
	signatureBar = 0.85
	// signatureHits is the most deliveries of a mode, which are signed before the clock starts.
	signatureHits = 60_000
	// signatureSenders is the number of connections of B3.
	signatureSenders = 32
	// bearerMode is a token where the others have a scheme.
	bearerMode = ""
)

// signatureModes take turns; bearer tokens, the anchor, are first.
func signatureModes() []string { return []string{bearerMode, "github", "stripe", "standard_webhooks"} }

// benchSignatures is B3: signed deliveries with large bodies, next to tokens.
func benchSignatures(ctx context.Context, s *session) error {
	return s.onEach(ctx, "B3", "signatures", s.signaturesOn)
}

// signaturesOn lets the modes take turns, each with a server and a database of its own.
func (s *session) signaturesOn(ctx context.Context, engine string) (err error) {
	var servers []*opponent
	for _, mode := range signatureModes() {
		o, err := s.startOurs(ctx, engine, ingressCase{id: "B3-" + mode}, hookPlan{hooks: ingressHooks, scheme: mode, filter: filterMisses})
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, o.finish(ctx, s)) }()
		servers = append(servers, o)
	}
	length := s.opts.time(ingressTime, time.Second) / ingressRounds
	order := hitOrder{
		Body: pullBody(), Connections: signatureSenders, Duration: length, Warm: length / 10, Limit: s.opts.count(signatureHits, 2000) / ingressRounds,
	}
	rounds := make([][]hitFound, len(servers))
	for n := range ingressRounds {
		for i, o := range servers {
			s.progress.stepf("B3 %s: %s, round %d of %d", engine, schemeTitle(signatureModes()[i]), n+1, ingressRounds)
			order.Targets = o.targets
			found, err := s.hitOnce(ctx, o.srv, order, s.settle)
			if err != nil {
				return err
			}
			o.accepted += found.Accepted
			rounds[i] = append(rounds[i], found)
		}
	}
	s.signatureRows(engine, rounds)
	return nil
}

func schemeTitle(scheme string) string {
	if scheme == bearerMode {
		return "bearer token"
	}
	return "signature " + scheme
}

// signatureRows writes what was found, round by round next to the tokens.
func (s *session) signatureRows(engine string, rounds [][]hitFound) {
	first, last := rounds[0][0], rounds[0][len(rounds[0])-1]
	s.report.anchor("B3", "bearer token, "+engine, figure{first.Rate, perSecond}, figure{last.Rate, perSecond})
	anchor := middle(rounds[0])
	for i, mode := range signatureModes()[1:] {
		turns := ingressTurns{Connections: signatureSenders, Anchor: rounds[0], Ours: rounds[i+1]}
		found := middle(turns.Ours)
		line := row{
			ID: "B3", What: schemeTitle(mode), Engine: engine, Measured: figure{found.Rate, perSecond}, Anchor: figure{anchor.Rate, perSecond},
			AnchorName: "bearer token, same body", Bar: fmt.Sprintf("≥ %.2f", signatureBar),
			Note: found.beside("token", anchor, engine), Detail: turns,
		}
		line.inTurn(turns.each(func(f hitFound) float64 { return f.Rate }))
		line.Verdict = judge(line.Ratio >= signatureBar)
		s.report.add(line)
	}
}
