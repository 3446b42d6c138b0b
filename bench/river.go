package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"time"
)

const riverModule = "github.com/riverqueue/river/cmd/river"

// riverRates are what River's own benchmark says of itself.
type riverRates struct {
	// Continuous inserts jobs all the time while they are worked. It is 0 when
	// River gave up, for the reason given: it wants to insert 75,000 jobs within its
	// own time limit first, which a slow disk does not allow.
	Continuous float64 `json:"continuous_per_second"`
	GaveUp     string  `json:"gave_up,omitempty"`
	// BurnDown inserts them before the clock starts, as B6 does with runs.
	BurnDown float64 `json:"burn_down_per_second"`
}

// buildRiver builds River's command in a module of its own, so that it is not a
// dependency of ours. (`go run module@version` asks the proxy for a list of
// versions, which some proxies do not have.)
func (s *session) buildRiver(ctx context.Context) (string, error) {
	if s.opts.river == "" {
		return "", errors.New("left out by -river")
	}
	s.progress.stepf("build River %s", s.opts.river)
	dir := filepath.Join(s.dir, "river")
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return "", fmt.Errorf("build River: %w", err)
	}
	module := fmt.Sprintf("module anchor\n\ngo 1.25.0\n\nrequire %s %s\n", riverModule, s.opts.river)
	if err := os.WriteFile(filepath.Join(dir, "go.mod"), []byte(module), 0o644); err != nil {
		return "", fmt.Errorf("build River: %w", err)
	}
	file := filepath.Join(dir, "river")
	cmd := exec.CommandContext(ctx, "go", "build", "-mod=mod", "-o", file, riverModule)
	cmd.Dir = dir
	if text, err := cmd.CombinedOutput(); err != nil {
		return "", fmt.Errorf("build River %s: %w: %s", s.opts.river, err, lastLine(string(text)))
	}
	return file, nil
}

// riverBench lets River measure itself on a database of its own, with the same
// durability as ours.
func (s *session) riverBench(ctx context.Context, engine string) (rates riverRates, err error) {
	program, err := s.river()
	if err != nil {
		return rates, err
	}
	db, err := s.newDatabase(ctx, engine, "river")
	if err != nil {
		return rates, err
	}
	address := db.url
	if engine == sqlite {
		address = "sqlite://" + db.url + "?_pragma=busy_timeout(60000)&_pragma=journal_mode(WAL)&_pragma=synchronous(FULL)"
	}
	if _, err := riverOutput(ctx, program, "migrate-up", "--database-url", address); err != nil {
		return rates, fmt.Errorf("migrate River: %w", err)
	}
	duration := s.opts.time(20*time.Second, 2*time.Second)
	s.progress.stepf("B6 %s: River, continuous, %s", engine, duration)
	rates.Continuous, err = riverRate(riverOutput(ctx, program, "bench", "--database-url", address, "--duration", duration.String()))
	if err != nil {
		rates.GaveUp = err.Error()
	}
	jobs := s.opts.count(20_000, 200)
	s.progress.stepf("B6 %s: River, %d jobs", engine, jobs)
	rates.BurnDown, err = riverRate(riverOutput(ctx, program, "bench", "--database-url", address, "--num-total-jobs", strconv.Itoa(jobs)))
	if err != nil {
		return rates, err
	}
	return rates, s.dropDatabase(ctx, db)
}

// riverOutput runs River. When River fails, it prints mostly its usage; only the line
// that says why is kept.
func riverOutput(ctx context.Context, program string, args ...string) (string, error) {
	text, err := exec.CommandContext(ctx, program, args...).CombinedOutput()
	if err == nil {
		return string(text), nil
	}
	for line := range strings.Lines(string(text)) {
		if why, ok := strings.CutPrefix(strings.TrimSpace(line), "Error: "); ok {
			return "", errors.New(why)
		}
	}
	return "", fmt.Errorf("%w: %s", err, lastLine(string(text)))
}

// riverTotal matches the last line of `river bench`.
var riverTotal = regexp.MustCompile(`overall job/sec \[\s*([0-9.]+)\s*\]`)

// riverRate reads jobs per second from what `river bench` printed.
func riverRate(text string, err error) (float64, error) {
	if err != nil {
		return 0, fmt.Errorf("run River: %w", err)
	}
	found := riverTotal.FindStringSubmatch(text)
	if found == nil {
		return 0, fmt.Errorf("run River: no total in its output: %s", lastLine(text))
	}
	return strconv.ParseFloat(found[1], 64)
}

// lastLine is the last one that says something.
func lastLine(text string) string {
	lines := strings.FieldsFunc(text, func(r rune) bool { return r == '\n' || r == '\r' })
	if len(lines) == 0 {
		return ""
	}
	return lines[len(lines)-1]
}
