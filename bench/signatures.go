package main

import (
	"context"
	"errors"
	"fmt"
)

const (
	// signatureBar is the least part of the rate with a bearer token.
	signatureBar = 0.85
	// signatureHits is how many deliveries are signed before the clock starts.
	signatureHits = 60_000
	// signatureSenders is the number of connections of B3.
	signatureSenders = 32
	// bearerMode is a token where the others have a scheme.
	bearerMode = ""
)

// signatureModes are measured between two measurements of bearer tokens.
func signatureModes() []string {
	return []string{bearerMode, "github", "stripe", "standard_webhooks", bearerMode}
}

// benchSignatures is B3: signed deliveries with large bodies, next to tokens.
func benchSignatures(ctx context.Context, s *session) error {
	for _, engine := range s.opts.engines {
		if engine == postgres && s.admin == "" {
			s.report.missing("B3", "signatures", engine, errNoPostgres)
			continue
		}
		var all []hitFound
		for _, mode := range signatureModes() {
			found, err := s.measureSignature(ctx, engine, mode)
			if err != nil {
				return fmt.Errorf("%s, %q: %w", engine, mode, err)
			}
			all = append(all, found)
		}
		s.signatureRows(engine, all)
	}
	return nil
}

// measureSignature measures one mode on a database of its own.
func (s *session) measureSignature(ctx context.Context, engine, scheme string) (found hitFound, err error) {
	made, err := s.makeHooks(ctx, engine, "signed", hookPlan{hooks: ingressHooks, scheme: scheme, filter: filterMisses})
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, s.dropDatabase(ctx, made.db)) }()
	srv, err := s.startHooked(ctx, made, "B3-"+engine+"-"+scheme)
	if err != nil {
		return found, err
	}
	s.progress.stepf("B3 %s: %s", engine, schemeTitle(scheme))
	all, err := s.hit(ctx, srv, []int{signatureSenders}, hitOrder{Targets: made.targets, Body: pullBody(), Limit: s.opts.count(signatureHits, 200)})
	if err := errors.Join(err, srv.stop()); err != nil {
		return found, err
	}
	return all[0], made.check(ctx, all[0].Accepted, 0)
}

func schemeTitle(scheme string) string {
	if scheme == bearerMode {
		return "bearer token"
	}
	return "signature " + scheme
}

// signatureRows writes what was found.
func (s *session) signatureRows(engine string, all []hitFound) {
	modes := signatureModes()
	first, last := all[0], all[len(all)-1]
	s.report.anchor("B3", "bearer token, "+engine, figure{first.Rate, perSecond}, figure{last.Rate, perSecond})
	anchor := between(first, last)
	for i, found := range all {
		if modes[i] == bearerMode {
			continue
		}
		line := row{
			ID: "B3", What: schemeTitle(modes[i]), Engine: engine, Measured: figure{found.Rate, perSecond}, Anchor: figure{anchor.Rate, perSecond},
			AnchorName: "bearer token, same body", Ratio: ratio(found.Rate, anchor.Rate), Bar: fmt.Sprintf("≥ %.2f", signatureBar),
			Note: found.beside("token", anchor, engine), Detail: found,
		}
		line.Verdict = judge(line.Ratio >= signatureBar)
		s.report.add(line)
	}
}
