package cli

import (
	"context"
	"io"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/lineshaft/lineshaft/client"
	"github.com/lineshaft/lineshaft/internal/terminal"
)

// liveHooks replace what moves on a terminal by itself; zero values mean the real ones.
type liveHooks struct {
	ticks   <-chan time.Time
	signals <-chan terminal.Signal
	suspend func()
	height  func(io.Writer) int
}

// onTerminal says that a person watches who can be shown things that move.
func (sh *shell) onTerminal() bool {
	return sh.forPeople() && sh.outWidth > 0 && sh.errWidth > 0 && sh.env["TERM"] != "dumb"
}

// rows are those of the terminal.
func (sh *shell) rows() int {
	if sh.deps.live.height != nil {
		return sh.deps.live.height(sh.out)
	}
	if file, ok := sh.out.(*os.File); ok {
		if _, rows := terminal.Size(file); rows > 0 {
			return rows
		}
	}
	return 24
}

// motion is what moves on a terminal by itself: time, and what is done to the program.
type motion struct {
	ticks   <-chan time.Time
	signals <-chan terminal.Signal
	suspend func()
	stop    func()
}

func (sh *shell) motion() motion {
	hooks := sh.deps.live
	m := motion{ticks: hooks.ticks, signals: hooks.signals, suspend: hooks.suspend, stop: func() {}}
	if m.ticks == nil {
		ticker := time.NewTicker(spinnerStep)
		m.ticks, m.stop = ticker.C, ticker.Stop
	}
	if m.signals == nil {
		signals, stop := terminal.Signals()
		ticking := m.stop
		m.signals, m.stop = signals, func() { ticking(); stop() }
	}
	if m.suspend == nil {
		m.suspend = terminal.Suspend
	}
	return m
}

// typing takes the keys of the terminal; nil when there is none, or when it is not ours.
func (sh *shell) typing() *terminal.Input {
	file, ok := sh.in.(*os.File)
	if !ok || terminalWidth(file) == 0 {
		return nil
	}
	input, err := terminal.OpenInput(file)
	if err != nil {
		return nil // it is shown all the same, and asks for nothing
	}
	return input
}

// liveView is a run that is followed on a terminal.
type liveView struct {
	sh      *shell
	c       *client.Client
	session *session
	region  *terminal.Region
	input   *terminal.Input
	motion  motion
	run     *client.Run

	edit    terminal.Edit
	sending bool
	// looked is when it was last asked how many runs wait before this one.
	looked time.Time

	work    sync.WaitGroup
	events  chan client.Event
	ended   chan error
	keys    chan terminal.Key
	ahead   chan queueNews
	answers chan error
}

// queueNews is what a queued run waits for.
type queueNews struct {
	ahead  int
	absent bool
}

// followLive shows a run on a terminal to its end and returns how it ended. With quiet,
// only how it stands is shown, and what it asks.
func (sh *shell) followLive(ctx context.Context, c *client.Client, runID string, after int64, quiet bool) (*client.Run, error) {
	v := &liveView{
		sh: sh, c: c, session: newSession(runID, sh.outWidth, sh.colours()), region: terminal.NewRegion(sh.out, sh.colours()), motion: sh.motion(), input: sh.typing(),
		events: make(chan client.Event, 256), ended: make(chan error, 1), keys: make(chan terminal.Key), ahead: make(chan queueNews, 1), answers: make(chan error, 1),
	}
	v.session.quiet, v.session.hint = quiet, "Ctrl-C leaves, the run goes on"
	run, err := v.follow(ctx, after)
	if err != nil {
		v.session.settle("still running") // what was on the screen is what one wants to look at
	}
	v.leave()
	if err != nil {
		return nil, err
	}
	v.session.finish(run)
	return run, v.region.Update(v.session.columns, v.session.take(), nil)
}

// follow starts what brings news and waits for all of it.
func (v *liveView) follow(ctx context.Context, after int64) (*client.Run, error) {
	outer := ctx
	ctx, cancel := context.WithCancel(ctx)
	defer v.work.Wait()
	defer cancel()
	defer v.motion.stop()
	if err := v.draw(); err != nil {
		return nil, err
	}
	var err error
	if v.run, err = v.c.Runs.Get(ctx, v.session.runID); err != nil {
		v.run = &client.Run{RunID: v.session.runID} // the stream tells whether that is in vain
	}
	v.session.header(v.run)
	v.work.Go(func() { v.stream(ctx, after) })
	if v.input != nil {
		v.work.Go(func() {
			_ = v.input.Read(ctx.Done(), func(k terminal.Key) { // a terminal that is gone asks nothing
				select {
				case v.keys <- k:
				case <-ctx.Done():
				}
			})
		})
	}
	if err := v.loop(ctx); err != nil {
		return nil, err
	}
	return v.c.Runs.Get(outer, v.session.runID)
}

