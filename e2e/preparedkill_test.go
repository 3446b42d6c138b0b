package e2e

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/overlay"
)

// The worker that is killed has room for three of its five environments: each is 3.8 MB.
const (
	killedEnvironments = 5
	killedCache        = 26_000_000 // one half is for mirrors
	killedBytes        = 3_000_000
	killedFiles        = 102 // a large one, many small ones, and the script of the last set-up command
)

// killedSite is a server with a worker that keeps prepared environments.
type killedSite struct {
	*testing.T
	c            *client.Client
	w            *remoteWorker
	layers       string            // the folder of the store
	environments []string          // their uids
	known        map[string]string // the print of each layer that was seen, by its name
}

func newKilledSite(t *testing.T) *killedSite {
	t.Helper()
	n := newNode(t, filepath.Join(t.TempDir(), "l.db"), "--no-worker", "--lease", "10m", "--log-level", "warn")
	n.start(t.Context())
	dir := t.TempDir()
	t.Cleanup(func() { // after the worker has ended: a killed one leaves mounts
		if err := overlay.Clear(dir); err != nil {
			t.Error(err)
		}
	})
	s := &killedSite{T: t, c: n.client(), layers: filepath.Join(dir, "workers", "mac", "worker", "prepared"), known: map[string]string{}}
	s.w = newWorker(t, n, "mac", "--data-dir", dir, "--isolation", "bubblewrap", "--max-concurrent-runs", "3",
		"--environment-cache", fmt.Sprint(killedCache))
	for i := range killedEnvironments {
		made, err := s.c.Environments.Create(t.Context(), client.EnvironmentConfig{Name: fmt.Sprint("e", i), SetupCommands: []string{
			fmt.Sprintf("head -c %d /dev/zero | tr '\\0' %d > data", killedBytes, i),
			"mkdir many && cd many && for i in $(seq 100); do echo $i > $i; done",
		}})
		if err != nil {
			t.Fatal(err)
		}
		s.environments = append(s.environments, made.UID)
	}
	return s
}

// start starts a run that notes what it finds, once, and then destroys it.
func (s *killedSite) start(environment int) (runID string) {
	s.Helper()
	idle := 0
	started, err := s.c.Runs.Create(s.Context(), client.RunRequest{
		Prompt: "```sh\nlook() { head -c 1 data; echo; tr -d \"$(head -c 1 data)\" < data | wc -c; wc -c < data; ls many | wc -l; }\n" +
			"[ -e seen ] || { look > seen.new && mv seen.new seen; }\nrm -rf data many; echo found $(cat seen)\n```",
		Config: &client.AgentConfig{
			EnvironmentID: s.environments[environment], WorkerHost: "mac", IdleTimeoutMinutes: &idle, Retry: &client.Retry{MaxAttempts: 3},
		},
	})
	if err != nil {
		s.Fatal(err)
	}
	return started.RunID
}

// end waits for a run and looks at what it found.
func (s *killedSite) end(runID string, environment int) {
	s.Helper()
	if run := waitEnd(s.Context(), s.T, s.c, runID); run.State != "SUCCEEDED" {
		s.Fatalf("run %s in environment %d: %+v", runID, environment, run)
	}
	waitOutput(s.T, s.c, runID, fmt.Sprintf("found %d 0 %d 100", environment, killedBytes))
}

// check compares every layer with what it was when it was first seen. The worker does not run.
func (s *killedSite) check() (layers int) {
	s.Helper()
	found, err := os.ReadDir(filepath.Join(s.layers, "layers"))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		s.Fatal(err)
	}
	for _, entry := range found {
		tree := filepath.Join(s.layers, "layers", entry.Name(), "tree")
		hash, files := printOf(s.T, tree)
		if known := s.known[entry.Name()]; known != "" && known != hash {
			s.Errorf("layer %s has changed", entry.Name())
		}
		if s.known[entry.Name()] = hash; files != killedFiles {
			s.Errorf("layer %s has %d files", entry.Name(), files)
		}
	}
	return len(found)
}

// printOf is a print of names, modes and contents, and how many files there are.
func printOf(t *testing.T, dir string) (sum string, files int) {
	t.Helper()
	hash := sha256.New()
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := entry.Info()
		if err != nil {
			return err
		}
		_, _ = fmt.Fprintln(hash, strings.TrimPrefix(path, dir), info.Mode())
		if !entry.Type().IsRegular() {
			return nil
		}
		files++
		text, err := os.ReadFile(path)
		_, _ = hash.Write(text)
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return hex.EncodeToString(hash.Sum(nil)), files
}

// a worker that is killed while it prepares, uses and removes environments damages none of them,
// its runs end right, and the next start gives the space back.
//
//nolint:paralleltest // it writes much, and others measure
func TestX14WorkerKilledWhilePreparing(t *testing.T) {
	rounds := 2
	switch {
	case soak():
		rounds = 200
	case os.Getenv("LINESHAFT_TEST_ALL") != "":
		rounds = 10
	}
	s := newKilledSite(t)
	for range 2 {
		s.end(s.start(0), 0)
	}
	read, err := s.c.Environments.Get(t.Context(), s.environments[0])
	if err != nil || read.Prepared == nil || read.Prepared.Cold != 1 || read.Prepared.Warm != 1 || len(read.Prepared.Layers) != 1 {
		t.Fatalf("%+v, %v", read.Prepared, err)
	}
	seed := faultSeed(t)
	random, layers := rand.New(rand.NewPCG(seed, 14)), 0
	for range rounds {
		runs := map[string]int{}
		for range 3 {
			environment := random.IntN(killedEnvironments)
			runs[s.start(environment)] = environment
		}
		// The moment is what is tried here.
		timer := time.NewTimer(time.Duration(random.Int64N(int64(1500 * time.Millisecond))))
		<-timer.C
		s.w.kill()
		layers += s.check()
		s.w.start()
		for id, environment := range runs {
			s.end(id, environment)
		}
	}
	s.end(s.start(0), 0) // the worker is up, and can be asked to stop
	s.w.stop()
	layers += s.check()
	t.Logf("LINESHAFT_TEST_SEED=%d: %d layers were looked at after %d kills, %d different ones", seed, layers, rounds, len(s.known))
	if len(s.known) < 2 {
		t.Error("hardly anything was kept")
	}
	if left, err := os.ReadDir(filepath.Join(s.layers, "new")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if left, err := os.ReadDir(filepath.Join(s.layers, "views")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("left behind: %v, %v", left, err)
	}
	if taken := diskOf(t, s.layers); taken > killedCache/2 {
		t.Errorf("%d bytes are taken, of %d", taken, killedCache/2)
	}
}

// diskOf adds up the files below a folder.
func diskOf(t *testing.T, dir string) (sum int64) {
	t.Helper()
	err := filepath.WalkDir(dir, func(_ string, entry fs.DirEntry, err error) error {
		if err != nil || !entry.Type().IsRegular() {
			return err
		}
		info, err := entry.Info()
		if err == nil {
			sum += info.Size()
		}
		return err
	})
	if err != nil {
		t.Error(err)
	}
	return sum
}
