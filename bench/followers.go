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
	"slices"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/pause"
)

const (
	followRate = 1000
	// followerBar is the memory of one follower, in bytes.
	followerBar = 40_000
)

// benchFollowers is B8: one run that talks, and many who listen.
func benchFollowers(ctx context.Context, s *session) error {
	return s.onEach(ctx, "B8", "followers", func(ctx context.Context, engine string) error {
		counts := slices.Compact([]int{1, s.opts.count(100, 2), s.opts.count(1000, 10)})
		var rounds []followRound
		for _, followers := range append(counts, 1) { // the anchor again at the end
			round, err := s.followRound(ctx, engine, followers)
			if err != nil {
				return fmt.Errorf("%d followers: %w", followers, err)
			}
			rounds = append(rounds, round)
		}
		s.followRows(engine, rounds)
		return nil
	})
}

// followRound is one measurement.
type followRound struct {
	Followers int         `json:"followers"`
	Found     followFound `json:"found"`
	// Alone is the server's memory before anyone followed, Quiet that with all
	// followers connected, Busy the most it held while events flowed.
	Alone int64 `json:"alone_bytes"`
	Quiet int64 `json:"quiet_bytes"`
	Busy  int64 `json:"busy_bytes"`
}

func (s *session) followRound(ctx context.Context, engine string, followers int) (round followRound, err error) {
	round.Followers = followers
	db, err := s.newDatabase(ctx, engine, "followers")
	if err != nil {
		return round, err
	}
	srv, err := s.startChild(ctx, serveOrder{
		Database: db.url, DataDir: filepath.Join(s.dir, fmt.Sprintf("followers-%s-%d", engine, len(s.databases))), Talker: true,
		Profile: s.profileFile(fmt.Sprintf("followers-%s-%d", engine, followers)),
	})
	if err != nil {
		return round, err
	}
	defer func() { err = errors.Join(err, srv.stop(), s.dropDatabase(ctx, db)) }()
	s.progress.stepf("B8 %s: %d followers", engine, followers)
	c, err := newClient(srv.url)
	if err != nil {
		return round, err
	}
	order := talk{rate: followRate, last: s.opts.time(10*time.Second, 2*time.Second)}
	started, err := c.Runs.Create(ctx, client.RunRequest{Prompt: order.String()})
	if err != nil {
		return round, fmt.Errorf("create run: %w", err)
	}
	if round.Alone, err = residentBytes(srv.cmd.Process.Pid); err != nil {
		return round, err
	}
	return round, s.listen(ctx, srv, &round, followOrder{URL: srv.url, Key: adminKey, RunID: started.RunID, Followers: followers})
}

// listen runs the followers in a process of their own, and lets the agent talk when
// all are connected.
func (s *session) listen(ctx context.Context, srv *server, round *followRound, order followOrder) error {
	input, err := json.Marshal(order)
	if err != nil {
		return fmt.Errorf("encode order: %w", err)
	}
	cmd := exec.CommandContext(ctx, s.self, followRole)
	cmd.Stderr = os.Stderr
	pipe, err := cmd.StdinPipe()
	if err != nil {
		return err
	}
	found, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return fmt.Errorf("start followers: %w", err)
	}
	_, err = pipe.Write(append(input, '\n'))
	err = errors.Join(err, pipe.Close())
	answers := json.NewDecoder(found)
	var connected int
	if err == nil {
		err = answers.Decode(&connected)
	}
	if err == nil {
		round.Quiet, err = residentBytes(srv.cmd.Process.Pid)
	}
	if err == nil {
		_, err = io.WriteString(srv.input, "\"begin\"\n")
	}
	watching, stop := context.WithCancel(ctx)
	busy := make(chan int64, 1)
	go func() { busy <- watchMemory(watching, srv.cmd.Process.Pid) }()
	if err == nil {
		err = answers.Decode(&round.Found)
	}
	stop()
	round.Busy = <-busy
	if err != nil {
		err = fmt.Errorf("followers: %w", err)
	}
	return errors.Join(err, cmd.Wait())
}

// watchMemory returns the most that a process held.
func watchMemory(ctx context.Context, pid int) (most int64) {
	for pause.For(ctx, 50*time.Millisecond) {
		if n, err := residentBytes(pid); err == nil {
			most = max(most, n)
		}
	}
	return most
}

// followRows writes what was found. A follower's memory is how much more the server holds,
// while events flow, than with one follower.
func (s *session) followRows(engine string, rounds []followRound) {
	first, last := rounds[0], rounds[len(rounds)-1]
	s.report.anchor("B8", "delay with 1 follower (p50), "+engine, inMillis(first.Found.P50), inMillis(last.Found.P50))
	for _, round := range rounds[:len(rounds)-1] {
		line := row{
			ID: "B8", What: "events, delay p99, " + plural(round.Followers, "follower"), Engine: engine, Measured: inMillis(round.Found.P99),
			Bar: "0 lost", Verdict: judge(round.Found.Lost == 0), Detail: round,
			Note: round.Found.describe(round.Followers),
		}
		if round.Followers > 1 {
			line.Anchor, line.AnchorName = inMillis(first.Found.P99), "1 follower"
			line.Ratio = ratio(float64(round.Found.P99), float64(first.Found.P99))
		}
		s.report.add(line)
	}
	most := rounds[len(rounds)-2]
	if most.Followers == 1 {
		return
	}
	each := max(most.Busy-first.Busy, 0) / int64(most.Followers-1)
	s.report.add(row{
		ID: "B8", What: fmt.Sprintf("memory per follower, of %d", most.Followers), Engine: engine, Measured: figure{float64(each) / 1e3, kilobytes},
		Bar: fmt.Sprintf("≤ %d KB", followerBar/1000), Verdict: judge(each <= followerBar),
		Note: fmt.Sprintf("the server held %s at most while events flowed, %s with one follower; a follower of a silent run costs %s",
			inMegabytes(most.Busy), inMegabytes(first.Busy), figure{float64(max(most.Quiet-most.Alone, 0)) / 1e3 / float64(most.Followers), kilobytes}),
	})
}
