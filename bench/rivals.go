package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// rivalWithin bounds the installation of a rival.
const rivalWithin = 8 * time.Minute

// rival is what you might pick instead.
type rival struct {
	name string
	// promise is what its 2xx says about the delivery.
	promise string
	// install brings the program into a folder that Git ignores.
	install func(ctx context.Context, s *session, dir string) (program string, err error)
	// start starts it with webhooks as those of B1 and says how to send to them.
	start func(ctx context.Context, s *session, program string) (*server, []hitTarget, error)
}

func rivals() []rival {
	return []rival{webhookRival(), n8nRival()}
}

// benchRivals is B11: the load of B1 on what a user might pick instead.
func benchRivals(ctx context.Context, s *session) error {
	engine := s.opts.engines[0]
	if engine == postgres && s.admin == "" {
		s.report.missing("B11", "rivals", engine, errNoPostgres)
		return nil
	}
	c := ingressCase{id: "B11", what: "ingress", filter: filterMisses}
	first, err := s.measureOurs(ctx, engine, c)
	if err != nil {
		return err
	}
	found := map[string][]hitFound{}
	why := map[string]error{}
	for _, r := range rivals() {
		s.progress.stepf("B11: %s", r.name)
		if found[r.name], why[r.name] = s.measureRival(ctx, r); ctx.Err() != nil {
			return ctx.Err()
		}
	}
	last, err := s.measureOurs(ctx, engine, c)
	if err != nil {
		return err
	}
	s.rivalRows(engine, first, last, found, why)
	return nil
}

// measureRival installs, starts and loads a rival.
func (s *session) measureRival(ctx context.Context, r rival) (all []hitFound, err error) {
	if !s.opts.rivals {
		return nil, errors.New("left out by -rivals=false")
	}
	dir := filepath.Join(s.root, ".tools", "rivals", r.name)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return nil, fmt.Errorf("make folder: %w", err)
	}
	limited, cancel := context.WithTimeout(ctx, rivalWithin)
	defer cancel()
	program, err := r.install(limited, s, dir)
	if err != nil {
		return nil, fmt.Errorf("install: %w", err)
	}
	srv, targets, err := r.start(ctx, s, program)
	if err != nil {
		return nil, fmt.Errorf("start: %w", err)
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	return s.hit(ctx, srv, ingressConnections(), hitOrder{Targets: targets, Body: issueBody(), Want: http.StatusOK})
}

// rivalRows writes what was found: ours against each of them.
func (s *session) rivalRows(engine string, first, last []hitFound, found map[string][]hitFound, why map[string]error) {
	for i := range first {
		s.report.anchor("B11", fmt.Sprintf("Lineshaft at %d connections, %s", first[i].Connections, engine), figure{first[i].Rate, perSecond}, figure{last[i].Rate, perSecond})
	}
	for _, r := range rivals() {
		if err := why[r.name]; err != nil {
			s.report.missing("B11", "against "+r.name, engine, err)
			continue
		}
		for i, other := range found[r.name] {
			ours := between(first[i], last[i])
			line := row{
				ID: "B11", What: fmt.Sprintf("against %s, %d connections", r.name, other.Connections), Engine: engine, Measured: figure{ours.Rate, perSecond},
				Anchor: figure{other.Rate, perSecond}, AnchorName: r.name, Ratio: ratio(ours.Rate, other.Rate), Bar: "faster",
				Note:   r.promise + "; " + ours.beside(r.name, other, engine),
				Detail: map[string]any{"ours": []hitFound{first[i], last[i]}, "other": other},
			}
			line.Verdict = judge(line.Ratio > 1)
			s.report.add(line)
		}
	}
}

// launchRival starts a program that is ready when it answers at a path.
func launchRival(ctx context.Context, s *session, name, ready, address string, env []string, argv ...string) (*server, error) {
	cmd := exec.Command(argv[0], argv[1:]...) //nolint:noctx // it is stopped, not killed, when ctx ends
	log, err := os.Create(filepath.Join(s.dir, name+".log"))
	if err != nil {
		return nil, fmt.Errorf("open log: %w", err)
	}
	defer func() { _ = log.Close() }() // the program has its own by then
	cmd.Stdout, cmd.Stderr, cmd.Env = log, log, env
	return launchAt(ctx, cmd, address, "", ready)
}
