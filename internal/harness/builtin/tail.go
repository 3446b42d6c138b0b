package builtin

import (
	"fmt"
	"strings"
	"sync"
)

// cut shortens a text to about n bytes: its head and its tail, which say most.
func cut(text string, n int) string {
	if len(text) <= n {
		return text
	}
	head, tail := n/4, n-n/4
	left := len(text) - head - tail
	return valid(text[:head]) + fmt.Sprintf("\n[… %d bytes left out …]\n", left) + valid(text[len(text)-tail:])
}

// valid drops what cutting left of a character.
func valid(text string) string { return strings.ToValidUTF8(text, "") }

// gathered keeps the head and the tail of what a program prints. It may be
// written from several goroutines.
type gathered struct {
	limit int

	mu   sync.Mutex
	head []byte
	tail []byte
	left int64
}

// Write never fails.
func (g *gathered) Write(p []byte) (int, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	rest := p
	if room := g.limit/4 - len(g.head); room > 0 {
		n := min(room, len(rest))
		g.head, rest = append(g.head, rest[:n]...), rest[n:]
	}
	g.tail = append(g.tail, rest...)
	if over := len(g.tail) - (g.limit - g.limit/4); over > g.limit {
		g.trim()
	}
	return len(p), nil
}

func (g *gathered) trim() {
	if over := len(g.tail) - (g.limit - g.limit/4); over > 0 {
		g.left += int64(over)
		g.tail = append(g.tail[:0], g.tail[over:]...)
	}
}

// String is what was kept.
func (g *gathered) String() string {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.trim()
	if g.left == 0 {
		return strings.ToValidUTF8(string(g.head)+string(g.tail), "\ufffd")
	}
	return strings.ToValidUTF8(string(g.head), "\ufffd") + fmt.Sprintf("\n[… %d bytes left out …]\n", g.left) + strings.ToValidUTF8(string(g.tail), "\ufffd")
}
