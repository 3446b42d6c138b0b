package harness_test

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"testing/synctest"
	"time"
	"unicode/utf8"

	"go.uber.org/goleak"
	"pgregory.net/rapid"

	"github.com/lineshaft/lineshaft"
	"github.com/lineshaft/lineshaft/internal/harness"
	"github.com/lineshaft/lineshaft/internal/harness/harnesstest"
	"github.com/lineshaft/lineshaft/internal/mask"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func environment() harness.Environment {
	masker := mask.New(map[string]string{"LINESHAFT_RUN_TOKEN": harnesstest.Token})
	return harness.Environment{Now: time.Now, Mask: func() *mask.Masker { return masker }}
}

// say writes; the writers of an Output never fail.
func say(w io.Writer, text string) { _, _ = io.WriteString(w, text) }

// advance lets time pass in a bubble and everything that then happens happen.
func advance(d time.Duration) {
	<-time.After(d)
	synctest.Wait()
}

// texts are the output events so far, as "stream:text".
func texts(log *harnesstest.Log) []string {
	var out []string
	for _, d := range log.Drafts(lineshaft.EventOutput) {
		var data lineshaft.OutputData
		if err := json.Unmarshal(d.Data, &data); err != nil {
			return append(out, err.Error())
		}
		out = append(out, data.Stream+":"+data.Text)
	}
	return out
}

func expect(t *testing.T, log *harnesstest.Log, want ...string) {
	t.Helper()
	got := texts(log)
	if strings.Join(got, "|") != strings.Join(want, "|") {
		t.Errorf("events %q, want %q", got, want)
	}
}

func TestX7OutputGathersLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := harnesstest.NewLog()
		out := environment().NewOutput(log.Emit, "call-1")
		say(out.Stdout(), "first\n")
		expect(t, log, "stdout:first\n") // after a pause it goes out at once
		say(out.Stdout(), "second\n")
		say(out.Stdout(), "third\nhal")
		expect(t, log, "stdout:first\n")
		advance(49 * time.Millisecond)
		expect(t, log, "stdout:first\n")
		advance(time.Millisecond)
		expect(t, log, "stdout:first\n", "stdout:second\nthird\n")
		say(out.Stdout(), "f\n")
		advance(50 * time.Millisecond)
		expect(t, log, "stdout:first\n", "stdout:second\nthird\n", "stdout:half\n")
		out.Close()
		var data lineshaft.OutputData
		if err := json.Unmarshal(log.Drafts("")[0].Data, &data); err != nil || data.ToolCallID != "call-1" {
			t.Errorf("data %+v, %v", data, err)
		}
	})
}

// A progress line without an end is shown too, and a character is not cut.
func TestX7OutputShowsUnfinishedLines(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := harnesstest.NewLog()
		out := environment().NewOutput(log.Emit, "")
		say(out.Stdout(), "Continue? \xe2\x82")
		advance(100 * time.Millisecond)
		expect(t, log, "stdout:Continue? ")
		say(out.Stdout(), "\xac now")
		advance(100 * time.Millisecond)
		expect(t, log, "stdout:Continue? ", "stdout:€ now")
		say(out.Stdout(), "\xe2\x82") // never completed
		out.Close()
		expect(t, log, "stdout:Continue? ", "stdout:€ now", "stdout:\ufffd\ufffd")
	})
}

func TestX7OutputKeepsTheOrderOfStreams(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		log := harnesstest.NewLog()
		out := environment().NewOutput(log.Emit, "")
		say(out.Stdout(), "1\n")
		say(out.Stdout(), "2\n")
		say(out.Stderr(), "3\n")
		say(out.Stderr(), "4\n")
		say(out.Stdout(), "5\n")
		out.Close()
		expect(t, log, "stdout:1\n", "stdout:2\n", "stderr:3\n", "stderr:4\n", "stdout:5\n")
	})
}

func TestX7OutputSplitsLongLines(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	out := environment().NewOutput(log.Emit, "")
	line := strings.Repeat("€", 50_000) + "\n" // 150,001 bytes
	say(out.Stdout(), line)
	out.Close()
	if got := log.Text("stdout"); got != line {
		t.Errorf("%d bytes came, want %d", len(got), len(line))
	}
	for _, text := range texts(log) {
		if n := len(text) - len("stdout:"); n > 64<<10 || !utf8.ValidString(text) {
			t.Errorf("an event of %d bytes, valid %v", n, utf8.ValidString(text))
		}
	}
}

func TestX7OutputAfterCloseIsDropped(t *testing.T) {
	t.Parallel()
	log := harnesstest.NewLog()
	out := environment().NewOutput(log.Emit, "")
	out.Close()
	say(out.Stdout(), "late\n")
	expect(t, log)
}

// However a program's writes are cut, the text arrives whole, in order and
// without the secret.
func TestS2OutputIsMaskedAcrossPieces(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		words := []string{"plain ", "€uro\n", harnesstest.Token, "lsr_0123", "\n", "x" + harnesstest.Token + "\n", "tail"}
		text := strings.Join(rapid.SliceOfN(rapid.SampledFrom(words), 1, 20).Draw(t, "words"), "")
		log := harnesstest.NewLog()
		env := environment()
		out := env.NewOutput(log.Emit, "")
		for rest := text; rest != ""; {
			n := rapid.IntRange(1, len(rest)).Draw(t, "piece")
			say(out.Stdout(), rest[:n])
			rest = rest[n:]
		}
		out.Close()
		got := log.Text("stdout")
		if strings.Contains(got, harnesstest.Token) {
			t.Fatalf("the secret is in %q", got)
		}
		if want := env.Mask().String(text); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	})
}

// An agent that writes faster than events can be passed on has to wait.
func TestX3OutputBlocksWithItsReceiver(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		room := make(chan struct{})
		got := 0
		out := environment().NewOutput(func(lineshaft.Draft) { <-room; got++ }, "")
		done := make(chan struct{})
		go func() {
			defer close(done)
			for range 4 {
				say(out.Stdout(), strings.Repeat("x", 64<<10))
			}
			out.Close()
		}()
		synctest.Wait()
		select {
		case <-done:
			t.Error("the writer did not wait")
		default:
		}
		close(room)
		<-done
		if got != 4 {
			t.Errorf("%d events, want 4", got)
		}
	})
}
