package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"time"
)

// startMargin is how much longer a start through the server may take at the 99th
// percentile than a start without it.
const startMargin = 25 * time.Millisecond

// benchStarts is B5: from the request until the agent's process runs.
func benchStarts(ctx context.Context, s *session) error {
	return s.onEach(ctx, "B5", "start latency", func(ctx context.Context, engine string) error {
		db, err := s.newDatabase(ctx, engine, "starts")
		if err != nil {
			return err
		}
		found, err := s.measureStarts(ctx, db)
		if err != nil {
			return err
		}
		s.startRows(engine, found)
		return s.dropDatabase(ctx, db)
	})
}

func (s *session) measureStarts(ctx context.Context, db *database) (found startsFound, err error) {
	dataDir := filepath.Join(s.dir, "starts-"+db.engine)
	order := startsOrder{Samples: s.opts.count(200, 4), DataDir: dataDir, Dir: filepath.Join(s.dir, "direct-"+db.engine)}
	var srv *server
	if profile := s.profileFile("starts-" + db.engine); profile != "" {
		order.Supervisor = []string{s.self, superviseRole}
		srv, err = s.startChild(ctx, serveOrder{Database: db.url, DataDir: dataDir, Profile: profile})
	} else {
		srv, err = s.startServer(ctx, db.url, dataDir)
		if err == nil {
			order.Supervisor = []string{srv.cmd.Path, superviseRole}
		}
	}
	if err != nil {
		return found, err
	}
	defer func() { err = errors.Join(err, srv.stop()) }()
	order.URL = srv.url
	s.progress.stepf("B5 %s: %d starts", db.engine, order.Samples)
	return found, s.child(ctx, startsRole, order, &found)
}

// child runs this program in another role: orders in, findings out.
func (s *session) child(ctx context.Context, role string, order, found any) error {
	input, err := json.Marshal(order)
	if err != nil {
		return fmt.Errorf("encode order: %w", err)
	}
	cmd := exec.CommandContext(ctx, s.self, role)
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) }
	cmd.WaitDelay = 10 * time.Second
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	go func() {
		_, _ = pipe.Write(input) // a child that ends early says why on standard error
		_ = pipe.Close()
	}()
	text, err := cmd.Output()
	if err != nil {
		return fmt.Errorf("%s: %w", role, err)
	}
	if err := json.Unmarshal(text, found); err != nil {
		return fmt.Errorf("%s: read findings: %w", role, err)
	}
	return nil
}

// startRows writes what was found.
func (s *session) startRows(engine string, found startsFound) {
	through, direct := found.total(), found.Direct
	first, last := ends(direct)
	s.report.anchor("B5", "direct start (p50), "+engine, inMillis(percentile(first, 50)), inMillis(percentile(last, 50)))
	for _, p := range []float64{50, 99} {
		measured, anchor := percentile(through, p), percentile(direct, p)
		line := row{
			ID: "B5", What: fmt.Sprintf("start latency, p%.0f", p), Engine: engine, Measured: inMillis(measured),
			Anchor: inMillis(anchor), AnchorName: "the same process started directly in the same sandbox (" + found.Sandbox + ")",
			Ratio: ratio(float64(measured), float64(anchor)), Verdict: shown,
		}
		if p == 99 {
			line.Bar, line.Verdict = fmt.Sprintf("≤ anchor + %d ms", startMargin.Milliseconds()), judge(measured <= anchor+startMargin)
			line.Note = fmt.Sprintf("%+.1f ms to the anchor; of the p50, %s until the server made the run, %s more until a worker claimed it, %s more until the process ran; the request was answered after %s",
				float64(measured-anchor)/float64(time.Millisecond), inMillis(found.p50((*startSample).untilQueued)), inMillis(found.p50((*startSample).untilClaimed)),
				inMillis(found.p50((*startSample).untilRunning)), inMillis(found.p50((*startSample).untilAnswered)))
			line.Detail = found
		}
		s.report.add(line)
	}
}

// startsOrder is what the load generator of B5 gets.
type startsOrder struct {
	URL        string   `json:"url"`
	Samples    int      `json:"samples"`
	Supervisor []string `json:"supervisor"`
	// DataDir is that of the server: hidden from agents there and here.
	DataDir string `json:"data_dir"`
	// Dir is for the workspaces of direct starts.
	Dir string `json:"dir"`
}

// startsFound is what it found: one sample each, in turn.
type startsFound struct {
	Sandbox string          `json:"sandbox"`
	Through []startSample   `json:"through"`
	Direct  []time.Duration `json:"direct_ns"`
}

// startSample has the moments of one start through the server. All come from one
// machine's clock, though from three processes.
type startSample struct {
	Sent     time.Time `json:"sent"`
	Answered time.Time `json:"answered"`
	// Queued and Claimed are the times of the run's state changes.
	Queued  time.Time `json:"queued"`
	Claimed time.Time `json:"claimed"`
	// Running is what the agent's process itself saw when it ran.
	Running time.Time `json:"running"`
}

func (t *startSample) untilQueued() time.Duration   { return t.Queued.Sub(t.Sent) }
func (t *startSample) untilClaimed() time.Duration  { return t.Claimed.Sub(t.Queued) }
func (t *startSample) untilRunning() time.Duration  { return t.Running.Sub(t.Claimed) }
func (t *startSample) untilAnswered() time.Duration { return t.Answered.Sub(t.Sent) }

func (f startsFound) total() []time.Duration {
	return f.each(func(t *startSample) time.Duration { return t.Running.Sub(t.Sent) })
}

func (f startsFound) p50(part func(*startSample) time.Duration) time.Duration {
	return percentile(f.each(part), 50)
}

func (f startsFound) each(part func(*startSample) time.Duration) []time.Duration {
	out := make([]time.Duration, len(f.Through))
	for i := range f.Through {
		out[i] = part(&f.Through[i])
	}
	return out
}

// startsChild is the load generator of B5.
func startsChild(ctx context.Context, in io.Reader, out io.Writer) error {
	var order startsOrder
	if err := json.NewDecoder(in).Decode(&order); err != nil {
		return fmt.Errorf("read order: %w", err)
	}
	load, err := newStartLoad(ctx, order)
	if err != nil {
		return err
	}
	found := startsFound{Sandbox: load.sandbox.Name()}
	for range order.Samples {
		through, err := load.through(ctx)
		if err != nil {
			return err
		}
		direct, err := load.direct(ctx)
		if err != nil {
			return err
		}
		found.Through, found.Direct = append(found.Through, through), append(found.Direct, direct)
	}
	return json.NewEncoder(out).Encode(found)
}
