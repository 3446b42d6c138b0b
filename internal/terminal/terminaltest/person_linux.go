package terminaltest

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is how long a test waits for what must come; all of it only when it fails.
const patience = time.Minute

// PTY opens both ends of a pseudo-terminal: what a person sees and types on, and what a
// program is given.
func PTY(tb testing.TB) (person, terminal *os.File) {
	tb.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
	if err != nil {
		tb.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	tb.Cleanup(func() { _ = person.Close() })
	number, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN)
	if err := errors.Join(err, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0)); err != nil {
		tb.Fatal(err)
	}
	terminal, err = os.OpenFile("/dev/pts/"+strconv.Itoa(number), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		tb.Skipf("this machine has no pseudo-terminals: %v", err)
	}
	tb.Cleanup(func() { _ = terminal.Close() })
	return person, terminal
}

// Person sits at a pseudo-terminal and reads its screen.
type Person struct {
	t testing.TB
	// Terminal is what the program is given. Who closes it lets Rest return.
	Terminal *os.File
	keys     *os.File

	mu      sync.Mutex
	changed *sync.Cond
	screen  *Screen
	gone    bool
}

// Sit opens a pseudo-terminal of a size.
func Sit(tb testing.TB, columns, rows int) *Person {
	tb.Helper()
	p := &Person{t: tb, screen: New(columns, rows)}
	p.changed = sync.NewCond(&p.mu)
	p.keys, p.Terminal = PTY(tb)
	p.Resize(columns, rows)
	go p.look()
	return p
}

// look reads the terminal until nobody writes to it any more.
func (p *Person) look() {
	buffer := make([]byte, 4096)
	for {
		n, err := p.keys.Read(buffer)
		p.Change(func(s *Screen) {
			// The terminal made two characters of each end of a line.
			_, _ = s.Write([]byte(strings.ReplaceAll(string(buffer[:n]), "\r\n", "\n")))
			p.gone = err != nil
		})
		if err != nil {
			return
		}
	}
}

// Change does something to the screen while nothing is written to it.
func (p *Person) Change(do func(*Screen)) {
	p.mu.Lock()
	defer p.mu.Unlock()
	do(p.screen)
	p.changed.Broadcast()
}

// Sees waits until the screen is as described, and returns the whole of it.
func (p *Person) Sees(what string, is func(s *Screen) bool) string {
	p.t.Helper()
	late := false
	timer := time.AfterFunc(patience, func() { p.Change(func(*Screen) { late = true }) })
	defer timer.Stop()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !is(p.screen) || p.whole() && !is(p.screen) {
		if late || p.gone {
			p.t.Fatalf("the screen never showed %s:\n%s", what, p.screen.Text())
		}
		p.changed.Wait()
	}
	return p.screen.Text()
}

// whole waits for the rest of what is being written: a picture is written at once, but comes in pieces.
func (p *Person) whole() bool {
	mark := p.screen.marks + 1
	p.mu.Unlock()
	_, err := p.Terminal.WriteString("\x1b[?1n") // comes behind it: of those who write to a file, one waits for the other
	p.mu.Lock()
	for err == nil && !p.gone && p.screen.marks < mark {
		p.changed.Wait()
	}
	return true
}

// Reads waits until the screen shows all of the texts.
func (p *Person) Reads(texts ...string) string {
	p.t.Helper()
	return p.Sees(fmt.Sprintf("%q", texts), func(s *Screen) bool {
		return !slices.ContainsFunc(texts, func(text string) bool { return !strings.Contains(s.Text(), text) })
	})
}

// Misses waits until the screen does not show a text any more.
func (p *Person) Misses(text string) string {
	p.t.Helper()
	return p.Sees(fmt.Sprintf("less than %q", text), func(s *Screen) bool { return !strings.Contains(s.Text(), text) })
}

// Types presses keys.
func (p *Person) Types(keys string) {
	p.t.Helper()
	if _, err := p.keys.WriteString(keys); err != nil {
		p.t.Fatal(err)
	}
}

// Resize makes the window larger or smaller. The kernel tells the program.
func (p *Person) Resize(columns, rows int) {
	p.t.Helper()
	p.Change(func(s *Screen) { s.Resize(columns, rows) })
	if err := unix.IoctlSetWinsize(int(p.keys.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: uint16(rows), Col: uint16(columns)}); err != nil {
		p.t.Fatal(err)
	}
}

// Echoes says whether the terminal shows what is typed, as it does for shells.
func (p *Person) Echoes() bool {
	state, err := unix.IoctlGetTermios(int(p.keys.Fd()), unix.TCGETS)
	if err != nil {
		p.t.Error(err)
		return false
	}
	return state.Lflag&unix.ECHO != 0 && state.Lflag&unix.ICANON != 0
}

// Rest waits until the program has closed the terminal, checks that it left it as it
// was, and returns what stands there.
func (p *Person) Rest() string {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.gone {
		p.changed.Wait()
	}
	if mistakes := p.screen.Mistakes(); len(mistakes) > 0 {
		p.t.Errorf("written to the terminal: %.2000q", mistakes)
	}
	if p.screen.Alternate() || p.screen.CursorHidden() {
		p.t.Error("the terminal was not given back as it was")
	}
	return p.screen.Text()
}