// leave gives the terminal back and takes away what lived.
func (v *liveView) leave() {
	_ = v.region.Update(v.session.columns, v.session.take(), nil) // the terminal may be gone
	if v.input != nil {
		v.input.Restore()
	}
}

func (v *liveView) stream(ctx context.Context, after int64) {
	for event, err := range v.c.Runs.Stream(ctx, v.session.runID, after) {
		if err != nil {
			v.ended <- err
			return
		}
		select {
		case v.events <- event:
		case <-ctx.Done():
			v.ended <- ctx.Err()
			return
		}
	}
	close(v.events)
}

// loop shows news until the log has ended.
func (v *liveView) loop(ctx context.Context) error {
	for {
		if len(v.events) == 0 || len(v.session.done) > 200 { // a flood is drawn in pieces
			if err := v.draw(); err != nil {
				return err
			}
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-v.ended:
			return err
		case event, more := <-v.events:
			if !more {
				return nil
			}
			if err := v.session.event(&event); err != nil {
				return err
			}
		case key := <-v.keys:
			v.key(ctx, key)
		case news := <-v.ahead:
			v.session.ahead, v.session.absent = news.ahead, news.absent
		case err := <-v.answers:
			v.answered(err)
		case <-v.motion.ticks:
			v.lookAhead(ctx)
		case signal := <-v.motion.signals:
			if signal == terminal.SignalEnd {
				return context.Canceled
			}
			v.signal(signal)
		}
	}
}

// draw shows the session, and the line that is typed where something is asked.
func (v *liveView) draw() error {
	s := v.session
	lines := s.live(v.sh.now(), v.sh.rows())
	if v.asks() {
		prompt := "Your answer › "
		if v.sending {
			prompt = "Sending › "
		}
		lines = append(lines, terminal.Text(terminal.Yellow.And(terminal.Bold), prompt).
			Add(terminal.Plain, v.edit.Show(max(s.columns-len(prompt)-2, 4))))
	}
	return v.region.Update(s.columns, s.take(), lines)
}

func (v *liveView) asks() bool { return v.input != nil && v.session.asked() }

// signal takes a change of size, or lets the program stop and come back.
func (v *liveView) signal(signal terminal.Signal) {
	if signal == terminal.SignalSuspend {
		v.leave()
		v.motion.suspend()
		if v.input != nil {
			_ = v.input.Take() // without it there is nothing to type
		}
	}
	if columns := v.sh.deps.Width(v.sh.out); columns > 0 {
		v.session.columns = columns
	}
}

// lookAhead asks now and then how many runs wait before one that is queued, and whether
// its worker is there.
func (v *liveView) lookAhead(ctx context.Context) {
	const every = 3 * time.Second
	now := v.sh.now()
	if v.session.state.To != client.StateQueued || v.run.CreatedAt.IsZero() || now.Sub(v.looked) < every {
		return
	}
	v.looked = now
	query := client.RunQuery{States: []client.RunState{client.StateQueued}, CreatedBefore: v.run.CreatedAt, WorkerHost: v.session.host, Limit: 100}
	v.work.Go(func() {
		page, err := v.c.Runs.List(ctx, query)
		if err != nil {
			return // it is told by the next look, or not at all
		}
		select {
		case v.ahead <- queueNews{len(page.Runs), namedWorker(query.WorkerHost) && !v.sh.connected(ctx, v.c, query.WorkerHost)}:
		case <-ctx.Done():
		}
	})
}

// key types the answer to what the agent asks.
func (v *liveView) key(ctx context.Context, key terminal.Key) {
	if !v.asks() || v.sending {
		return
	}
	v.edit.Key(key)
	message := strings.TrimSpace(v.edit.Text())
	if key.Name != terminal.KeyEnter || message == "" {
		return
	}
	v.sending = true
	v.work.Go(func() {
		_, err := v.c.Runs.Followup(ctx, v.session.runID, client.FollowupRequest{Message: message})
		select {
		case v.answers <- err:
		case <-ctx.Done():
		}
	})
}

// answered takes what became of an answer; one that did not arrive can be sent again.
func (v *liveView) answered(err error) {
	v.sending = false
	if err == nil {
		v.edit, v.session.answered = terminal.Edit{}, true
		return
	}
	told := v.sh.explain(err)
	v.session.say("error", v.session.wrapped("✗ ", terminal.Red, "the answer was not sent: "+told.message)...)
	if told.hint != "" {
		v.session.say("error", v.session.wrapped("  ", terminal.Dim, told.hint)...)
	}
}
